/*
 * Any JSON as a definition: no crash, warnings that are printable and bounded, the same
 * ones again, and at most one for each rule and text.
 *
 *	make build/fuzz/lint && build/fuzz/lint tests/fuzz/corpus/lint
 */
#include <stdlib.h>
#include <string.h>

#include "supervisor/lint/lint.h"
#include "tests/fuzz/fuzz.h"

#define RULES 32

struct seen {
	size_t n;
	uint64_t sum;
};

static void
see(void *arg, const struct lint_warning *w)
{
	struct seen *seen = arg;

	printable(w->rule, strlen(w->rule));
	printable(w->what, strlen(w->what));
	printable(w->name, strlen(w->name));
	printable(w->member, strlen(w->member));
	printable(w->shown, strlen(w->shown));
	seen->n++;
	for (const char *p = w->shown; *p != '\0'; p++)
		seen->sum = seen->sum * 31 + (uint8_t)*p;
}

/* Each text and each key is at least two bytes. */
static size_t
texts_max(size_t len)
{
	return len / 2 + 2;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct seen one = {0}, two = {0};
	struct json_message m;
	struct json name = {0};
	struct lint *l;

	if (json_scan(data, len, &m) < 0)
		return 0;
	if (lint_new("own", &l) < 0)
		abort();
	if (json_get(m.root, "name", &name) < 0)
		name = (struct json){0};
	if (lint_know(l, "own", "read_file", 9) < 0 ||
	    lint_know(l, "other", NULL, 0) < 0 || lint_know(l, "git-hub", NULL, 0) < 0 ||
	    lint_know(l, "other", "send_message", 12) < 0)
		abort();
	if (lint_definition(l, PIN_TOOL, name, m.root, see, &one) < 0 ||
	    lint_definition(l, PIN_TOOL, name, m.root, see, &two) < 0)
		abort();
	if (one.n != two.n || one.sum != two.sum || one.n > RULES * texts_max(len))
		abort();
	lint_free(l);
	return 0;
}
