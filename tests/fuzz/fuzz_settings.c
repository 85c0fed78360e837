/*
 * Any bytes as settings.kennel, and as a pattern of --expose: no crash; every message
 * is printable; what is refused says why, and what is taken is within its limits.
 *
 *	make build/fuzz/settings && build/fuzz/settings tests/fuzz/corpus/settings
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/serve/tools/facets.h"
#include "supervisor/serve/tools/settings.h"
#include "tests/fuzz/fuzz.h"

static void
judge(const struct settings *s)
{
	if (s->facets_allowed >= 1u << FACET_N || s->facets_denied >= 1u << FACET_N ||
	    s->channels == 0 || s->channels >= 1u << CHANNEL_N ||
	    s->budget > SETTINGS_COUNT_MAX || s->ahead > SETTINGS_COUNT_MAX ||
	    s->expose_n > SETTINGS_EXPOSE_MAX)
		abort();
	/* a server's name is never empty, so no pattern matches this one */
	if (s->expose_n == 0 && settings_exposes(s, "a", "b", 1))
		abort();
}

static void
expose(struct settings *s, const char *text)
{
	struct reason why = {.text = ""};
	size_t before = s->expose_n;
	int r = settings_expose(s, text, &why);

	if (r == 0 ? s->expose_n != before + 1
		   : r != -EINVAL || s->expose_n != before || why.text[0] == '\0')
		abort();
	printable(why.text, strlen(why.text));
	/* a pattern without `*` is a name, and matches itself */
	if (r == 0 && strchr(text, '*') == NULL) {
		const char *dot = strchr(text, '.');
		char server[256];

		if (dot - text >= (long)sizeof(server))
			return;
		memcpy(server, text, (size_t)(dot - text));
		server[dot - text] = '\0';
		if (!settings_exposes(s, server, dot + 1, strlen(dot + 1)))
			abort();
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *said = NULL, *text = malloc(len + 1);
	FILE *f;
	size_t said_len = 0;
	struct settings s;
	int r;

	f = open_memstream(&said, &said_len);
	if (f == NULL || text == NULL)
		abort();
	memcpy(text, data, len);
	text[len] = '\0';
	r = settings_read("s.kennel", (const char *)data, len, f, &s);
	if (fclose(f) != 0 || (r != 0 && r != -EINVAL) || (r == 0) != (said_len == 0))
		abort();
	printable(said, said_len);
	if (r == 0)
		judge(&s);
	expose(&s, text);
	settings_free(&s);
	free(said);
	free(text);
	return 0;
}
