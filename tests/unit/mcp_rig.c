/*
 * The rig of tests/unit/test_session.c and tests/fuzz/fuzz_session.c.
 */
#include "policy/sealed/policy.h"
#include "tests/unit/mcp_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shim/base/fd.h"

/* ---- a report that is a text -------------------------------------------- */

char rig_events[1 << 16];
int rig_report_error;
bool rig_report_late;
uint64_t rig_durable = UINT64_MAX;
size_t rig_report_pending;

/* What a server says of itself is told to those tests only that ask for it. */
bool rig_definitions;
static bool unsaid;

static void
say(const char *bytes, size_t len)
{
	size_t n = strlen(rig_events);

	if (!unsaid && n + len + 1 < sizeof(rig_events)) {
		memcpy(rig_events + n, bytes, len);
		rig_events[n + len] = '\0';
	}
}

void
event_begin(struct event *e, enum event_kind kind)
{
	static const char *const name[EVENT_KIND_END] = {
	    [EVENT_CALL] = "call",
	    [EVENT_REFUSED] = "refused",
	    [EVENT_DROPPED] = "dropped",
	    [EVENT_MANIFEST] = "manifest",
	    [EVENT_APPROVE] = "approve",
	};

	e->kind = kind;
	e->out.len = 0;
	unsaid = kind == EVENT_MANIFEST && !rig_definitions;
	say(name[kind], strlen(name[kind]));
}

void
event_bytes(struct event *e, enum event_key key, const void *bytes, size_t len)
{
	/* what every record of its kind has is not told each time */
	if (key == KEY_SOURCE || key == KEY_ACTION ||
	    (key == KEY_VERDICT && e->kind == EVENT_CALL))
		return;
	say(" ", 1);
	say(bytes, len);
}

void
event_name_keep(struct event_name *name, const void *bytes, size_t len)
{
	name->len = (uint16_t)(len < sizeof(name->head) ? len : sizeof(name->head));
	memcpy(name->head, bytes, name->len);
}

void
event_name_put(struct event *e, enum event_key key, const struct event_name *name)
{
	event_bytes(e, key, name->head, name->len);
}

void
event_sha256(const void *bytes, size_t len, uint8_t ret[REPORT_DIGEST_LEN])
{
	mcp_digest(bytes, len, ret);
}

void
event_put_text(struct event *e, enum event_key key, const char *text)
{
	event_bytes(e, key, text, strlen(text));
}

void
event_digest(struct event *e, enum event_key key, const uint8_t digest[REPORT_DIGEST_LEN])
{
	(void)e, (void)key, (void)digest;
}

void
event_identity(struct event *e, const char *server, const uint8_t id[REPORT_DIGEST_LEN])
{
	(void)e, (void)server, (void)id;
}

void
event_number(struct event *e, enum event_key key, uint64_t number)
{
	char text[32];

	(void)e;
	if (key != KEY_BYTES)
		return;
	snprintf(text, sizeof(text), " %llu bytes", (unsigned long long)number);
	say(text, strlen(text));
}

bool
report_late(const struct report *r)
{
	(void)r;
	return rig_report_late;
}

bool
report_durable(const struct report *r, uint64_t number)
{
	(void)r;
	return number <= rig_durable;
}

int
report_wait(struct report *r, uint64_t number, int wait_ms)
{
	(void)r, (void)number, (void)wait_ms;
	return 0;
}

size_t
report_pending(const struct report *r)
{
	(void)r;
	return rig_report_pending;
}

int
report_send(
    struct report *r, const struct event *e, enum event_class class, uint64_t *ret)
{
	(void)r, (void)e, (void)class, (void)ret;
	say("\n", 1);
	return rig_report_error;
}

/* ---- a policy made by hand ---------------------------------------------- */

#define STRINGS_MAX 4096
#define GATES_MAX   32

static char strings[STRINGS_MAX];
static struct sealed_gate gates[GATES_MAX];
static struct sealed_ref files[1];
static struct sealed_limit limits[8];
static struct sealed_pin pins[8];

static struct sealed_ref
string(struct policy *p, const char *text)
{
	struct sealed_ref ref = {(uint32_t)p->strings_len, (uint32_t)strlen(text)};

	memcpy(strings + ref.off, text, ref.len + 1);
	p->strings_len += ref.len + 1;
	return ref;
}

/* The lines that the flags come from. */
static size_t
put_offers(struct policy *p, uint32_t flags, size_t n)
{
	static const uint32_t flag[] = {
	    SERVER_MCP_SAMPLING, SERVER_MCP_ELICITATION, SERVER_MCP_ROOTS};

	for (uint32_t i = 0; i < 3; i++)
		if ((flags & flag[i]) != 0)
			gates[n++] = (struct sealed_gate){
			    .name = string(p, ""),
			    .because = string(p, ""),
			    .instead = string(p, ""),
			    .at = {0, 100 + i},
			    .kind = GATE_SAMPLING + i,
			    .exception = SEALED_NONE,
			    .verdict = VERDICT_ALLOW,
			};
	return n;
}

void
rig_policy(struct rig *rig, uint32_t flags, const struct rig_gate *gate, size_t gate_n,
    const struct sealed_limit *limit, size_t limit_n)
{
	struct policy *p = &rig->policy;

	memset(rig, 0, sizeof(*rig));
	p->strings = strings;
	p->gate = gates;
	p->limit = limits;
	p->file = files;
	files[0] = string(p, "toy.kennel");
	rig->server.name = string(p, "toy");
	for (size_t i = 0; i < gate_n; i++)
		gates[i] = (struct sealed_gate){
		    .name = string(p, gate[i].name),
		    .because = string(p, gate[i].because == NULL ? "" : gate[i].because),
		    .instead = string(p, ""),
		    .at = {0, (uint32_t)i + 1},
		    .kind = gate[i].kind,
		    .exception = SEALED_NONE,
		    .classes = gate[i].classes,
		    .verdict = gate[i].verdict,
		};
	gate_n = put_offers(p, flags, gate_n);
	if (limit_n > 0)
		memcpy(limits, limit, limit_n * sizeof(*limit));
	p->row_n[SEALED_FILES] = 1;
	p->row_n[SEALED_GATES] = (uint32_t)gate_n;
	p->row_n[SEALED_LIMITS] = (uint32_t)limit_n;
	rig->server.flags = flags;
	rig->server.gates.n = (uint32_t)gate_n;
	rig->server.limits.n = (uint32_t)limit_n;
	rig_definitions = false;
}

void
rig_pin(struct rig *rig, enum sealed_pin_kind kind, const char *name, const char *body,
    uint32_t classes)
{
	struct policy *p = &rig->policy;
	uint32_t n = rig->server.pins.n++;

	p->pin = pins;
	pins[n] = (struct sealed_pin){
	    .name = string(p, name),
	    .variant = string(p, ""),
	    .body = string(p, body),
	    .kind = kind,
	    .classes = classes,
	};
	p->row_n[SEALED_PINS] = rig->server.pins.n;
}

/* ---- the ends ----------------------------------------------------------- */

static void
ended(void *arg, const char *why)
{
	struct rig *rig = arg;

	rig->ends++;
	snprintf(rig->why, sizeof(rig->why), "%s", why);
}

/* A way from [1] to [0]. */
static void
way(bool is_pipe, int ret[2])
{
	if ((is_pipe ? pipe(ret) : socketpair(AF_UNIX, SOCK_STREAM, 0, ret)) < 0)
		abort();
}

void
rig_open(struct rig *rig, bool pipes)
{
	struct session_order o = {0};
	int a[2], b[2], in[2], out[2];

	signal(SIGPIPE, SIG_IGN);
	rig_events[0] = '\0';
	rig_report_error = 0;
	rig_report_late = false;
	rig_report_pending = 0;
	buf_init(&rig->agent_got, 256u << 20);
	buf_init(&rig->server_got, 256u << 20);
	way(pipes, a);
	if (pipes)
		way(true, b);
	else {
		b[0] = a[1]; /* one socket both ways, as some clients do */
		b[1] = a[0];
	}
	way(pipes, in);
	way(pipes, out);
	rig->from_agent = a[1];
	rig->agent = b[0];
	rig->into = in[0];
	rig->out = out[1];
	for (int i = 0; i < 4; i++)
		fd_nonblock((int[]){a[1], b[0], in[0], out[1]}[i], true);
	loop_init(&rig->loop);
	o.loop = &rig->loop;
	o.policy = &rig->policy;
	o.server = &rig->server;
	o.agent_in = a[0];
	o.agent_out = b[1];
	o.server_in = in[1];
	o.server_out = out[0];
	o.report = (struct report *)(void *)rig; /* never looked into */
	o.end = ended;
	o.end_arg = rig;
	rig->agent_in = o.agent_in;
	rig->agent_out = o.agent_out;
	if (session_new(&o, &rig->session) < 0) { /* for want of memory */
		rig->session = NULL;
		close(o.server_in);
		close(o.server_out);
	}
}

void
rig_close(struct rig *rig)
{
	int in = rig->agent_in, out = rig->agent_out;

	session_free(rig->session);
	if (rig->agent != rig->from_agent)
		fd_close(&rig->agent);
	if (in != out)
		close(out);
	close(in);
	fd_close(&rig->from_agent);
	fd_close(&rig->into);
	fd_close(&rig->out);
	buf_free(&rig->agent_got);
	buf_free(&rig->server_got);
}

static bool
take(int fd, struct buf *into)
{
	bool some = false;
	ssize_t n;

	if (fd < 0)
		return false;
	for (;;) {
		/* twice: the test may have ordered one to fail */
		if (buf_reserve(into, 1 << 16) < 0 && buf_reserve(into, 1 << 16) < 0)
			abort();
		n = read(fd, into->data + into->len, 1 << 16);
		if (n <= 0)
			return some;
		into->len += (size_t)n;
		some = true;
	}
}

static bool
turn(struct rig *rig, int wait_ms)
{
	bool some;

	(void)loop_once(&rig->loop, wait_ms);
	some = take(rig->agent, &rig->agent_got);
	return take(rig->into, &rig->server_got) || some;
}

void
rig_run(struct rig *rig, int quiet_ms)
{
	uint64_t until = loop_now() + (uint64_t)quiet_ms * 1000000;
	int idle = 0;

	while (idle < 3 || loop_now() < until)
		idle = turn(rig, quiet_ms > 0 ? 1 : 0) ? 0 : idle + 1;
}

void
rig_bytes(struct rig *rig, int fd, const void *bytes, size_t len)
{
	const char *p = bytes;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno != EAGAIN)
			return;
		if (n > 0) {
			p += n;
			len -= (size_t)n;
		}
		(void)turn(rig, 0);
	}
	rig_run(rig, 0);
}

static void
line(struct rig *rig, int fd, const char *text)
{
	char *copy = malloc(strlen(text) + 2);

	buf_clear(&rig->agent_got);
	buf_clear(&rig->server_got);
	sprintf(copy, "%s\n", text);
	rig_bytes(rig, fd, copy, strlen(copy));
	free(copy);
}

void
rig_agent(struct rig *rig, const char *text)
{
	line(rig, rig->from_agent, text);
}

void
rig_server(struct rig *rig, const char *text)
{
	line(rig, rig->out, text);
}

const char *
rig_agent_got(struct rig *rig)
{
	return buf_str(&rig->agent_got);
}

const char *
rig_server_got(struct rig *rig)
{
	return buf_str(&rig->server_got);
}
