/*
 * Any bytes as mountinfo: a cover is seen if and only if one line has its id and,
 * without escapes, its path, as a second reader finds that takes lines apart whole.
 */
#include <stdlib.h>
#include <string.h>

#include "leash/cell/private.h"
#include "shim/base/array.h"
#include "tests/fuzz/fuzz.h"

static const char *const path[] = {"/w/.git/config", "/w/a b\\c\td\n", "/"};
static const uint64_t id[] = {41, 7, 4294967295u};

#define COVERS (ARRAY_LEN(id))

/* The path of a field; NULL: not one that the kernel writes. */
static char *
unescaped(const char *field, size_t len)
{
	char *out = malloc(len + 1), *to = out;

	if (out == NULL)
		abort();
	for (size_t i = 0; i < len; i++) {
		if (field[i] != '\\') {
			*to++ = field[i];
			continue;
		}
		if (len - i < 4 || strspn(field + i + 1, "01234567") < 3) {
			free(out);
			return NULL;
		}
		*to++ = (char)((field[i + 1] - '0') * 64 + (field[i + 2] - '0') * 8 +
			       (field[i + 3] - '0'));
		i += 3;
	}
	*to = '\0';
	if (strlen(out) != (size_t)(to - out))
		*out = '\0'; /* a NUL is in no path */
	return out;
}

static bool
line_has(const char *line, size_t len, size_t which)
{
	const char *field[6], *end = line + len;
	char *place, *stop;
	uint64_t number;
	bool same;
	size_t n = 0;

	for (const char *at = line; n < 6 && at != NULL; n++) {
		field[n] = at;
		at = memchr(at, ' ', (size_t)(end - at));
		if (at != NULL)
			at++;
	}
	if (n < 6)
		return false;
	while (line + 1 < field[1] - 1 && *line == '0') /* the kernel writes none */
		line++;
	if (field[1] - line > 12)
		return false;
	for (const char *at = line; at < field[1] - 1; at++)
		if (*at < '0' || *at > '9')
			return false;
	number = strtoull(line, &stop, 10);
	if (stop != field[1] - 1 || number != id[which])
		return field[1] - 1 == line && id[which] == 0;
	place = unescaped(field[4], (size_t)(field[5] - 1 - field[4]));
	same = place != NULL && strcmp(place, path[which]) == 0;
	free(place);
	return same;
}

static bool
text_has(const char *text, size_t len, size_t which)
{
	const char *end = text + len, *next;

	for (const char *at = text; at < end; at = next + 1) {
		next = memchr(at, '\n', (size_t)(end - at));
		if (next == NULL)
			next = end;
		if (line_has(at, (size_t)(next - at), which))
			return true;
	}
	return false;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct cell_cover cover[COVERS] = {0};
	struct mountinfo m = {.cover = cover, .cover_n = COVERS};
	char *text = malloc(len + 1);

	if (text == NULL)
		return 0;
	for (size_t i = 0; i < COVERS; i++) {
		cover[i].path = path[i];
		cover[i].mount_id = id[i];
	}
	for (size_t i = 0; i < len; i++) {
		text[i] = (char)data[i];
		mountinfo_byte(&m, text[i]);
	}
	text[len] = '\0';
	for (size_t i = 0; i < COVERS; i++)
		if (cover[i].seen != text_has(text, len, i))
			abort();
	free(text);
	return 0;
}
