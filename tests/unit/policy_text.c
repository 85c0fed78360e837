/*
 * policy_text [--parse] FILE [SHOWN]: parse and check one policy; print the tree,
 * or the diagnostics and exit 65.  With --parse it is not checked.  For the golden
 * corpus of tests/policy: it is linked with the text half of the compiler alone.
 */
#include "policy/check/check.h"
#include "policy/compile/compile.h"
#include "tests/unit/ast_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char text[SOURCE_LEN_MAX + 2];

int
main(int argc, char **argv)
{
	struct policy_source source = {.text = text, .reader = &policy_files};
	struct diag d = {.sorted = true, .out = stderr, .source = &source, .source_n = 1};
	struct tree t;
	bool parse = argc > 1 && strcmp(argv[1], "--parse") == 0;
	FILE *f;
	int r;

	argc -= parse;
	argv += parse;
	if (argc < 2) {
		fprintf(stderr, "usage: policy_text [--parse] FILE [SHOWN]\n");
		return 64;
	}
	f = strcmp(argv[1], "-") == 0 ? stdin : fopen(argv[1], "rb");
	if (f == NULL) {
		perror(argv[1]);
		return 66;
	}
	source.len = fread(text, 1, sizeof(text) - 1, f);
	source.path = argc > 2 ? argv[2] : argv[1];
	if (tree_parse(&source, 1, &d, &t) != 0)
		return 125;
	if (!parse)
		(void)tree_check(&t, &d);
	diag_end(&d);
	r = d.error_n > 0 ? 65 : 0;
	if (r == 0 && tree_print(&t, stdout) != 0)
		r = 125;
	tree_free(&t);
	return r;
}
