/*
 * Refusals of calls, programs and hosts. A secret is not here: after a refusal its path is
 * closed until a person reopens it (supervisor/secrets/requests.c).
 *
 * Process: kennel. An agent chooses the texts, and what it is refused only makes more refused.
 */
#include "supervisor/approve/refusals.h"

#include <stdio.h>
#include <string.h>

static bool
is_counted(const struct question_text *q)
{
	return q->kind <= QUESTION_EXEC || q->kind == QUESTION_NET;
}

static bool
is_within(uint64_t at, uint64_t now, uint64_t span)
{
	return at != 0 && now - at < span;
}

static bool
is_about(const struct refused_subject *s, const struct question_text *q)
{
	return s->at[0] != 0 && s->kind == q->kind && strcmp(s->server, q->server) == 0 &&
	       strcmp(s->subject, q->subject) == 0;
}

/* Its place; REFUSALS_KEPT: none. */
static size_t
find(const struct refusals *r, const struct question_text *q)
{
	size_t i = 0;

	while (i < REFUSALS_KEPT && !is_about(&r->of[i], q))
		i++;
	return i;
}

static void
note_digest(struct refusals *r, const struct question_text *q, uint32_t of, uint64_t now)
{
	size_t oldest = 0;

	for (size_t i = 0; i < REFUSALS_KEPT; i++)
		if (r->same[i].at < r->same[oldest].at)
			oldest = i;
	memcpy(r->same[oldest].digest, q->digest, sizeof(q->digest));
	r->same[oldest].at = now;
	r->same[oldest].of = of;
}

/* Returns its number. */
static uint32_t
note_subject(struct refusals *r, const struct question_text *q, uint64_t now)
{
	size_t i = find(r, q), oldest = 0;
	struct refused_subject *at;

	for (size_t k = 0; i == REFUSALS_KEPT && k < REFUSALS_KEPT; k++)
		if (r->of[k].at[0] < r->of[oldest].at[0])
			oldest = k;
	at = &r->of[i < REFUSALS_KEPT ? i : oldest];
	if (i == REFUSALS_KEPT) {
		memset(at->at, 0, sizeof(at->at));
		at->number = ++r->last;
		at->kind = q->kind;
		/* both of the same size */
		(void)snprintf(at->server, sizeof(at->server), "%s", q->server);
		(void)snprintf(at->subject, sizeof(at->subject), "%s", q->subject);
	}
	memmove(&at->at[1], &at->at[0], sizeof(at->at) - sizeof(at->at[0]));
	at->at[0] = now;
	return at->number;
}

void
refusals_note(struct refusals *r, const struct question_text *q, uint64_t now)
{
	if (!is_counted(q))
		return;
	note_digest(r, q, note_subject(r, q, now), now);
}

bool
refusals_about(const struct refusals *r, const char *subject)
{
	for (size_t i = 0; i < REFUSALS_KEPT; i++)
		if (r->of[i].at[0] != 0 && strcmp(r->of[i].subject, subject) == 0)
			return true;
	return false;
}

void
refusals_lift(struct refusals *r, const char *subject)
{
	for (size_t i = 0; i < REFUSALS_KEPT; i++) {
		struct refused_subject *s = &r->of[i];

		if (s->at[0] == 0 || strcmp(s->subject, subject) != 0)
			continue;
		memset(s->at, 0, sizeof(s->at));
		for (size_t k = 0; k < REFUSALS_KEPT; k++)
			if (r->same[k].of == s->number)
				r->same[k].at = 0;
	}
}

bool
refusals_cover(const struct refusals *r, const struct question_text *q, uint64_t now)
{
	const struct refused_subject *s;
	size_t at;

	if (!is_counted(q))
		return false;
	for (size_t i = 0; i < REFUSALS_KEPT; i++)
		if (is_within(r->same[i].at, now, REFUSED_NS) &&
		    memcmp(r->same[i].digest, q->digest, sizeof(q->digest)) == 0)
			return true;
	at = find(r, q);
	if (at == REFUSALS_KEPT)
		return false;
	s = &r->of[at];
	/* three, of which the first is not older than the span; closed from the third on */
	return s->at[REFUSED_TIMES - 1] != 0 &&
	       s->at[0] - s->at[REFUSED_TIMES - 1] < REFUSED_SPAN_NS &&
	       is_within(s->at[0], now, REFUSED_SPAN_NS);
}

uint32_t
refusals_count(const struct refusals *r, const struct question_text *q, uint64_t now)
{
	size_t at = is_counted(q) ? find(r, q) : REFUSALS_KEPT;
	uint32_t n = 0;

	for (size_t i = 0; at < REFUSALS_KEPT && i < REFUSED_TIMES; i++)
		n += is_within(r->of[at].at[i], now, REFUSED_SPAN_NS);
	return n;
}
