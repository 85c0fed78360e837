/*
 * A line with some values replaced: ids, names, tokens. All other bytes pass as they are,
 * so numbers and unknown members are never written again by kennel.
 */
#include <errno.h>

#include "supervisor/mcp/line/edit.h"

#define COPIED_MAX (64u << 10) /* a longer line is written from where it is */
#define MARGIN     (1u << 20)  /* more than the edits of a line add */

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
	e->edit[i] = (struct edit){at, len, text, n};
	e->n++;
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
	return e->twice ? -EEXIST : e->full ? -E2BIG : 0;
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
	return r == 0 ? buf_putc(out, '\n') : r;
}

int
edit_send(struct edits *e, const uint8_t *line, size_t len, struct frame_out *out)
{
	int (*put)(struct frame_out *, const void *, size_t) =
	    len > COPIED_MAX ? frame_put : frame_say;
	const uint8_t *at = line;
	int r = edits_wrong(e);

	/* a part of a line would spoil the next one */
	if (r == 0 && !out->closed && frame_queued(out) + len + MARGIN > FRAME_MAX)
		return -EMSGSIZE;
	for (int i = 0; r == 0 && i < e->n; i++) {
		const struct edit *d = &e->edit[i];

		r = put(out, at, (size_t)(d->at - at));
		if (r == 0)
			r = put(out, d->text, d->text_len);
		at = d->at + d->len;
	}
	if (r == 0)
		r = put(out, at, (size_t)(line + len - at));
	return r == 0 ? put(out, "\n", 1) : r;
}
