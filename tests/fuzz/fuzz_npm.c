/*
 * Any bytes as what npm leaves: its lockfile, after a zero byte its settings, after a one
 * its report on signatures, after a two what it verified, a zero byte and its lockfile.
 * What is taken is short and printable; a registry has a host that a policy accepts; a
 * report after a failure verifies nothing; a package is verified only if its whole line is
 * in what npm verified.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/draft/npm_lock.h"
#include "supervisor/install/installer.h"
#include "supervisor/draft/signed_set.h"
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

static void
lockfile(const uint8_t *data, size_t len, const struct signed_set *set, const char *lines)
{
	static const char registry[] = "https://r.example/";
	struct lock lock;
	char line[4096];

	if (lock_take((const char *)data, len, &lock) == 0)
		for (size_t i = 0; i < lock.n; i++) {
			const struct lock_package *p = &lock.package[i];
			const char *why = lock_unsigned(p, registry);

			if (strpbrk(p->path, " \n\r\t\033") != NULL ||
			    strpbrk(p->version, " \n\r\t\033") != NULL ||
			    strpbrk(lock_name(p), " \n\r\t\033") != NULL ||
			    lock_find(&lock, p->path) == NULL ||
			    (why == NULL &&
				(p->link ||
				    (!lock_within(p) && strncmp(p->resolved, registry,
							    sizeof(registry) - 1) != 0))))
				abort();
			if (!signed_has(set, p))
				continue;
			(void)snprintf(line, sizeof(line), "%s@%s:%s\n", lock_name(p),
			    p->version, p->integrity); /* fits */
			if (strstr(lines, line) == NULL)
				abort();
		}
	lock_free(&lock);
}

static void
verified(const uint8_t *data, size_t len)
{
	const uint8_t *end = memchr(data, 0, len);
	size_t n = end == NULL ? len : (size_t)(end - data);
	char *text = malloc(n + 1);
	struct signed_set set;

	if (text == NULL)
		return;
	memcpy(text, data, n);
	text[n] = '\0';
	if (signed_take(text, n, &set) == 0 && end != NULL)
		lockfile(end + 1, len - n - 1, &set, text);
	signed_free(&set);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct signed_set none;

	if (len > 0 && data[0] == 0)
		settings(data + 1, len - 1);
	else if (len > 0 && data[0] == 1)
		report(data + 1, len - 1);
	else if (len > 0 && data[0] == 2)
		verified(data + 1, len - 1);
	else
		lockfile(data, len, &none, "");
	return 0;
}
