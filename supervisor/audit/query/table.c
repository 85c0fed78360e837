/*
 * Prints rows for people and for programs; the only printer of answers. Every format
 * begins with the size and the root of the log that the answer is about, so that
 * anyone can repeat the query.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "supervisor/audit/query/query.h"

#define ID_SHOWN 12 /* digits of an id in text output */

const char *
sheet_time(uint64_t ns, int decimals, char out[SHEET_TIME_MAX])
{
	time_t s = (time_t)(ns / NS_PER_S);
	char date[32];
	struct tm tm;

	if (gmtime_r(&s, &tm) == NULL ||
	    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		(void)snprintf(out, SHEET_TIME_MAX, "%" PRIu64, ns);
	else if (decimals == 3)
		(void)snprintf(out, SHEET_TIME_MAX, "%s.%03uZ", date,
		    (unsigned int)(ns % NS_PER_S / 1000000));
	else
		(void)snprintf(
		    out, SHEET_TIME_MAX, "%s.%09uZ", date, (unsigned int)(ns % NS_PER_S));
	return out;
}

void
sheet_hex(char out[2 * MERKLE_HASH_LEN + 1], const uint8_t hash[MERKLE_HASH_LEN])
{
	for (size_t i = 0; i < MERKLE_HASH_LEN; i++)
		(void)snprintf(out + 2 * i, 3, "%02x", hash[i]);
}

static bool
is_right(const struct column *c) /* numbers are right-aligned */
{
	return c->cell == CELL_NUMBER || c->cell == CELL_US;
}

/* ---- the head ---------------------------------------------------------------- */

static void
print_asked(const struct question *q, FILE *out, void (*inert)(FILE *, const char *))
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
	};
	char time[SHEET_TIME_MAX];

	inert(out, q->verb);
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		if (row[i].value == NULL)
			continue;
		fprintf(out, " --%s ", row[i].name);
		inert(out, row[i].value);
	}
	if (q->from_given)
		fprintf(out, " --from %s", sheet_time(q->from_ns, 9, time));
	if (q->to_given)
		fprintf(out, " --to %s", sheet_time(q->to_ns, 9, time));
	if (q->last_n > 0)
		fprintf(out, " -n %" PRIu64, q->last_n);
	if (q->days > 0)
		fprintf(out, " --days %" PRIu64, q->days);
	for (int i = 0; i < q->argc; i++) {
		(void)fputc(' ', out);
		inert(out, q->argv[i]);
	}
}

static void
head_text(const struct sheet *sheet, const struct question *q, const struct book *book)
{
	char root[2 * MERKLE_HASH_LEN + 1];

	sheet_hex(root, book->root);
	fprintf(sheet->out, "# kennel audit ");
	print_asked(q, sheet->out, sheet->form == FORM_CSV ? inert_csv : inert_text);
	fprintf(sheet->out, "\n# log of %" PRIu64 " records, root %s, %s\n", book->size,
	    root,
	    !book->verified  ? "not verified"
	    : book->complete ? "verified"
			     : "verified, but truncation of the end cannot be ruled out");
}

static void
head_json(const struct sheet *sheet, const struct question *q, const struct book *book)
{
	char root[2 * MERKLE_HASH_LEN + 1];

	sheet_hex(root, book->root);
	fprintf(sheet->out, "{\"kennel_audit\":\"");
	print_asked(q, sheet->out, inert_json);
	fprintf(sheet->out,
	    "\",\"size\":%" PRIu64 ",\"root\":\"%s\",\"verified\":%s,\"complete\":%s}\n",
	    book->size, root, book->verified ? "true" : "false",
	    book->verified && book->complete ? "true" : "false");
}

static void
head_columns(const struct sheet *sheet)
{
	FILE *out = sheet->out;

	if (sheet->form == FORM_HTML)
		fprintf(out, "<table><thead><tr>");
	for (size_t i = 0; i < sheet->column_n; i++) {
		const struct column *c = &sheet->column[i];
		bool last = i + 1 == sheet->column_n;

		if (sheet->form == FORM_CSV)
			fprintf(out, "%s%s", c->name, last ? "\r\n" : ",");
		else if (sheet->form == FORM_HTML)
			fprintf(out, "<th class=\"c%d\">%s</th>", (int)c->cell, c->name);
		else if (last)
			fprintf(out, "%s\n", c->name);
		else
			fprintf(
			    out, "%*s  ", is_right(c) ? c->width : -c->width, c->name);
	}
	if (sheet->form == FORM_HTML)
		fprintf(out, "</tr></thead><tbody>\n");
}

void
sheet_begin(struct sheet *sheet, const struct question *q, const struct book *book,
    const struct column *column, size_t column_n)
{
	sheet->column = column;
	sheet->column_n = column_n;
	sheet->bare = q->bare;
	sheet->most = q->most_rows;
	sheet->verb = q->verb;
	sheet->at = 0;
	sheet->rows = 0;
	if (!sheet->bare && sheet->form == FORM_JSON)
		head_json(sheet, q, book);
	else if (!sheet->bare && sheet->form != FORM_HTML)
		head_text(sheet, q, book);
	if (sheet->form == FORM_CSV || sheet->form == FORM_HTML ||
	    (sheet->form == FORM_TEXT && !sheet->bare))
		head_columns(sheet);
}

/* ---- fields ------------------------------------------------------------------- */

/* A page holds a limited number of rows; further rows are only counted. */
static bool
skip_cell(struct sheet *sheet)
{
	if (sheet->most == 0 || sheet->rows < sheet->most)
		return false;
	if (++sheet->at == sheet->column_n) {
		sheet->at = 0;
		sheet->rows++;
	}
	return true;
}

static void
before_cell(const struct sheet *sheet)
{
	const struct column *c = &sheet->column[sheet->at];

	if (sheet->form == FORM_JSON)
		fprintf(sheet->out, "%s\"%s\":", sheet->at == 0 ? "{" : ",", c->name);
	else if (sheet->form == FORM_CSV && sheet->at > 0)
		(void)fputc(',', sheet->out);
	else if (sheet->form == FORM_HTML)
		fprintf(sheet->out, "%s<td class=\"c%d\">", sheet->at == 0 ? "<tr>" : "",
		    (int)c->cell);
}

/* shown: terminal columns used by the field. */
static void
after_cell(struct sheet *sheet, int shown)
{
	static const char *const end[] = {[FORM_TEXT] = "\n",
	    [FORM_JSON] = "}\n",
	    [FORM_CSV] = "\r\n",
	    [FORM_HTML] = "</tr>\n"};
	const struct column *c = &sheet->column[sheet->at];
	bool last = ++sheet->at == sheet->column_n;

	if (sheet->form == FORM_HTML)
		fprintf(sheet->out, "</td>");
	if (is_right(c) || shown > c->width)
		shown = c->width;
	if (sheet->form == FORM_TEXT && !last)
		fprintf(sheet->out, "%*s", c->width - shown + 2, "");
	if (!last)
		return;
	fprintf(sheet->out, "%s", end[sheet->form]);
	sheet->at = 0;
	sheet->rows++;
}

/* Number of terminal columns that inert_text uses. */
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
colour_of(const struct sheet *sheet, const char *text)
{
	static const struct {
		const char *verdict, *colour;
	} row[] = {{"allow", "\x1b[32m"}, {"ask", "\x1b[33m"}, {"deny", "\x1b[31m"},
	    {"killed", "\x1b[1;31m"}};

	for (size_t i = 0; sheet->colour && i < ARRAY_LEN(row); i++) {
		if (sheet->column[sheet->at].cell == CELL_VERDICT &&
		    strcmp(row[i].verdict, text) == 0)
			return row[i].colour;
	}
	return NULL;
}

static void
put_inert(struct sheet *sheet, const char *text)
{
	const char *colour = colour_of(sheet, text);
	static void (*const inert[])(FILE *, const char *) = {[FORM_TEXT] = inert_text,
	    [FORM_JSON] = inert_json,
	    [FORM_CSV] = inert_csv,
	    [FORM_HTML] = inert_html};
	const char *quote =
	    sheet->form == FORM_JSON || sheet->form == FORM_CSV ? "\"" : "";

	fprintf(sheet->out, "%s%s", quote, colour != NULL ? colour : "");
	inert[sheet->form](sheet->out, text);
	fprintf(sheet->out, "%s%s", quote, colour != NULL ? "\x1b[0m" : "");
}

void
sheet_none(struct sheet *sheet)
{
	static const char *const none[] = {[FORM_TEXT] = "-",
	    [FORM_JSON] = "null",
	    [FORM_CSV] = "",
	    [FORM_HTML] = "<span class=\"none\">-</span>"};
	const struct column *c = &sheet->column[sheet->at];

	if (skip_cell(sheet))
		return;
	before_cell(sheet);
	if (sheet->form == FORM_TEXT && is_right(c))
		fprintf(sheet->out, "%*s", c->width, "-");
	else
		fprintf(sheet->out, "%s", none[sheet->form]);
	after_cell(sheet, 1);
}

void
sheet_text(struct sheet *sheet, const char *text)
{
	const struct column *c = &sheet->column[sheet->at];
	bool people = sheet->form == FORM_TEXT || sheet->form == FORM_HTML;
	char cut[ID_SHOWN + 1];

	if (text == NULL) {
		sheet_none(sheet);
		return;
	}
	if (skip_cell(sheet))
		return;
	if (people && c->cell == CELL_ID && strlen(text) > ID_SHOWN) {
		memcpy(cut, text, ID_SHOWN);
		cut[ID_SHOWN] = '\0';
		text = cut;
	}
	before_cell(sheet);
	if (sheet->form == FORM_HTML && c->cell == CELL_VERDICT)
		fprintf(sheet->out, "<b class=\"v%c\">",
		    text[0] >= 'a' && text[0] <= 'z' ? text[0] : 'x');
	put_inert(sheet, text);
	if (sheet->form == FORM_HTML && c->cell == CELL_VERDICT)
		fprintf(sheet->out, "</b>");
	after_cell(sheet, shown_len(text));
}

static void
print_us(const struct sheet *sheet, uint64_t us, int width)
{
	char text[32];

	if (us < 10000)
		(void)snprintf(text, sizeof(text), "%" PRIu64 " us", us);
	else if (us < 10000000)
		(void)snprintf(text, sizeof(text), "%" PRIu64 " ms", us / 1000);
	else
		(void)snprintf(text, sizeof(text), "%" PRIu64 " s", us / 1000000);
	fprintf(sheet->out, "%*s", width, text);
}

void
sheet_number(struct sheet *sheet, uint64_t number)
{
	const struct column *c = &sheet->column[sheet->at];
	bool people = sheet->form == FORM_TEXT || sheet->form == FORM_HTML;
	int width = sheet->form == FORM_TEXT ? c->width : 0;
	char time[SHEET_TIME_MAX];
	int shown = width;

	if (skip_cell(sheet))
		return;
	before_cell(sheet);
	if (c->cell == CELL_TIME) {
		const char *quote = sheet->form == FORM_JSON ? "\"" : "";

		(void)sheet_time(number, people ? 3 : 9, time);
		shown = (int)strlen(time);
		fprintf(sheet->out, "%s%s%s", quote, time, quote);
	} else if (c->cell == CELL_US && people) {
		print_us(sheet, number, width);
	} else {
		fprintf(sheet->out, "%*" PRIu64, width, number);
	}
	after_cell(sheet, shown);
}

/* A list is one field: texts separated by commas, each quoted if necessary. In JSON
 * it is a list. */
static void
put_list(struct sheet *sheet, const struct fact_field *field)
{
	char all[STORY_MAX];
	size_t len = 0;

	if (sheet->form == FORM_JSON) {
		before_cell(sheet);
		for (size_t i = 0; i < field->n; i++) {
			(void)fputc(i == 0 ? '[' : ',', sheet->out);
			put_inert(sheet, fact_item(field, i));
		}
		(void)fputc(']', sheet->out);
		after_cell(sheet, 0);
		return;
	}
	all[0] = '\0';
	for (size_t i = 0; i < field->n && len < sizeof(all); i++)
		len += (size_t)snprintf(all + len, sizeof(all) - len, "%s%s",
		    i == 0 ? "" : ", ", fact_item(field, i));
	sheet_text(sheet, all);
}

void
sheet_field(struct sheet *sheet, const struct fact *fact, const char *key)
{
	const struct fact_field *field = fact_find(fact, key);

	if (field == NULL)
		sheet_none(sheet);
	else if (field->text == NULL)
		sheet_number(sheet, field->number);
	else if (field->n > 1)
		put_list(sheet, field);
	else
		sheet_text(sheet, field->text);
}

int
sheet_end(struct sheet *sheet)
{
	if (sheet->form == FORM_HTML)
		fprintf(sheet->out, "</tbody></table>\n");
	if (sheet->most > 0 && sheet->rows > sheet->most)
		fprintf(sheet->out,
		    "<p class=\"none\">and %" PRIu64
		    " more: run \"kennel audit %s\"</p>\n",
		    sheet->rows - sheet->most, sheet->verb);
	if (sheet->rows == 0 && sheet->form == FORM_HTML)
		fprintf(sheet->out, "<p class=\"none\">none recorded</p>\n");
	if (sheet->rows == 0 && sheet->form == FORM_TEXT && !sheet->bare)
		fprintf(sheet->out, "# none recorded\n");
	return ferror(sheet->out) ? -EPIPE : 0;
}
