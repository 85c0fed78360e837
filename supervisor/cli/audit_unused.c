/*
 * kennel audit unused SERVER: the grants of a policy that have no use in the log.
 *
 * Records of programs, hosts and secrets name the granting line, so their uses are
 * counted by line. Uses that a gate allowed are counted by the names that match.
 */
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "shim/base/log.h"
#include "supervisor/audit/audit_help.h"
#include "supervisor/audit/query/log_view.h"
#include "supervisor/audit/query/options.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/audit/query/record.h"
#include "supervisor/audit/query/scan.h"
#include "supervisor/audit/query/table.h"
#include "supervisor/base/terminal.h"
#include "supervisor/cli/cli.h"
#include "supervisor/launch/launch.h"

#define DAY_NS       (86400 * NS_PER_S)
#define DAYS_DEFAULT 90
#define GRANTS_MAX   4096

struct grant {
	const char *kind;
	const char *what; /* a path, host, glob or name; the policy's */
	char rule[300];
	bool by_name; /* otherwise by line */
	bool by_class;
	uint64_t used, last_ts, last_idx;
};

struct unused {
	struct policy_found found;
	struct grant *grant;
	size_t grant_n;
};

/* ---- the policy's grants ------------------------------------------------------------ */

static void
add(struct unused *u, const char *kind, struct sealed_ref what, struct sealed_at at,
    bool by_name, bool by_class)
{
	const struct policy *p = &u->found.policy;
	struct grant *g = &u->grant[u->grant_n];

	if (u->grant_n == GRANTS_MAX)
		return; /* the caller reports it: the limit is reached */
	g->kind = kind;
	g->what = policy_str(p, what);
	(void)policy_at(p, at, g->rule, sizeof(g->rule));
	g->by_name = by_name;
	g->by_class = by_class;
	u->grant_n++;
}

static void
collect(struct unused *u)
{
	const struct policy *p = &u->found.policy;
	const struct sealed_server *s = u->found.server;

	for (uint32_t i = s->execs.first; i < s->execs.first + s->execs.n; i++) {
		if (p->exec[i].verdict != VERDICT_DENY)
			add(u, "exec", p->image[p->exec[i].asked].path, p->exec[i].at,
			    false, false);
	}
	for (uint32_t i = s->gates.first; i < s->gates.first + s->gates.n; i++) {
		const struct sealed_gate *g = &p->gate[i];

		if (g->verdict != VERDICT_DENY)
			add(u, policy_gate_name((enum sealed_gate_kind)g->kind), g->name,
			    g->at, true, g->classes != 0 || g->flags != 0);
	}
	for (uint32_t i = s->nets.first; i < s->nets.first + s->nets.n; i++) {
		if (p->net[i].verdict != VERDICT_DENY)
			add(u, "net", p->net[i].host, p->net[i].at, false, false);
	}
	for (uint32_t i = s->secrets.first; i < s->secrets.first + s->secrets.n; i++)
		add(u, "secret", p->secret[i].name, p->secret[i].at, true, false);
}

/* ---- uses ------------------------------------------------------------------------------ */

static bool
fits(const struct grant *g, const struct log_record *record)
{
	const char *name = log_record_text(record, "name"),
		   *verdict = log_record_text(record, "verdict");

	if (strcmp(g->kind, "secret") == 0)
		return strcmp(record->kind, "secrets") == 0 &&
		       log_record_has(record, "name", g->what);
	if (verdict == NULL || strcmp(verdict, "allow") != 0)
		return false;
	if (!g->by_name)
		return log_record_is(record, "rule", g->rule);
	return strcmp(record->kind, "call") == 0 && name != NULL &&
	       fnmatch(g->what, name, FNM_NOESCAPE) == 0;
}

static int
see_use(void *arg, const struct log_record *record)
{
	struct unused *u = arg;

	for (size_t i = 0; i < u->grant_n; i++) {
		struct grant *g = &u->grant[i];

		if (!fits(g, record))
			continue;
		g->used++;
		g->last_ts = record->ts;
		g->last_idx = record->idx;
	}
	return 0;
}

static int
see_last(void *arg, const struct log_record *record)
{
	uint64_t *last = arg;

	if (record->ts > *last)
		*last = record->ts;
	return 0;
}

/* ---- output ---------------------------------------------------------------------------- */

static const struct column unused_column[] = {
    {"kind", CELL_TEXT, 10},
    {"grant", CELL_TEXT, 40},
    {"rule", CELL_TEXT, 30},
    {"used", CELL_TEXT, 0},
};

static void
put_unused(struct table *table, const struct grant *g)
{
	table_text(table, g->kind);
	table_text(table, g->what);
	table_text(table, g->rule);
	table_text(table,
	    g->by_class ? "unknown: it allows tools by their annotations" : "never");
}

/* The days are counted back from the log's last record, so that the same log gives
 * the same answer. */
static int
ask_unused(struct unused *u, struct query *q, struct log_view *view)
{
	struct query all = *q, uses = *q;
	struct table table = {
	    .out = stdout, .form = q->form, .terminal = terminal_of(STDOUT_FILENO)};
	uint64_t last = 0, n = 0, days = q->days > 0 ? q->days : DAYS_DEFAULT;
	int r;

	all.last_n = 1;
	r = log_scan_each(view, &all, see_last, &last);
	if (!q->from_given && last > days * DAY_NS)
		uses.from_ns = last - days * DAY_NS;
	uses.from_given = true;
	uses.server = q->argv[0];
	uses.by_time = !view->verified;
	if (r == 0)
		r = log_scan_each(view, &uses, see_use, u);
	if (r < 0)
		return r;
	uses.server = NULL; /* given as the argument */
	for (size_t i = 0; i < u->grant_n; i++)
		n += u->grant[i].used == 0;
	if (q->last_rows > 0 && n > q->last_rows)
		table.skip = n - q->last_rows;
	table_begin(&table, &uses, view, unused_column, ARRAY_LEN(unused_column));
	for (size_t i = 0; i < u->grant_n; i++) {
		if (u->grant[i].used == 0)
			put_unused(&table, &u->grant[i]);
	}
	return table_end(&table, false);
}

static int
run_unused(struct unused *u, struct query *q)
{
	static struct log_view view;
	int r, status = log_view_open(q, &view);
	const char *why = view.why;

	if (status == ASK_OK) {
		collect(u);
		r = ask_unused(u, q, &view);
		status = r == 0 || r == -EPIPE ? ASK_OK
			 : r == -EUCLEAN       ? ASK_TAMPERED
					       : ASK_FAILED;
	}
	verb_complain(q, status, why);
	log_view_close(&view);
	return status;
}

int
unused_main(int argc, char **argv)
{
	static struct grant grant[GRANTS_MAX];
	struct unused u = {.grant = grant};
	struct query q;
	char why[256] = "";
	int status;

	if (options_read(argc, argv, "dpN", &q) < 0)
		return ASK_USAGE;
	if (q.argc != 1 || q.server != NULL)
		return help_usage(
		    &audit_help, argv[0], "expected the name of one server");
	status = find_policy(q.policy, q.argv[0], &u.found, why, sizeof(why));
	if (status != 0) {
		log_error("audit unused: %s", why);
		return status;
	}
	status = run_unused(&u, &q);
	policy_found_free(&u.found);
	return status;
}
