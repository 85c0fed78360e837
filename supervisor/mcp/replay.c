/*
 * A server that ends and is started again without the agent's session ending:
 *
 *	agent			kennel			server
 *	   -- tools/call 7 -->	     -------------->	ends
 *	   <- 7: error -32000 --
 *	   -- tools/call 8 -->	starts it again
 *				     -- initialize -->	as the agent sent it; an id of kennel's
 *				     <-- its answer --	compared with the first one
 *				     -- initialized ->
 *				     -- level, subscriptions of the agent -->
 *				     -- tools/call 8 -->
 *
 * The agent has agreed to a protocol version and to capabilities. A process that answers
 * otherwise is not the server that the agent knows, and ends the session. An agent of
 * 2026-07-28 has sent no `initialize`, and nothing is replayed.
 *
 * Process: kennel. Holds what the agent has set, bounded. Trusts no answer.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "shim/base/log.h"
#include "shim/base/loop.h"
#include "supervisor/hub/hub.h"
#include "supervisor/mcp/private.h"

#define SUBSCRIBED_MAX     256
#define SUBSCRIBED_LEN_MAX (1u << 20) /* of their lines together */
#define ANSWERED_BAD       "it answered initialize with an error"
#define ANSWERED_ELSE \
	"after its restart it has another protocol version or other capabilities"

struct kept {
	struct kept *next;
	char *uri; /* of a subscription; owned */
	size_t len;
	uint8_t line[]; /* with its newline */
};

/* ---- what a new process needs ------------------------------------------------- */

void
replay_init(struct replay *p)
{
	*p = (struct replay){.phase = SERVER_RUNS};
	buf_init(&p->waiting, MCP_MESSAGE_MAX + 1);
}

static void
kept_free(struct kept *k)
{
	if (k == NULL)
		return;
	free(k->uri);
	free(k);
}

void
replay_free(struct replay *p)
{
	struct kept *next;

	kept_free(p->greeting);
	kept_free(p->level);
	for (; p->subscribed != NULL; p->subscribed = next) {
		next = p->subscribed->next;
		kept_free(p->subscribed);
	}
	buf_free(&p->waiting);
}

static struct kept *
keep(const struct session *s, const struct json_message *m)
{
	struct kept *k = calloc(1, sizeof(*k) + m->root.len + 1);

	if (k != NULL)
		k->len = session_cut(s, m->root, k->line);
	return k;
}

/* A memory failure costs the restart, not the request. */
static void
note_greeting(struct session *s, const struct json_message *m)
{
	kept_free(s->replay.greeting);
	s->replay.greeting = keep(s, m);
	s->replay.answered = false;
}

static void
note_level(struct session *s, const struct json_message *m)
{
	kept_free(s->replay.level);
	s->replay.level = keep(s, m);
}

static void
note_unsubscribed(struct session *s, const struct json_message *m)
{
	struct kept **at = &s->replay.subscribed, *found;
	char uri[MCP_NAME_MAX];
	size_t len;

	if (json_text(m->param[PARAM_URI], uri, sizeof(uri), &len) < 0)
		return;
	while (*at != NULL && strcmp((*at)->uri, uri) != 0)
		at = &(*at)->next;
	found = *at;
	if (found == NULL)
		return;
	*at = found->next;
	s->replay.subscribed_n--;
	s->replay.subscribed_len -= found->len;
	kept_free(found);
}

/* Beyond the limits a restart loses subscriptions, and no request. */
static void
note_subscribed(struct session *s, const struct json_message *m)
{
	struct kept *k, **at = &s->replay.subscribed;

	note_unsubscribed(s, m);
	if (s->replay.subscribed_n == SUBSCRIBED_MAX ||
	    m->root.len >= SUBSCRIBED_LEN_MAX - s->replay.subscribed_len ||
	    (k = keep(s, m)) == NULL)
		return;
	k->uri = strdup(s->name);
	if (k->uri == NULL) {
		kept_free(k);
		return;
	}
	while (*at != NULL)
		at = &(*at)->next;
	*at = k;
	s->replay.subscribed_n++;
	s->replay.subscribed_len += k->len;
}

void
replay_note(struct session *s, const struct json_message *m)
{
	static const struct {
		const char *method;
		void (*note)(struct session *, const struct json_message *);
	} rows[] = {
	    {"initialize", note_greeting},
	    {"logging/setLevel", note_level},
	    {"resources/subscribe", note_subscribed},
	    {"resources/unsubscribe", note_unsubscribed},
	};

	if (s->o.lost == NULL || m->top[TOP_ID].type == JSON_IS_NONE)
		return;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strcmp(s->method, rows[i].method) == 0)
			rows[i].note(s, m);
}

/* Digest of the version and the capabilities: 0 or -errno. */
static int
digest_of(const struct json_message *m, uint8_t ret[32])
{
	static const enum json_result of[] = {RESULT_VERSION, RESULT_CAPABILITIES};
	struct buf text;
	int r = 0;

	buf_init(&text, MCP_MESSAGE_MAX);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(of); i++) {
		if (m->result[of[i]].type != JSON_IS_NONE)
			r = json_canon(m->result[of[i]], &text);
		if (r == 0)
			r = buf_putc(&text, '\n');
	}
	if (r == 0)
		mcp_digest(text.data, text.len, ret);
	buf_free(&text);
	return r;
}

void
replay_agreed(struct session *s, const struct json_message *m)
{
	if (s->o.lost != NULL && m->top[TOP_RESULT].type != JSON_IS_NONE)
		s->replay.answered = digest_of(m, s->replay.agreed) == 0;
}

/* ---- the end ------------------------------------------------------------------ */

bool
replay_may(const struct session *s)
{
	const struct replay *p = &s->replay;
	bool ends = s->ended || s->agent_eof || s->leaving || s->error != 0;

	if (s->o.lost == NULL || ends || s->cause != NULL)
		return false;
	return p->greeting != NULL ? p->answered : s->started && s->start_at == 0;
}

static void
remove_all(struct calls *c, enum call_state state)
{
	struct call *call;

	while ((call = calls_next(c, NULL, state)) != NULL)
		calls_remove(c, call);
}

/* Late answers to these cannot come any more, so their ids are free again. */
static void
forget_asked(struct calls *c)
{
	static const enum call_state states[] = {
	    CALL_OPEN, CALL_HELD, CALL_CANCELLED, CALL_GONE, CALL_OWN};

	for (size_t i = 0; i < ARRAY_LEN(states); i++)
		remove_all(c, states[i]);
}

/* Informs the agent that the server waits for none of these answers any more. One may come
 * all the same, and must not be taken for that to a request of the next process: its id
 * stays in use until then. */
static void
withdraw_asking(struct session *s)
{
	struct call *call = NULL;

	while ((call = calls_next(&s->asking, NULL, CALL_CANCELLED)) != NULL)
		calls_state(&s->asking, call, CALL_GONE);

	while ((call = calls_next(&s->asking, call, CALL_OPEN)) != NULL) {
		buf_clear(&s->text);
		if (rpc_cancel(&s->text, call->id, call->id_len,
			"kennel: the server has ended") < 0)
			s->error = -ENOMEM;
		else
			session_say(s, &s->to_agent);
		if (call->known != NULL && (call->known->flags & METHOD_ASKS) != 0)
			session_person(s, -1, false);
		record_answer(s, call, "server", NULL, 0, "gone");
		calls_state(&s->asking, call, CALL_GONE);
	}
	s->pings.open = NULL;
	remove_all(&s->asking, CALL_OWN);
}

void
replay_lost(struct session *s, const char *why)
{
	withdraw_asking(s);
	forget_asked(&s->asked);
	while (s->programs > 0)
		session_program(s, -1, false);
	if (s->pins != NULL)
		pins_listed(s->pins, false);
	s->named.len = 0;
	s->start_at = 0;
	s->replay.phase = SERVER_DOWN;
	session_detach(s);
	s->o.lost(s->o.end_arg, why);
}

/* ---- the next process ----------------------------------------------------------- */

bool
replay_need(struct session *s, const struct json_message *m, char *text, size_t cap)
{
	struct replay *p = &s->replay;

	if (!s->o.need(s->o.end_arg, text, cap))
		return false;
	p->phase = SERVER_STARTS;
	buf_clear(&p->waiting);
	if (buf_put(&p->waiting, m->root.at, m->root.len) < 0 ||
	    buf_putc(&p->waiting, '\n') < 0)
		s->error = -ENOMEM;
	return true;
}

/* Sends this request again, with an id of kennel's. */
static int
send(struct session *s, const struct kept *k)
{
	char id[MCP_ID_MAX];
	struct json_message m;
	struct call *call;
	const uint8_t *at, *end = k->line + k->len;
	int r;

	if (json_scan(k->line, k->len - 1, &m) < 0)
		bug("a line that was scanned before");
	if (!session_own_call(s, &s->asked, id, &call))
		return -ENOBUFS;
	call->known = session_method(s, &m);
	(void)snprintf(call->method, sizeof(call->method), "%s", s->method); /* fits */
	record_name(s, call, "");
	r = record_forward(s, call, "kennel", m.top[TOP_PARAMS], NULL);
	at = m.top[TOP_ID].at;
	if (r == 0)
		r = frame_say(&s->to_server, k->line, (size_t)(at - k->line));
	if (r == 0)
		r = frame_say(&s->to_server, id, strlen(id));
	at += m.top[TOP_ID].len;
	return r < 0 ? r : frame_say(&s->to_server, at, (size_t)(end - at));
}

int
session_back(struct session *s, int in, int out)
{
	struct replay *p = &s->replay;
	int r = session_attach(s, in, out);

	if (r < 0)
		return r;
	p->phase = p->greeting != NULL ? SERVER_GREETS : SERVER_RUNS;
	if (p->phase == SERVER_GREETS) {
		s->start_at = session_clock(s) + s->start_ns;
		if (send(s, p->greeting) < 0)
			session_server_eof(s, "unable to record its restart");
		(void)frame_flush(&s->to_server); /* the rest is written later */
		session_arm(s);
	} else
		session_resume(s);
	return 0;
}

void
session_down(struct session *s)
{
	s->replay.phase = SERVER_DOWN;
	session_resume(s);
}

void
session_give_up(struct session *s, const char *why)
{
	s->o.lost = NULL;
	if (s->replay.phase == SERVER_RUNS)
		return;
	session_stop(s, why);
	session_resume(s);
}

bool
session_outlives(const struct session *s)
{
	return replay_may(s);
}

/* The server is the one that the agent knows. */
static void
greeted(struct session *s)
{
	static const char initialized[] =
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
	struct replay *p = &s->replay;
	int r = frame_say(&s->to_server, initialized, sizeof(initialized) - 1);

	if (r == 0 && p->level != NULL)
		r = send(s, p->level);
	for (const struct kept *k = p->subscribed; r == 0 && k != NULL; k = k->next)
		r = send(s, k);
	if (r < 0) {
		session_server_eof(s, "unable to record its restart");
		return;
	}
	s->start_at = 0;
	p->phase = SERVER_RUNS;
	p->resume = true;
}

void
replay_answered(struct session *s, struct call *call, const struct json_message *m)
{
	bool result = m->top[TOP_RESULT].type != JSON_IS_NONE;
	bool first = call->known != NULL && (call->known->flags & METHOD_FIRST) != 0;
	struct json body = m->top[result ? TOP_RESULT : TOP_ERROR];
	uint8_t agreed[32];

	if (strcmp(call->method, "ping") == 0) {
		health_answered(s, call);
		return;
	}
	record_answer(s, call, "kennel", body.at, body.len, result ? "ok" : "error");
	calls_remove(&s->asked, call);
	if (!first || s->replay.phase != SERVER_GREETS)
		return;
	if (!result || digest_of(m, agreed) < 0)
		session_hung(s, ANSWERED_BAD);
	else if (memcmp(agreed, s->replay.agreed, sizeof(agreed)) == 0)
		greeted(s);
	else {
		s->cause = ANSWERED_ELSE; /* so this end is the session's */
		session_server_eof(s, s->cause);
	}
}

void
replay_unfit(struct session *s, struct call *call)
{
	bool first = call->known != NULL && (call->known->flags & METHOD_FIRST) != 0;

	calls_remove(&s->asked, call);
	if (first && s->replay.phase == SERVER_GREETS)
		session_hung(s, ANSWERED_BAD);
}
