/*
 * "kennel policy check": every error and warning, for people or as JSON.
 */
#include "policy/cli/verb.h"
#include "policy/compile/compile.h"
#include "policy/lang/ast.h"

int
verb_check(const struct args *a)
{
	static struct texts t;
	int status;

	status = texts_read(a->word, a->word_n, SOURCE_LEN_MAX, &t);
	if (status != 0)
		return status;
	if ((a->given & OPT_JSON) != 0)
		status = verb_status(policy_check_json(t.source, t.n, stdout));
	else
		status = verb_status(policy_check(t.source, t.n, stderr));
	texts_free(&t);
	return verb_flush() != 0 ? EXIT_CONFIG : status;
}
