/*
 * Entries whose command is started by the program of a secret manager, as in `op run -- npx
 * x`: that program reads the references in the variables. Under kennel the policy asks it for
 * each of them, with `from cmd`.
 *
 * A configuration must not become a grant: in a project's file the references are those of
 * whoever wrote the project, and each names an item of the user's. There the lines are only
 * proposed.
 */
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/import/entry_parts.h"

/* Programs that start another one with more variables, which the entry does not name. */
static const char *const others[] = {"bws", "aws-vault", "doppler", "infisical",
    "dotenvx", "dotenv", "envmcp", "chamber", "vault-env", "envconsul", "teller"};

static const char op_scheme[] = "op://";

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

/* The argument after --, or 0: an option is not known. */
static size_t
command_at(const struct entry *e)
{
	size_t i = 2;

	while (i < e->word_n && strcmp(e->word[i], "--no-masking") == 0)
		i++;
	return i + 1 < e->word_n && strcmp(e->word[i], "--") == 0 ? i + 1 : 0;
}

static const struct entry_variable *
first_reference(const struct entry *e)
{
	for (size_t i = 0; i < e->variable_n; i++)
		if (e->variable[i].manager != NULL)
			return &e->variable[i];
	return NULL;
}

static bool
all_for_op(const struct entry *e)
{
	for (size_t i = 0; i < e->variable_n; i++)
		if (e->variable[i].manager != NULL &&
		    strncmp(e->variable[i].manager, op_scheme, strlen(op_scheme)) != 0)
			return false;
	return true;
}

/* The entry is left, and the line of the policy is proposed. */
static void
propose(struct entry *e, const struct entry_variable *v, const char *why)
{
	if (strncmp(v->manager, op_scheme, strlen(op_scheme)) == 0)
		e->proposed = v->manager;
	entry_other(e, why, v->name);
}

static void
take_op(const struct client_file *f, struct entry *e)
{
	const struct entry_variable *v = first_reference(e);
	size_t at = command_at(e);

	if (at == 0) {
		entry_other(
		    e, "`op run` has options that kennel does not carry over", NULL);
	} else if (v == NULL || !all_for_op(e)) {
		entry_other(e, "`op run` has no op:// reference in its variables", NULL);
	} else if (f->scope == SCOPE_PROJECT) {
		propose(
		    e, v, "a project's file refers to your secret manager: review it");
	} else {
		e->manager = e->word[0];
		e->word_n -= at;
		(void)memmove(
		    e->word, e->word + at, (e->word_n + 1) * sizeof(e->word[0]));
	}
}

void
entry_take_manager(const struct client_file *f, struct entry *e)
{
	const struct entry_variable *v = first_reference(e);
	const char *program = base_name(e->word[0]);

	if (strcmp(program, "op") == 0 && e->word_n > 1 &&
	    strcmp(e->word[1], "run") == 0) {
		take_op(f, e);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (strcmp(program, others[i]) == 0) {
			entry_other(e,
			    "its variables come from another program: start the server "
			    "without it, with `from cmd` in a policy",
			    NULL);
			return;
		}
	if (v != NULL)
		propose(
		    e, v, "neither its client nor its command asks the secret manager");
}
