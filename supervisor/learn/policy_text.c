/*
 * Text of a server in a policy: as a word, or inert in a comment.
 */
#include <string.h>

#include "policy/lang/keyword.h"
#include "shim/base/buf.h"
#include "shim/host/codepoint.h"
#include "supervisor/learn/policy_text.h"

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789-._/@+:=,%";

bool
learn_is_plain(const char *text)
{
	return text[strspn(text, plain)] == '\0';
}

/* Every character is one that the language accepts and a person sees. */
static bool
is_shown(const char *text, size_t len)
{
	struct buf shown;
	bool same;

	buf_init(&shown, 64u << 10);
	same = codepoint_show(&shown, text, len, SHOW_UTF8) == 0 && shown.len == len &&
	       (len == 0 || memcmp(shown.data, text, len) == 0);
	buf_free(&shown);
	return same;
}

bool
learn_can_hold(const char *text)
{
	return is_shown(text, strlen(text));
}

bool
learn_word(FILE *out, const char *text)
{
	size_t len = strlen(text);

	if (len > 0 && learn_is_plain(text) && keyword_find(text, len) == KW_NONE) {
		fprintf(out, " %s", text);
		return true;
	}
	if (!is_shown(text, len))
		return false;
	fputs(" \"", out);
	for (; *text != '\0'; text++)
		fprintf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
	fputc('"', out);
	return true;
}

void
learn_inert(FILE *out, const char *text)
{
	size_t n = 0;

	for (; *text != '\0' && n < LEARN_SHOWN_MAX; text++, n++) {
		unsigned char c = (unsigned char)*text;

		if (c < ' ' || c > '~' || c == '\\')
			fprintf(out, "\\x%02x", c);
		else
			fputc(c, out);
	}
	if (*text != '\0')
		fputs("...", out);
}

bool
learn_host_named(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len < 254 &&
	       name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789.-")] == '\0' &&
	       strpbrk(name, "ghijklmnopqrstuvwxyz") != NULL && name[0] != '.' &&
	       name[0] != '-' && strchr(name, '.') != NULL;
}
