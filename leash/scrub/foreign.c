/*
 * Text of the server for records, questions and messages: see foreign.h.
 *
 * Process: the leash.  Trusts: nothing; the text is untrusted.  Must never return text
 * that was not redacted.
 */
#include <ctype.h>
#include <string.h>

#include "leash/scrub/foreign.h"
#include "leash/scrub/private.h"

static const struct foreign *
made(const char *text)
{
	return (const struct foreign *)text;
}

const char *
foreign_str(const struct foreign *f)
{
	return (const char *)f;
}

const struct foreign *
foreign_text(struct scrub *s, const char *text, struct buf *room)
{
	int r;

	if (s != NULL) {
		r = scrub_text(s, text, room);
	} else {
		buf_clear(room);
		r = buf_put(room, text, strlen(text) + 1);
	}
	return made(r == 0 ? (const char *)room->data : SCRUB_MASK);
}

/* ---- names ----------------------------------------------------------------------- */

/* Is the byte left of a value that a name contains?  Signs are not. */
static bool
is_kept(uint8_t c)
{
	return c >= 0x80 || isalnum(c);
}

static uint8_t
folded(uint8_t c)
{
	return (uint8_t)tolower(c);
}

/*
 * The end of a match of p that begins at name[at], which is kept; 0: none.  Signs on
 * either side are skipped.  Short patterns count only if both have the same signs.
 */
static size_t
match_end(const struct pattern *p, size_t first, const char *name, size_t at)
{
	const uint8_t *n = (const uint8_t *)name + at;
	size_t i = 0, k = first, kept = 0;
	bool same = first == 0;

	while (k < p->len) {
		if (folded(p->data[k]) == folded(n[i]) && n[i] != '\0') {
			kept += is_kept(n[i]);
			i++;
			k++;
		} else if (!is_kept(p->data[k])) {
			same = false;
			k++;
		} else if (n[i] != '\0' && !is_kept(n[i])) {
			same = false;
			i++;
		} else {
			return 0;
		}
	}
	return same || kept >= SCRUB_FORM_MIN ? at + i : 0;
}

/* Marks what the pattern matches in the name; false: nothing. */
static bool
mark(const struct pattern *p, const char *name, bool marked[FOREIGN_NAME_MAX])
{
	size_t first = 0, end;
	bool any = false;

	while (first < p->len && !is_kept(p->data[first]))
		first++;
	for (size_t at = 0; first < p->len && name[at] != '\0'; at++) {
		if (folded((uint8_t)name[at]) != folded(p->data[first]))
			continue;
		end = match_end(p, first, name, at);
		if (end > at)
			memset(marked + at, true, end - at);
		any = any || end > at;
	}
	return any;
}

/* Each value is counted once for a name. */
static void
count(struct scrub *s, uint32_t value)
{
	struct value *v = &s->value[value];

	if (v->run == s->run)
		return;
	v->run = s->run;
	v->count++;
}

/* The name with a mask for each sequence of marked bytes, to room. */
static int
put_masked(const char *name, const bool marked[FOREIGN_NAME_MAX], struct buf *room)
{
	int r = 0;

	buf_clear(room);
	for (size_t i = 0; name[i] != '\0' && r == 0; i++) {
		if (!marked[i])
			r = buf_putc(room, name[i]);
		else if (i == 0 || !marked[i - 1])
			r = buf_puts(room, SCRUB_MASK);
	}
	return r == 0 ? buf_putc(room, '\0') : r;
}

const struct foreign *
foreign_name(struct scrub *s, const char *name, struct buf *room)
{
	const struct foreign *exact = foreign_text(s, name, room);
	bool marked[FOREIGN_NAME_MAX] = {false}, any = false;
	char text[FOREIGN_NAME_MAX];
	size_t len = strlen(foreign_str(exact));

	if (s == NULL)
		return exact;
	if (len >= sizeof(text))
		return made(SCRUB_MASK);
	memcpy(text, foreign_str(exact), len + 1);
	s->run++;
	for (size_t i = 0; i < s->pattern_n; i++) {
		if (!mark(&s->pattern[i], text, marked))
			continue;
		count(s, s->pattern[i].value);
		any = true;
	}
	if (any && put_masked(text, marked, room) < 0)
		exact = made(SCRUB_MASK);
	else if (any)
		exact = made((const char *)room->data);
	explicit_bzero(text, sizeof(text));
	return exact;
}

const struct foreign *
foreign_after(const char *before, const struct foreign *text, struct buf *room)
{
	const char *at = foreign_str(text);
	int r;

	buf_clear(room);
	r = buf_puts(room, before);
	if (r == 0 && at[0] != '\0')
		r = buf_puts(room, ": ");
	if (r == 0)
		r = buf_put(room, at, strlen(at) + 1);
	return made(r == 0 ? (const char *)room->data : SCRUB_MASK);
}

/* ---- several texts --------------------------------------------------------------- */

void
foreign_list_init(struct foreign_list *list, size_t max)
{
	buf_init(&list->bytes, max);
	list->n = 0;
}

void
foreign_list_free(struct foreign_list *list)
{
	buf_free(&list->bytes);
}

void
foreign_list_clear(struct foreign_list *list)
{
	buf_clear(&list->bytes);
	list->n = 0;
}

bool
foreign_list_add(struct foreign_list *list, const struct foreign *text)
{
	const char *at = foreign_str(text);

	if (buf_put(&list->bytes, at, strlen(at) + 1) < 0)
		return false;
	list->n++;
	return true;
}

const char *
foreign_list_str(const struct foreign_list *list)
{
	return list->bytes.data == NULL ? "" : (const char *)list->bytes.data;
}
