/*
 * The page of kennel-form: HTTP on loopback addresses, for one browser and one save.
 *
 *	GET  /TOKEN/		the page, and its two files
 *	GET  /TOKEN/state	what it is for, and whether the vault is open
 *	POST /TOKEN/challenge	for a new security key
 *	POST /TOKEN/save	the program ends after one that was taken
 *	POST /TOKEN/cancel	the program ends
 *
 * A signal ends the program between two requests: what was saved is known to the keeper, and
 * the exit status says whether it was.
 *
 * Process: kennel-form. The address has 128 random bits and is printed once; it is of no
 * use after FORM_S. The body of a request is in locked pages, and is wiped there and in
 * the buffer of libmicrohttpd as soon as it was read; one request at a time has a body.
 */
#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "leash/secret/private.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "shim/base/loop.h"
#include "shim/host/embed.h"
#include "shim/host/http_heads.h"
#include "shim/host/loopback.h"

#define FORM_S          300
#define LAST_S          5 /* for the reply to the last request */
#define CONNECTIONS_MAX 32
#define STRANGERS_MAX   8 /* of them, for all other users: what a browser opens, and more */
#define CONNECTION_S    30          /* without a byte */
#define STRANGER_S      5           /* the same, until the address was named */
#define CONNECTION_POOL (32u << 10) /* headers of a request, and parts of its body */
#define TOKEN_BYTES     16
/* A value and a passphrase, perhaps twice, as base64url, and the other fields. */
#define BODY_MAX ((VAULT_VALUE_MAX + 2 * KEEPER_MATERIAL_MAX) / 3 * 4 + 64)

enum { OK = 200, BAD = 400, FORBIDDEN = 403, NOT_FOUND = 404, METHOD = 405 };
enum { TOO_LARGE = 413, TYPE = 415, MISDIRECTED = 421, FAILED = 500, BUSY = 503 };

EMBED(form_html, "leash/secret/pages/form.html");
EMBED(form_css, "leash/secret/pages/form.css");
EMBED(form_js, "leash/secret/pages/form.js");

static struct {
	struct order *o;
	char token[2 * TOKEN_BYTES + 1], authority[32], policy[512];
	struct MHD_Daemon *daemon;
	int epoll; /* of it */
	struct http_heads heads;
	struct typed body; /* BODY_MAX bytes in the pages */
	struct request *body_of;
	enum { OPEN, SAVED, CANCELLED } end;
	bool sent; /* the reply to the request that ended it */
	volatile sig_atomic_t signalled;
} form;

struct request {
	const struct route *route;
	unsigned int refused; /* a status: it was judged by its headers; 0 */
	bool last;            /* its reply ends the program */
};

/* ---- what is answered ----------------------------------------------------------------- */

static unsigned int
answer_state(struct order *o, struct typed *body, FILE *f)
{
	form_state(o, f);
	return OK;
}

static unsigned int
answer_cancel(struct order *o, struct typed *body, FILE *f)
{
	fprintf(f, "{}\n");
	return OK;
}

static const struct route {
	const char *method, *path, *type;
	const char *page, *page_end; /* static bytes; or fn */
	unsigned int (*fn)(struct order *, struct typed *body, FILE *);
	int end; /* of the program, if it is answered with OK */
} routes[] = {
    {"GET", "", "text/html", form_html, form_html_end, NULL, OPEN},
    {"GET", "form.css", "text/css", form_css, form_css_end, NULL, OPEN},
    {"GET", "form.js", "text/javascript", form_js, form_js_end, NULL, OPEN},
    {"GET", "state", "application/json", NULL, NULL, answer_state, OPEN},
    {"POST", "challenge", "application/json", NULL, NULL, form_challenge, OPEN},
    {"POST", "save", "application/json", NULL, NULL, form_save, SAVED},
    {"POST", "cancel", "application/json", NULL, NULL, answer_cancel, CANCELLED},
};

static enum MHD_Result
send_reply(struct MHD_Connection *at, unsigned int status, const char *type,
    struct MHD_Response *made)
{
	const struct {
		const char *name, *value;
	} row[] = {
	    {MHD_HTTP_HEADER_CONTENT_TYPE, type},
	    {MHD_HTTP_HEADER_CACHE_CONTROL, "no-store"},
	    {"Content-Security-Policy", form.policy},
	    {"Cross-Origin-Opener-Policy", "same-origin"},
	    {"Cross-Origin-Resource-Policy", "same-origin"},
	    {"Referrer-Policy", "no-referrer"},
	    {"X-Content-Type-Options", "nosniff"},
	    {"X-Frame-Options", "DENY"},
	};
	enum MHD_Result r = made != NULL ? MHD_YES : MHD_NO;

	for (size_t i = 0; r == MHD_YES && i < ARRAY_LEN(row); i++)
		r = MHD_add_response_header(made, row[i].name, row[i].value);
	/* the head of another request would not be checked */
	if (r == MHD_YES)
		r = MHD_add_response_header(made, MHD_HTTP_HEADER_CONNECTION, "close");
	if (r == MHD_YES)
		r = MHD_queue_response(at, status, made);
	if (made != NULL)
		MHD_destroy_response(made);
	return r; /* MHD_NO: the connection is closed */
}

static enum MHD_Result
send_text(struct MHD_Connection *at, unsigned int status, char *text, size_t len)
{
	return send_reply(at, status, "application/json",
	    MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE));
}

static enum MHD_Result
refuse(struct MHD_Connection *at, unsigned int status)
{
	static char text[] =
	    "{\"message\":\"the request was refused: it is not of this page, "
	    "or too large\"}\n";

	return send_reply(at, status, "application/json",
	    MHD_create_response_from_buffer(
		sizeof(text) - 1, text, MHD_RESPMEM_PERSISTENT));
}

static void
wipe_body(void)
{
	vault_wipe(form.body.bytes, BODY_MAX);
	form.body.len = 0;
	form.body_of = NULL;
}

static enum MHD_Result
answer(struct request *q, struct MHD_Connection *at)
{
	static char no_byte[1];
	struct typed none = {.bytes = no_byte};
	const struct route *r = q->route;
	unsigned int status = q->refused;
	char *text = NULL;
	size_t len = 0;
	FILE *f;

	if (status == 0 && form.end != OPEN)
		status = NOT_FOUND;
	if (status != 0)
		return refuse(at, status);
	if (r->page != NULL)
		return send_reply(at, OK, r->type,
		    MHD_create_response_from_buffer((size_t)(r->page_end - r->page),
			(void *)(uintptr_t)r->page, MHD_RESPMEM_PERSISTENT));
	f = open_memstream(&text, &len);
	if (f == NULL)
		return refuse(at, FAILED);
	/* another request's body may be arriving */
	status = r->fn(form.o, form.body_of == q ? &form.body : &none, f);
	if (form.body_of == q)
		wipe_body();
	if (fclose(f) != 0) {
		free(text);
		return refuse(at, FAILED);
	}
	if (status == OK && r->end != OPEN) {
		form.end = r->end;
		q->last = true;
	}
	return send_text(at, status, text, len);
}

/* ---- what is judged by its headers ------------------------------------------------------ */

struct header {
	const char *name, *value;
	unsigned int n;
};

static enum MHD_Result
count_header(void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct header *h = arg;

	if (strcasecmp(name, h->name) == 0) {
		h->value = value;
		h->n++;
	}
	return MHD_YES;
}

static bool
is(const struct header *h, const char *wanted)
{
	return h->value != NULL && wanted != NULL && strcmp(h->value, wanted) == 0;
}

/* The part after /TOKEN/; NULL: another path. In constant time. */
static const char *
path_of(const char *url)
{
	size_t n = sizeof(form.token) - 1;
	unsigned int differs = 0;

	if (strlen(url) < n + 2)
		return NULL;
	for (size_t i = 0; i < n; i++)
		differs |= (unsigned int)(url[i + 1] ^ form.token[i]);
	return url[0] == '/' && differs == 0 && url[n + 1] == '/' ? url + n + 2 : NULL;
}

static unsigned int
find_route(const char *url, const char *method, const struct route **ret)
{
	const char *path = path_of(url);
	unsigned int status = NOT_FOUND;

	for (size_t i = 0; path != NULL && i < ARRAY_LEN(routes); i++) {
		if (strcmp(routes[i].path, path) != 0)
			continue;
		*ret = &routes[i];
		if (strcmp(routes[i].method, method) == 0)
			return 0;
		status = METHOD;
	}
	return status;
}

/* The console's page, on another port, has the link to the page itself, and to no more. */
static bool
site_fits(const struct route *r, const struct header *site)
{
	return is(site, "same-origin") || (r->path[0] == '\0' && !is(site, "cross-site"));
}

/* A status, or 0: it may come from the page. After DNS rebinding a browser names another
 * host; it sends Origin with every POST, and no script can change it; and no form of
 * another page can send this type. */
static unsigned int
judge(struct MHD_Connection *at, const char *url, const char *method, struct request *q)
{
	enum { HOST, ORIGIN, SITE, CONTENT, N };
	struct header h[N] = {{.name = MHD_HTTP_HEADER_HOST},
	    {.name = MHD_HTTP_HEADER_ORIGIN}, {.name = "Sec-Fetch-Site"},
	    {.name = MHD_HTTP_HEADER_CONTENT_TYPE}};
	bool posts = strcmp(method, "POST") == 0;
	char origin[64];
	unsigned int status;

	for (size_t i = 0; i < N; i++) {
		(void)MHD_get_connection_values(at, MHD_HEADER_KIND, count_header, &h[i]);
		if (h[i].n > 1)
			return BAD;
	}
	if (!is(&h[HOST], form.authority))
		return MISDIRECTED;
	status = find_route(url, method, &q->route);
	if (status != 0)
		return status;
	(void)snprintf(origin, sizeof(origin), "http://%s", form.authority);
	if ((posts || h[ORIGIN].n > 0) && !is(&h[ORIGIN], origin))
		return FORBIDDEN;
	if (h[SITE].n > 0 && !site_fits(q->route, &h[SITE]))
		return FORBIDDEN;
	if (posts && !is(&h[CONTENT], "application/octet-stream"))
		return TYPE;
	return 0;
}

/* ---- libmicrohttpd ---------------------------------------------------------------------- */

/* A part of a body. Its place in libmicrohttpd's buffer is wiped. */
static void
take_body(struct request *q, const char *part, size_t len)
{
	if (q->refused == 0 && form.body_of != NULL && form.body_of != q)
		q->refused = BUSY;
	if (q->refused == 0 && len > BODY_MAX - form.body.len)
		q->refused = TOO_LARGE;
	if (q->refused == 0) {
		form.body_of = q;
		memcpy(form.body.bytes + form.body.len, part, len);
		form.body.len += len;
	} else if (form.body_of == q)
		wipe_body();
	vault_wipe((void *)(uintptr_t)part, len);
}

/* Callback of libmicrohttpd: once with the headers, then with the parts of the body, and
 * with none at its end. */
static enum MHD_Result
on_request(void *arg, struct MHD_Connection *at, const char *url, const char *method,
    const char *version, const char *part, size_t *part_len, void **state)
{
	struct request *q = *state;

	if (q == NULL) {
		q = calloc(1, sizeof(*q));
		if (q == NULL)
			return MHD_NO;
		q->refused = judge(at, url, method, q);
		if (q->refused == 0)
			(void)MHD_set_connection_option(at, MHD_CONNECTION_OPTION_TIMEOUT,
			    (unsigned int)CONNECTION_S);
		*state = q;
		return MHD_YES;
	}
	if (*part_len == 0)
		return answer(q, at);
	take_body(q, part, *part_len);
	*part_len = 0;
	return MHD_YES;
}

static void
on_complete(void *arg, struct MHD_Connection *at, void **state,
    enum MHD_RequestTerminationCode how)
{
	struct request *q = *state;

	if (q == NULL)
		return;
	if (form.body_of == q)
		wipe_body();
	form.sent |= q->last;
	free(q);
	*state = NULL;
}

/* Callback of libmicrohttpd. */
static void
on_connection(void *arg, struct MHD_Connection *at, void **state,
    enum MHD_ConnectionNotificationCode what)
{
	if (what == MHD_CONNECTION_NOTIFY_STARTED)
		*state = http_heads_started(&form.heads,
		    MHD_get_connection_info(at, MHD_CONNECTION_INFO_CONNECTION_FD)
			->connect_fd);
	else
		http_heads_ended(*state);
}

/* Callback of http_heads. */
static bool
add(void *arg, int fd, const struct sockaddr *peer, socklen_t len)
{
	/* syscalls: fcntl */
	return MHD_add_connection(form.daemon, fd, peer, len) == MHD_YES;
}

/* Callback of libmicrohttpd: a path stays as it was sent. */
static size_t
keep_escapes(void *arg, struct MHD_Connection *at, char *text)
{
	return strlen(text);
}

/* ---- begin and end ------------------------------------------------------------------------ */

/* Its address, and what its replies permit: nothing but its own files. */
static int
name_it(uint16_t port)
{
	uint8_t token[TOKEN_BYTES];
	char base[96];

	if (getrandom(token, sizeof(token), 0) != sizeof(token))
		return -errno;
	(void)hex_put(form.token, token, sizeof(token));
	(void)snprintf(form.authority, sizeof(form.authority), "localhost:%u", port);
	(void)snprintf(base, sizeof(base), "http://%s/%s/", form.authority, form.token);
	(void)snprintf(form.policy, sizeof(form.policy),
	    "default-src 'none'; script-src %sform.js; style-src %sform.css; connect-src "
	    "%s; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
	    base, base, base);
	return 0;
}

static void
on_signal(int number)
{
	form.signalled = 1;
}

/* They arrive in serve() alone. early: rt_sigprocmask rt_sigaction */
static void
hold_signals(void)
{
	static const int end[] = {SIGTERM, SIGINT, SIGQUIT, SIGHUP};
	const struct sigaction act = {.sa_handler = on_signal};
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(end); i++) {
		(void)sigaddset(&set, end[i]);
		(void)sigaction(end[i], &act, NULL); /* cannot fail: valid */
	}
	(void)sigprocmask(SIG_BLOCK, &set, NULL); /* the same */
}

static bool
start(void)
{
	const union MHD_DaemonInfo *info;

	/* a date would make the C library open a file; early: epoll_create1 eventfd2 */
	form.daemon = MHD_start_daemon(
	    MHD_USE_EPOLL | MHD_USE_SUPPRESS_DATE_NO_CLOCK | MHD_USE_NO_LISTEN_SOCKET, 0,
	    NULL, NULL, on_request, NULL, MHD_OPTION_NOTIFY_COMPLETED, on_complete, NULL,
	    MHD_OPTION_NOTIFY_CONNECTION, on_connection, NULL,
	    MHD_OPTION_CONNECTION_LIMIT, (unsigned int)CONNECTIONS_MAX,
	    MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)STRANGER_S,
	    MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_POOL,
	    MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes,
	    NULL, MHD_OPTION_END);
	if (form.daemon == NULL)
		return false;
	info = MHD_get_daemon_info(form.daemon, MHD_DAEMON_INFO_EPOLL_FD);
	form.epoll = info != NULL ? info->epoll_fd : -1;
	return info != NULL;
}

int
form_start(struct order *o)
{
	int fd[LOOPBACK_SOCKETS], r;
	uint16_t port;

	form.o = o;
	r = o->grants >= 0 ? fd_cloexec(o->grants, true) : 0;
	if (r == 0)
		r = form_read_grants(o->grants);
	if (r < 0) {
		log_error("%s: unable to read the servers without a grant: %s", o->verb,
		    strerror(-r));
		return LOG_EXIT_FAILED;
	}
	hold_signals();
	r = loopback_listen(fd, &port);
	if (r == 0)
		r = name_it(port);
	if (r == 0) {
		form.heads.most = CONNECTIONS_MAX;
		form.heads.wait_s = STRANGER_S;
		form.heads.fn = add;
		loopback_peers_open(&form.heads.peers, port, STRANGERS_MAX);
		r = http_heads_open(&form.heads, fd);
	}
	if (r == 0 && !start())
		r = -EIO;
	if (r == 0)
		return STATUS_OK;
	log_error(
	    "%s: unable to listen on a loopback address: %s", o->verb, strerror(-r));
	return LOG_EXIT_FAILED;
}

/* Runs what is ready, and returns after how many milliseconds there is more. */
static uint64_t
run(void)
{
	MHD_UNSIGNED_LONG_LONG ms;
	uint64_t least;

	/* syscalls: epoll_wait epoll_ctl accept4 recvfrom sendto sendmsg writev shutdown
	 * syscalls: setsockopt getsockopt close ppoll rt_sigreturn */
	do {
		least = (uint64_t)FORM_S * 1000;
		(void)MHD_run(form.daemon); /* what failed is closed */
	} while (http_heads_run(&form.heads, &least) > 0);
	if (MHD_get_timeout(form.daemon, &ms) == MHD_YES && ms < least)
		least = ms;
	return least;
}

static void
serve(void)
{
	struct pollfd wait[] = {{.fd = form.epoll, .events = POLLIN},
	    {.fd = form.heads.epoll, .events = POLLIN}};
	uint64_t end = loop_now() + (uint64_t)FORM_S * NS_PER_S;
	bool is_last = false;
	struct timespec most;
	sigset_t none;

	(void)sigemptyset(&none);

	for (;;) {
		uint64_t ms = run(), now = loop_now(), left;

		if (form.end != OPEN && !is_last) {
			is_last = true;
			end = now + (uint64_t)LAST_S * NS_PER_S;
		}
		if (form.sent || now >= end || form.signalled != 0)
			return;
		left = (end - now) / LOOP_MS + 1;
		left = ms < left ? ms : left;
		most = (struct timespec){.tv_sec = (time_t)(left / 1000),
		    .tv_nsec = (long)(left % 1000 * LOOP_MS)};
		(void)ppoll(wait, ARRAY_LEN(wait), &most, &none);
	}
}

int
verb_form(struct order *o)
{
	if (o->state == STATE_NONE && o->path == NULL) /* a value makes the vault, too */
		return order_fail(o, STATUS_NOT_FOUND,
		    "no vault found: create one with kennel secret init");
	form.body.bytes = vault_scratch(o->pages, BODY_MAX);
	if (form.body.bytes == NULL)
		return order_fail(o, LOG_EXIT_FAILED, "no locked memory left");
	printf("http://%s/%s/\n", form.authority, form.token);
	if (fflush(stdout) != 0)
		return order_fail(o, LOG_EXIT_FAILED, "unable to print its address");
	serve();
	wipe_body();
	if (form.end == SAVED)
		return STATUS_OK;
	return order_fail(o, STATUS_INPUT,
	    form.end == CANCELLED ? "cancelled; nothing was saved"
	    : form.signalled != 0 ? "ended by a signal; nothing was saved"
				  : "closed after 300 s; nothing was saved");
}
