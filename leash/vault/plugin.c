/*
 * A plugin that returns secrets: started, queried, stopped.
 *
 * Process: the leash, before it sandboxes itself.  The plugin is the user's own
 * program and runs in the sandbox of every helper.  Its digest is compared with the
 * sealed policy on a sealed copy, which is then run, so later changes of the file
 * have no effect.  Its credentials and its replies are in locked pages; nothing
 * else of its output is kept or reported.  It must never see more of the
 * environment than is named, be queried again after a protocol error, or outlive
 * the launch.
 *
 *	-> {"jsonrpc":"2.0","id":1,"method":"secret_source.init","params":{...}}
 *	<- {"jsonrpc":"2.0","id":1,"result":{...}}
 *
 * No call of this file is in the leash's allow-list.
 */
#include "leash/vault/plugin.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "leash/vault/helper.h"
#include "leash/vault/open_checked.h"
#include "leash/vault/private.h"
#include "leash/vault/plugin_request.h"
#include "shim/base/fd.h"

#define CAPABILITY_READ 1u

static const struct plugin_times plugin_times = {
    PLUGIN_WAIT_MS, PLUGIN_STOP_MS, PLUGIN_IDLE_MS};

int
plugins_new(int run_dir, const struct plugin_times *times, struct plugins **ret)
{
	struct plugins *all = calloc(1, sizeof(*all));
	int r;

	if (all == NULL)
		return -ENOMEM;
	all->run_dir = run_dir;
	all->times = times != NULL ? *times : plugin_times;
	r = vault_new(PLUGIN_LINE_MAX, &all->pages);
	if (r == 0 && (all->line = vault_scratch(all->pages, PLUGIN_LINE_MAX)) == NULL)
		r = -ENOMEM;
	if (r < 0) {
		plugins_free(all);
		return r;
	}
	*ret = all;
	return 0;
}

/* ---- stop ---------------------------------------------------------------------- */

static bool
ended_within(const struct helper *h, int64_t ms)
{
	struct pollfd p = {.fd = h->pidfd, .events = POLLIN};
	int64_t end = plugin_now() + ms, left;
	int n;

	while ((left = end - plugin_now()) >= 0) {
		n = poll(&p, 1, (int)left);
		if (n > 0)
			return true;
		if (n == 0 || errno != EINTR)
			return false;
	}
	return false;
}

/* Closes its input, then sends TERM, then KILL to its whole process group. */
static void
plugin_stop(struct plugin *p, int64_t ms)
{
	if (p->helper.pid > 0 && p->helper.pidfd >= 0) {
		fd_close(&p->helper.in);
		if (!ended_within(&p->helper, ms / 2)) {
			(void)kill(-p->helper.pid, SIGTERM); /* ESRCH: gone */
			(void)ended_within(&p->helper, ms / 2);
		}
	}
	helper_end(&p->helper);
}

void
plugins_free(struct plugins *all)
{
	size_t i;

	if (all == NULL)
		return;
	for (i = 0; i < all->n; i++)
		plugin_stop(&all->plugin[i], all->times.stop);
	vault_free(all->pages);
	free(all);
}

/* ---- start --------------------------------------------------------------------- */

/* Makes a sealed copy of the program and compares the copy's digest. */
static int
program_image(struct request *q, int *ret_fd)
{
	uint8_t digest[POLICY_ID_LEN];
	char *bytes = NULL;
	struct stat st;
	size_t len = 0;
	int fd, r;

	r = open_checked_program(q->vault, q->ask->program, &fd, &q->wrong);
	if (r < 0) {
		q->what = q->wrong.text;
		return -EACCES;
	}
	r = fstat(fd, &st) < 0 ? -errno : 0;
	if (r == 0 && (st.st_mode & S_IWGRP) != 0) {
		q->what = "its group may write it (chmod g-w)";
		r = -EACCES;
	}
	if (r == 0)
		r = fd_slurp(fd, PLUGIN_IMAGE_MAX, &bytes, &len);
	if (r == -EFBIG)
		q->what = "it has more than 64 MiB";
	if (r < 0)
		goto out;
	policy_digest(bytes, len, digest);
	if (memcmp(digest, q->ask->digest, sizeof(digest)) != 0) {
		q->what = "it does not have the digest in the policy: update its "
			  "sidecar, then compile the policy again";
		r = -EACCES;
		goto out;
	}
	r = fd_sealed("kennel-plugin", bytes, len, true, ret_fd);
out:
	free(bytes);
	fd_close(&fd);
	return r;
}

static int
plugin_spawn(struct request *q)
{
	const char *argv[] = {q->ask->program, NULL};
	struct helper_order order = {.argv = argv,
	    .may = q->ask->may,
	    .env = q->ask->env,
	    .image = -1,
	    .asked = true};
	int r;

	r = program_image(q, &order.image);
	if (r == 0)
		r = helper_run(&q->p->helper, &order);
	fd_close(&order.image);
	return r;
}

static int
plugin_init(struct request *q)
{
	const struct plugin_credential *c = q->ask->credential;
	char number[16];
	struct reply reply;
	size_t i;
	int r;

	request_begin(q, "secret_source.init");
	(void)snprintf(number, sizeof(number), "%d", PLUGIN_PROTOCOL);
	request_word(q, "\"protocol_version\":");
	request_word(q, number);
	request_word(q, ",\"source\":");
	request_text(q, q->ask->source);
	request_word(q, ",\"credentials\":{");
	for (i = 0; i < q->ask->credential_n; i++) {
		request_word(q, i > 0 ? "," : "");
		request_text(q, c[i].name);
		request_word(q, ":");
		request_string(q, c[i].value->bytes, c[i].value->len);
	}
	request_word(q, "}");
	r = request_end(q, &reply);
	request_wipe(q);
	if (r < 0)
		return r;
	if (reply.kind != REPLY_RESULT) {
		q->what = reply_kind_name(reply.kind);
		return reply.kind == REPLY_NEEDS_CREDENTIAL ? -ENOKEY : -EREMOTEIO;
	}
	if (reply.protocol != PLUGIN_PROTOCOL) {
		q->what = "it uses another version of the protocol";
		return -EPROTO;
	}
	if ((reply.capabilities & CAPABILITY_READ) == 0) {
		q->what = "it provides no values: its capabilities do not include READ";
		return -EPROTO;
	}
	return 0;
}

static int
plugin_available(struct request *q)
{
	struct reply reply;
	int r;

	request_begin(q, "secret_source.is_available");
	r = request_end(q, &reply);
	request_wipe(q);
	if (r == 0 && (reply.kind != REPLY_RESULT || !reply.available)) {
		q->what = reply_kind_name(
		    reply.kind != REPLY_RESULT ? reply.kind : REPLY_UNAVAILABLE);
		r = -EREMOTEIO;
	}
	return r;
}

/* ---- reply --------------------------------------------------------------------- */

static int
value_keep(
    struct request *q, struct vault *v, const struct reply *reply, struct secret **ret)
{
	struct secret *s;
	size_t cap, len = reply->value_len;
	int r;

	r = value_open(v, &s, &cap);
	if (r < 0 || (len > cap && cap <= VAULT_VALUE_MAX)) {
		q->what = "the vault is full";
		return -ENOMEM;
	}
	q->of_value = true;
	if (len > cap) {
		q->what = "is bigger than 64 KiB";
		return -EFBIG;
	}
	memcpy(s->bytes, reply->value, len);
	r = value_close(v, s, len, &q->what);
	if (r == 0)
		*ret = s;
	return r;
}

static int
plugin_value(struct request *q, struct vault *v, struct secret **ret)
{
	struct reply reply;
	int r;

	request_begin(q, "secret_source.get");
	request_word(q, "\"reference\":");
	request_text(q, q->ask->reference);
	r = request_end(q, &reply);
	if (r < 0)
		goto out;
	if (reply.kind != REPLY_RESULT) {
		q->what = reply_kind_name(reply.kind);
		r = reply.kind == REPLY_BAD_REFERENCE ? -ENOENT : -EREMOTEIO;
	} else if (reply.value == NULL) {
		q->what = "a reply without a value";
		r = -EPROTO;
	} else {
		r = value_keep(q, v, &reply, ret);
	}
out:
	request_wipe(q);
	return r;
}

/* A failure of the plugin, as opposed to a refusal? */
static bool
is_crash(const struct request *q, int r)
{
	return r == -EPROTO || r == -EPIPE || r == -ETIMEDOUT ||
	       (r == -EFBIG && q->what == NULL);
}

static void
tell(const struct request *q, int r, uint64_t wait_ms, struct reason *why)
{
	static const struct {
		int r;
		const char *what;
	} list[] = {
	    {-ETIMEDOUT, "it does not answer"},
	    {-EPIPE, "it ended"},
	    {-EFBIG, "it sent more than 512 KiB"},
	    {-EOPNOTSUPP, "it cannot be confined: this kernel has no Landlock"},
	    {-ENOKEY, "needs-credential: its source has none, or not this one"},
	};
	const char *what = q->what != NULL ? q->what : strerror(-r);
	char when[64] = "";
	size_t i;

	for (i = 0; i < ARRAY_LEN(list) && r != -EPROTO; i++)
		if (list[i].r == r && (q->what == NULL || r == -ENOKEY))
			what = list[i].what;
	if (r == -EAGAIN)
		(void)snprintf(when, sizeof(when), "; trying again in %llu s",
		    (unsigned long long)(wait_ms + 999) / 1000);
	(void)reason_set(why, r, "source %s, plugin %s%s%s: %s%s%s", q->ask->source,
	    q->ask->program, q->method != NULL ? ": " : "",
	    q->method != NULL ? q->method : "", q->of_value ? "the value " : "", what,
	    when);
}

/* Starts the plugin if necessary and completes its init request. */
static int
plugin_ready(struct request *q, uint64_t *ret_wait)
{
	int r;

	if (q->p->helper.pid > 0)
		return 0;
	r = plugin_failures_may(
	    q->all->run_dir, q->ask->source, plugin_failures_now(), ret_wait);
	if (r < 0) {
		q->what =
		    r == -EAGAIN ? "it failed too often" : "unable to count its failures";
		return r;
	}
	q->p->helper = HELPER_NONE;
	q->p->id = 0;
	r = plugin_spawn(q);
	if (r == 0)
		r = plugin_init(q);
	return r == 0 ? plugin_available(q) : r;
}

/* The plugin of this source; stops idle ones on the way. */
static struct plugin *
plugin_find(struct plugins *all, const struct plugin_ask *ask)
{
	struct plugin *p = NULL;
	int64_t now = plugin_now();
	size_t i;

	for (i = 0; i < all->n; i++) {
		if (all->plugin[i].helper.pid > 0 &&
		    now - all->plugin[i].asked >= all->times.idle)
			plugin_stop(&all->plugin[i], all->times.stop);
		if (strcmp(all->plugin[i].source, ask->source) == 0)
			p = &all->plugin[i];
	}
	if (p == NULL && all->n < PLUGIN_N_MAX) {
		p = &all->plugin[all->n++];
		p->helper = HELPER_NONE;
		(void)snprintf(p->source, sizeof(p->source), "%s", ask->source);
	}
	return p;
}

int
plugins_get(struct plugins *all, struct vault *v, const struct plugin_ask *ask,
    struct secret **ret, struct reason *why)
{
	struct request q = {.all = all, .ask = ask, .vault = v};
	uint64_t wait_ms = 0;
	int r;

	if (strlen(ask->source) <= PLUGIN_NAME_MAX)
		q.p = plugin_find(all, ask);
	if (q.p == NULL)
		return reason_set(why, -E2BIG, "more than %d plugins", PLUGIN_N_MAX);
	r = plugin_ready(&q, &wait_ms);
	if (r == 0)
		r = plugin_value(&q, v, ret);
	if (r == 0)
		return 0;
	tell(&q, r, wait_ms, why);
	if (q.p->helper.pid <= 0)
		return r;
	if (is_crash(&q, r)) {
		/* not counted: then the next start may fail in the same way */
		(void)plugin_failures_note(
		    all->run_dir, ask->source, plugin_failures_now());
		helper_end(&q.p->helper);
	} else if (q.method == NULL || strcmp(q.method, "secret_source.get") != 0)
		plugin_stop(q.p, all->times.stop); /* it never became ready */
	return r;
}
