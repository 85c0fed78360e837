/*
 * "kennel policy check": every error and warning, for people or as JSON.
 */
#include "policy/cli/verb.h"
#include "policy/compile/compile.h"
#include "policy/lang/ast.h"

#include <stdio.h>
#include <string.h>

#include "policy/base/diag.h"

static void
put_count(size_t n, const char *what)
{
	if (n == 0)
		printf(", no %ss", what);
	else
		printf(", %zu %s%s", n, what, n == 1 ? "" : "s");
}

/* "files.kennel: 1 server, no errors, 2 warnings" */
static void
summary(const struct args *a, const struct policy_counts *n)
{
	char shown[DIAG_TEXT_CAP];

	if (a->word_n == 1)
		printf("%s: ", strcmp(a->word[0], "-") == 0
				   ? "(standard input)"
				   : diag_text(shown, a->word[0], strlen(a->word[0])));
	else
		printf("%zu files: ", a->word_n);
	if (n->errors == 0)
		printf("%zu server%s, no errors", n->servers, n->servers == 1 ? "" : "s");
	else
		printf("%zu error%s", n->errors, n->errors == 1 ? "" : "s");
	put_count(n->warnings, "warning");
	putchar('\n');
}

int
verb_check(const struct args *a)
{
	struct policy_counts counts = {0};
	static struct texts t;
	int status;

	status = texts_read(a->word, a->word_n, SOURCE_LEN_MAX, &t);
	if (status != 0)
		return status;
	if ((a->given & OPT_JSON) != 0)
		status = verb_status(policy_check_json(t.source, t.n, stdout));
	else {
		status = verb_status(policy_check(t.source, t.n, stderr, &counts));
		if (status != EXIT_FAILED)
			summary(a, &counts);
	}
	texts_free(&t);
	return verb_flush() != 0 ? EXIT_CONFIG : status;
}
