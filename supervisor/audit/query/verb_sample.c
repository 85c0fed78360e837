/*
 * sample --control C -n N --seed X: a reproducible random sample. Each record has the
 * rank SHA-256 of the seed and its leaf hash; the n lowest ranks are the sample. So
 * neither the order of the log nor the person who draws has any influence.
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
#include "supervisor/audit/query/options.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/audit/query/record.h"
#include "supervisor/audit/query/scan.h"
#include "supervisor/audit/query/table.h"

#define SAMPLE_DEFAULT 25
#define SAMPLE_MAX     10000

static const struct column sample_column[] = {
    {"idx", CELL_NUMBER, 8},
    {"time", CELL_TIME, 24},
    {"kind", CELL_TEXT, 8},
    {"server", CELL_TEXT, 16},
    {"verdict", CELL_VERDICT, 7},
    {"draw", CELL_ID, 12},
    {"leaf", CELL_TEXT, 64},
    {"what", CELL_TEXT, 0},
};

/* The populations that an auditor samples from (kennel-audit(1)). */
static const struct {
	const char *control, *kinds;
	bool denied;
} control_row[] = {
    {"access", "start exec call refused egress", false},
    {"denials", NULL, true},
    {"calls", "call refused", false},
    {"exec", "exec", false},
    {"secrets", "secrets scrub vault", false},
    {"network", "egress", false},
    {"approvals", "approve", false},
    {"changes", "start policy.load exception", false},
    {"all", NULL, false},
};

struct drawn {
	uint8_t draw[MERKLE_HASH_LEN];
	uint64_t idx;
};
struct sample {
	uint64_t n, want, population;
	struct drawn at[]; /* a heap, the largest first */
};

static int
begin_sample(struct ask *ask)
{
	uint64_t want = ask->q.last_n > 0 ? ask->q.last_n : SAMPLE_DEFAULT;
	const char *control = ask->q.control != NULL ? ask->q.control : "access";
	struct sample *sample;

	if (want > SAMPLE_MAX || ask->q.seed == NULL) {
		ask->why = "expected --seed, and -n of at most 10000";
		return -EINVAL;
	}
	ask->q.last_n = 0;
	ask->why = "--control must be one of access denials calls exec secrets network "
		   "approvals changes all";
	for (size_t i = 0; i < ARRAY_LEN(control_row); i++) {
		if (strcmp(control_row[i].control, control) != 0)
			continue;
		ask->q.kinds = control_row[i].kinds;
		ask->q.denied = control_row[i].denied;
		ask->q.present = control_row[i].denied && !options_with_absent(&ask->q);
		ask->why = NULL;
	}
	if (ask->why != NULL)
		return -EINVAL;
	sample = calloc(1, sizeof(*sample) + want * sizeof(sample->at[0]));
	if (sample == NULL)
		return -ENOMEM;
	sample->want = want;
	ask->own = sample;
	return 0;
}

static int
by_draw(const void *a, const void *b)
{
	const struct drawn *x = a, *y = b;

	return memcmp(x->draw, y->draw, sizeof(x->draw));
}

/* Restores the heap order from the root down. */
static void
sink(struct sample *s)
{
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;
		struct drawn keep;

		if (child >= s->n)
			return;
		if (child + 1 < s->n && by_draw(&s->at[child + 1], &s->at[child]) > 0)
			child++;
		if (by_draw(&s->at[at], &s->at[child]) >= 0)
			return;
		keep = s->at[at];
		s->at[at] = s->at[child];
		s->at[child] = keep;
		at = child;
	}
}

static void
rise(struct sample *s)
{
	size_t at = s->n - 1;

	while (at > 0 && by_draw(&s->at[at], &s->at[(at - 1) / 2]) > 0) {
		struct drawn keep = s->at[at];

		s->at[at] = s->at[(at - 1) / 2];
		s->at[(at - 1) / 2] = keep;
		at = (at - 1) / 2;
	}
}

static int
see_sample(void *arg, const struct log_record *record)
{
	struct ask *ask = arg;
	struct sample *s = ask->own;
	uint8_t both[2 * MERKLE_HASH_LEN];
	struct drawn drawn = {.idx = record->idx};

	s->population++;
	merkle_digest(ask->q.seed, strlen(ask->q.seed), both);
	merkle_leaf(record->body, record->len, both + MERKLE_HASH_LEN);
	merkle_digest(both, sizeof(both), drawn.draw);
	if (s->n < s->want) {
		s->at[s->n++] = drawn;
		rise(s);
	} else if (by_draw(&drawn, &s->at[0]) < 0) {
		s->at[0] = drawn;
		sink(s);
	}
	return 0;
}

static int
put_drawn(struct ask *ask, const struct drawn *drawn)
{
	static char story[DESCRIBE_MAX];
	const struct log_record *record = ask->view->record;
	char hex[2 * MERKLE_HASH_LEN + 1];
	uint8_t leaf[MERKLE_HASH_LEN];
	int r = log_scan_one(ask->view, drawn->idx);

	if (r < 0)
		return r;
	for (size_t i = 0; i < 5; i++)
		see_cell(ask, record, sample_column[i].name);
	table_text(&ask->table, hex_put(hex, drawn->draw, sizeof(drawn->draw)));
	merkle_leaf(record->body, record->len, leaf);
	table_text(&ask->table, hex_put(hex, leaf, sizeof(leaf)));
	table_text(&ask->table, describe_tell(record, story));
	return 0;
}

static int
end_sample(struct ask *ask)
{
	struct sample *s = ask->own;
	int r = 0;

	qsort(s->at, s->n, sizeof(s->at[0]), by_draw);
	for (uint64_t i = 0; r == 0 && i < s->n; i++)
		r = put_drawn(ask, &s->at[i]);
	if (r == 0 && ask->table.form == FORM_TEXT && !ask->table.bare)
		fprintf(table_out(&ask->table),
		    "# %" PRIu64 " of a population of %" PRIu64
		    "; \"kennel audit prove IDX\" proves each\n",
		    s->n, s->population);
	if (r == 0 && ask->table.form == FORM_JSON && !ask->table.bare)
		fprintf(table_out(&ask->table),
		    "{\"sample\":%" PRIu64 ",\"population\":%" PRIu64 "}\n", s->n,
		    s->population);
	return r;
}

const struct verb verbs_sample[] = {
    {.name = "sample",
	.may = "ncsA",
	.column = sample_column,
	.column_n = ARRAY_LEN(sample_column),
	.begin = begin_sample,
	.see = see_sample,
	.end = end_sample},
    {.name = NULL},
};
