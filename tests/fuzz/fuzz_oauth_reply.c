/*
 * Any bytes as the metadata of a resource, of an issuer, and as tokens.  What is kept of
 * them may be a URL or a header: visible ASCII within its limits.
 */
#include <stdlib.h>
#include <string.h>

#include "leash/remote/oauth_reply.h"
#include "tests/fuzz/fuzz.h"

static void
visible(const char *text, size_t max)
{
	if (strlen(text) > max)
		abort();
	for (; *text != '\0'; text++)
		if (*text <= ' ' || *text >= 0x7f)
			abort();
}

static bool
fits(void *arg, const char *url)
{
	visible(url, OAUTH_URL_MAX);
	return url[0] == 'h';
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct resource_metadata resource;
	static struct issuer_metadata issuer;
	static struct token_reply token;
	char *text = malloc(len + !len);

	if (text == NULL)
		return 0;
	if (len > 0)
		memcpy(text, data, len);
	/* the same whether they are objects or not */
	(void)resource_metadata_read(text, len, fits, NULL, &resource);
	(void)issuer_metadata_read(text, len, &issuer);
	(void)token_reply_read(text, len, &token);
	free(text);
	visible(resource.resource, OAUTH_URL_MAX);
	visible(resource.issuer, OAUTH_URL_MAX);
	if (resource.issuer[0] != '\0' && resource.issuer[0] != 'h')
		abort();
	visible(issuer.issuer, OAUTH_URL_MAX);
	visible(issuer.authorize, OAUTH_URL_MAX);
	visible(issuer.token, OAUTH_URL_MAX);
	visible(token.access, TOKEN_MAX);
	visible(token.refresh, TOKEN_MAX);
	visible(token.error, OAUTH_ERROR_MAX);
	return 0;
}
