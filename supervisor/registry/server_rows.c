/*
 * Lists of servers: rows as plain texts, each with the memory of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/registry/private.h"
#include "supervisor/registry/registry.h"

const char *
row_source_name(enum row_source source)
{
	static const char *const names[FROM_N] = {[FROM_POLICY] = "policy",
	    [FROM_FILE] = "file",
	    [FROM_PERSON] = "person",
	    [FROM_AGENT] = "agent"};

	return (size_t)source < ARRAY_LEN(names) ? names[source] : "unknown";
}

void
row_texts(struct server_row *row, const char **text[ROW_TEXTS])
{
	const char **all[ROW_TEXTS] = {&row->name, &row->scope, &row->transport,
	    &row->command, &row->args_json, &row->url, &row->headers_json, &row->env_json,
	    &row->auth_type, &row->auth_ref, &row->note, &row->discovery_status,
	    &row->protocol, &row->policy_server};

	memcpy(text, all, sizeof(all));
}

int
texts_copy(const char **text[], size_t n, char **ret_own)
{
	size_t len = 1;
	char *to;

	for (size_t i = 0; i < n; i++)
		len += *text[i] != NULL ? strlen(*text[i]) + 1 : 0;
	if ((to = malloc(len)) == NULL)
		return -ENOMEM;
	*ret_own = to;
	for (size_t i = 0; i < n; i++) {
		if (*text[i] == NULL)
			continue;
		len = strlen(*text[i]) + 1;
		memcpy(to, *text[i], len);
		*text[i] = to;
		to += len;
	}
	return 0;
}

int
server_row_copy(const struct server_row *from, struct server_row *ret)
{
	struct server_row row = *from;
	const char **text[ROW_TEXTS];
	int r;

	row_texts(&row, text);
	r = texts_copy(text, ROW_TEXTS, &row.own);
	if (r == 0)
		*ret = row;
	return r;
}

int
server_rows_add(struct server_rows *rows, struct server_row row)
{
	/* doubled at each power of two */
	if ((rows->n & (rows->n - 1)) == 0) {
		size_t cap = rows->n == 0 ? 1 : 2 * rows->n;
		struct server_row *more = reallocarray(rows->row, cap, sizeof(*more));

		if (more == NULL) {
			free(row.own);
			return -ENOMEM;
		}
		rows->row = more;
	}
	rows->row[rows->n++] = row;
	return 0;
}

static int
by_scope_and_name(const void *a, const void *b)
{
	const struct server_row *x = a, *y = b;
	int d = strcmp(y->scope, x->scope); /* "user" before "global" */

	return d != 0 ? d : strcmp(x->name, y->name);
}

void
server_rows_sort(struct server_rows *rows)
{
	if (rows->n > 0)
		qsort(rows->row, rows->n, sizeof(rows->row[0]), by_scope_and_name);
}

void
server_rows_free(struct server_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++)
		free(rows->row[i].own);
	free(rows->row);
	*rows = (struct server_rows){NULL, 0};
}
