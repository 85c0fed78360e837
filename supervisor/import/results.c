#include "supervisor/import/results.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/log.h"
#include "supervisor/base/layout.h"
#include "supervisor/base/terminal.h"

#define CELL_MAX      1024
#define COLUMNS_PIPED 160

static bool
is_left(const struct result *row)
{
	return row->how == TRIAL_FAILED || row->how == TRIAL_REFUSED;
}

static void
row_clear(struct result *row)
{
	free(row->why);
	free(row->policy);
	row->why = row->policy = NULL;
}

/* Replaces what the row reports; it takes over why. */
static void
row_set(struct result *row, enum trial how, char *why, const char *policy)
{
	row_clear(row);
	row->how = how;
	row->why = why;
	row->policy = policy == NULL ? NULL : strdup(policy);
}

void
results_add(struct results *r, const struct import_found *f, const struct entry *e,
    enum trial how, char *why, const char *policy)
{
	struct result *row = NULL, *more;

	for (size_t i = 0; i < r->n && row == NULL; i++)
		if (r->row[i].entry == e)
			row = &r->row[i];
	if (row == NULL) {
		more = reallocarray(r->row, r->n + 1, sizeof(*more));
		if (more == NULL) {
			free(why);
			return; /* a row less is printed */
		}
		r->row = more;
		row = &more[r->n++];
		*row = (struct result){.file = f, .entry = e};
	}
	row_set(row, how, why, policy);
}

void
results_left(struct results *r, const struct import_found *f, const struct entry *e,
    const char *why)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->row[i].entry == e && is_left(&r->row[i]))
			return;
	results_add(r, f, e, TRIAL_FAILED, strdup(why), NULL);
}

void
results_lost(struct results *r, const struct import_found *f, const char *why)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->row[i].file == f && !is_left(&r->row[i]))
			row_set(&r->row[i], TRIAL_FAILED, strdup(why), NULL);
}

void
results_free(struct results *r)
{
	for (size_t i = 0; i < r->n; i++)
		row_clear(&r->row[i]);
	free(r->row);
	*r = (struct results){.n = 0};
}

/* ---- the table --------------------------------------------------------------- */

/* Without what the answer of every server that is gone begins with. */
static const char *
reason(const char *why)
{
	static const char *const before[] = {
	    "the server answered with an error: ", "kennel: ", "the server is gone: "};

	if (why == NULL || why[0] == '\0')
		return "no reason is known";
	for (size_t i = 0; i < ARRAY_LEN(before); i++)
		if (strncmp(why, before[i], strlen(before[i])) == 0)
			why += strlen(before[i]);
	return why;
}

static void
put_how(const struct result *row, char out[CELL_MAX])
{
	static const char *const name[] = {
	    [TRIAL_STARTED] = "started",
	    [TRIAL_PLACEHOLDERS] = "started with placeholders",
	    [TRIAL_NONE] = "not tried",
	    [TRIAL_FAILED] = "not started",
	    [TRIAL_REFUSED] = "not started",
	};
	const char *why = reason(row->why);
	int n = (int)strcspn(why, "\n");

	if (n > 0 && why[n - 1] == ':')
		n--;
	if (row->how == TRIAL_STARTED || row->how == TRIAL_PLACEHOLDERS)
		(void)snprintf(out, CELL_MAX, "%s", name[row->how]); /* fits */
	else
		(void)snprintf(out, CELL_MAX, "%s: %.*s", name[row->how], n,
		    why); /* or cut, for a person */
}

static void
put_row(const struct layout *l, const struct result *row)
{
	char client[CELL_MAX], name[CELL_MAX], how[CELL_MAX];
	const char *text[] = {client, name, how};
	static const char *const plain[ARRAY_LEN(text)];

	(void)snprintf(client, sizeof(client), "%s/%s", row->file->client->client,
	    import_scope(row->file, row->entry)); /* fits */
	(void)log_quote(name, sizeof(name), row->entry->name, strlen(row->entry->name));
	put_how(row, how);
	layout_row(l, stdout, text, plain);
}

/* ---- what to do -------------------------------------------------------------- */

static void
put_lines(const char *text)
{
	while (text != NULL && *text != '\0') {
		size_t n = strcspn(text, "\n");

		if (n > 0)
			printf("    %.*s\n", (int)n, text);
		text += n + (text[n] == '\n');
	}
}

static void
put_left(const struct result *row)
{
	char name[CELL_MAX], policy[4 * PATH_MAX];

	(void)log_quote(name, sizeof(name), row->entry->name, strlen(row->entry->name));
	(void)log_quote(policy, sizeof(policy), row->policy, strlen(row->policy));
	printf("\n%s is left as it was: its server does not start under %s\n\n", name,
	    policy);
	put_lines(reason(row->why));
	printf("\n    Add what it needs to that policy, and run `kennel import "
	       "--write`, or replace it as\n    it is by `kennel import --write "
	       "--no-start`.\n");
}

void
results_put(const struct results *r)
{
	static const struct layout_column column[] = {
	    {24, 19, false}, {20, 6, false}, {0, 20, false}};
	static const char *const head[] = {"CLIENT", "SERVER", "UNDER KENNEL"};
	static const char *const plain[ARRAY_LEN(column)];
	struct terminal screen = terminal_of(STDOUT_FILENO);
	struct layout l;

	if (r->n == 0)
		return;
	layout_fit(
	    &l, column, ARRAY_LEN(column), screen.is ? screen.columns : COLUMNS_PIPED);
	printf("\n");
	layout_row(&l, stdout, head, plain);
	for (size_t i = 0; i < r->n; i++)
		put_row(&l, &r->row[i]);
	for (size_t i = 0; i < r->n; i++)
		if (r->row[i].policy != NULL && is_left(&r->row[i]))
			put_left(&r->row[i]);
}
