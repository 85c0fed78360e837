/*
 * Prints rows for people and for programs; the only printer of answers. Every format
 * begins with the size and the root of the log that the answer is about, so that
 * anyone can repeat the query.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "shim/base/hex.h"
#include "supervisor/audit/log/merkle.h"
#include "supervisor/audit/query/describe.h"
#include "supervisor/audit/query/escape.h"
#include "supervisor/audit/query/log_view.h"
#include "supervisor/audit/query/options.h"
#include "supervisor/audit/query/record.h"
#include "supervisor/audit/query/table.h"
#include "supervisor/base/layout.h"
#include "supervisor/base/terminal.h"

#define ID_SHOWN       12 /* digits of an id in text output */
#define ID_ON_TERMINAL 8
#define TEXT_LEAST     8  /* columns that a text may shrink to */
#define RULE_LEAST     24 /* ... and a path with a line */
#define REST_LEAST     40

static bool
is_right(const struct column *c) /* numbers are right-aligned */
{
	return c->cell == CELL_NUMBER || c->cell == CELL_US;
}

/* ---- the head ---------------------------------------------------------------- */

static void
print_asked(const struct query *q, FILE *out, void (*inert)(FILE *, const char *))
{
	const struct {
		const char *name, *value;
	} row[] = {
	    {"server", q->server},
	    {"kind", q->kind},
	    {"verdict", q->verdict},
	    {"session", q->session},
	    {"tool", q->tool},
	    {"rule", q->rule},
	    {"control", q->control},
	    {"seed", q->seed},
	    {"contains", q->contains},
	};
	char time[DESCRIBE_TIME_MAX];

	inert(out, q->verb);
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		if (row[i].value == NULL)
			continue;
		fprintf(out, " --%s ", row[i].name);
		inert(out, row[i].value);
	}
	if (q->from_given)
		fprintf(out, " --from %s", describe_time(q->from_ns, 9, time));
	if (q->to_given)
		fprintf(out, " --to %s", describe_time(q->to_ns, 9, time));
	if (q->first > 0)
		fprintf(out, " --after %" PRIu64, q->first - 1);
	if (q->beyond > 0)
		fprintf(out, " --before %" PRIu64, q->beyond);
	if (q->last_n + q->last_rows > 0) /* a verb has one of them */
		fprintf(out, " -n %" PRIu64, q->last_n + q->last_rows);
	if (q->days > 0)
		fprintf(out, " --days %" PRIu64, q->days);
	if (q->absent)
		fprintf(out, " --absent");
	for (int i = 0; i < q->argc; i++) {
		(void)fputc(' ', out);
		inert(out, q->argv[i]);
	}
}

static void
head_text(const struct table *table, const struct query *q, const struct log_view *view)
{
	char root[2 * MERKLE_HASH_LEN + 1];

	fprintf(table->out, "# kennel audit ");
	print_asked(q, table->out, table->form == FORM_CSV ? escape_csv : escape_text);
	fprintf(table->out, "\n# log of %" PRIu64 " records, root %s, %s\n", view->size,
	    hex_put(root, view->root, sizeof(view->root)),
	    !view->verified  ? "not verified"
	    : view->complete ? "verified"
			     : "verified, but truncation of the end cannot be ruled out");
	if (table->row != NULL)
		fprintf(table->out, "# times are local\n");
}

static void
head_json(const struct table *table, const struct query *q, const struct log_view *view)
{
	char root[2 * MERKLE_HASH_LEN + 1];

	(void)hex_put(root, view->root, sizeof(view->root));
	fprintf(table->out, "{\"kennel_audit\":\"");
	print_asked(q, table->out, escape_json);
	fprintf(table->out,
	    "\",\"size\":%" PRIu64 ",\"root\":\"%s\",\"verified\":%s,\"complete\":%s}\n",
	    view->size, root, view->verified ? "true" : "false",
	    view->verified && view->complete ? "true" : "false");
}

/* ---- on a terminal ------------------------------------------------------------- */

/* Ids and times are never wider on a terminal. */
static int
least_of(const struct column *c)
{
	int least = c->width;

	if (c->width == 0)
		return REST_LEAST;
	if (c->cell == CELL_TEXT)
		least = strcmp(c->name, "rule") == 0 ? RULE_LEAST : TEXT_LEAST;
	else if (c->cell == CELL_ID || c->cell == CELL_SESSION)
		least = ID_ON_TERMINAL;
	else if (c->cell == CELL_TIME)
		least = TERMINAL_TIME_LEN;
	return least < c->width ? least : c->width;
}

/* Without memory for it, rows are printed as they are elsewhere. */
static void
begin_layout(struct table *table)
{
	struct layout_column column[LAYOUT_MAX];

	if (!table->terminal.is || table->form != FORM_TEXT ||
	    table->column_n > LAYOUT_MAX)
		return;
	for (size_t i = 0; i < table->column_n; i++) {
		const struct column *c = &table->column[i];
		int least = least_of(c);
		bool stretches = c->cell == CELL_TEXT || is_right(c);

		column[i] = (struct layout_column){.width = stretches ? c->width : least,
		    .least = least,
		    .right = is_right(c)};
	}
	layout_fit(&table->layout, column, table->column_n, table->terminal.columns);
	table->row = open_memstream(&table->row_text, &table->row_len);
}

static void
end_layout(struct table *table)
{
	if (table->row != NULL)
		(void)fclose(table->row); /* nothing is in it */
	table->row = NULL;
	free(table->row_text);
	table->row_text = NULL;
}

/* Where the fields of a row go. */
static FILE *
cell_out(const struct table *table)
{
	return table->row != NULL ? table->row : table->out;
}

static void
begin_laid_out(struct table *table)
{
	(void)fflush(
	    table->row); /* so that row_len is right; the end of the row checks */
	table->start[table->at] = table->row_len;
	table->colour[table->at] = NULL;
}

static void
end_laid_out(struct table *table)
{
	const char *text[LAYOUT_MAX];

	(void)fputc('\0', table->row);
	if (++table->at < table->column_n)
		return;
	table->at = 0;
	table->rows++;
	if (fflush(table->row) == 0) {
		for (size_t i = 0; i < table->column_n; i++)
			text[i] = table->row_text + table->start[i];
		layout_row(&table->layout, table->out, text, table->colour);
	} else {
		fprintf(table->out, "# not enough memory to show a row\n");
	}
	end_layout(table);
	table->row = open_memstream(&table->row_text, &table->row_len);
}

static void
head_laid_out(const struct table *table)
{
	const char *text[LAYOUT_MAX], *colour[LAYOUT_MAX];

	for (size_t i = 0; i < table->column_n; i++) {
		text[i] = table->column[i].name;
		colour[i] = table->terminal.colour ? "\x1b[1m" : NULL;
	}
	layout_row(&table->layout, table->out, text, colour);
}

/* ---- the columns' names --------------------------------------------------------- */

static void
head_columns(const struct table *table)
{
	FILE *out = table->out;

	if (table->row != NULL) {
		head_laid_out(table);
		return;
	}
	if (table->form == FORM_HTML)
		fprintf(out, "<table><thead><tr>");
	for (size_t i = 0; i < table->column_n; i++) {
		const struct column *c = &table->column[i];
		bool last = i + 1 == table->column_n;

		if (table->form == FORM_CSV)
			fprintf(out, "%s%s", c->name, last ? "\r\n" : ",");
		else if (table->form == FORM_HTML)
			fprintf(out, "<th class=\"c%d\">%s</th>", (int)c->cell, c->name);
		else if (last)
			fprintf(out, "%s\n", c->name);
		else
			fprintf(
			    out, "%*s  ", is_right(c) ? c->width : -c->width, c->name);
	}
	if (table->form == FORM_HTML)
		fprintf(out, "</tr></thead><tbody>\n");
}

/* The head, before the first row or at the end: a query that fails prints none. */
static void
begin_rows(struct table *table)
{
	if (table->q == NULL)
		return;
	if (!table->bare && table->form == FORM_JSON)
		head_json(table, table->q, table->view);
	else if (!table->bare && table->form != FORM_HTML)
		head_text(table, table->q, table->view);
	if (table->form == FORM_CSV || table->form == FORM_HTML ||
	    (table->form == FORM_TEXT && !table->bare))
		head_columns(table);
	table->q = NULL;
}

FILE *
table_out(struct table *table)
{
	begin_rows(table);
	return table->out;
}

void
table_begin(struct table *table, const struct query *q, const struct log_view *view,
    const struct column *column, size_t column_n)
{
	table->column = column;
	table->column_n = column_n;
	table->bare = q->bare;
	table->most = q->most_rows;
	table->verb = q->verb;
	table->at = 0;
	table->rows = 0;
	memset(table->left_out, 0, sizeof(table->left_out));
	table->q = q;
	table->view = view;
	begin_layout(table);
	if (table->form == FORM_HTML)
		begin_rows(table);
}

/* ---- fields ------------------------------------------------------------------- */

/* A page holds a limited number of rows; further rows are only counted, as are those
 * before the last ones that -n asks for. */
static bool
skip_cell(struct table *table)
{
	if (table->rows >= table->skip && (table->most == 0 || table->rows < table->most))
		return false;
	if (++table->at == table->column_n) {
		table->at = 0;
		table->rows++;
	}
	return true;
}

static void
before_cell(struct table *table)
{
	const struct column *c = &table->column[table->at];

	begin_rows(table);
	if (table->row != NULL)
		begin_laid_out(table);
	else if (table->form == FORM_JSON)
		fprintf(table->out, "%s\"%s\":", table->at == 0 ? "{" : ",", c->name);
	else if (table->form == FORM_CSV && table->at > 0)
		(void)fputc(',', table->out);
	else if (table->form == FORM_HTML)
		fprintf(table->out, "%s<td class=\"c%d\">", table->at == 0 ? "<tr>" : "",
		    (int)c->cell);
}

/* shown: terminal columns used by the field. */
static void
after_cell(struct table *table, int shown)
{
	static const char *const end[] = {[FORM_TEXT] = "\n",
	    [FORM_JSON] = "}\n",
	    [FORM_CSV] = "\r\n",
	    [FORM_HTML] = "</tr>\n"};
	const struct column *c = &table->column[table->at];
	bool last = table->at + 1 == table->column_n;

	if (table->row != NULL) {
		end_laid_out(table);
		return;
	}
	table->at++;
	if (table->form == FORM_HTML)
		fprintf(table->out, "</td>");
	if (is_right(c) || shown > c->width)
		shown = c->width;
	if (table->form == FORM_TEXT && !last)
		fprintf(table->out, "%*s", c->width - shown + 2, "");
	if (!last)
		return;
	fprintf(table->out, "%s", end[table->form]);
	table->at = 0;
	table->rows++;
}

/* Number of terminal columns that escape_text uses. */
static int
shown_len(const char *text)
{
	int n = 0;

	for (; *text != '\0' && n < 4096; text++) {
		uint8_t c = (uint8_t)*text;

		n += c >= 0x20 && c < 0x7f && c != '\\' ? 1 : 4;
	}
	return n;
}

/* Refusals are highlighted. */
static const char *
colour_of(const struct table *table, const char *text)
{
	static const struct {
		const char *verdict, *colour;
	} row[] = {{"allow", "\x1b[32m"}, {"ask", "\x1b[33m"}, {"deny", "\x1b[31m"},
	    {"killed", "\x1b[1;31m"}};

	for (size_t i = 0; table->terminal.colour && i < ARRAY_LEN(row); i++) {
		if (table->column[table->at].cell == CELL_VERDICT &&
		    strcmp(row[i].verdict, text) == 0)
			return row[i].colour;
	}
	return NULL;
}

static void
put_inert(struct table *table, const char *text)
{
	static void (*const inert[])(FILE *, const char *) = {[FORM_TEXT] = escape_text,
	    [FORM_JSON] = escape_json,
	    [FORM_CSV] = escape_csv,
	    [FORM_HTML] = escape_html};
	const char *quote =
	    table->form == FORM_JSON || table->form == FORM_CSV ? "\"" : "";

	fprintf(cell_out(table), "%s", quote);
	inert[table->form](cell_out(table), text);
	fprintf(cell_out(table), "%s", quote);
	if (table->row != NULL)
		table->colour[table->at] = colour_of(table, text);
}

bool
table_shown(const struct table *table)
{
	return table->rows > table->skip;
}

void
table_none(struct table *table)
{
	static const char *const none[] = {[FORM_TEXT] = "-",
	    [FORM_JSON] = "null",
	    [FORM_CSV] = "",
	    [FORM_HTML] = "<span class=\"none\">-</span>"};
	const struct column *c = &table->column[table->at];

	if (skip_cell(table))
		return;
	before_cell(table);
	if (table->form == FORM_TEXT && is_right(c) && table->row == NULL)
		fprintf(table->out, "%*s", c->width, "-");
	else
		fprintf(cell_out(table), "%s", none[table->form]);
	after_cell(table, 1);
}

void
table_text(struct table *table, const char *text)
{
	const struct column *c = &table->column[table->at];
	bool people = table->form == FORM_TEXT || table->form == FORM_HTML;
	char cut[ID_SHOWN + 1];

	if (text == NULL) {
		table_none(table);
		return;
	}
	if (skip_cell(table))
		return;
	if ((people && c->cell == CELL_ID) ||
	    (table->row != NULL && c->cell == CELL_SESSION)) {
		(void)snprintf(cut, sizeof(cut), "%.*s",
		    table->row != NULL ? ID_ON_TERMINAL : ID_SHOWN, text);
		text = cut;
	}
	before_cell(table);
	if (table->form == FORM_HTML && c->cell == CELL_VERDICT)
		fprintf(table->out, "<b class=\"v%c\">",
		    text[0] >= 'a' && text[0] <= 'z' ? text[0] : 'x');
	put_inert(table, text);
	if (table->form == FORM_HTML && c->cell == CELL_VERDICT)
		fprintf(table->out, "</b>");
	after_cell(table, shown_len(text));
}

static void
print_us(const struct table *table, uint64_t us, int width)
{
	char text[DESCRIBE_TIME_MAX];

	fprintf(cell_out(table), "%*s", width, describe_duration(us, text));
}

void
table_number(struct table *table, uint64_t number)
{
	const struct column *c = &table->column[table->at];
	bool people = table->form == FORM_TEXT || table->form == FORM_HTML;
	int width = table->form == FORM_TEXT && table->row == NULL ? c->width : 0;
	char time[DESCRIBE_TIME_MAX];
	int shown = width;

	if (skip_cell(table))
		return;
	before_cell(table);
	if (c->cell == CELL_TIME) {
		const char *quote = table->form == FORM_JSON ? "\"" : "";

		(void)(table->row != NULL ? terminal_time(number, time)
					  : describe_time(number, people ? 3 : 9, time));
		shown = (int)strlen(time);
		fprintf(cell_out(table), "%s%s%s", quote, time, quote);
	} else if (c->cell == CELL_US && people) {
		print_us(table, number, width);
	} else {
		fprintf(cell_out(table), "%*" PRIu64, width, number);
	}
	after_cell(table, shown);
}

/* A list is one field: texts separated by commas, each quoted if necessary. In JSON
 * it is a list. */
static void
put_list(struct table *table, const struct log_record_field *field)
{
	char all[DESCRIBE_MAX];
	size_t len = 0;

	if (table->form == FORM_JSON) {
		before_cell(table);
		for (size_t i = 0; i < field->n; i++) {
			(void)fputc(i == 0 ? '[' : ',', table->out);
			put_inert(table, log_record_item(field, i));
		}
		(void)fputc(']', table->out);
		after_cell(table, 0);
		return;
	}
	all[0] = '\0';
	for (size_t i = 0; i < field->n && len < sizeof(all); i++)
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s",
		    i == 0 ? "" : ", ", log_record_item(field, i));
	table_text(table, all);
}

void
table_field(struct table *table, const struct log_record *record, const char *key)
{
	const struct log_record_field *field = log_record_find(record, key);

	if (field == NULL)
		table_none(table);
	else if (field->text == NULL)
		table_number(table, field->number);
	else if (field->n > 1)
		put_list(table, field);
	else
		table_text(table, field->text);
}

void
table_left_out(struct table *table, const char *what, uint64_t n)
{
	size_t at =
	    table->left_out[0].what == NULL || strcmp(table->left_out[0].what, what) == 0
		? 0
		: 1;

	table->left_out[at].what = what;
	table->left_out[at].n = n;
}

/* A number below the rows tells a reader that the answer is not everything. */
static void
print_left_out(const struct table *table)
{
	bool html = table->form == FORM_HTML;

	if (table->bare || (!html && table->form != FORM_TEXT))
		return;
	for (size_t i = 0; i < ARRAY_LEN(table->left_out); i++)
		if (table->left_out[i].n > 0)
			fprintf(table->out, "%s%s %" PRIu64 "%s\n",
			    html ? "<p class=\"none\">" : "# ", table->left_out[i].what,
			    table->left_out[i].n, html ? "</p>" : "");
}

int
table_end(struct table *table, bool failed)
{
	if (!failed)
		begin_rows(table);
	if (table->form == FORM_HTML)
		fprintf(table->out, "</tbody></table>\n");
	if (table->most > 0 && table->rows > table->most)
		fprintf(table->out,
		    "<p class=\"none\">and %" PRIu64
		    " more: run \"kennel audit %s\"</p>\n",
		    table->rows - table->most, table->verb);
	if (!failed && table->rows == 0 && table->form == FORM_HTML)
		fprintf(table->out, "<p class=\"none\">none recorded</p>\n");
	if (!failed && table->rows == 0 && table->form == FORM_TEXT && !table->bare)
		fprintf(table->out, "# none recorded\n");
	if (!failed)
		print_left_out(table);
	end_layout(table);
	return ferror(table->out) ? -EPIPE : 0;
}
