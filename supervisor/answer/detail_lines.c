/*
 * All that an approval shows, as lines for a screen: each member of its detail on a line
 * of its own, and what would change as a difference.
 *
 * Trusts no text. What is not JSON (a detail that was cut) is shown as it is.
 */
#include "supervisor/answer/detail_lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/buf.h"
#include "shim/host/codepoint.h"
#include "supervisor/json/json.h"

#define WIDTH_MIN    20
#define DEPTH_MAX    6 /* deeper values are shown on one line */
#define SHOWN_MAX    ((size_t)8 * QUESTION_DETAIL_MAX) /* a byte may become six */
#define LABEL_MAX    64
#define CONTINUATION DETAIL_CONTINUATION

/* ---- lines ------------------------------------------------------------------------- */

/* Takes text. */
static void
add_line(struct detail_lines *l, char *text, enum line_style style)
{
	size_t cap = l->cap == 0 ? 64 : 2 * l->cap;
	struct detail_line *more = l->line;

	if (l->error == 0 && text != NULL && l->n == l->cap) {
		more = reallocarray(l->line, cap, sizeof(*more));
		if (more != NULL) {
			l->line = more;
			l->cap = cap;
		}
	}
	if (text == NULL || more == NULL)
		l->error = -ENOMEM;
	if (l->error < 0) {
		free(text);
		return;
	}
	l->line[l->n++] = (struct detail_line){text, style};
}

/* A line with a prefix of ours, and as many further ones as the escaped text needs. */
static void
add_wrapped(struct detail_lines *l, const char *prefix, const char *text, size_t len,
    enum line_style style)
{
	size_t width = (size_t)l->width, used = strlen(prefix), n;
	char *line;

	do {
		n = used < width ? width - used : 1;
		n = n < len ? n : len;
		line = malloc(used + n + 1);
		if (line != NULL) {
			memcpy(line, prefix, used);
			memcpy(line + used, text, n);
			line[used + n] = '\0';
		}
		add_line(l, line, style);
		text += n;
		len -= n;
		prefix = CONTINUATION;
		used = sizeof(CONTINUATION) - 1;
	} while (len > 0 && l->error == 0);
}

static void
add_text(struct detail_lines *l, const char *prefix, const void *text, size_t len,
    enum line_style style)
{
	struct buf shown;
	int r;

	buf_init(&shown, SHOWN_MAX);
	r = codepoint_show(&shown, text, len, 0);
	if (r == 0)
		add_wrapped(l, prefix, buf_str(&shown), shown.len, style);
	else if (l->error == 0)
		l->error = r;
	buf_free(&shown);
}

static void
add_label(struct detail_lines *l, const char *label)
{
	add_wrapped(l, "", label, strlen(label), LINE_LABEL);
}

char *
inert_text(char *out, size_t cap, const char *text)
{
	size_t len = strlen(text);
	struct buf shown;

	buf_init(&shown, SHOWN_MAX);
	/* more would not fit: a character is shown as one byte, or as more */
	if (codepoint_show(&shown, text, len < cap ? len : cap, 0) < 0)
		buf_clear(&shown);
	(void)snprintf(out, cap, "%s", buf_str(&shown)); /* cut */
	buf_free(&shown);
	return out;
}

/* ---- JSON -------------------------------------------------------------------------- */

/* "    key: ", escaped: what begins in the first column is ours. A long key is never cut:
 * it has lines of its own. */
static void
make_prefix(struct detail_lines *l, char out[LABEL_MAX], int depth, struct json key)
{
	struct buf shown;
	int r;

	if (key.type == JSON_IS_NONE) {
		(void)snprintf(out, LABEL_MAX, "%*s- ", 2 * depth, "");
		return;
	}
	buf_init(&shown, SHOWN_MAX);
	/* without its quotes */
	r = codepoint_show(&shown, (const char *)key.at + 1, key.len - 2, 0);
	if (r == 0 && shown.len < LABEL_MAX / 2) {
		(void)snprintf(out, LABEL_MAX, "%*s%s: ", 2 * depth, "", buf_str(&shown));
	} else {
		(void)snprintf(out, LABEL_MAX, "%*s", 2 * depth, "");
		add_text(l, out, key.at, key.len, LINE_PLAIN);
		(void)snprintf(out, LABEL_MAX, "%*s= ", 2 * depth, "");
	}
	buf_free(&shown);
}

/* True: its members have lines of their own. */
static bool
is_opened(struct json value)
{
	return (value.type == JSON_IS_OBJECT || value.type == JSON_IS_ARRAY) &&
	       value.len > 2;
}

/* The members of a value, each with its own: no recursion, as an agent chooses the
 * depth. */
static void
add_members(struct detail_lines *l, struct json container)
{
	struct json_walk walk[DEPTH_MAX + 1];
	char prefix[LABEL_MAX];
	struct json key, value;
	int at = 0;

	json_walk(&walk[0], container);
	while (at >= 0) {
		if (!json_next(&walk[at], &key, &value)) {
			at--;
			continue;
		}
		make_prefix(l, prefix, at + 2, key);
		if (at < DEPTH_MAX && is_opened(value)) {
			add_wrapped(l, prefix, "", 0, LINE_PLAIN);
			json_walk(&walk[++at], value);
		} else
			add_text(l, prefix, value.at, value.len, LINE_PLAIN);
	}
}

/* ---- a difference ------------------------------------------------------------------ */

static bool
is_same(struct json a, struct json b)
{
	return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

/* "- key: " or "+ key: ", escaped. */
static void
make_change(struct detail_lines *l, char out[LABEL_MAX], char mark, struct json key)
{
	make_prefix(l, out, 1, key);
	out[0] = mark;
}

/* Each member that would change: its value, and the proposed one. */
static void
add_difference(struct detail_lines *l, struct json current, struct json proposed)
{
	struct json_walk walk;
	struct json key, value, old;
	char name[JSON_KEY_MAX], prefix[LABEL_MAX];
	const char *text;
	size_t len;

	json_walk(&walk, proposed);
	while (json_next(&walk, &key, &value)) {
		text = json_key_text(&key, name, &len);
		old = (struct json){.type = JSON_IS_NONE};
		if (text != NULL && len < sizeof(name)) {
			memmove(name, text, len);
			name[len] = '\0';
			if (json_get(current, name, &old) < 0)
				old.type = JSON_IS_NONE;
		}
		if (old.type != JSON_IS_NONE && is_same(old, value))
			continue;
		if (old.type != JSON_IS_NONE) {
			make_change(l, prefix, '-', key);
			add_text(l, prefix, old.at, old.len, LINE_OLD);
		}
		make_change(l, prefix, '+', key);
		add_text(l, prefix, value.at, value.len, LINE_NEW);
	}
}

/* proposal: `current` and `proposed` are the session's own, and no agent's. */
static void
add_json(struct detail_lines *l, struct json detail, bool proposal)
{
	struct json current, proposed, key, value;
	struct json_walk walk;
	char prefix[LABEL_MAX];
	bool differs = proposal && json_get(detail, "current", &current) == 0 &&
		       json_get(detail, "proposed", &proposed) == 0 &&
		       proposed.type == JSON_IS_OBJECT;

	if (differs) {
		add_label(l, "what would change:");
		add_difference(l, current, proposed);
	}
	json_walk(&walk, detail);
	while (json_next(&walk, &key, &value)) {
		if (differs && (json_key_is(key, "current") == 1 ||
				   json_key_is(key, "proposed") == 1))
			continue;
		if (json_key_is(key, "reason") == 1) {
			add_text(l, "the agent says: ", value.at, value.len, LINE_PLAIN);
			continue;
		}
		make_prefix(l, prefix, 1, key);
		if (is_opened(value)) {
			add_wrapped(l, prefix, "", 0, LINE_PLAIN);
			add_members(l, value);
		} else
			add_text(l, prefix, value.at, value.len, LINE_PLAIN);
	}
}

static void
add_detail(struct detail_lines *l, const struct approval *a)
{
	struct json_message m;

	if (a->detail[0] == '\0')
		return;
	add_label(l, "");
	if (json_scan((const uint8_t *)a->detail, strlen(a->detail), &m) == 0 &&
	    m.root.type == JSON_IS_OBJECT)
		add_json(l, m.root,
		    a->kind == QUESTION_METADATA || a->kind == QUESTION_NEW_PATH);
	else
		add_text(l, "", a->detail, strlen(a->detail), LINE_PLAIN);
}

/* ---- an approval --------------------------------------------------------------------- */

static void
add_field(struct detail_lines *l, const char *label, const char *text)
{
	if (text[0] != '\0')
		add_text(l, label, text, strlen(text), LINE_PLAIN);
}

int
detail_lines_make(const struct approval *a, int width, struct detail_lines *ret)
{
	struct detail_lines l = {.width = width < WIDTH_MIN ? WIDTH_MIN : width};

	add_field(&l, "server   ", a->server);
	add_field(&l, "kind     ", question_kind_name((enum question_kind)a->kind));
	add_field(&l, "method   ", a->method);
	add_field(&l, "subject  ", a->subject);
	add_field(&l, "rule     ", a->rule);
	add_field(&l, "because  ", a->because);
	add_field(&l, "request  ", a->request);
	if (question_factor_name(a->factor) != NULL)
		add_field(&l, "factor   ", question_factor_name(a->factor));
	if (a->refused != 0) {
		char text[64];
		int n = snprintf(text, sizeof(text),
		    "refused  %u times in the last 10 min", a->refused);

		add_wrapped(&l, "", text, (size_t)n, LINE_WARNING);
	}
	if (a->destructive)
		add_wrapped(
		    &l, "", DESTRUCTIVE_TEXT, sizeof(DESTRUCTIVE_TEXT) - 1, LINE_WARNING);
	add_detail(&l, a);
	if (a->ambiguous)
		add_wrapped(
		    &l, "", AMBIGUOUS_TEXT, sizeof(AMBIGUOUS_TEXT) - 1, LINE_WARNING);
	if (a->cut != 0)
		add_wrapped(&l, "", "a part of it is not shown",
		    sizeof("a part of it is not shown") - 1, LINE_WARNING);
	if (l.error < 0) {
		int r = l.error;

		detail_lines_free(&l);
		return r;
	}
	*ret = l;
	return 0;
}

void
detail_lines_free(struct detail_lines *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->line[i].text);
	free(l->line);
	*l = (struct detail_lines){0};
}
