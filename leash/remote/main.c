/*
 * kennel-remote: takes the place of an MCP server whose URL a policy names.
 *
 * Process: one per session of such a server, in its cell, where the server would be; the
 * leash starts it like any server.  Holds: that server's credential, from its
 * environment.  Trusts: the command line, which the policy fixed, and the
 * certificates in the file of --ca.  Must never: reach another origin than that of
 * its URL and, for a token, that of the issuer (kennel-egress would refuse it, too),
 * follow what the server says beyond MCP, or print a credential.
 *
 *	kennel-remote [--ca FILE] [--bearer VARIABLE | --api-key NAME VARIABLE]
 *	    [--oauth-client ID --oauth-grant code | client-credentials
 *	     --oauth-issuer HOST:PORT [--oauth-scope TEXT] [--oauth-secret VARIABLE]
 *	     --oauth-server NAME] [--header NAME VALUE]... URL
 *	kennel-remote --ca FILE --fetch URL
 *
 * kennel speaks MCP to it over stdin and stdout, one message a line.  With --fetch it
 * gets one file instead (fetch.c).
 */
#include "leash/remote/private.h"
#include "leash/refresh_request.h"

#include "shim/base/array.h"
#include "shim/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define READ_SIZE (64u << 10)

/* ---- the command line ------------------------------------------------------------ */

static void
refuse(const char *what)
{
	log_error("%s", what);
	exit(EXIT_REFUSED);
}

static char *
own_next(struct remote *r)
{
	if (r->own_n == OWN_MAX)
		refuse("more than 64 headers");
	return r->own[r->own_n++];
}

static void
own_put(struct remote *r, const char *name, const char *lead, const char *value)
{
	int n = snprintf(own_next(r), sizeof(r->own[0]), "%s: %s%s", name, lead, value);

	if (n < 0 || (size_t)n >= sizeof(r->own[0]))
		refuse("a header or the credential is longer than 2,000 bytes");
}

/* The value of a variable; never printed. */
static const char *
credential(const char *variable)
{
	const char *value = getenv(variable), *p;

	if (value == NULL || value[0] == '\0') {
		log_error("no credential: %s is not set or empty", variable);
		exit(EXIT_REFUSED);
	}
	for (p = value; *p != '\0'; p++)
		if (*p <= ' ' || *p >= 0x7f) {
			log_error("the value of %s cannot be a header: expected visible "
				  "ASCII characters without spaces",
			    variable);
			exit(EXIT_REFUSED);
		}
	return value;
}

static void
option_ca(struct remote *r, char **value)
{
	r->ca = value[0];
}

static void
option_bearer(struct remote *r, char **value)
{
	own_put(r, "Authorization", "Bearer ", credential(value[0]));
}

static void
option_api_key(struct remote *r, char **value)
{
	own_put(r, value[0], "", credential(value[1]));
}

static void
option_header(struct remote *r, char **value)
{
	own_put(r, value[0], "", value[1]);
}

static void
option_fetch(struct remote *r, char **value)
{
	r->fetches = true;
}

static void
option_oauth(struct remote *r, char **value)
{
	oauth_option(r, value[-1], value[0]);
}

static const struct {
	const char *name;
	int values;
	void (*fn)(struct remote *, char **value);
} options[] = {
    {"--api-key", 2, option_api_key},
    {"--bearer", 1, option_bearer},
    {"--ca", 1, option_ca},
    {"--fetch", 0, option_fetch},
    {"--header", 2, option_header},
    {"--oauth-client", 1, option_oauth},
    {"--oauth-grant", 1, option_oauth},
    {"--oauth-issuer", 1, option_oauth},
    {"--oauth-scope", 1, option_oauth},
    {"--oauth-secret", 1, option_oauth},
    {"--oauth-server", 1, option_oauth},
};

/* HOST:PORT of the URL, for messages. */
static const char *
host_of(const char *url)
{
	static char host[300];
	const char *from = strstr(url, "//");

	from = from == NULL ? url : from + 2;
	(void)snprintf(host, sizeof(host), "%.*s", (int)strcspn(from, "/?"), from);
	return host;
}

static void
command_line(struct remote *r, int argc, char **argv)
{
	size_t k;
	int i = 1;

	while (i < argc && strncmp(argv[i], "--", 2) == 0) {
		for (k = 0; k < ARRAY_LEN(options); k++)
			if (strcmp(options[k].name, argv[i]) == 0)
				break;
		if (k == ARRAY_LEN(options) || i + options[k].values >= argc)
			refuse("unknown or incomplete option");
		options[k].fn(r, argv + i + 1);
		i += 1 + options[k].values;
	}
	if (i + 1 != argc)
		refuse(
		    "expected one URL; kennel-remote is started by kennel, for `remote` "
		    "in a policy");
	r->url = argv[i];
	r->host = host_of(argv[i]);
}

/* ---- stdin and stdout ------------------------------------------------------------- */

static void
put_all(struct remote *r, const char *bytes, size_t len)
{
	ssize_t n;

	while (len > 0 && r->status < 0) {
		n = write(STDOUT_FILENO, bytes, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			r->status = 0; /* kennel has gone */
			return;
		}
		bytes += n;
		len -= (size_t)n;
	}
}

void
remote_put(struct remote *r, const char *text, size_t len)
{
	struct buf clean;

	if (r->oauth == NULL) {
		put_all(r, text, len);
	} else {
		buf_init(&clean, 2 * (size_t)MESSAGE_MAX);
		if (oauth_redact(r->oauth, text, len, &clean) < 0)
			die("unable to redact a message");
		put_all(r, (const char *)clean.data, clean.len);
		buf_free(&clean);
	}
	put_all(r, "\n", 1);
}

/* Lines that have come, up to one that must wait for a barrier. */
static void
lines(struct remote *r, struct buf *in)
{
	size_t from = 0;
	char *end;

	while (r->barrier == NULL && r->status < 0 && from < in->len) {
		end = memchr(in->data + from, '\n', in->len - from);
		if (end == NULL)
			break;
		session_message(r, (char *)in->data + from,
		    (size_t)(end - ((char *)in->data + from)));
		from = (size_t)((uint8_t *)end - in->data) + 1;
	}
	buf_drop(in, from);
}

static void
read_some(struct remote *r, struct buf *in)
{
	ssize_t n;

	if (buf_reserve(in, READ_SIZE) < 0)
		refuse("kennel sent a message of more than 16 MiB");
	n = read(STDIN_FILENO, in->data + in->len, READ_SIZE);
	if (n > 0)
		in->len += (size_t)n;
	else if (n == 0 || errno != EINTR)
		r->ended = true;
}

/* Until stdin ends, and what it brought is sent. */
static void
serve(struct remote *r)
{
	struct buf in;
	bool wants;
	int wait;

	buf_init(&in, MESSAGE_MAX + READ_SIZE);
	while (r->status < 0) {
		wait = exchanges_due(r);
		wants = !r->ended && r->barrier == NULL;
		if (http_wait(
			r->http, wants ? STDIN_FILENO : -1, wait < 0 ? 60000 : wait))
			read_some(r, &in);
		lines(r, &in);
		if (r->ended && r->barrier == NULL)
			r->status = 0;
	}
	buf_free(&in);
}

int
main(int argc, char **argv)
{
	static struct remote r = {.status = -1};
	int error;

	log_open("kennel-remote", LOG_INFO);
	(void)signal(SIGPIPE, SIG_IGN); /* cannot fail */
	command_line(&r, argc, argv);
	if (r.fetches)
		return fetch(&r);
	oauth_ready(&r);
	if (r.oauth != NULL && getenv(REFRESH_LOGIN) != NULL)
		return login(&r);
	error = http_new(r.url, r.ca, &r.http);
	r.exchange = calloc(EXCHANGES_MAX, sizeof(*r.exchange));
	if (error == -EINVAL)
		refuse("invalid URL");
	if (error < 0 || r.exchange == NULL)
		die("out of memory");
	serve(&r);
	session_close(&r);
	http_free(r.http);
	free(r.exchange);
	buf_free(&r.init);
	buf_free(&r.initialized);
	buf_free(&r.agreed);
	buf_free(&r.lists);
	oauth_free(r.oauth);
	return r.status;
}
