/*
 * What a session writes: messages of kennel's own, and lines of a peer without what was
 * cut from them.
 */
#include <errno.h>
#include <string.h>

#include "supervisor/mcp/private.h"

void
session_say(struct session *s, struct frame_out *out)
{
	int r =
	    s->batch.open ? batch_say(s, out) : frame_say(out, s->text.data, s->text.len);

	if (r < 0)
		s->error = r;
}

void
session_answer_agent(struct session *s, const uint8_t *id, size_t id_len,
    enum rpc_code code, const char *message, const struct rpc_why *why)
{
	int r;

	buf_clear(&s->text);
	if ((r = rpc_error(&s->text, id, id_len, code, message, why)) < 0)
		s->error = r;
	else
		session_say(s, &s->to_agent);
}

/* A server that sends requests and does not read gets a limited number of answers. */
void
session_answer_server(struct session *s, const uint8_t *id, size_t id_len,
    enum rpc_code code, const char *message, const struct rpc_why *why)
{
	int r;

	if (frame_queued(&s->to_server) >= FRAME_ANSWER)
		return;
	buf_clear(&s->text);
	if ((r = rpc_error(&s->text, id, id_len, code, message, why)) < 0)
		s->error = r;
	else
		session_say(s, &s->to_server);
}

/* ---- lines with cuts ----------------------------------------------------- */

/* Sends the line with its newline, without the cuts, with the insertions. */
void
session_emit(struct session *s, struct frame_out *out, const uint8_t *line, size_t len)
{
	const uint8_t *at = line;
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->cuts.n; i++) {
		const struct cut *cut = &s->cuts.cut[i];

		r = frame_put(out, at, (size_t)(cut->from - at));
		if (r == 0 && cut->said_len > 0)
			r = frame_say(out, s->insert.data + cut->said, cut->said_len);
		at = cut->to;
	}
	if (r == 0)
		r = frame_put(out, at, (size_t)(line + len + 1 - at));
	if (r < 0)
		s->error = r;
}

size_t
session_cut(const struct session *s, struct json root, uint8_t *out)
{
	const uint8_t *at = root.at, *end = root.at + root.len;
	size_t len = 0;

	for (size_t i = 0; i < s->cuts.n; i++) {
		memcpy(out + len, at, (size_t)(s->cuts.cut[i].from - at));
		len += (size_t)(s->cuts.cut[i].from - at);
		at = s->cuts.cut[i].to;
	}
	memcpy(out + len, at, (size_t)(end - at));
	len += (size_t)(end - at);
	out[len++] = '\n';
	return len;
}
