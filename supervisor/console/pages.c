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

FILE_OF(page_index_html, "index.html");
FILE_OF(page_approvals_js, "approvals.js");
FILE_OF(page_console_css, "console.css");
FILE_OF(page_console_js, "console.js");
FILE_OF(page_forms_js, "forms.js");
FILE_OF(page_keys_js, "keys.js");
FILE_OF(page_log_js, "log.js");
FILE_OF(page_policies_js, "policies.js");
FILE_OF(page_secrets_js, "secrets.js");
FILE_OF(page_servers_js, "servers.js");
FILE_OF(page_start_js, "start.js");
FILE_OF(page_text_js, "text.js");

#define PAGE(path, type, name) \
	{ \
		path, type "; charset=utf-8", name, name##_end \
	}

static const struct page pages[] = {
    PAGE("/", "text/html", page_index_html),
    PAGE("/approvals.js", "text/javascript", page_approvals_js),
    PAGE("/console.css", "text/css", page_console_css),
    PAGE("/console.js", "text/javascript", page_console_js),
    PAGE("/forms.js", "text/javascript", page_forms_js),
    PAGE("/keys.js", "text/javascript", page_keys_js),
    PAGE("/log.js", "text/javascript", page_log_js),
    PAGE("/policies.js", "text/javascript", page_policies_js),
    PAGE("/secrets.js", "text/javascript", page_secrets_js),
    PAGE("/servers.js", "text/javascript", page_servers_js),
    PAGE("/start.js", "text/javascript", page_start_js),
    PAGE("/text.js", "text/javascript", page_text_js),
};

const struct page *
page_find(const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(pages); i++)
		if (strcmp(path, pages[i].path) == 0)
			return &pages[i];
	return NULL;
}
