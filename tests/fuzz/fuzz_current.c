/*
 * Any bytes as /etc/kennel/trust/current: each policy that is taken is in the text, with
 * its names, and a text that is cut anywhere is refused.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/sealed/signature.h"
#include "shim/base/hex.h"
#include "tests/fuzz/fuzz.h"

struct seen {
	const char *text;
	size_t len, n;
};

static int
see(void *arg, const struct current_line *line)
{
	struct seen *s = arg;
	char digits[2 * POLICY_ID_LEN + 1];

	(void)hex_put(digits, line->id, sizeof(line->id));
	if (line->names < s->text || line->names_len == 0 ||
	    line->names + line->names_len >= s->text + s->len ||
	    line->names[line->names_len] != '\n' || strstr(s->text, digits) == NULL)
		abort();
	s->n++;
	return 0;
}

static int
stop(void *arg, const struct current_line *line)
{
	return -ENOSPC;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1), why[128] = "";
	struct seen s = {.text = text, .len = len};

	if (text == NULL)
		return 0;
	if (len > 0)
		memcpy(text, data, len);
	text[len] = '\0';
	if (current_parse(text, len, see, &s, why, sizeof(why)) < 0) {
		if (strncmp(why, "line ", 5) != 0)
			abort();
	} else {
		if (s.n > 0 &&
		    current_parse(text, len, stop, NULL, why, sizeof(why)) != -ENOSPC)
			abort();
		text[--len] = '\0';
		if (current_parse(text, len, stop, NULL, why, sizeof(why)) == 0)
			abort();
	}
	free(text);
	return 0;
}
