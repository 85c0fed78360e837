/*
 * "kennel policy show": what a compiled policy grants, and the mechanism that
 * enforces it.
 */
#include "policy/cli/verb.h"
#include "policy/print/show.h"

#include <errno.h>

int
verb_show(const struct args *a)
{
	const char *only = a->word_n == 2 ? a->word[1] : NULL;
	struct compiled o;
	int r, status;

	status = compiled_read(a->word[0], &o);
	if (status != 0)
		return status;
	if (only != NULL && compiled_server(&o, a->word[0], only) == NULL) {
		compiled_free(&o);
		return EXIT_MISSING;
	}
	r = (a->given & OPT_JSON) != 0 ? policy_show_json(&o.p, only, stdout)
				       : policy_show(&o.p, only, stdout);
	compiled_free(&o);
	if (r != 0)
		return verb_unable("write", "standard output", r);
	return verb_flush();
}
