/*
 * Whose a URI is: that of the one server that lists it or a template of it, or of the server
 * that kennel's own scheme names.
 */
#include <string.h>

#include "shim/base/hex.h"
#include "supervisor/serve/private.h"

#define OWN_URI_PREFIX "kennel://"

/* "kennel://SERVER/" and the percent-encoded URI: into out. */
static struct server *
own_uri(
    struct hub *h, const char *uri, size_t len, char out[MCP_NAME_MAX], size_t *ret_len)
{
	size_t n = sizeof(OWN_URI_PREFIX) - 1, at = 0;
	const char *slash, *end = uri + len;
	struct server *s;

	if (len <= n || memcmp(uri, OWN_URI_PREFIX, n) != 0 ||
	    (slash = memchr(uri + n, '/', len - n)) == NULL)
		return NULL;
	s = server_find(h, uri + n, (size_t)(slash - uri) - n);
	for (const char *p = slash + 1; s != NULL && p < end && at + 1 < MCP_NAME_MAX;
	     p++) {
		int high = *p == '%' && end - p > 2 ? hex_any(p[1]) : -1;
		int low = high >= 0 ? hex_any(p[2]) : -1;

		out[at++] = (char)(low >= 0 ? high << 4 | low : *p);
		p += low >= 0 ? 2 : 0;
	}
	out[at] = '\0';
	*ret_len = at;
	return s;
}

/* The literal text of a template before its first expression. */
static size_t
literal_prefix(const struct item *i)
{
	const char *brace = memchr(i->name, '{', i->name_len);

	return brace == NULL ? i->name_len : (size_t)(brace - i->name);
}

/* Is this what the agent means? A template may mean every URI with its literal beginning. */
static bool
claims(const struct item *i, const char *uri, size_t len)
{
	size_t n = i->kind == PIN_TEMPLATE ? literal_prefix(i) : len;

	return (i->kind == PIN_RESOURCE || i->kind == PIN_TEMPLATE) && item_offered(i) &&
	       n <= len && n <= i->name_len && memcmp(i->name, uri, n) == 0 &&
	       (i->kind == PIN_TEMPLATE || i->name_len == len);
}

/* No order of servers or templates decides: one that lists a URI, or a template of it, would
 * answer for another one. */
struct server *
offers_resource(struct hub *h, const char *uri, size_t len, const char **ret_uri,
    size_t *ret_len, const struct server *ret_two[2])
{
	static char own[MCP_NAME_MAX];
	struct server *s = own_uri(h, uri, len, own, ret_len);

	*ret_uri = own;
	ret_two[0] = ret_two[1] = NULL;
	if (s != NULL)
		return s;
	*ret_uri = uri;
	*ret_len = len;
	for (size_t i = 0; i < h->items.n; i++) {
		const struct item *it = h->items.item[i];

		if (it->server == s || !claims(it, uri, len))
			continue;
		if (s != NULL) {
			ret_two[0] = s;
			ret_two[1] = it->server;
			return NULL;
		}
		s = it->server;
	}
	return s;
}
