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

/* The beginning of a label whose characters above 0x7f are encoded at its end, after the
 * others (RFC 3492). */
static const char encoded[] = "xn--";

/* A name that is searched. */
struct searched {
	const char *text; /* the name, or room */
	bool encoded; /* bytes above 0x7f are signs: they are encoded in such a label */
	char room[FOREIGN_NAME_MAX];
	uint16_t place[FOREIGN_NAME_MAX]; /* of each byte of text, in the name */
	bool marked[FOREIGN_NAME_MAX];    /* bytes of the name */
};

/* Is the byte left of a value that a name contains?  Signs are not. */
static bool
is_kept(const struct searched *s, uint8_t c)
{
	return (c >= 0x80 && !s->encoded) || isalnum(c);
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
match_end(const struct searched *s, const struct pattern *p, size_t first, size_t at)
{
	const uint8_t *n = (const uint8_t *)s->text + at;
	size_t i = 0, k = first, kept = 0;
	bool same = first == 0;

	while (k < p->len) {
		if (folded(p->data[k]) == folded(n[i]) && n[i] != '\0') {
			kept += is_kept(s, n[i]);
			i++;
			k++;
		} else if (!is_kept(s, p->data[k])) {
			same = false;
			k++;
		} else if (n[i] != '\0' && !is_kept(s, n[i])) {
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
mark(struct searched *s, const struct pattern *p)
{
	size_t first = 0, end;
	bool any = false;

	while (first < p->len && !is_kept(s, p->data[first]))
		first++;
	for (size_t at = 0; first < p->len && s->text[at] != '\0'; at++) {
		if (folded((uint8_t)s->text[at]) != folded(p->data[first]))
			continue;
		end = match_end(s, p, first, at);
		for (size_t i = at; i < end; i++)
			s->marked[s->place[i]] = true;
		any = any || end > at;
	}
	return any;
}

/* The name without what the encoding added: the beginning of each such label and, with
 * ends, the code after its last hyphen.  A value of several labels is in one piece there. */
static void
without_code(const char *name, bool ends, struct searched *ret)
{
	size_t n = strlen(encoded), len, plain, k = 0;

	for (const char *at = name; *at != '\0'; at += len) {
		const char *hyphen;
		size_t skip = 0;

		len = strcspn(at, ".");
		plain = len;
		if (strncasecmp(at, encoded, n) == 0) {
			hyphen = memrchr(at + n, '-', len - n);
			skip = n;
			if (ends)
				plain = hyphen == NULL ? n : (size_t)(hyphen - at);
		}
		len += at[len] == '.';
		for (size_t i = skip; i < len; i++) {
			if (i >= plain && at[i] != '.')
				continue;
			ret->room[k] = at[i];
			ret->place[k++] = (uint16_t)(at + i - name);
		}
	}
	ret->room[k] = '\0';
	ret->text = ret->room;
}

/* The end of such a label says what the value has above 0x7f, so all of it is marked. */
static void
mark_encoded(const char *name, struct searched *s)
{
	size_t n = strlen(encoded), len;

	for (const char *at = name; *at != '\0'; at += len + (at[len] != '\0')) {
		bool *mark = s->marked + (at - name);

		len = strcspn(at, ".");
		if (strncasecmp(at, encoded, n) == 0 && memchr(mark, 1, len) != NULL)
			memset(mark, true, len);
	}
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

/*
 * Marks and counts all values in the name; true: at least one.  In a name with an encoded
 * label a value may be there without its bytes above 0x7f, or with them in another label.
 */
static bool
mark_all(struct scrub *s, struct searched *find, bool has_encoded)
{
	bool any = false;

	for (int encoded_too = 0; encoded_too < (has_encoded ? 2 : 1); encoded_too++) {
		find->encoded = encoded_too == 1;
		for (size_t i = 0; i < s->pattern_n; i++) {
			if (!mark(find, &s->pattern[i]))
				continue;
			count(s, s->pattern[i].value);
			any = true;
		}
	}
	return any;
}

const struct foreign *
foreign_name(struct scrub *s, const char *name, struct buf *room)
{
	const struct foreign *exact = foreign_text(s, name, room);
	char text[FOREIGN_NAME_MAX];
	struct searched find = {.text = text};
	bool any, has_encoded;
	size_t len = strlen(foreign_str(exact));

	if (s == NULL)
		return exact;
	if (len >= sizeof(text))
		return made(SCRUB_MASK);
	memcpy(text, foreign_str(exact), len + 1);
	has_encoded = strcasestr(text, encoded) != NULL;
	for (size_t i = 0; i < len; i++)
		find.place[i] = (uint16_t)i;
	s->run++;
	any = mark_all(s, &find, has_encoded);
	for (int ends = 0; ends < 2 && has_encoded; ends++) {
		without_code(text, ends == 1, &find);
		any = mark_all(s, &find, true) || any;
	}
	mark_encoded(text, &find);
	if (any && put_masked(text, find.marked, room) < 0)
		exact = made(SCRUB_MASK);
	else if (any)
		exact = made((const char *)room->data);
	explicit_bzero(text, sizeof(text));
	explicit_bzero(find.room, sizeof(find.room));
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
