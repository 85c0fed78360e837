/*
 * The URL of `remote`, and the names of HTTP headers that a policy may set.
 *
 * The URL is stricter than RFC 3986: the policy, the compiler and libcurl must agree on
 * its host, so nothing is decoded, and what could be read in two ways is an error.
 */
#include "policy/lang/remote_url.h"

#include "policy/lang/ast.h"
#include "policy/lang/host.h"
#include "shim/base/array.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- the URL ---------------------------------------------------------------- */

/* HOST or HOST:PORT to HOST:PORT. */
static const char *
target(const char *text, size_t len, bool tls, struct remote_url *ret)
{
	const char *colon = memrchr(text, ':', len), *why;
	struct word w = {.quoted = true};
	struct host h;
	int n;

	if (colon != NULL && memchr(colon, ']', (size_t)(text + len - colon)) != NULL)
		colon = NULL; /* inside of [ ] */
	n = snprintf(ret->target, sizeof(ret->target), "%.*s%s", (int)len, text,
	    colon != NULL ? ""
	    : tls         ? ":443"
			  : ":80");
	if (n < 0 || (size_t)n >= sizeof(ret->target))
		return "invalid host name: expected 1 to 253 characters";
	w.text = ret->target;
	w.len = (size_t)n;
	why = host_read(&w, true, &h);
	if (why != NULL)
		return why;
	if (h.kind == HOST_SUFFIX || (h.kind == HOST_CIDR && h.prefix != 128) ||
	    h.port_first != h.port_last)
		return "expected one host and one port";
	return NULL;
}

const char *
remote_url_read(const char *text, size_t len, struct remote_url *ret)
{
	static const char https[] = "https://", http[] = "http://";
	struct remote_url url = {.tls = false};
	size_t i, from;
	const char *why;

	if (len > REMOTE_URL_MAX)
		return "the URL is longer than 2048 bytes";
	for (i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] >= 0x7f || strchr("\"<>\\^`{|}", text[i]))
			return "the URL has a character that must be percent-encoded";
	if (strncmp(text, https, sizeof(https) - 1) == 0)
		url.tls = true;
	else if (strncmp(text, http, sizeof(http) - 1) != 0)
		return "expected a URL that begins with https://";
	from = url.tls ? sizeof(https) - 1 : sizeof(http) - 1;
	if (memchr(text, '#', len) != NULL)
		return "a fragment (`#`) is not sent: remove it";
	i = from + strcspn(text + from, "/?");
	if (memchr(text + from, '@', i - from) != NULL)
		return "a user name or password in a URL is not allowed: use `auth`";
	if (text[i] == '?')
		return "expected a path before `?`, as in https://HOST/?a=b";
	why = target(text + from, i - from, url.tls, &url);
	if (why == NULL)
		*ret = url;
	return why;
}

/* ---- headers ------------------------------------------------------------------ */

static bool
is_token(const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (!(text[i] > ' ' && text[i] < 0x7f) ||
		    strchr("\"(),/:;<=>?@[\\]{}", text[i]) != NULL)
			return false;
	return len > 0 && len <= REMOTE_NAME_MAX;
}

static bool
same(const char *text, size_t len, const char *name)
{
	size_t n = strlen(name);

	if (name[n - 1] == '*')
		return len >= n - 1 && strncasecmp(text, name, n - 1) == 0;
	return len == n && strncasecmp(text, name, n) == 0;
}

const char *
remote_header_refused(const char *text, size_t len, bool for_auth)
{
	/* what MCP, HTTP or `auth` sets */
	static const char *const reserved[] = {"accept", "connection", "content-*",
	    "cookie", "expect", "host", "keep-alive", "last-event-id", "mcp-*", "origin",
	    "proxy-*", "te", "trailer", "transfer-encoding", "upgrade"};

	if (!is_token(text, len))
		return "invalid name of a header: expected 1 to 64 letters, digits and "
		       "`-`";
	for (size_t i = 0; i < ARRAY_LEN(reserved); i++)
		if (same(text, len, reserved[i]))
			return "this header is set by kennel: a policy cannot set it";
	if (!for_auth && same(text, len, "authorization"))
		return "this header holds a credential: use `auth`";
	return NULL;
}

bool
remote_value_is_plain(const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (text[i] < ' ' || text[i] >= 0x7f)
			return false;
	return len > 0 && text[0] != ' ' && text[len - 1] != ' ';
}
