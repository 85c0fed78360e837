/*
 * Messages that cannot be judged: invalid JSON or UTF-8, nested too deep, too long, a
 * duplicate key. They never pass. But a peer may be waiting for such a message as an
 * answer. So kennel looks for its id and informs that peer at once, instead of
 * letting it time out.
 *
 *	from		it was		informed
 *	the agent	a request	the agent: not done
 *	the agent	an answer	the server: none will come
 *	the server	a request	the server: not done
 *	the server	an answer	the agent: none will come
 *
 * Trusting the id of such a line is safe: a peer can only end requests addressed to
 * itself, and could do that with an error as well.
 */
#include "supervisor/json/json.h"
#include "supervisor/mcp/methods.h"
#include "supervisor/mcp/private.h"
#include "supervisor/mcp/requests.h"
#include "supervisor/mcp/rpc.h"

#include "shim/base/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct rpc_why refused = {.outcome = "refused"};

static const char *
unfit_name(int r)
{
	return r == -E2BIG    ? "nested too deep"
	       : r == -EILSEQ ? "not valid UTF-8"
			      : "not JSON";
}

static bool
id_usable(struct json id)
{
	return (id.type == JSON_IS_STRING || id.type == JSON_IS_NUMBER) &&
	       id.len <= MCP_ID_MAX;
}

/* ---- missing answers ---------------------------------------------------- */

void
unfit_answer_of_server(
    struct session *s, struct json id, enum rpc_code code, const char *why)
{
	struct call *call = id_usable(id) ? calls_answered(&s->asked, id) : NULL;
	char text[400];

	if (call == NULL || call->state == CALL_HELD)
		return; /* the server has no such request */
	if (call->own) {
		replay_unfit(s, call);
		return;
	}
	session_begun(s);
	(void)snprintf(
	    text, sizeof(text), "kennel: the server's response was rejected: %s", why);
	if (call->state == CALL_OPEN) {
		session_answer_agent(s, call->id, call->id_len, code, text, &refused);
		record_answer(s, call, "agent", NULL, 0, "refused");
	}
	calls_remove(&s->asked, call);
}

static void
answer_of_agent(struct session *s, struct json id, const char *why)
{
	struct call *call = id_usable(id) ? calls_find(&s->asking, id) : NULL;
	char text[200];

	if (call == NULL)
		return;
	if (call->own) {
		pings_answered(s, call, false);
		return;
	}
	(void)snprintf(text, sizeof(text), "kennel: the response was rejected: %s", why);
	if (call->state == CALL_OPEN) {
		if (call->known != NULL && (call->known->flags & METHOD_ASKS) != 0)
			session_person(s, -1, true);
		session_answer_server(
		    s, call->id, call->id_len, RPC_REFUSED, text, &refused);
		record_answer(s, call, "server", NULL, 0, "refused");
	}
	calls_remove(&s->asking, call);
}

/* ---- oversized lines ---------------------------------------------------- */

/* A log line on stdout that contains an id is not an answer: without "jsonrpc" the
 * line is ignored. */
static void
unfit_of_server(
    struct session *s, const struct skim *k, enum rpc_code code, const char *why)
{
	struct json id = {k->id, k->id_len, JSON_IS_NUMBER};

	if (k->id_len == 0 || !k->has_jsonrpc)
		return;
	if (k->has_method)
		session_answer_server(
		    s, k->id, k->id_len, RPC_REQUEST_BAD, why, &refused);
	else if (k->has_answer)
		unfit_answer_of_server(s, id, code, why);
}

/* id_known: the line is well-formed up to its id. */
static void
unfit_of_agent(struct session *s, const struct skim *k, enum rpc_code code,
    const char *text, bool id_known)
{
	struct json id = {k->id, k->id_len, JSON_IS_NUMBER};

	if (k->has_answer && !k->has_method) /* answers get no reply */
		answer_of_agent(s, id, text);
	else
		session_answer_agent(
		    s, k->id, id_known ? k->id_len : 0, code, text, &refused);
}

void
unfit_agent_line(struct session *s, const uint8_t *line, size_t len,
    const struct json_message *m, int r)
{
	bool id_known = r == -E2BIG || r == -EILSEQ;
	char text[160], shown[4 * MISSED_SHOWN + 4], answer[sizeof(text) + sizeof(shown)];
	struct skim k;

	skim_begin(&k);
	skim_feed(&k, line, len);
	(void)snprintf(text, sizeof(text), "kennel: the message is %s (at byte %zu)",
	    r == -EBADMSG ? "not valid JSON" : unfit_name(r), m->stop);
	missed_quote(shown, sizeof(shown), line, len);
	(void)snprintf(answer, sizeof(answer), "%s%s%s%s", text,
	    r == -EBADMSG ? "; it begins with `" : "", r == -EBADMSG ? shown : "",
	    r == -EBADMSG ? "`" : ""); /* fits */
	unfit_of_agent(
	    s, &k, r == -E2BIG ? RPC_REQUEST_BAD : RPC_PARSE, answer, id_known);
	/* records contain no content */
	record_refused(s, "agent", NULL, NULL, NULL, NULL, text);
}

void
unfit_server_line(struct session *s, const uint8_t *line, size_t len, int r)
{
	char shown[4 * MISSED_SHOWN + 4], why[sizeof(shown) + 40];
	struct skim k;

	if (len == 0)
		return;
	record_dropped(s, "server", len, unfit_name(r));
	missed_line(s, line, len);
	missed_quote(shown, sizeof(shown), line, len);
	(void)snprintf(
	    why, sizeof(why), "%s; it begins with `%s`", unfit_name(r), shown); /* fits */
	skim_begin(&k);
	skim_feed(&k, line, len);
	unfit_of_server(s, &k, RPC_REFUSED, why);
}

void
agent_oversize(struct session *s, uint64_t len)
{
	const struct skim *k = &s->from_agent.skim;
	char text[160];

	(void)snprintf(text, sizeof(text),
	    "kennel: the message has %llu bytes, the limit is %zu",
	    (unsigned long long)len, s->from_agent.limit);
	record_dropped(s, "agent", len, "longer than the limit");
	if (k->has_answer || !k->has_method || k->id_len > 0) /* not a notification */
		unfit_of_agent(s, k, RPC_REQUEST_BAD, text, true);
}

void
server_oversize(struct session *s, uint64_t len)
{
	char text[160];

	(void)snprintf(text, sizeof(text), "%llu bytes, the limit is %zu",
	    (unsigned long long)len, s->from_server.limit);
	record_dropped(s, "server", len, "longer than the limit");
	unfit_of_server(s, &s->from_server.skim, RPC_TOO_BIG, text);
}

/* ---- invalid messages --------------------------------------------------- */

void
unfit_server_message(struct session *s, const struct json_message *m, const char *why)
{
	struct json id = m->top[TOP_ID];

	record_dropped(s, "server", m->root.len, why);
	if (!id_usable(id) || m->top[TOP_JSONRPC].type == JSON_IS_NONE)
		return;
	if (m->top[TOP_METHOD].type != JSON_IS_NONE)
		session_answer_server(s, id.at, id.len, RPC_REQUEST_BAD, why, &refused);
	else if ((m->top[TOP_RESULT].type | m->top[TOP_ERROR].type) != JSON_IS_NONE)
		unfit_answer_of_server(s, id, RPC_REFUSED, why);
}

void
unfit_agent_answer(struct session *s, const struct json_message *m, const char *why)
{
	record_dropped(s, "agent", m->root.len, why);
	answer_of_agent(s, m->top[TOP_ID], why);
}

/* ---- what came instead of an answer -------------------------------------- */

/*
 * A person who reads that the server did not answer looks for the reason there: a wrong id,
 * a banner on standard output. The bytes are the server's, redacted by its leash, and shown
 * as printable characters.
 */
void
missed_quote(char *out, size_t cap, const uint8_t *line, size_t len)
{
	size_t n = len < MISSED_SHOWN ? len : MISSED_SHOWN;
	size_t at;

	(void)log_quote(out, cap - 3, line, n); /* returns out */
	at = strlen(out);
	if (n < len)
		(void)snprintf(out + at, cap - at, "..."); /* fits */
}

void
missed_answer(struct session *s, struct json id)
{
	s->missed.answers_n++;
	missed_quote(s->missed.id, sizeof(s->missed.id), id.at, id.len);
}

void
missed_line(struct session *s, const uint8_t *line, size_t len)
{
	s->missed.lines_n++;
	missed_quote(s->missed.line, sizeof(s->missed.line), line, len);
}

void
missed_begin(const struct session *s, struct call *call)
{
	call->answers_n = s->missed.answers_n;
	call->lines_n = s->missed.lines_n;
}

const char *
missed_text(const struct session *s, const struct call *call, char text[MISSED_TEXT_MAX])
{
	uint32_t answers = s->missed.answers_n - (call != NULL ? call->answers_n : 0);
	uint32_t lines = s->missed.lines_n - (call != NULL ? call->lines_n : 0);
	int n = 0;

	text[0] = '\0';
	if (answers > 0)
		n = snprintf(text, MISSED_TEXT_MAX,
		    "; meanwhile kennel dropped %u answer%s with an unknown id (%s)",
		    answers, answers == 1 ? "" : "s", s->missed.id); /* fits */
	if (lines > 0)
		(void)snprintf(text + n, MISSED_TEXT_MAX - (size_t)n, /* fits */
		    "; kennel dropped %u line%s of the server that %s not JSON and "
		    "begin%s with `%s`",
		    lines, lines == 1 ? "" : "s", lines == 1 ? "is" : "are",
		    lines == 1 ? "s" : "", s->missed.line);
	return text;
}
