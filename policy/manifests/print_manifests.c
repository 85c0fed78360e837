/*
 * Prints records of secrets: as JSON, with keys in the order of the agent's
 * tools, and as text for people.  No record has a field for a value.
 */
#include <string.h>

#include "policy/base/output.h"
#include "policy/manifests/private.h"
#include "policy/print/statement.h"

static void
json_day(struct out *o, const char *key, uint32_t day)
{
	char text[SAY_DAY_CAP];

	if (day == 0)
		out_null(o, key);
	else
		out_text(o, key, say_day_text(day, text));
}

void
meta_json_rotate_every(const struct meta *m, struct out *o)
{
	if (m->rotate_every == 0)
		out_null(o, "rotate_every_days");
	else
		out_number(o, "rotate_every_days", m->rotate_every);
}

static void
json_card(const struct meta *m, struct out *o)
{
	out_text_or_null(o, "description", m->description);
	out_text_or_null(o, "retrieval_url", m->retrieval_url);
	out_text(o, "rotation_method", meta_rotation_name(m->rotation));
	json_day(o, "last_rotated_at", m->last_rotated);
	meta_json_rotate_every(m, o);
	out_text_or_null(o, "pattern_id", m->pattern);
}

void
meta_json_begin(const struct meta *m, bool card, uint32_t today, struct out *o)
{
	out_object(o, NULL);
	out_text(o, "path", m->path);
	out_text(o, "status", meta_status_name(meta_status(m, today)));
	json_day(o, "expires_at", m->expires);
	out_null(o, "source_name"); /* reserved: the source is not revealed */
	out_text(
	    o, "capabilities_hint", m->rotation == META_MANUAL ? "read" : "read,rotate");
	if (card)
		json_card(m, o);
	if (m->approve != META_NEVER)
		out_text(o, "approve_on_use", meta_approve_name(m->approve));
}

void
meta_json(const struct meta *m, bool card, uint32_t today, struct out *o)
{
	meta_json_begin(m, card, today, o);
	out_end(o);
}

void
metas_json(const struct metas *m, const struct meta_filter *f, uint32_t today, FILE *to)
{
	struct out o;
	size_t i;

	out_init(&o, to);
	out_list(&o, NULL);
	for (i = 0; i < m->n; i++)
		if (meta_passes(&m->meta[i], f, today))
			meta_json(&m->meta[i], false, today, &o);
	out_end(&o);
}

/* ---- for people ----------------------------------------------------------- */

void
meta_row(FILE *f, const char *what, const char *text)
{
	if (text == NULL)
		return;
	(void)fprintf(f, "  %-14s ", what);
	out_plain(f, text, strlen(text));
	(void)fputc('\n', f);
}

static void
row_day(FILE *f, const char *what, uint32_t day)
{
	char text[SAY_DAY_CAP];

	meta_row(f, what, day == 0 ? NULL : say_day_text(day, text));
}

static void
row_words(FILE *f, const char *what, const struct word *w, size_t n)
{
	size_t i;

	if (n == 0)
		return;
	(void)fprintf(f, "  %-14s", what);
	for (i = 0; i < n; i++) {
		(void)fputc(' ', f);
		out_plain(f, w[i].text, w[i].len);
	}
	(void)fputc('\n', f);
}

static const char *
where(const struct meta *m)
{
	if (m->internal)
		return "kennel's own";
	if (!m->declared)
		return "in the personal index; not named by this project";
	if (m->required)
		return m->local ? "required; the project's own" : "required";
	return m->local ? "optional; the project's own" : "optional";
}

void
meta_show(const struct meta *m, uint32_t today, FILE *f)
{
	out_plain(f, m->path, strlen(m->path));
	(void)fprintf(f, "\n");
	meta_row(f, "status", meta_status_name(meta_status(m, today)));
	meta_row(f, "here", where(m));
	meta_row(f, "description", m->description);
	meta_row(f, "retrieval-url", m->retrieval_url);
	meta_row(f, "pattern", m->pattern);
	row_words(f, "scopes", m->scope, m->scope_n);
	row_words(f, "hosts", m->host, m->host_n);
	meta_row(f, "approve", meta_approve_name(m->approve));
	if (m->factor != META_NO_FACTOR)
		meta_row(f, "with", meta_factor_name(m->factor));
	meta_row(f, "rotation", meta_rotation_name(m->rotation));
	row_day(f, "expires", m->expires);
	row_day(f, "last-rotated", m->last_rotated);
	row_day(f, "rotate by", meta_rotate_by(m));
}

void
meta_line(const struct meta *m, uint32_t today, FILE *to)
{
	char day[SAY_DAY_CAP];

	(void)fprintf(to, "%-10s  %-10s  ", meta_status_name(meta_status(m, today)),
	    m->expires == 0 ? "-" : say_day_text(m->expires, day));
	out_plain(to, m->path, strlen(m->path));
	if (m->approve != META_NEVER)
		(void)fprintf(to, "  (approve %s)", meta_approve_name(m->approve));
	(void)fputc('\n', to);
}
