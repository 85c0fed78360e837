/*
 * One request to a plugin and its reply: one line each, in locked pages, with
 * limits on time and length (docs/PROTOCOL.plugin).
 *
 * Process: the leash, before it sandboxes itself.  The plugin may send anything, at
 * any speed, or nothing.
 *
 * No call of this file is in the leash's allow-list.
 */
#include "leash/vault/plugin_request.h"
#include "policy/sealed/policy.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int64_t
plugin_now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t); /* cannot fail */
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void
put(struct request *q, const char *bytes, size_t len)
{
	if (len > PLUGIN_LINE_MAX - q->len)
		q->full = true;
	if (q->full)
		return;
	memcpy(q->all->line + q->len, bytes, len);
	q->len += len;
}

void
request_word(struct request *q, const char *word)
{
	put(q, word, strlen(word));
}

/* Appends a JSON string, with its quotes. */
void
request_string(struct request *q, const char *bytes, size_t len)
{
	char one[8];
	size_t i;
	int n;

	put(q, "\"", 1);
	for (i = 0; i < len; i++) {
		if ((unsigned char)bytes[i] >= 0x20 && bytes[i] != '"' &&
		    bytes[i] != '\\') {
			put(q, bytes + i, 1);
			continue;
		}
		n = snprintf(one, sizeof(one), "\\u%04x", (unsigned char)bytes[i]);
		put(q, one, (size_t)n);
		vault_wipe(one, sizeof(one));
	}
	put(q, "\"", 1);
}

void
request_text(struct request *q, const char *text)
{
	request_string(q, text, strlen(text));
}

void
request_begin(struct request *q, const char *method)
{
	char id[32];

	q->method = method;
	q->len = 0;
	q->full = false;
	(void)snprintf(id, sizeof(id), "%u", ++q->p->id);
	request_word(q, "{\"jsonrpc\":\"2.0\",\"id\":");
	request_word(q, id);
	request_word(q, ",\"method\":");
	request_text(q, method);
	request_word(q, ",\"params\":{");
}

/* Waits for the plugin's end of a pipe; 0, -ETIMEDOUT, -errno. */
static int
request_wait(const struct request *q, int fd, short events)
{
	struct pollfd p = {.fd = fd, .events = events};
	int64_t left = q->until - plugin_now();
	int n;

	if (left <= 0)
		return -ETIMEDOUT;
	n = poll(&p, 1, (int)left);
	if (n == 0)
		return -ETIMEDOUT;
	return n < 0 && errno != EINTR ? -errno : 0;
}

static int
request_send(struct request *q)
{
	size_t sent = 0;
	ssize_t n;
	int r = 0;

	while (r == 0 && sent < q->len) {
		n = write(q->p->helper.in, q->all->line + sent, q->len - sent);
		if (n >= 0)
			sent += (size_t)n;
		else if (errno == EAGAIN)
			r = request_wait(q, q->p->helper.in, POLLOUT);
		else if (errno != EINTR)
			r = -errno;
	}
	return r;
}

/* Reads one line into the pages, *ret_len bytes without its newline. */
static int
request_hear(struct request *q, size_t *ret_len)
{
	char *line = q->all->line, *end;
	size_t len = 0;
	ssize_t n;
	int r;

	for (;;) {
		n = read(q->p->helper.out, line + len, PLUGIN_LINE_MAX - len);
		if (n == 0)
			return -EPIPE;
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		if (n < 0) {
			r = request_wait(q, q->p->helper.out, POLLIN);
			if (r < 0)
				return r;
			continue;
		}
		end = memchr(line + len, '\n', (size_t)n);
		len += (size_t)n;
		q->len = len; /* the bytes to wipe */
		if (end == NULL && len == PLUGIN_LINE_MAX)
			return -EFBIG;
		if (end == NULL)
			continue;
		if (end != line + len - 1) {
			q->what = "more than one line";
			return -EPROTO;
		}
		*ret_len = len - 1;
		return 0;
	}
}

void
request_wipe(struct request *q)
{
	vault_wipe(q->all->line, q->len);
	q->len = 0;
}

/* Sends the request and reads the reply.  ret points into the line, until it is wiped. */
int
request_end(struct request *q, struct reply *ret)
{
	size_t len = 0;
	int r;

	request_word(q, "}}\n");
	if (q->full)
		return -E2BIG;
	if (!policy_is_json(q->all->line, q->len - 1)) {
		q->what = "a credential that is not text";
		request_wipe(q);
		return -EILSEQ;
	}
	q->until = plugin_now() + q->all->times.wait;
	r = request_send(q);
	request_wipe(q);
	if (r == 0)
		r = request_hear(q, &len);
	if (r == 0)
		r = reply_read(q->all->line, len, q->p->id, ret, &q->what);
	q->p->asked = plugin_now();
	return r;
}
