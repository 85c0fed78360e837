/*
 * HTTP requests to one origin, through libcurl.
 *
 * What libcurl could do beyond that is turned off: other protocols, proxies, redirects,
 * cookies, compressed bodies, and certificates other than those of one file.
 */
#include "leash/remote/http.h"

#include "shim/base/array.h"

#include <curl/curl.h>
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT_MS 20000L

struct http {
	CURLM *multi;
	const char *url, *ca;
	CURLU *origin;
};

struct http_call {
	CURL *easy;
	struct curl_slist *header;
	const char *body;
	size_t body_len, taken; /* bytes of the body; of these, libcurl has had taken */
	struct http_events events;
	void *arg;
	char why[CURL_ERROR_SIZE];
	bool refused;     /* head or body aborted it */
	bool answered;    /* TLS of the host has come */
	bool asked_again; /* for a body that it has had */
};

/* What libcurl copies may be a credential: its memory is wiped when it is freed. */
static void
wipe_free(void *p)
{
	if (p != NULL)
		explicit_bzero(p, malloc_usable_size(p));
	free(p);
}

static void *
wipe_realloc(void *p, size_t len)
{
	size_t old = p != NULL ? malloc_usable_size(p) : 0;
	void *more = malloc(len);

	if (more != NULL && p != NULL) {
		memcpy(more, p, old < len ? old : len);
		wipe_free(p);
	}
	return more;
}

int
http_new(const char *url, const char *ca, struct http **ret)
{
	struct http *h = calloc(1, sizeof(*h));

	if (h == NULL || curl_global_init_mem(CURL_GLOBAL_DEFAULT, malloc, wipe_free,
			     wipe_realloc, strdup, calloc) != CURLE_OK) {
		free(h);
		return -ENOMEM;
	}
	h->url = url;
	h->ca = ca;
	h->multi = curl_multi_init();
	h->origin = curl_url();
	if (h->multi == NULL || h->origin == NULL ||
	    curl_url_set(h->origin, CURLUPART_URL, url, 0) != CURLUE_OK) {
		http_free(h);
		return -EINVAL;
	}
	*ret = h;
	return 0;
}

void
http_free(struct http *h)
{
	if (h == NULL)
		return;
	(void)curl_multi_cleanup(h->multi); /* takes NULL */
	curl_url_cleanup(h->origin);
	free(h);
}

/* ---- libcurl's callbacks ------------------------------------------------------- */

static size_t
on_head(char *line, size_t size, size_t n, void *arg)
{
	struct http_call *c = arg;

	if (c->events.head(c->arg, line, size * n) == 0)
		return size * n;
	c->refused = true;
	return 0;
}

static size_t
on_body(char *bytes, size_t size, size_t n, void *arg)
{
	struct http_call *c = arg;

	if (size * n == 0 || c->events.body(c->arg, bytes, size * n) == 0)
		return size * n;
	c->refused = true;
	return 0;
}

/*
 * libcurl repeats a request whose reused connection broke before the first byte of the
 * answer, although the server may have done what it asked.  So it gets each byte of a
 * body once, and no way to begin the body anew.
 */
static size_t
on_read(char *to, size_t size, size_t n, void *arg)
{
	struct http_call *c = arg;
	size_t left = c->body_len - c->taken, len = size * n < left ? size * n : left;

	if (left == 0) {
		c->asked_again = true;
		return CURL_READFUNC_ABORT;
	}
	if (c->taken == 0 && c->events.sent != NULL)
		c->events.sent(c->arg);
	memcpy(to, c->body + c->taken, len);
	c->taken += len;
	return len;
}

/* libcurl has one code for a host that resets the connection and one that has no TLS. */
static int
on_trace(CURL *easy, curl_infotype what, char *bytes, size_t len, void *arg)
{
	struct http_call *c = arg;

	if (what == CURLINFO_SSL_DATA_IN)
		c->answered = true;
	return 0;
}

/* ---- one request ---------------------------------------------------------------- */

#define SET(option, value) (curl_easy_setopt(c->easy, (option), (value)) == CURLE_OK)

static bool
set_origin(const struct http *h, struct http_call *c)
{
	const char *scheme = h->ca != NULL ? "https" : "http";

	return SET(CURLOPT_PROTOCOLS_STR, scheme) && SET(CURLOPT_FOLLOWLOCATION, 0L) &&
	       SET(CURLOPT_PROXY, "") && SET(CURLOPT_NOSIGNAL, 1L) &&
	       SET(CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS) &&
	       SET(CURLOPT_TCP_KEEPALIVE, 1L) &&
	       SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS) &&
	       (h->ca == NULL ||
		   (SET(CURLOPT_CAINFO, h->ca) && SET(CURLOPT_CAPATH, NULL) &&
		       SET(CURLOPT_SSL_VERIFYPEER, 1L) &&
		       SET(CURLOPT_SSL_VERIFYHOST, 2L) &&
		       SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2)));
}

static bool
set_request(struct http_call *c, const struct http_request *q)
{
	bool post = strcmp(q->method, "POST") == 0;

	return SET(CURLOPT_URL, q->url) && SET(CURLOPT_HTTPHEADER, c->header) &&
	       SET(CURLOPT_TIMEOUT_MS, q->timeout_ms) &&
	       (post ? SET(CURLOPT_POST, 1L) &&
			   SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->body_len) &&
			   SET(CURLOPT_READFUNCTION, on_read) && SET(CURLOPT_READDATA, c)
		     : SET(CURLOPT_CUSTOMREQUEST, q->method));
}

static bool
set_events(struct http_call *c)
{
	if (c->events.failed != NULL &&
	    !(SET(CURLOPT_DEBUGFUNCTION, on_trace) && SET(CURLOPT_DEBUGDATA, c) &&
		SET(CURLOPT_VERBOSE, 1L)))
		return false;
	return SET(CURLOPT_PRIVATE, c) && SET(CURLOPT_ERRORBUFFER, c->why) &&
	       SET(CURLOPT_HEADERFUNCTION, on_head) && SET(CURLOPT_HEADERDATA, c) &&
	       SET(CURLOPT_WRITEFUNCTION, on_body) && SET(CURLOPT_WRITEDATA, c);
}

static int
header_add(struct http_call *c, const char *line)
{
	struct curl_slist *list = curl_slist_append(c->header, line);

	if (list == NULL)
		return -ENOMEM;
	c->header = list;
	return 0;
}

static void
call_free(struct http_call *c)
{
	curl_slist_free_all(c->header);
	curl_easy_cleanup(c->easy);
	free(c);
}

int
http_start(struct http *h, const struct http_request *q, const struct http_events *events,
    void *arg, struct http_call **ret)
{
	struct http_call *c = calloc(1, sizeof(*c));
	int r = 0;

	if (c == NULL)
		return -ENOMEM;
	c->events = *events;
	c->arg = arg;
	c->body = q->body;
	c->body_len = q->body_len;
	c->easy = curl_easy_init();
	/* libcurl would wait for "100 Continue" before a body */
	r = c->easy == NULL ? -ENOMEM : header_add(c, "Expect:");
	for (size_t i = 0; i < q->header_n && r == 0; i++)
		r = header_add(c, q->header[i]);
	if (r == 0 && !(set_origin(h, c) && set_request(c, q) && set_events(c) &&
			  curl_multi_add_handle(h->multi, c->easy) == CURLM_OK))
		r = -ENOMEM;
	if (r < 0) {
		call_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

void
http_stop(struct http *h, struct http_call *c)
{
	if (c == NULL)
		return;
	(void)curl_multi_remove_handle(h->multi, c->easy); /* it is one of ours */
	call_free(c);
}

/* ---- all requests --------------------------------------------------------------- */

static enum http_failure
failure_of(const struct http_call *c, CURLcode code)
{
	static const CURLcode tls[] = {CURLE_PEER_FAILED_VERIFICATION,
	    CURLE_SSL_CACERT_BADFILE, CURLE_SSL_CIPHER, CURLE_SSL_CERTPROBLEM,
	    CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS};

	if (code == CURLE_OPERATION_TIMEDOUT)
		return HTTP_TIMEOUT;
	for (size_t i = 0; i < ARRAY_LEN(tls); i++)
		if (tls[i] == code)
			return HTTP_TLS;
	if (code == CURLE_SSL_CONNECT_ERROR && c->answered)
		return HTTP_TLS;
	return HTTP_UNREACHABLE;
}

static void
finish(struct http *h, CURL *easy, CURLcode code)
{
	void (*done)(void *, const char *);
	struct http_call *c = NULL;
	char why[HTTP_WHY_MAX];
	void *arg;

	if (curl_easy_getinfo(easy, CURLINFO_PRIVATE, &c) != CURLE_OK || c == NULL)
		return;
	if (code == CURLE_SEND_FAIL_REWIND)
		c->asked_again = true;
	(void)snprintf(why, sizeof(why), "%s",
	    c->refused          ? "refused"
	    : c->asked_again    ? "the connection closed before the answer"
	    : c->why[0] != '\0' ? c->why
				: curl_easy_strerror(code));
	if (code != CURLE_OK && c->events.failed != NULL)
		c->events.failed(c->arg, failure_of(c, code));
	done = c->events.done;
	arg = c->arg;
	http_stop(h, c);
	done(arg, code == CURLE_OK ? NULL : why);
}

bool
http_wait(struct http *h, int fd, int wait_ms)
{
	struct curl_waitfd wait = {.fd = fd, .events = CURL_WAIT_POLLIN};
	struct pollfd own = {.fd = fd, .events = POLLIN};
	int running = 0, left = 0, ready = 0;
	CURLMsg *m;

	(void)curl_multi_poll(h->multi, &wait, fd >= 0 ? 1 : 0, wait_ms, &ready);
	(void)curl_multi_perform(h->multi, &running); /* errors are those of requests */
	while ((m = curl_multi_info_read(h->multi, &left)) != NULL)
		if (m->msg == CURLMSG_DONE)
			finish(h, m->easy_handle, m->data.result);
	/* libcurl does not report a closed peer */
	return fd >= 0 && poll(&own, 1, 0) > 0;
}

/* ---- redirects ------------------------------------------------------------------ */

static bool
same_part(CURLU *a, CURLU *b, CURLUPart part)
{
	char *x = NULL, *y = NULL;
	bool same = curl_url_get(a, part, &x, CURLU_DEFAULT_PORT) == CURLUE_OK &&
		    curl_url_get(b, part, &y, CURLU_DEFAULT_PORT) == CURLUE_OK &&
		    strcmp(x, y) == 0;

	curl_free(x);
	curl_free(y);
	return same;
}

int
http_redirect(
    struct http *h, const char *from, const char *location, char *out, size_t out_cap)
{
	static const CURLUPart parts[] = {
	    CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT};
	char *url = NULL, *user = NULL, *password = NULL;
	CURLU *to = curl_url();
	int r = -EINVAL;

	if (to == NULL || curl_url_set(to, CURLUPART_URL, from, 0) != CURLUE_OK ||
	    curl_url_set(to, CURLUPART_URL, location, 0) != CURLUE_OK)
		goto out;
	r = 0;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (!same_part(h->origin, to, parts[i]))
			r = -EXDEV;
	if (curl_url_get(to, CURLUPART_USER, &user, 0) == CURLUE_OK ||
	    curl_url_get(to, CURLUPART_PASSWORD, &password, 0) == CURLUE_OK)
		r = -EXDEV;
	if (r == 0 && (curl_url_get(to, CURLUPART_URL, &url, 0) != CURLUE_OK ||
			  strlen(url) >= out_cap))
		r = -EINVAL;
	if (r == 0)
		(void)snprintf(out, out_cap, "%s", url);
out:
	curl_free(url);
	curl_free(user);
	curl_free(password);
	curl_url_cleanup(to);
	return r;
}
