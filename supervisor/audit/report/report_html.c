/*
 * "kennel audit report": an HTML page to read or print.
 *
 * The page links to nothing outside, its Content-Security-Policy forbids loading or
 * running anything, and every text from a record goes through escape.c. The page does
 * not contain its creation time, so one checkpoint always gives the same page.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "supervisor/audit/query/describe.h"
#include "supervisor/audit/report/disclosure.h"
#include "supervisor/audit/query/escape.h"
#include "supervisor/audit/query/group.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/audit/report/report.h"
#include "supervisor/audit/report/verbs.h"

#define ROWS_SHOWN 200

struct page {
	FILE *out;
	const struct query *q;
	struct log_view *view;
	struct figures figures;
	uint64_t sessions, gaps; /* rows of these verbs */
	const char *why;
};

struct section {
	const char *heading, *intro;
	const char *verb; /* source of its rows; NULL: put instead */
	const char *kind; /* of the records, for log */
	int (*put)(struct page *);
	bool word; /* passes the report's argument to the verb */
};

/* ---- parts that are not rows ---------------------------------------------------------- */

static int
put_time(struct page *p)
{
	svg_time(p->out, &p->figures);
	return 0;
}

static int
put_servers(struct page *p)
{
	svg_servers(p->out, &p->figures);
	return 0;
}

static int
put_latency(struct page *p)
{
	const struct figures *f = &p->figures;
	char median[DESCRIBE_TIME_MAX], p95[DESCRIBE_TIME_MAX], p99[DESCRIBE_TIME_MAX];

	svg_latency(p->out, f);
	if (f->latency_n == 0)
		return 0;
	fprintf(p->out,
	    "<p>%" PRIu64 " calls: median %s, 95th percentile %s, 99th percentile %s",
	    f->latency_n, describe_duration(figures_latency(f, 500), median),
	    describe_duration(figures_latency(f, 950), p95),
	    describe_duration(figures_latency(f, 990), p99));
	fprintf(p->out, ".</p>\n");
	return 0;
}

static int
put_execs(struct page *p)
{
	svg_execs(p->out, &p->figures);
	return 0;
}

static int
put_egress(struct page *p)
{
	svg_egress(p->out, &p->figures);
	return 0;
}

/* Which common framework requires what, and what the log has for it. */
static int
put_controls(struct page *p)
{
	static const struct {
		const char *framework, *control, *asks, *kinds;
	} row[] = {
	    {"SOC 2", "CC6.1, CC6.3", "access is granted and restricted", "start mounts"},
	    {"SOC 2", "CC7.2", "anomalies are detected", "refused dropped scrub gap"},
	    {"SOC 2", "CC8.1", "changes are authorised", "policy.load exception"},
	    {"NIST 800-53", "AU-2, AU-12", "events are generated",
		"start exec call stop"},
	    {"NIST 800-53", "AU-5", "failures of the log are detected", "gap break"},
	    {"NIST 800-53", "AU-8", "time", "clock"},
	    {"NIST 800-53", "AU-9(3), AU-10", "cryptographic protection", "epoch cosig"},
	    {"NIST 800-53", "AC-3, AC-6", "least privilege is enforced", "refused exec"},
	    {"ISO 27001", "A.8.15", "logging", "start exec call stop heartbeat"},
	    {"ISO 27001", "A.8.16", "monitoring", "refused dropped gap"},
	    {"ISO 27001", "A.5.28", "collection of evidence", "export cosig"},
	    {"EU AI Act", "Art. 12", "events over the lifetime", "call start stop"},
	    {"OWASP MCP", "01 secrets exposed", "used and redacted", "secrets scrub"},
	    {"OWASP MCP", "03 tool poisoning", "definitions are watched", "manifest"},
	    {"OWASP MCP", "05 command injection", "programs are restricted", "exec"},
	    {"OWASP MCP", "08 lack of audit", "there is a log", "genesis open end"},
	};

	fprintf(p->out, "<table><thead><tr><th>framework</th><th>control</th><th>asks for"
			"</th><th>kinds of record</th><th class=\"c1\">records</th>"
			"</tr></thead><tbody>\n");
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		char list[80], *save = NULL;
		uint64_t n = 0;

		(void)snprintf(list, sizeof(list), "%s", row[i].kinds);
		for (char *k = strtok_r(list, " ", &save); k != NULL;
		     k = strtok_r(NULL, " ", &save)) {
			const char *part[] = {k};
			struct group_row *t = group_at(p->figures.kind, part, 1);

			n += t != NULL ? t->n : 0;
		}
		fprintf(p->out,
		    "<tr><td>%s</td><td>%s</td><td>%s</td><td>%s</td>"
		    "<td class=\"c1\">%" PRIu64 "</td></tr>\n",
		    row[i].framework, row[i].control, row[i].asks, row[i].kinds, n);
	}
	fprintf(p->out, "</tbody></table>\n");
	return 0;
}

static int
put_files(struct page *p)
{
	const struct log_view *view = p->view;

	fprintf(p->out, "<table><thead><tr><th class=\"c1\">first record</th>"
			"<th>file</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < view->segment_n; i++)
		fprintf(p->out, "<tr><td class=\"c1\">%" PRIu64 "</td><td>%s</td></tr>\n",
		    view->segment[i].base, view->segment[i].name);
	fprintf(p->out, "</tbody></table>\n<p>%s</p>\n",
	    view->first == 0 ? "No record was removed: the files begin with record 0."
			     : "The records before the first of these files were "
			       "removed; the hashes of their subtrees remain, so every "
			       "later proof still gives the same roots.");
	return 0;
}

/* ---- the kinds ---------------------------------------------------------------------------- */

#define S_TIME \
	{ \
		"Events over time", "Each bar is a sixtieth of the time range.", \
		    .put = put_time \
	}
#define S_SERVERS \
	{ \
		"Events by server", NULL, .put = put_servers \
	}
#define S_LATENCY \
	{ \
		"Latency of calls", "From the agent's request to the response.", \
		    .put = put_latency \
	}
#define S_EXECS \
	{ \
		"Programs", "What each server started or tried to start.", \
		    .put = put_execs \
	}
#define S_EGRESS \
	{ \
		"Network", "Bytes sent and received, by destination.", .put = put_egress \
	}
#define S_GAPS \
	{ \
		"Gaps", "Missing records, and sessions without an end.", .verb = "gaps" \
	}
#define S_DENIALS \
	{ \
		"Denials", "The most frequent first.", .verb = "denials" \
	}

#define S_APPROVALS \
	{ \
		"Approvals", "Answers of people. A reopening approves nothing.", \
		    .verb = "who-approved" \
	}
#define S_CONSOLE \
	{ \
		"Console", "Logins of browsers, and what was refused.", \
		    .verb = "log", .kind = "console" \
	}
#define S_REGISTRY \
	{ \
		"Configured servers", \
		    "Servers that people and agents added, removed, enabled or " \
		    "disabled.", \
		    .verb = "log", .kind = "registry" \
	}

static const struct section activity[] = {S_TIME, S_SERVERS, S_LATENCY, S_EXECS, S_EGRESS,
    S_DENIALS, {"Tools", "How often each was called.", .verb = "tools"},
    {"Sessions", NULL, .verb = "sessions"}, {"Calls", NULL, .verb = "tool"},
    {"Anomalies", "First seen, spikes, outside of working hours, allowed after denials.",
	.verb = "anomalies"},
    S_APPROVALS, S_CONSOLE, S_REGISTRY, S_GAPS, {NULL}};
static const struct section integrity[] = {S_GAPS,
    {"Cosignatures", "Checkpoints that witnesses signed.", .verb = "log",
	.kind = "cosig"},
    {"Signing keys", "Each epoch has its own key, erased at its end.", .verb = "log",
	.kind = "epoch"},
    {"Breaks in the chain of keys", "Where a key was lost.", .verb = "log",
	.kind = "break"},
    {"Recorders", NULL, .verb = "log", .kind = "open"},
    {"Log files", NULL, .put = put_files}, {NULL}};
static const struct section access_[] = {S_SERVERS, S_EXECS, S_EGRESS,
    {"First used in this time range",
	"Allowed in this time range, and never "
	"before.",
	.verb = "widened"},
    S_DENIALS, S_APPROVALS, S_CONSOLE, S_REGISTRY, {"Secrets", NULL, .verb = "secret"},
    {"Policies in use", NULL, .verb = "changes"}, {NULL}};
static const struct section changes[] = {
    {"Policies", "When the policy of a server changed.", .verb = "changes"}, S_REGISTRY,
    {"First used in this time range", NULL, .verb = "widened"},
    {"Exceptions", NULL, .verb = "exceptions"},
    {"Tool definitions", NULL, .verb = "manifest"}, {NULL}};
static const struct section controls[] = {
    {"Controls", "What frameworks require, and the records that show it.",
	.put = put_controls},
    S_GAPS, S_DENIALS, S_APPROVALS, {NULL}};
static const struct section incident[] = {S_TIME, S_EXECS, S_EGRESS,
    {"Timeline", "Every record of the session, in order.", .verb = "session",
	.word = true},
    S_DENIALS, S_APPROVALS, {"Calls", NULL, .verb = "tool"},
    {"Secrets", NULL, .verb = "secret"}, S_GAPS, {NULL}};
static const struct section retention[] = {{"Log files", NULL, .put = put_files},
    {"Removed records", NULL, .verb = "log", .kind = "prune"},
    {"Exports", NULL, .verb = "log", .kind = "export"}, S_GAPS, {NULL}};
static const struct section exceptions[] = {
    {"Exceptions", NULL, .verb = "exceptions"}, S_APPROVALS, {NULL}};
static const struct section inventory[] = {S_SERVERS, S_REGISTRY,
    {"Policies by server", NULL, .verb = "changes"},
    {"Server programs", NULL, .verb = "log", .kind = "start"},
    {"Tool definitions", NULL, .verb = "manifest"},
    {"Recorders", NULL, .verb = "log", .kind = "open"}, {NULL}};

static const struct report {
	const char *kind, *title;
	const struct section *section;
	bool word; /* it is about one session */
} reports[] = {
    {"activity", "Activity of the servers", activity, false},
    {"integrity", "Integrity of the audit log", integrity, false},
    {"access", "Access review", access_, false},
    {"changes", "Changes", changes, false},
    {"controls", "Controls and their evidence", controls, false},
    {"incident", "Incident", incident, true},
    {"retention", "Retention", retention, false},
    {"exceptions", "Exceptions", exceptions, false},
    {"inventory", "Inventory", inventory, false},
};

/* ---- the page ------------------------------------------------------------------------------ */

static const char style[] =
    ":root{--ink:#1d2733;--quiet:#667485;--line:#dde3ea;--allow:#3f7cac;--deny:#c8402f;"
    "--ask:#b97a12;--card:#f5f7fa}"
    "*{box-sizing:border-box}"
    "body{margin:0 auto;max-width:1080px;padding:40px 28px 80px;color:var(--ink);"
    "font:15px/1.5 system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;"
    "background:#fff}"
    "h1{font-size:30px;line-height:1.2;margin:0 0 4px}"
    "h2{font-size:20px;margin:44px 0 4px;padding-top:12px;border-top:2px solid "
    "var(--line)}"
    "p{margin:4px 0 12px}.lead{color:var(--quiet);margin:0}"
    "code,.c3,.mono{font-family:ui-monospace,'DejaVu Sans "
    "Mono',monospace;font-size:12.5px}"
    ".seal{margin:20px 0;padding:14px 18px;background:var(--card);"
    "border-left:4px solid var(--allow);overflow-wrap:anywhere}"
    ".seal.un{border-color:var(--ask)}"
    ".cards{display:flex;flex-wrap:wrap;gap:12px;margin:20px 0}"
    ".cards div{flex:1 1 110px;background:var(--card);padding:12px "
    "16px;border-radius:6px}"
    ".cards "
    "b{display:block;font-size:26px;line-height:1.2;font-variant-numeric:tabular-nums}"
    ".cards span{color:var(--quiet)}.cards .bad b{color:var(--deny)}"
    "nav{columns:2;margin:8px 0}nav a{display:block}a{color:var(--allow)}"
    ".wide{overflow-x:auto}"
    "table{border-collapse:collapse;width:100%;font-size:13px;margin:8px 0 4px}"
    "th{text-align:left;color:var(--quiet);font-weight:600;border-bottom:1px solid "
    "var(--ink)}"
    "th,td{padding:4px 12px 4px 0;vertical-align:top}"
    "td.c0{max-width:420px;overflow-wrap:break-word}"
    "td{border-bottom:1px solid var(--line)}"
    ".c1,.c4{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}"
    ".c2{white-space:nowrap;font-variant-numeric:tabular-nums}"
    ".va{color:var(--allow)}.vd,.vk{color:var(--deny)}.vx{color:var(--ask)}"
    ".none{color:var(--quiet)}"
    "svg{width:100%;height:auto;max-width:880px;display:block;margin:10px 0}"
    "svg text{font-size:12px;fill:var(--ink)}svg .right{text-anchor:end}"
    "svg .middle{text-anchor:middle}svg .quiet{fill:var(--quiet)}svg "
    ".strong{font-weight:600}"
    "rect.allow,circle.allow{fill:var(--allow)}rect.deny,circle.deny{fill:var(--deny)}"
    ".grid{stroke:var(--line)}.branch{stroke:var(--quiet);fill:none;stroke-width:1.2}"
    "footer{margin-top:48px;color:var(--quiet);border-top:1px solid "
    "var(--line);padding-top:12px}"
    "@media print{body{padding:0;max-width:none;font-size:11px}nav{display:none}"
    "h2{break-after:avoid}tr,svg{break-inside:avoid}table{font-size:9px}"
    ".wide{overflow:visible}"
    "*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}";

static void
put_card(FILE *out, const char *name, uint64_t n, bool bad)
{
	fprintf(out, "<div%s><b>%" PRIu64 "</b><span>%s</span></div>\n",
	    bad && n > 0 ? " class=\"bad\"" : "", n, name);
}

static void
put_cards(struct page *p)
{
	const struct figures *f = &p->figures;

	fprintf(p->out, "<div class=\"cards\">\n");
	put_card(p->out, "records", f->records, false);
	put_card(p->out, "servers", group_rows(f->server), false);
	put_card(p->out, "sessions", p->sessions, false);
	put_card(p->out, "calls", f->calls, false);
	put_card(p->out, "programs run", f->execs, false);
	put_card(p->out, "denials", f->denials, true);
	put_card(p->out, "secrets redacted", f->scrubs, false);
	put_card(p->out, "gaps", p->gaps, true);
	fprintf(p->out, "</div>\n");
}

static void
put_seal(struct page *p)
{
	const struct log_view *view = p->view;
	char root[2 * MERKLE_HASH_LEN + 1];

	fprintf(p->out,
	    "<div class=\"seal%s\"><b>%s</b><br>Log of %" PRIu64
	    " records, root <span class=\"mono\">%s</span><br>%s%s</div>\n",
	    view->verified ? "" : " un", view->verified ? "Verified" : "Not verified",
	    view->size, hex_put(root, view->root, sizeof(view->root)),
	    view->verified
		? "kennel-verify verified the whole log. Every figure below comes from a "
		  "read of all its records that gave this root."
		: "The figures below come from the log as it is now. To verify it, run "
		  "\"kennel audit verify\", or make this page with --verified.",
	    view->verified && !view->complete
		? " Truncation of the log's end cannot be ruled out: it is no longer "
		  "written, and no witness was named."
		: "");
}

static void
put_filter(FILE *out, const char *name, const char *value)
{
	if (value == NULL)
		return;
	fprintf(out, " &middot; %s ", name);
	escape_html(out, value);
}

static void
put_head(struct page *p, const struct report *report)
{
	char from[DESCRIBE_TIME_MAX], to[DESCRIBE_TIME_MAX];
	const struct figures *f = &p->figures;

	fprintf(p->out,
	    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	    "style-src 'unsafe-inline'\">\n"
	    "<meta name=\"viewport\" content=\"width=device-width\">\n"
	    "<title>kennel: %s</title>\n<style>%s</style></head><body>\n"
	    "<h1>%s</h1>\n<p class=\"lead\">",
	    report->title, style, report->title);
	if (f->records > 0)
		fprintf(p->out, "%s to %s", describe_time(f->first_ts, 3, from),
		    describe_time(f->last_ts, 3, to));
	else
		fprintf(p->out, "no record matches the options");
	put_filter(p->out, "server", p->q->server);
	put_filter(p->out, "session", p->q->session);
	put_filter(p->out, "tool", p->q->tool);
	put_filter(p->out, "verdict", p->q->verdict);
	put_filter(p->out, "rule", p->q->rule);
	fprintf(p->out, "</p>\n");
	put_seal(p);
	put_cards(p);
	fprintf(p->out, "<nav>\n");
	for (const struct section *s = report->section; s->heading != NULL; s++)
		fprintf(p->out, "<a href=\"#s%d\">%s</a>\n", (int)(s - report->section),
		    s->heading);
	fprintf(p->out, "</nav>\n");
}

static int
put_section(struct page *p, const struct section *s)
{
	const struct verb *verb = s->verb != NULL ? verb_find(s->verb) : NULL;
	struct query q = *p->q;
	int status;

	if (verb == NULL)
		return s->put != NULL ? s->put(p) : -EINVAL;
	q.verb = verb->name;
	q.kind = s->kind;
	q.most_rows = ROWS_SHOWN;
	if (s->word)
		q.session = NULL;
	else
		q.argc = 0;
	fprintf(p->out, "<div class=\"wide\">");
	status = verb_ask(verb, &q, p->view, p->out, &p->why);
	fprintf(p->out, "</div>\n");
	return status == ASK_OK || status == ASK_NO_SUCH ? 0 : -EBADMSG;
}

/* The figures of the cards that a verb's answer gives: the same rows, counted. */
static int
count_rows(struct page *p, const char *verb, uint64_t *ret)
{
	struct query q = *p->q;
	int status;

	q.verb = verb;
	q.argc = 0;
	status = verb_count(verb_find(verb), &q, p->view, ret, &p->why);
	return status == ASK_OK ? 0 : status == ASK_TAMPERED ? -EUCLEAN : -EBADMSG;
}

static int
put_page(struct page *p, const struct report *report)
{
	int r = figures_count(p->view, p->q, &p->figures);

	p->why = p->view->why;
	if (r == 0)
		r = count_rows(p, "sessions", &p->sessions);
	if (r == 0)
		r = count_rows(p, "gaps", &p->gaps);
	if (r < 0)
		return r;
	put_head(p, report);
	for (const struct section *s = report->section; r == 0 && s->heading != NULL;
	     s++) {
		fprintf(p->out, "<h2 id=\"s%d\">%s</h2>\n%s%s%s",
		    (int)(s - report->section), s->heading, s->intro != NULL ? "<p>" : "",
		    s->intro != NULL ? s->intro : "", s->intro != NULL ? "</p>\n" : "");
		r = put_section(p, s);
	}
	fprintf(p->out, "<footer>Times are UTC. Digests and ids show their first digits; "
			"\"kennel audit why IDX\" and \"kennel audit prove IDX\" print "
			"the rest.</footer>\n</body></html>\n");
	return r;
}

/* ---- kennel audit report --------------------------------------------------------------------- */

static const struct report *
find_report(const char *kind)
{
	for (size_t i = 0; i < ARRAY_LEN(reports); i++) {
		if (strcmp(reports[i].kind, kind) == 0)
			return &reports[i];
	}
	return NULL;
}

static int
make_page(struct query *q, const struct report *report)
{
	static struct log_view view;
	static char id[SESSION_ID_LEN + 1];
	struct page p = {.q = q, .view = &view, .out = output_new(q)};
	int r = 0, status = ASK_FAILED;

	if (p.out == NULL)
		return ASK_FAILED;
	q->form = FORM_HTML;
	status = log_view_open(q, &view);
	p.why = view.why;
	if (status == ASK_OK && session_find(&view, &q->session, id) < 0)
		status = ASK_NO_SUCH;
	if (status == ASK_OK && report->word)
		q->argv[0] = (char *)q->session;
	if (status == ASK_OK && disclosure_book("report", report->kind, q, &view) < 0)
		status = ASK_FAILED;
	if (status == ASK_OK) {
		r = put_page(&p, report);
		status = r == 0 ? ASK_OK : r == -EUCLEAN ? ASK_TAMPERED : ASK_FAILED;
		figures_free(&p.figures);
	}
	verb_complain(q, status, p.why);
	log_view_close(&view);
	if (p.out != stdout ? fclose(p.out) != 0 : fflush(stdout) != 0)
		status = ASK_FAILED;
	if (status != ASK_OK && q->out != NULL)
		(void)remove(q->out); /* leave no partial page */
	return status;
}

int
page_incident(FILE *out, const struct query *q)
{
	static struct log_view view;
	struct query mine = *q;
	struct page p = {.q = &mine, .view = &view, .out = out};
	const struct report *report;
	int r = -EBADMSG, status;

	mine.form = FORM_HTML;
	mine.bare = true;
	mine.session = q->argv[0];
	status = log_view_open(&mine, &view);
	if (status == ASK_OK) {
		report = find_report("incident");
		r = report != NULL ? put_page(&p, report) : -ENOENT;
		figures_free(&p.figures);
	}
	log_view_close(&view);
	return r;
}

int
page_main(int argc, char **argv)
{
	const struct report *report;
	struct query q;

	if (options_read(argc, argv, "roAI", &q) < 0)
		return ASK_USAGE;
	report = find_report(q.report != NULL ? q.report : "activity");
	if (report == NULL || (q.form != FORM_TEXT && q.form != FORM_HTML)) {
		verb_complain(&q, ASK_USAGE,
		    "--kind must be one of activity integrity access changes controls "
		    "incident retention exceptions inventory; the only format is HTML");
		return ASK_USAGE;
	}
	if (q.argc > (report->word ? 1 : 0) || (report->word && q.argc != 1)) {
		verb_complain(&q, ASK_USAGE,
		    "--kind incident takes one SESSION; other reports take no argument");
		return ASK_USAGE;
	}
	if (report->word)
		q.session = q.argv[0];
	return make_page(&q, report);
}
