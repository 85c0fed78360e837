/*
 * Charts of a report, as inline SVG. Colours and fonts come from the page's style;
 * each shape has a title with its number.
 */
#include <inttypes.h>
#include <string.h>

#include "shim/base/array.h"
#include "shim/base/loop.h"
#include "supervisor/audit/query/describe.h"
#include "supervisor/audit/query/escape.h"
#include "supervisor/audit/query/group.h"
#include "supervisor/audit/query/table.h"
#include "supervisor/audit/report/report.h"

enum { WIDTH = 720, LEFT = 52, RIGHT = 12, PLOT = WIDTH - LEFT - RIGHT };
enum { TIME_HEIGHT = 200, TIME_BASE = 168, TIME_TOP = 16 };
enum { ROW = 26, NAME = 250, BAR = WIDTH - NAME - 90 };
enum { ROWS_MAX = 16 };

static void
begin(FILE *out, int height, const char *what)
{
	fprintf(out,
	    "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\" "
	    "xmlns=\"http://www.w3.org/2000/svg\">\n",
	    WIDTH, height, what);
}

static void
end(FILE *out)
{
	fprintf(out, "</svg>\n");
}

static void
nothing(FILE *out, const char *what)
{
	begin(out, 60, what);
	fprintf(
	    out, "<text class=\"quiet\" x=\"%d\" y=\"36\">none recorded</text>\n", LEFT);
	end(out);
}

static void
text_at(FILE *out, int x, int y, const char *class, const char *text)
{
	fprintf(out, "<text class=\"%s\" x=\"%d\" y=\"%d\">", class, x, y);
	escape_html(out, text);
	fprintf(out, "</text>\n");
}

static void
number_at(FILE *out, int x, int y, const char *class, uint64_t number)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, number);
	text_at(out, x, y, class, text);
}

static void
bar(FILE *out, const char *class, int x, int y, int w, int h, uint64_t n,
    const char *what)
{
	if (n == 0)
		return;
	fprintf(out,
	    "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\">"
	    "<title>%" PRIu64 " %s</title></rect>\n",
	    class, x, y, w > 0 ? w : 1, h > 0 ? h : 1, n, what);
}

/* A round number not below n whose quarters are round as well. */
static uint64_t
round_up(uint64_t n)
{
	static const unsigned int step[] = {4, 8, 12, 20, 32};
	uint64_t scale = 1;

	for (;; scale *= 10) {
		for (size_t i = 0; i < ARRAY_LEN(step); i++) {
			if (step[i] * scale >= n)
				return step[i] * scale;
		}
	}
}

static void
grid(FILE *out, uint64_t top)
{
	for (int i = 0; i <= 4; i++) {
		int y = TIME_BASE - (TIME_BASE - TIME_TOP) * i / 4;

		fprintf(out,
		    "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n",
		    LEFT, WIDTH - RIGHT, y, y);
		number_at(out, LEFT - 6, y + 4, "right", top * (uint64_t)i / 4);
	}
}

/* ---- over time ---------------------------------------------------------------------- */

/* "11-22 01:33"; within one minute also the seconds. */
static void
time_label(FILE *out, const struct figures *f, uint64_t ts, int x, const char *class)
{
	char time[DESCRIBE_TIME_MAX], label[DESCRIBE_TIME_MAX];
	bool fine = f->last_ts - f->first_ts < 600 * NS_PER_S;

	(void)describe_time(ts, 3, time);
	(void)snprintf(
	    label, sizeof(label), "%.*s", fine ? 12 : 11, time + (fine ? 11 : 5));
	if (strchr(label, 'T') != NULL)
		*strchr(label, 'T') = ' ';
	text_at(out, x, TIME_BASE + 20, class, label);
}

void
svg_time(FILE *out, const struct figures *f)
{
	uint64_t most = 1, top;
	const int w = PLOT / FIGURES_BUCKETS;

	for (size_t i = 0; i < FIGURES_BUCKETS; i++) {
		if (f->done[i] + f->denied[i] > most)
			most = f->done[i] + f->denied[i];
	}
	if (f->records == 0) {
		nothing(out, "events over time");
		return;
	}
	top = round_up(most);
	begin(out, TIME_HEIGHT, "events allowed and denied over time");
	grid(out, top);
	for (size_t i = 0; i < FIGURES_BUCKETS; i++) {
		const uint64_t height = TIME_BASE - TIME_TOP;
		int allowed = (int)(f->done[i] * height / top);
		int denied = (int)(f->denied[i] * height / top);
		int x = LEFT + (int)i * PLOT / FIGURES_BUCKETS;

		bar(out, "allow", x, TIME_BASE - allowed, w - 2, allowed, f->done[i],
		    "allowed");
		if (f->denied[i] > 0 && denied == 0)
			denied = 2; /* keep every refusal visible */
		bar(out, "deny", x, TIME_BASE - allowed - denied, w - 2, denied,
		    f->denied[i], "denied");
	}
	bar(out, "allow", WIDTH - 150, 2, 10, 10, 1, "allowed");
	text_at(out, WIDTH - 136, 11, "left", "allowed");
	bar(out, "deny", WIDTH - 74, 2, 10, 10, 1, "denied");
	text_at(out, WIDTH - 60, 11, "left", "denied");
	time_label(out, f, f->first_ts, LEFT, "left");
	time_label(out, f, f->first_ts + (f->last_ts - f->first_ts) / 2, LEFT + PLOT / 2,
	    "middle");
	time_label(out, f, f->last_ts, WIDTH - RIGHT, "right");
	end(out);
}

/* ---- rows with a bar ------------------------------------------------------------------ */

struct row {
	const char *name;
	uint64_t n, denied;
};

static void
put_row(FILE *out, int y, const struct row *row, uint64_t most, const char *unit)
{
	uint64_t fine = row->n - row->denied;
	int allowed = (int)(fine * BAR / most), denied = (int)(row->denied * BAR / most);
	char name[64];

	/* shorten long names at the start, because paths and hosts differ at the end */
	(void)snprintf(name, sizeof(name), "%s%s", strlen(row->name) > 38 ? "..." : "",
	    row->name + (strlen(row->name) > 38 ? strlen(row->name) - 35 : 0));
	text_at(out, NAME - 10, y + 15, "right", name);
	bar(out, "allow", NAME, y + 3, allowed, ROW - 10, fine, unit);
	bar(out, "deny", NAME + allowed, y + 3, denied, ROW - 10, row->denied, "denied");
	number_at(out, NAME + allowed + denied + 8, y + 15, "left", row->n);
}

static int
by_sum(const struct group_row *a, const struct group_row *b)
{
	return a->sum > b->sum ? -1 : a->sum < b->sum;
}

static void
put_rows(FILE *out, struct groups *groups, bool bytes, const char *what, const char *unit)
{
	struct group_row *const *row =
	    group_sorted(groups, bytes ? by_sum : group_by_count);
	size_t n = group_rows(groups);
	uint64_t most = 1;

	if (row == NULL || n == 0) {
		nothing(out, what);
		return;
	}
	if (n > ROWS_MAX)
		n = ROWS_MAX;
	if ((bytes ? row[0]->sum : row[0]->n) > most)
		most = bytes ? row[0]->sum : row[0]->n;
	begin(out, (int)n * ROW + 8, what);
	for (size_t i = 0; i < n; i++) {
		struct row shown = {row[i]->part[0], bytes ? row[i]->sum : row[i]->n,
		    bytes ? 0 : row[i]->flag};

		put_row(out, (int)i * ROW + 4, &shown, most, unit);
	}
	end(out);
}

void
svg_servers(FILE *out, const struct figures *f)
{
	put_rows(out, f->server, false, "events per server", "allowed");
}

void
svg_egress(FILE *out, const struct figures *f)
{
	put_rows(out, f->egress, true, "bytes per destination", "bytes");
}

/* ---- latency ----------------------------------------------------------------------------- */

static void
latency_label(FILE *out, uint64_t us, int x)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%" PRIu64 " %s",
	    us < 1000      ? us
	    : us < 1000000 ? us / 1000
			   : us / 1000000,
	    us < 1000      ? "us"
	    : us < 1000000 ? "ms"
			   : "s");
	text_at(out, x, TIME_BASE + 20, "middle", text);
}

/* The range of non-empty classes, plus one on each side. */
static void
latency_span(const uint64_t *sum, size_t n, size_t *ret_first, size_t *ret_end)
{
	size_t first = 0, end = n;

	while (first + 1 < n && sum[first] == 0)
		first++;
	while (end > first + 1 && sum[end - 1] == 0)
		end--;
	*ret_first = first > 0 ? first - 1 : 0;
	*ret_end = end < n ? end + 1 : n;
}

void
svg_latency(FILE *out, const struct figures *f)
{
	uint64_t sum[FIGURES_LATENCY / 8] = {0}, most = 1, top;
	size_t first, last;
	int n;

	if (f->latency_n == 0) {
		nothing(out, "latency of calls");
		return;
	}
	for (size_t i = 0; i < FIGURES_LATENCY; i++) {
		sum[i / 8] += f->latency[i];
		if (sum[i / 8] > most)
			most = sum[i / 8];
	}
	latency_span(sum, ARRAY_LEN(sum), &first, &last);
	n = (int)(last - first);
	top = round_up(most);
	begin(out, TIME_HEIGHT, "latency of calls, each bar twice the one before");
	grid(out, top);
	for (size_t i = first; i < last; i++) {
		int height = (int)(sum[i] * (TIME_BASE - TIME_TOP) / top);
		int x = LEFT + (int)(i - first) * PLOT / n;

		bar(out, "allow", x, TIME_BASE - height, PLOT / n - 3, height, sum[i],
		    "calls");
		if (n <= 14 || (i - first) % 2 == 0)
			latency_label(out, figures_latency_from(i * 8), x);
	}
	end(out);
}

/* ---- which server ran what ---------------------------------------------------------------- */

enum { TREE_ROWS = 40, TREE_LEFT = 170 };

static void
put_branch(FILE *out, int from, int y, const struct group_row *row)
{
	const char *class = row->flag == row->n ? "deny" : "allow";
	const char *caller = strrchr(row->part[1], '/');
	bool by_kennel = strcmp(row->part[1], "kennel-shim") == 0;
	char text[DESCRIBE_MAX];

	fprintf(out, "<path class=\"branch\" d=\"M%d %d C%d %d %d %d %d %d\"/>\n",
	    TREE_LEFT - 20, from, TREE_LEFT + 10, from, TREE_LEFT - 10, y, TREE_LEFT + 24,
	    y);
	fprintf(out, "<circle class=\"%s\" cx=\"%d\" cy=\"%d\" r=\"4\"/>\n", class,
	    TREE_LEFT + 28, y);
	(void)snprintf(text, sizeof(text), "%.60s%s%.30s", row->part[2],
	    row->part[1][0] == '\0' || by_kennel ? "" : ", started by ",
	    by_kennel        ? ""
	    : caller != NULL ? caller + 1
			     : row->part[1]);
	text_at(out, TREE_LEFT + 40, y + 4, "left", text);
	(void)snprintf(text, sizeof(text), "%" PRIu64 " x%s", row->n,
	    row->flag == 0        ? ""
	    : row->flag == row->n ? ", denied"
				  : ", some denied");
	text_at(out, WIDTH - RIGHT, y + 4, "right", text);
}

void
svg_execs(FILE *out, const struct figures *f)
{
	struct group_row *const *row = group_sorted(f->exec, group_by_name);
	size_t n = group_rows(f->exec), shown = n < TREE_ROWS ? n : TREE_ROWS;
	const char *server = NULL;
	int from = 0;

	if (row == NULL || n == 0) {
		nothing(out, "programs per server");
		return;
	}
	begin(out, (int)shown * ROW + 12, "the programs that each server started");
	for (size_t i = 0; i < shown; i++) {
		int y = (int)i * ROW + ROW / 2 + 4;

		if (server == NULL || strcmp(server, row[i]->part[0]) != 0) {
			server = row[i]->part[0];
			from = y;
			text_at(out, TREE_LEFT - 26, y + 4, "right strong", server);
		}
		put_branch(out, from, y, row[i]);
	}
	end(out);
}
