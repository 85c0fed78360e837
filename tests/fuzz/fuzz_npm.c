/*
 * Any bytes as what npm leaves: its lockfile, and after a zero byte its settings. What is
 * taken is short and printable; a registry has a host that a policy accepts.
 */
#include <stdlib.h>
#include <string.h>

#include "supervisor/draft/npm_lock.h"
#include "supervisor/install/npm.h"
#include "tests/fuzz/fuzz.h"

static void
settings(const uint8_t *data, size_t len)
{
	static struct npm npm; /* large */
	char *text = malloc(len + 1);
	const char *why;

	if (text == NULL)
		return;
	memcpy(text, data, len);
	text[len] = '\0';
	if (npm_settings(text, &npm, &why) == 0) {
		if (strchr(npm.url.target, ':') == NULL || strpbrk(npm.registry, "\r\n"))
			abort();
		printable(npm.url.target, strlen(npm.url.target));
	}
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct lock lock;

	if (len > 0 && data[0] == 0) {
		settings(data + 1, len - 1);
		return 0;
	}
	if (lock_take((const char *)data, len, &lock) == 0)
		for (size_t i = 0; i < lock.n; i++)
			if (strpbrk(lock.package[i].path, " \n\r\t\033") != NULL ||
			    strpbrk(lock.package[i].version, " \n\r\t\033") != NULL ||
			    lock_find(&lock, lock.package[i].path) == NULL)
				abort();
	lock_free(&lock);
	return 0;
}
