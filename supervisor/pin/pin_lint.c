/*
 * Warns about poisoned definitions when they are pinned.
 *
 * Process: kennel, as the calling user.
 */
#include <errno.h>
#include <string.h>

#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/pin/private.h"

int
pin_lint_new(const char *server, const struct row *row, size_t n, struct lint **ret)
{
	struct lint *l;
	int r = lint_new(server, &l);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n && r == 0; i++) {
		const struct json name = {
		    row[i].name.data, row[i].name.len, JSON_IS_STRING};
		char text[MCP_NAME_MAX];
		size_t len;

		if (row[i].kind == PIN_TOOL &&
		    json_text(name, text, sizeof(text), &len) == 0)
			r = lint_know(l, server, text, len);
	}
	if (r == 0)
		r = lint_know_user(l, server);
	if (r < 0)
		lint_free(l);
	else
		*ret = l;
	return r;
}

static void
print_warning(void *arg, const struct lint_warning *w)
{
	lint_print(pin_kind_word(w->kind), w, arg);
}

int
pin_lint(const char *server, const struct row *row, size_t n, bool strict)
{
	struct lint *lint = NULL;
	size_t warnings = 0;
	int r = pin_lint_new(server, row, n, &lint);

	for (size_t i = 0; r == 0 && i < n; i++)
		r = lint_definition(lint, row[i].kind,
		    (struct json){row[i].name.data, row[i].name.len, JSON_IS_STRING},
		    pin_value(row[i].body.data, row[i].body.len), print_warning,
		    &warnings);
	lint_free(lint);
	if (r < 0) {
		log_error("unable to check the definitions of %s: %s; nothing is written",
		    server, strerror(-r));
		return EXIT_FAILED;
	}
	if (warnings > LINT_PRINTED_MAX)
		log_warn("%zu more warnings are not shown", warnings - LINT_PRINTED_MAX);
	if (warnings == 0)
		return 0;
	if (!strict) {
		log_warn("%zu warning%s about the definitions of %s: read them before "
			 "you use them",
		    warnings, warnings == 1 ? "" : "s", server);
		return 0;
	}
	log_error(
	    "%zu warning%s about the definitions of %s: nothing is written, because "
	    "of --strict",
	    warnings, warnings == 1 ? "" : "s", server);
	return EXIT_INPUT;
}
