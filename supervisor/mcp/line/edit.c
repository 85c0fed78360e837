/*
 * A line with some values replaced: ids, names, tokens. All other bytes pass as they are,
 * so numbers and unknown members are never written again by kennel.
 */
#include <errno.h>
#include <stdlib.h>

#include "supervisor/mcp/line/edit.h"

#define COPIED_MAX (64u << 10) /* a longer line is written from where it is */
#define MARGIN     (1u << 20) /* more than the edits of a line add, without taken texts */

void
edit_put(struct edits *e, const uint8_t *at, size_t len, const void *text, size_t n)
{
	int i = e->n;

	e->full |= e->n == EDITS_MAX;
	if (e->full)
		return;
	/* in the order of the line */
	for (; i > 0 && e->edit[i - 1].at > at; i--)
		e->edit[i] = e->edit[i - 1];
	e->edit[i] = (struct edit){at, len, text, n, NULL};
	e->n++;
}

void
edit_take(struct edits *e, const uint8_t *at, size_t len, struct buf *text)
{
	edit_put(e, at, len, text->data, text->len);
	for (int i = 0; i < e->n; i++)
		if (e->edit[i].text == text->data && text->data != NULL) {
			e->edit[i].owned = text->data;
			*text = (struct buf){.max = text->max};
		}
	buf_free(text); /* it was not added */
}

void
edit_refuse(struct edits *e, const char *why)
{
	if (e->wrong == NULL)
		e->wrong = why;
}

static void
free_texts(struct edits *e)
{
	for (int i = 0; i < e->n; i++) {
		free(e->edit[i].owned);
		e->edit[i].owned = NULL;
	}
	e->n = 0;
}

bool
edit_find(struct edits *e, struct json object, const char *name, struct json *ret)
{
	int r = json_get(object, name, ret);

	e->twice |= r == -EEXIST;
	return r == 0;
}

static int
edits_wrong(const struct edits *e)
{
	return e->twice ? -EEXIST : e->full ? -E2BIG : e->wrong != NULL ? -EINVAL : 0;
}

int
edit_apply(struct edits *e, const uint8_t *line, size_t len, struct buf *out)
{
	const uint8_t *at = line;
	int r = edits_wrong(e);

	for (int i = 0; r == 0 && i < e->n; i++) {
		const struct edit *d = &e->edit[i];

		r = buf_put(out, at, (size_t)(d->at - at));
		if (r == 0)
			r = buf_put(out, d->text, d->text_len);
		at = d->at + d->len;
	}
	if (r == 0)
		r = buf_put(out, at, (size_t)(line + len - at));
	free_texts(e);
	return r == 0 ? buf_putc(out, '\n') : r;
}

/* Bytes of texts that were taken. */
static size_t
taken(const struct edits *e)
{
	size_t n = 0;

	for (int i = 0; i < e->n; i++)
		n += e->edit[i].owned != NULL ? e->edit[i].text_len : 0;
	return n;
}

int
edit_send(struct edits *e, const uint8_t *line, size_t len, struct frame_out *out)
{
	int (*put)(struct frame_out *, const void *, size_t) =
	    len > COPIED_MAX && taken(e) == 0 ? frame_put : frame_say; /* freed here */
	const uint8_t *at = line;
	int r = edits_wrong(e);

	/* a part of a line would spoil the next one */
	if (r == 0 && !out->closed &&
	    frame_queued(out) + len + taken(e) + MARGIN > FRAME_MAX)
		r = -EMSGSIZE;
	for (int i = 0; r == 0 && i < e->n; i++) {
		const struct edit *d = &e->edit[i];

		r = put(out, at, (size_t)(d->at - at));
		if (r == 0)
			r = put(out, d->text, d->text_len);
		at = d->at + d->len;
	}
	if (r == 0)
		r = put(out, at, (size_t)(line + len - at));
	free_texts(e);
	return r == 0 ? put(out, "\n", 1) : r;
}
