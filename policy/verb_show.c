/*
 * "kennel policy show": what a compiled policy grants, by which mechanism.
 */
#include "policy/verb.h"

#include <errno.h>

int
verb_show(const struct args *a)
{
	const char *only = a->word_n == 2 ? a->word[1] : NULL;
	struct opened o;
	int r, status;

	status = opened_read(a->word[0], &o);
	if (status != 0)
		return status;
	if (only != NULL && opened_server(&o, a->word[0], only) == NULL) {
		opened_free(&o);
		return EXIT_MISSING;
	}
	r = (a->given & OPT_JSON) != 0 ? policy_show_json(&o.p, only, stdout)
				       : policy_show(&o.p, only, stdout);
	opened_free(&o);
	if (r != 0)
		return verb_unable("write", "standard output", r);
	return verb_flush();
}
