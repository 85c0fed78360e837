/*
 * Any bytes as a policy: no crash, no loop; every error has a place inside of
 * the text; what parses prints, and what is printed parses to the same print.
 *
 *	make build/fuzz/parse && build/fuzz/parse tests/fuzz/corpus/parse
 */
#include "policy/check/check.h"
#include "tests/unit/ast_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

/* The print of the text, or NULL when it has errors. */
static char *
printed(const char *text, size_t len, size_t *ret_len)
{
	struct policy_source source = {.path = "fuzz", .text = text, .len = len};
	char *out = NULL, *said = NULL;
	size_t said_len;
	FILE *f = open_memstream(&said, &said_len);
	struct diag d = {.sorted = true, .out = f, .source = &source, .source_n = 1};
	struct tree t;

	if (f == NULL)
		abort();
	if (tree_parse(&source, 1, &d, &t) != 0) {
		diag_end(&d);
		(void)fclose(f);
		free(said);
		return NULL;
	}
	/* parse errors make no print; check errors must not crash */
	if (d.error_n == 0) {
		FILE *o = open_memstream(&out, ret_len);

		if (o == NULL || tree_print(&t, o) != 0 || fclose(o) != 0)
			abort();
	}
	(void)tree_check(&t, &d);
	diag_end(&d);
	tree_free(&t);
	(void)fclose(f);
	/* messages are printable, whatever the text was */
	for (size_t i = 0; i < said_len; i++)
		if (said[i] != '\n' && (said[i] < 0x20 || said[i] > 0x7e))
			abort();
	free(said);
	return out;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *once, *twice, *text = malloc(len + 1);
	size_t once_len = 0, twice_len = 0;

	if (text == NULL)
		return 0;
	memcpy(text, data, len);
	once = printed(text, len, &once_len);
	free(text);
	if (once == NULL)
		return 0;
	twice = printed(once, once_len, &twice_len);
	if (twice == NULL || once_len != twice_len || memcmp(once, twice, once_len) != 0)
		abort();
	free(twice);
	free(once);
	return 0;
}
