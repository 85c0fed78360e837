/*
 * Batches: a line that is an array of messages, which only version 2025-03-26 allows.
 * Each element is judged as if it came alone. Elements that may not pass are removed
 * from the line, and kennel's answers to them form one array.
 */
#include "shim/base/buf.h"
#include "supervisor/json/json.h"
#include "supervisor/mcp/line/frame.h"
#include "supervisor/mcp/private.h"

#include <string.h>

#define ARRAY_MAX ((size_t)MCP_BATCH_MAX * 4096) /* elements, each with its text */

void
batch_init(struct batch *b)
{
	b->open = false;
	buf_init(&b->to_agent, ARRAY_MAX);
	buf_init(&b->to_server, ARRAY_MAX);
}

void
batch_free(struct batch *b)
{
	buf_free(&b->to_agent);
	buf_free(&b->to_server);
}

int
batch_say(struct session *s, const struct frame_out *out)
{
	struct buf *b = out == &s->to_agent ? &s->batch.to_agent : &s->batch.to_server;

	(void)buf_putc(b, b->len == 0 ? '[' : ',');       /* errors surface at the end */
	return buf_put(b, s->text.data, s->text.len - 1); /* without its newline */
}

static void
say_array(struct session *s, struct buf *array, struct frame_out *out)
{
	int r = 0;

	if (array->len > 0 && (r = buf_puts(array, "]\n")) == 0)
		r = frame_say(out, array->data, array->len);
	if (r < 0)
		s->error = r;
	buf_free(array);
}

static int
judge_all(struct session *s, struct json array, batch_judge_fn *judge, size_t *ret_passed)
{
	struct filter_gap gap = {.cuts = &s->cuts};
	struct json key, item;
	struct json_message m;
	struct json_walk w;
	size_t passed = 0, before;
	int r = 0;

	json_walk(&w, array);
	while (r == 0 && json_next(&w, &key, &item)) {
		enum verdict v = DROP;

		before = s->cuts.n;
		if (json_scan(item.at, item.len, &m) == 0)
			v = judge(s, &m);
		if (v == DROP)
			s->cuts.n = before;
		passed += v == PASS;
		r = filter_item(&gap, key, item, v == PASS);
	}
	*ret_passed = passed;
	return r < 0 ? r : filter_close(&gap);
}

void
batch_line(struct session *s, struct json array, batch_judge_fn *judge,
    struct frame_out *out, const uint8_t *line, size_t len)
{
	size_t passed;
	int r;

	s->batch.open = true;
	r = judge_all(s, array, judge, &passed);
	s->batch.open = false;
	if (r < 0)
		s->error = r;
	else if (passed > 0)
		session_emit(s, out, line, len);
	say_array(s, &s->batch.to_agent, &s->to_agent);
	say_array(s, &s->batch.to_server, &s->to_server);
}

bool
batch_too_long(struct json array)
{
	struct json key, item;
	struct json_walk w;
	size_t n = 0;

	json_walk(&w, array);
	while (n <= MCP_BATCH_MAX && json_next(&w, &key, &item))
		n++;
	return n > MCP_BATCH_MAX;
}
