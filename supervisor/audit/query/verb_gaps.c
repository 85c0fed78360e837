/*
 * gaps: where the log itself says that something is missing, sessions that never
 * said that they ended, and times when the recorder said nothing.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "supervisor/audit/query/query.h"

static const struct column gaps_column[] = {
    {"idx", CELL_NUMBER, 8},
    {"time", CELL_TIME, 24},
    {"what", CELL_TEXT, 18},
    {"count", CELL_NUMBER, 9},
    {"detail", CELL_TEXT, 0},
};

/* Each of the log's own words about itself. */
static const struct {
	const char *kind, *what;
} gap_row[] = {
    {"gap", "events lost"},
    {"clock", "clock set"},
    {"break", "epoch key lost"},
    {"prune", "records removed"},
};

static int
begin_gaps(struct ask *ask)
{
	ask->tally = tally_new();
	ask->q.all = true;
	return ask->tally != NULL ? 0 : -ENOMEM;
}

static void
put_gap(struct ask *ask, uint64_t idx, uint64_t ts, const char *what, uint64_t count,
    const char *detail)
{
	sheet_number(&ask->sheet, idx);
	sheet_number(&ask->sheet, ts);
	sheet_text(&ask->sheet, what);
	if (count > 0)
		sheet_number(&ask->sheet, count);
	else
		sheet_none(&ask->sheet);
	sheet_text(&ask->sheet, detail);
}

/* A recorder that began knows whether the one before it said that it ended. */
static void
see_recorder(struct ask *ask, const struct fact *fact)
{
	if (strcmp(fact->kind, "open") == 0 && fact_is(fact, "outcome", "unclean"))
		put_gap(ask, fact->idx, fact->ts, "unclean stop", 0,
		    "the recorder before this one did not say that it ended");
}

/* One program that was tried ("exec") has no more than its server's end. */
enum { RAN = 1, ENDED = 2, SERVER_ENDED = 4, EXEC = 8 };

static int
see_gaps(void *arg, const struct fact *fact)
{
	static char story[STORY_MAX];
	const char *part[] = {fact->session, fact_text(fact, "server")};
	struct ask *ask = arg;
	struct tally_row *row;
	uint64_t count = 0;

	see_recorder(ask, fact);
	for (size_t i = 0; i < ARRAY_LEN(gap_row); i++) {
		if (strcmp(gap_row[i].kind, fact->kind) != 0)
			continue;
		(void)fact_number(fact, "count", &count);
		put_gap(ask, fact->idx, fact->ts, gap_row[i].what, count,
		    story_tell(fact, story));
	}
	if (strcmp(fact->kind, "start") != 0 && strcmp(fact->kind, "stop") != 0)
		return 0;
	row = tally_count(ask->tally, fact, part, ARRAY_LEN(part));
	if (row == NULL)
		return -E2BIG;
	if (strcmp(fact->kind, "start") == 0)
		row->flag |= fact_is(fact, "mode", "exec") ? RAN | EXEC : RAN;
	else
		row->flag |= strcmp(fact->role, "leash") == 0 ? SERVER_ENDED : ENDED;
	return 0;
}

/* ---- heartbeats ------------------------------------------------------------------------ */

#define BEATS_MISSED 2 /* periods without a word: what a verifier calls stale */

struct beats {
	struct ask *ask;
	uint64_t period_ns; /* 0: not known yet */
	uint64_t boot;      /* of the recorder's last word; 0: none runs */
};

static int
see_beat(void *arg, const struct fact *fact)
{
	struct beats *b = arg;
	uint64_t period, quiet = fact->boot > b->boot ? fact->boot - b->boot : 0;
	char detail[160];

	if (fact_number(fact, "period", &period) && period <= UINT64_MAX / NS_PER_S)
		b->period_ns = period * NS_PER_S;
	/* whoever begins answers for nothing before; the file only changed */
	if (strcmp(fact->kind, "genesis") == 0 ||
	    (strcmp(fact->kind, "open") == 0 && !fact_is(fact, "outcome", "rotated")))
		quiet = 0;
	if (b->boot > 0 && b->period_ns > 0 && quiet > BEATS_MISSED * b->period_ns &&
	    fact->ts >= b->ask->from_ns) {
		(void)snprintf(detail, sizeof(detail),
		    "the recorder was silent for %" PRIu64 " s, and is due every %" PRIu64
		    " s: it was stopped, or the machine slept",
		    quiet / NS_PER_S, b->period_ns / NS_PER_S);
		put_gap(b->ask, fact->idx, fact->ts, "missed heartbeats",
		    quiet / b->period_ns - 1, detail);
	}
	b->boot = strcmp(fact->kind, "end") == 0 ? 0 : fact->boot;
	return 0;
}

/* The recorder's own records have no session, which an index begins with. */
static int
see_beats(struct ask *ask)
{
	struct beats b = {.ask = ask};
	struct question q = {.verb = ask->q.verb,
	    .to_ns = ask->q.to_ns,
	    .session = "",
	    .kinds = "genesis open heartbeat end",
	    .first = ask->q.first,
	    .beyond = ask->q.beyond};

	return pass_each(ask->book, &q, see_beat, &b);
}

static int
end_gaps(struct ask *ask)
{
	struct tally_row *const *row = tally_sorted(ask->tally, tally_by_first);
	char detail[256];

	for (size_t i = 0; row != NULL && i < tally_rows(ask->tally); i++) {
		const struct tally_row *t = row[i];

		bool open = !(t->flag & (ENDED | SERVER_ENDED));

		if (!(t->flag & RAN) || (t->flag & ENDED) || (!open && (t->flag & EXEC)))
			continue;
		(void)snprintf(detail, sizeof(detail), "session %.64s of %.64s: %s",
		    t->part[0], t->part[1],
		    open ? "it goes on, or its end was lost" : "its kennel was killed");
		put_gap(ask, t->first_idx, t->first_ts, open ? "no end" : "killed", 0,
		    detail);
	}
	if (row == NULL)
		return -ENOMEM;
	/* of a server, a session or a tool the recorder says nothing */
	return ask->q.server != NULL || ask->q.session != NULL || ask->q.tool != NULL
		   ? 0
		   : see_beats(ask);
}

const struct verb verbs_gap[] = {
    {.name = "gaps",
	.words = "",
	.what = "what the log says is missing, and sessions without an end",
	.may = "",
	.kinds = "gap clock break prune open start stop",
	.column = gaps_column,
	.column_n = ARRAY_LEN(gaps_column),
	.begin = begin_gaps,
	.see = see_gaps,
	.end = end_gaps},
    {.name = NULL},
};
