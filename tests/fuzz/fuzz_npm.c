/*
 * Any bytes as what npm leaves: its lockfile, after a zero byte its settings, after a one
 * its report on signatures. What is taken is short and printable; a registry has a host
 * that a policy accepts; a report after a failure verifies nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "supervisor/draft/npm_lock.h"
#include "supervisor/install/installer.h"
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

static void
report(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1), why[256];

	if (text == NULL)
		return;
	memcpy(text, data, len);
	text[len] = '\0';
	if (signatures_of(1, text, why) == SIGNATURES_VERIFIED)
		abort();
	printable(why, strlen(why));
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
	if (len > 0 && data[0] == 1) {
		report(data + 1, len - 1);
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
