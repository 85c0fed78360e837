/*
 * Which requests may come from the console's own page.
 *
 *	Host	must name the console. After DNS rebinding the browser believes that the
 *		console is another host, and names that one.
 *	Origin	must be the console's in a request that changes something. A browser sends
 *		it with every POST and DELETE, and no script can change it.
 *	type	must be JSON: an HTML form of another page cannot send it.
 */
#include "supervisor/console/request_check.h"

#include <stdio.h>
#include <string.h>

#define ORIGIN_MAX 64

bool
request_is_api(const struct http_request *q)
{
	return strncmp(q->path, CONSOLE_API, strlen(CONSOLE_API)) == 0;
}

static bool
is_post(const struct http_request *q)
{
	return strcmp(q->method, "POST") == 0;
}

static bool
is_get(const struct http_request *q)
{
	return strcmp(q->method, "GET") == 0;
}

static bool
method_fits(const struct http_request *q, const char *authority)
{
	return is_get(q) ||
	       (request_is_api(q) && (is_post(q) || strcmp(q->method, "DELETE") == 0));
}

static bool
host_fits(const struct http_request *q, const char *authority)
{
	return q->host != NULL && strcmp(q->host, authority) == 0;
}

static bool
origin_fits(const struct http_request *q, const char *authority)
{
	char origin[ORIGIN_MAX];

	if (q->origin == NULL)
		return is_get(q);
	(void)snprintf(origin, sizeof(origin), "http://%s", authority);
	return strcmp(q->origin, origin) == 0;
}

/* Not every browser sends it. */
static bool
site_fits(const struct http_request *q, const char *authority)
{
	return !request_is_api(q) || q->fetch_site == NULL ||
	       strcmp(q->fetch_site, "same-origin") == 0;
}

static bool
type_fits(const struct http_request *q, const char *authority)
{
	return !is_post(q) ||
	       (q->type != NULL && strcmp(q->type, "application/json") == 0);
}

static bool
headers_fit(const struct http_request *q, const char *authority)
{
	return !q->repeated;
}

static bool
headers_valid(const struct http_request *q, const char *authority)
{
	return !q->malformed;
}

static bool
body_fits(const struct http_request *q, const char *authority)
{
	return !q->too_large;
}

static const struct {
	bool (*fits)(const struct http_request *, const char *authority);
	unsigned int status;
	const char *why;
} checks[] = {
    {headers_valid, 400, "a header is malformed, or the body has two lengths"},
    {headers_fit, 400, "a header is repeated"},
    {host_fits, 421, "the header Host does not name the console"},
    {method_fits, 405, "expected GET, or POST or DELETE to the API"},
    {origin_fits, 403, "the header Origin is not the console's"},
    {site_fits, 403, "another page has sent the request"},
    {type_fits, 415, "expected the content type application/json"},
    {body_fits, 413, "the request is too large"},
};

bool
request_is_foreign(unsigned int status)
{
	return status == 403 || status == 415 || status == 421;
}

unsigned int
request_check(const struct http_request *q, const char *authority, const char **ret_why)
{
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		if (!checks[i].fits(q, authority)) {
			*ret_why = checks[i].why;
			return checks[i].status;
		}
	return 0;
}
