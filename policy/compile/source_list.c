/*
 * Writes and reads the list of source files of a sealed file.
 */
#include "policy/compile/source_list.h"

#include <string.h>

#include "policy/sealed/policy.h"
#include "policy/sealed/signature.h"
#include "shim/base/hex.h"

#define DIGEST_LEN 32
#define HEX_LEN    (2 * (size_t)DIGEST_LEN)
#define GAP        "  " /* between digest and name, as sha256sum(1) writes it */
#define GAP_LEN    (sizeof(GAP) - 1)

static bool
has_control(const char *path)
{
	for (; *path != '\0'; path++)
		if ((unsigned char)*path < 0x20 || *path == 0x7f)
			return true;
	return false;
}

int
source_list_put(struct buf *list, const char *path, const char *text, size_t len)
{
	uint8_t sha256[DIGEST_LEN];
	char hex[HEX_LEN + 1];
	struct buf line;
	int r = 0;

	if (has_control(path) || strlen(path) >= PATH_MAX)
		return 0;
	policy_digest(text, len, sha256);
	(void)hex_put(hex, sha256, DIGEST_LEN);
	buf_init(&line, HEX_LEN + PATH_MAX + 8);
	if (list->len == 0)
		r = buf_puts(list, SOURCES_MAGIC);
	if (r == 0)
		r = buf_printf(&line, "%.*s" GAP "%s\n", (int)HEX_LEN, hex, path);
	if (r == 0 && memmem(list->data, list->len, line.data, line.len) == NULL)
		r = buf_put(list, line.data, line.len);
	buf_free(&line);
	return r;
}

struct source_list
source_list_of(const uint8_t *bytes, size_t len)
{
	struct source_list list = {NULL, NULL};
	const struct sign_head *head;
	const struct sign_row *row;
	size_t body;

	if (sign_layout(bytes, len, &body, &head, &row) == 0 && head == NULL &&
	    len > body) {
		list.at = (const char *)bytes + body + strlen(SOURCES_MAGIC);
		list.end = (const char *)bytes + len;
	}
	return list;
}

bool
source_list_next(struct source_list *l, struct listed_source *ret)
{
	const char *newline, *path;
	size_t len;

	if (l->at == l->end)
		return false;
	newline = memchr(l->at, '\n', (size_t)(l->end - l->at));
	if (newline == NULL || (size_t)(newline - l->at) <= HEX_LEN + GAP_LEN ||
	    memcmp(l->at + HEX_LEN, GAP, GAP_LEN) != 0 ||
	    !hex_get(l->at, HEX_LEN, ret->sha256, DIGEST_LEN))
		return false;
	path = l->at + HEX_LEN + GAP_LEN;
	len = (size_t)(newline - path);
	if (len >= sizeof(ret->path) || memchr(path, '\0', len) != NULL)
		return false;
	memcpy(ret->path, path, len);
	ret->path[len] = '\0';
	l->at = newline + 1;
	return true;
}

bool
source_list_has(struct source_list list, const uint8_t sha256[32])
{
	struct listed_source source;

	while (source_list_next(&list, &source))
		if (memcmp(source.sha256, sha256, DIGEST_LEN) == 0)
			return true;
	return false;
}
