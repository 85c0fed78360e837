/*
 * Any text as the address that a person pastes, and as the URL of an issuer: a parameter is
 * visible and within its limit; encoded again as a form, it is the same parameter.
 */
#include <stdlib.h>
#include <string.h>

#include "leash/remote/oauth_text.h"
#include "shim/base/buf.h"
#include "tests/fuzz/fuzz.h"

#define CAP 256

static void
again(const char *value)
{
	char back[CAP];
	struct buf form;

	buf_init(&form, (size_t)4 * CAP);
	if (form_put(&form, "state", value, strlen(value)) == 0 &&
	    buf_putc(&form, '\0') == 0 &&
	    (!form_get((const char *)form.data, "state", back, sizeof(back)) ||
		strcmp(back, value) != 0))
		abort();
	buf_free(&form);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1), value[CAP];

	if (text == NULL)
		return 0;
	if (len > 0)
		memcpy(text, data, len);
	text[len] = '\0';
	if (form_get(text, "state", value, sizeof(value))) {
		for (const char *p = value; *p != '\0'; p++)
			if (*p <= ' ' || *p >= 0x7f)
				abort();
		again(value);
	}
	(void)url_has_path(text); /* any answer */
	if (well_known(text, "x", false, value, sizeof(value)) == 0 &&
	    strstr(value, "/.well-known/x") == NULL)
		abort();
	if (well_known(text, "x", true, value, sizeof(value)) == 0 &&
	    strstr(value, "/.well-known/x") == NULL)
		abort();
	free(text);
	return 0;
}
