/*
 * One file over HTTPS, for `kennel secret catalog fetch`.
 *
 * stdout gets a line, the outcome and the status of the answer (0: none), and after
 * `fetched` the file.  No redirect is followed and nothing is tried again.  What comes is
 * hostile: the reader on the other side checks size, digest and contents again.
 */
#include "leash/remote/private.h"

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FILE_LEN_MAX (256u << 10)
#define ALL_MS       10000L

struct fetched {
	struct response_head head;
	struct buf body;
	const char *outcome; /* NULL: not known yet */
	char why[HTTP_WHY_MAX];
	bool over;
};

static int
on_head(void *arg, const char *line, size_t len)
{
	struct fetched *f = arg;

	if (response_head_line(&f->head, line, len) == 0)
		return 0;
	f->outcome = "http-error";
	return -1;
}

/* What the head decides. */
static const char *
head_outcome(const struct response_head *h)
{
	if (h->status / 100 == 3)
		return "redirect";
	if (h->status != 200)
		return "http-error";
	return h->body == BODY_JSON || h->body == BODY_TEXT ? NULL : "wrong-type";
}

static int
on_body(void *arg, const char *bytes, size_t len)
{
	struct fetched *f = arg;

	f->outcome = head_outcome(&f->head);
	if (f->outcome == NULL && buf_put(&f->body, bytes, len) < 0)
		f->outcome = "too-large";
	return f->outcome == NULL ? 0 : -1;
}

static void
on_failed(void *arg, enum http_failure how)
{
	static const char *const names[] = {[HTTP_UNREACHABLE] = "unreachable",
	    [HTTP_TIMEOUT] = "timeout",
	    [HTTP_TLS] = "tls"};
	struct fetched *f = arg;

	if (f->outcome == NULL)
		f->outcome = names[how];
}

static void
on_done(void *arg, const char *why)
{
	struct fetched *f = arg;

	f->over = true;
	if (why != NULL)
		(void)snprintf(f->why, sizeof(f->why), "%s", why);
	else if (f->outcome == NULL)
		f->outcome = head_outcome(&f->head);
}

static int
put(const struct fetched *f)
{
	const char *outcome = f->outcome != NULL ? f->outcome : "fetched";
	char line[64];
	int n = snprintf(line, sizeof(line), "%s %u\n", outcome, f->head.status);
	int r = fd_write_all(STDOUT_FILENO, line, (size_t)n);

	if (r == 0 && f->outcome == NULL)
		r = fd_write_all(STDOUT_FILENO, f->body.data, f->body.len);
	return r;
}

int
fetch(struct remote *r)
{
	static const struct http_events events = {
	    .head = on_head, .body = on_body, .done = on_done, .failed = on_failed};
	static const char *const header[] = {"Accept: application/json, text/*"};
	static struct fetched f;
	struct http_request q = {.method = "GET",
	    .url = r->url,
	    .header = header,
	    .header_n = ARRAY_LEN(header),
	    .timeout_ms = ALL_MS};
	struct http_call *call;
	int error = http_new(r->url, r->ca, &r->http);

	if (error == -EINVAL) {
		log_error("invalid URL");
		return EXIT_REFUSED;
	}
	buf_init(&f.body, FILE_LEN_MAX);
	if (error < 0 || http_start(r->http, &q, &events, &f, &call) < 0)
		die("out of memory");
	while (!f.over)
		(void)http_wait(r->http, -1, 1000);
	if (f.why[0] != '\0' && strcmp(f.why, "refused") != 0)
		log_error("%s: %s", r->host, f.why);
	error = put(&f);
	buf_free(&f.body);
	http_free(r->http);
	return error == 0 ? 0 : EXIT_UNREACHABLE;
}
