/*
 * Server-sent events (the event stream of the HTML standard): lines to fields, fields
 * to events.  The stream is hostile: a line and the data of an event have a limit, and
 * an id that could not be sent back in a header is ignored.
 */
#include "leash/remote/sse.h"

#include "shim/base/array.h"

#include <errno.h>
#include <string.h>

#define KEPT_MAX (64u << 10) /* bytes of memory that an empty buffer keeps */

void
sse_init(struct sse *s, size_t line_max, sse_event_fn *fn, void *arg)
{
	*s = (struct sse){.fn = fn, .arg = arg, .retry_ms = SSE_NO_RETRY};
	buf_init(&s->line, line_max);
	buf_init(&s->data, line_max);
}

void
sse_free(struct sse *s)
{
	buf_free(&s->line);
	buf_free(&s->data);
}

/* One large event in a stream that lasts for hours must not cost its memory for hours. */
static void
empty(struct buf *b)
{
	if (b->cap > KEPT_MAX)
		buf_free(b);
	else
		buf_clear(b);
}

void
sse_restart(struct sse *s)
{
	empty(&s->line);
	empty(&s->data);
	memcpy(s->next, s->id, sizeof(s->next));
	s->other = s->begun = s->after_cr = false;
}

void
sse_forget(struct sse *s)
{
	s->id[0] = s->next[0] = '\0';
	s->retry_ms = SSE_NO_RETRY;
}

/* ---- fields ---------------------------------------------------------------- */

static int
field_data(struct sse *s, const char *value, size_t len)
{
	int r = s->data.len > 0 ? buf_putc(&s->data, '\n') : 0;

	return r < 0 ? r : buf_put(&s->data, value, len);
}

static int
field_event(struct sse *s, const char *value, size_t len)
{
	static const char message[] = "message";

	s->other = len > 0 && (len != sizeof(message) - 1 ||
				  memcmp(value, message, sizeof(message) - 1) != 0);
	return 0;
}

static int
field_id(struct sse *s, const char *value, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (value[i] < ' ' || value[i] >= 0x7f)
			return 0;
	if (len > SSE_ID_MAX)
		return 0;
	memcpy(s->next, value, len);
	s->next[len] = '\0';
	return 0;
}

static int
field_retry(struct sse *s, const char *value, size_t len)
{
	uint32_t ms = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		if (value[i] < '0' || value[i] > '9')
			return 0;
		if (ms <= SSE_RETRY_MAX)
			ms = ms * 10 + (uint32_t)(value[i] - '0');
	}
	if (len > 0)
		s->retry_ms = ms < SSE_RETRY_MAX ? ms : SSE_RETRY_MAX;
	return 0;
}

static const struct {
	const char *name;
	int (*fn)(struct sse *, const char *value, size_t len);
} fields[] = {
    {"data", field_data},
    {"event", field_event},
    {"id", field_id},
    {"retry", field_retry},
};

/* ---- lines ----------------------------------------------------------------- */

/* An empty line ends the event. */
static void
dispatch(struct sse *s)
{
	memcpy(s->id, s->next, sizeof(s->id));
	if (s->data.len > 0 && !s->other)
		s->fn(s->arg, (char *)s->data.data, s->data.len);
	empty(&s->data);
	s->other = false;
}

static int
line_end(struct sse *s)
{
	const char *line = (const char *)s->line.data, *value, *colon;
	size_t len = s->line.len, name, i;
	int r = 0;

	if (!s->begun && len >= 3 && memcmp(line, "\xef\xbb\xbf", 3) == 0) {
		line += 3;
		len -= 3;
	}
	s->begun = true;
	if (len == 0) {
		dispatch(s);
	} else {
		colon = memchr(line, ':', len);
		name = colon == NULL ? len : (size_t)(colon - line);
		value = colon == NULL ? line + len : colon + 1;
		if (value < line + len && *value == ' ')
			value++;
		for (i = 0; i < ARRAY_LEN(fields); i++)
			if (strlen(fields[i].name) == name &&
			    memcmp(fields[i].name, line, name) == 0)
				r = fields[i].fn(s, value, (size_t)(line + len - value));
	}
	empty(&s->line);
	return r;
}

/* The first end of a line in the bytes, or NULL. */
static const char *
end_of_line(const char *bytes, size_t len)
{
	const char *lf = memchr(bytes, '\n', len);
	const char *cr = memchr(bytes, '\r', lf != NULL ? (size_t)(lf - bytes) : len);

	return cr != NULL ? cr : lf;
}

int
sse_feed(struct sse *s, const char *bytes, size_t len)
{
	const char *end;
	size_t n;
	int r;

	while (len > 0) {
		if (s->after_cr && *bytes == '\n') { /* the second half of CR LF */
			s->after_cr = false;
			bytes++;
			len--;
			continue;
		}
		s->after_cr = false;
		end = end_of_line(bytes, len);
		n = end == NULL ? len : (size_t)(end - bytes);
		r = buf_put(&s->line, bytes, n);
		if (r < 0)
			return r;
		if (end == NULL)
			return 0;
		s->after_cr = *end == '\r';
		r = line_end(s);
		if (r < 0)
			return r;
		bytes += n + 1;
		len -= n + 1;
	}
	return 0;
}
