/*
 * What is proposed for a secret's metadata: whether it is valid, and what it changes.
 */
#include <string.h>

#include "policy/base/output.h"
#include "policy/lang/manifest.h"
#include "policy/manifests/manifest_change.h"
#include "policy/tokens/token_format.h"

/* No control character, and none that is invisible or reorders a line. */
static bool
is_plain(const char *text)
{
	size_t len = strlen(text), n;
	uint32_t code;

	for (size_t i = 0; i < len; i += n) {
		n = utf8_read(text + i, len - i, &code);
		if (n == 0 || code < 0x20 || (code >= 0x7f && code < 0xa0) ||
		    utf8_is_unseen(code))
			return false;
	}
	return true;
}

/* https, a host, no user: what is shown is where it leads. */
static bool
is_url(const char *text)
{
	static const char begin[] = "https://";
	const char *host = text + sizeof(begin) - 1;
	size_t len;

	if (strncmp(text, begin, sizeof(begin) - 1) != 0)
		return false;
	for (const char *p = text; *p != '\0'; p++)
		if (*p <= ' ' || *p >= 0x7f || strchr("\"<>\\`{}|^", *p) != NULL)
			return false;
	len = strcspn(host, "/?#");
	return len > 0 && memchr(host, '@', len) == NULL && host[0] != ':';
}

const char *
meta_change_wrong(const struct meta_change *c)
{
	if (c->has_description && c->description[0] == '\0')
		return "`description` is empty";
	if (c->has_description && !is_plain(c->description))
		return "`description` has a control character, or one that is not seen";
	if (c->has_retrieval_url && !is_url(c->retrieval_url))
		return "`retrieval_url`: expected an https:// URL without a user name";
	if (c->has_rotate_every &&
	    (c->rotate_every < 1 || c->rotate_every > META_CHANGE_DAYS_MAX))
		return "`rotate_every_days`: expected a number from 1 to 3650";
	if (c->has_pattern && token_format_find(c->pattern) == NULL)
		return "`pattern_id`: expected the name of a known token format";
	return NULL;
}

static bool
same_text(bool has, const char *a, const char *b)
{
	return !has || strcmp(a, b) == 0;
}

bool
meta_change_same(const struct meta_change *a, const struct meta_change *b)
{
	return a->has_description == b->has_description &&
	       a->has_retrieval_url == b->has_retrieval_url &&
	       a->has_pattern == b->has_pattern &&
	       a->has_rotate_every == b->has_rotate_every &&
	       a->has_expires == b->has_expires &&
	       same_text(a->has_description, a->description, b->description) &&
	       same_text(a->has_retrieval_url, a->retrieval_url, b->retrieval_url) &&
	       same_text(a->has_pattern, a->pattern, b->pattern) &&
	       (!a->has_rotate_every || a->rotate_every == b->rotate_every) &&
	       (!a->has_expires || a->expires == b->expires);
}

static bool
differs(bool has, const char *new, const char *old)
{
	return has && (old == NULL || strcmp(new, old) != 0);
}

unsigned int
meta_change_fields(const struct meta_change *c, const struct meta *m)
{
	return (unsigned int)differs(c->has_description, c->description, m->description)
		   << MANIFEST_DESCRIPTION |
	       (unsigned int)differs(
		   c->has_retrieval_url, c->retrieval_url, m->retrieval_url)
		   << MANIFEST_RETRIEVAL_URL |
	       (unsigned int)differs(c->has_pattern, c->pattern, m->pattern)
		   << MANIFEST_PATTERN |
	       (unsigned int)(c->has_rotate_every && c->rotate_every != m->rotate_every)
		   << MANIFEST_ROTATE_EVERY |
	       (unsigned int)(c->has_expires && c->expires != m->expires)
		   << MANIFEST_EXPIRES;
}

bool
meta_change_matters(const struct meta_change *c, const struct meta *m)
{
	return meta_change_fields(c, m) != 0;
}
