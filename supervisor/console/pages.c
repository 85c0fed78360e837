/*
 * The static files of the console: as they are in pages/, inside of the program.
 */
#include <stddef.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/console/private.h"

#define FILE_OF(name, file) \
	extern const char name[], name##_end[]; \
	__asm__(".pushsection .rodata\n" \
		".global " #name ", " #name "_end\n" #name ":\n" \
		".incbin \"supervisor/console/pages/" file "\"\n" #name "_end:\n" \
		".popsection\n")

FILE_OF(page_index, "index.html");
FILE_OF(page_script, "console.js");
FILE_OF(page_style, "console.css");

static const struct page pages[] = {
    {"/", "text/html; charset=utf-8", page_index, page_index_end},
    {"/console.js", "text/javascript; charset=utf-8", page_script, page_script_end},
    {"/console.css", "text/css; charset=utf-8", page_style, page_style_end},
};

const struct page *
page_find(const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(pages); i++)
		if (strcmp(path, pages[i].path) == 0)
			return &pages[i];
	return NULL;
}
