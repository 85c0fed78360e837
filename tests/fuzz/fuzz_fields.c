/*
 * Any bytes as lines of base64url: what is read is shorter than its line, and becomes the
 * same line again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leash/secret/private.h"
#include "tests/fuzz/fuzz.h"

#define FIELDS 5

static void
again(const char *line, size_t len, const struct typed *t)
{
	char *text = NULL;
	size_t text_len = 0;
	FILE *f = open_memstream(&text, &text_len);

	if (f == NULL)
		return;
	base64url_print(f, (struct span){(const uint8_t *)t->bytes, t->len});
	if (fclose(f) != 0 || text_len != len || memcmp(text, line, len) != 0)
		abort();
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1), *was = malloc(len + 1);
	struct typed field[FIELDS];

	if (text != NULL && was != NULL) {
		memcpy(text, data, len);
		memcpy(was, data, len);
		was[len] = '\0';
		if (fields_read(text, len, field, FIELDS))
			for (size_t i = 0; i < FIELDS; i++) {
				const char *line = was + (field[i].bytes - text);

				again(line, strcspn(line, "\n"), &field[i]);
			}
	}
	free(text);
	free(was);
	return 0;
}
