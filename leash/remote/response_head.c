/*
 * What the head of an HTTP response says.  libcurl has found the lines; their contents
 * are hostile.
 */
#include "leash/remote/response_head.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* "HTTP/1.1 200 OK", "HTTP/2 200". */
static bool
status_line(struct response_head *h, const char *line, size_t len)
{
	const char *space;
	size_t i, at;

	if (len < 5 || memcmp(line, "HTTP/", 5) != 0)
		return false;
	*h = (struct response_head){.len = h->len};
	space = memchr(line, ' ', len);
	at = space == NULL ? len : (size_t)(space - line) + 1;
	if (len - at < 3)
		return true;
	for (i = at; i < at + 3; i++)
		if (line[i] < '0' || line[i] > '9')
			return true;
	h->status = (unsigned int)((line[at] - '0') * 100 + (line[at + 1] - '0') * 10 +
				   (line[at + 2] - '0'));
	return true;
}

/* Is the media type this one, with or without parameters? */
static bool
is_type(const char *value, size_t len, const char *type)
{
	size_t n = strlen(type);

	return len >= n && strncasecmp(value, type, n) == 0 &&
	       (len == n || value[n] == ';' || value[n] == ' ' || value[n] == '\t');
}

static int
content_type(struct response_head *h, const char *value, size_t len)
{
	h->body = BODY_OTHER;
	if (is_type(value, len, "application/json"))
		h->body = BODY_JSON;
	if (len >= 5 && strncasecmp(value, "text/", 5) == 0)
		h->body = BODY_TEXT;
	if (is_type(value, len, "text/event-stream"))
		h->body = BODY_EVENTS;
	return 0;
}

/* Visible ASCII, so that it can be a header of the next request. */
static int
session_id(struct response_head *h, const char *value, size_t len)
{
	size_t i;

	if (len == 0 || len > SESSION_MAX || h->session[0] != '\0')
		return -EBADMSG;
	for (i = 0; i < len; i++)
		if (value[i] <= ' ' || value[i] >= 0x7f)
			return -EBADMSG;
	memcpy(h->session, value, len);
	h->session[len] = '\0';
	return 0;
}

static int
location(struct response_head *h, const char *value, size_t len)
{
	h->location[0] = '\0';
	if (len > LOCATION_MAX || memchr(value, '\0', len) != NULL)
		return 0;
	memcpy(h->location, value, len);
	h->location[len] = '\0';
	return 0;
}

/* libcurl decompresses, also what it did not ask for. */
static int
transfer_encoding(struct response_head *h, const char *value, size_t len)
{
	(void)h;
	return len == 7 && strncasecmp(value, "chunked", 7) == 0 ? 0 : -EBADMSG;
}

/* Several headers are one list: the first challenge for a bearer token counts. */
static int
authenticate(struct response_head *h, const char *value, size_t len)
{
	if (!h->challenge.bearer)
		challenge_read(value, len, &h->challenge);
	return 0;
}

static const struct {
	const char *name;
	int (*fn)(struct response_head *, const char *value, size_t len);
} headers[] = {
    {"content-type", content_type},
    {"location", location},
    {"mcp-session-id", session_id},
    {"transfer-encoding", transfer_encoding},
    {"www-authenticate", authenticate},
};

int
response_head_line(struct response_head *h, const char *line, size_t len)
{
	const char *colon, *value;
	size_t name, i;

	while (len > 0 && isspace((unsigned char)line[len - 1]))
		len--;
	h->len += len;
	if (h->len > HEAD_MAX)
		return -EMSGSIZE;
	if (len == 0)
		h->ended = h->status >= 200;
	if (h->ended || status_line(h, line, len))
		return 0;
	colon = memchr(line, ':', len);
	if (colon == NULL)
		return 0;
	name = (size_t)(colon - line);
	value = colon + 1;
	while (value < line + len && (*value == ' ' || *value == '\t'))
		value++;
	for (i = 0; i < sizeof(headers) / sizeof(headers[0]); i++)
		if (strlen(headers[i].name) == name &&
		    strncasecmp(headers[i].name, line, name) == 0)
			return headers[i].fn(h, value, (size_t)(line + len - value));
	return 0;
}
