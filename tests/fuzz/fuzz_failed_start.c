/*
 * Any bytes as the end of a server's standard error, with a policy that grants nothing:
 * the text about the failed start is short, ends with the command that shows the log,
 * repeats at most five lines, and offers to grant no private file.
 */
#include <stdlib.h>
#include <string.h>

#include "shim/base/buf.h"
#include "supervisor/launch/failed_start.h"
#include "tests/fuzz/fuzz.h"

#define TEXT_MAX 6144 /* what supervisor/launch/run_session.c keeps */
#define LAST_MAX 4096

static void
lines_are_sound(const char *text)
{
	static const char command[] = "see `kennel server log `",
			  own[] = "\nthe server names ";
	const char *last = strrchr(text, '\n');
	int shown = 0;

	if (last == NULL || strcmp(last + 1, command) != 0)
		abort();
	for (const char *at = text; (at = strstr(at, "\n  ")) != NULL; at++)
		shown++;
	if (shown > 5)
		abort();
	for (const char *at = text; (at = strstr(at, own)) != NULL; at += strlen(own)) {
		const char *dot = strstr(at, "/.");

		if (dot != NULL && dot < strchr(at + 1, '\n') &&
		    strstr(at, "/site-packages") == NULL)
			abort();
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct policy nothing;
	static const struct sealed_server server;
	char last[LAST_MAX + 1], program[LAST_MAX + 1];
	struct failed_start failed = {&nothing, &server, 256, last, program, "", ""};
	struct buf text;

	if (setenv("PATH", "/usr/bin:/bin", 1) <
	    0) /* programs are named as PATH has them */
		abort();
	if (len > LAST_MAX)
		len = LAST_MAX;
	memcpy(last, data, len);
	last[len] = '\0';
	memcpy(program, last, strlen(last) + 1);
	program[strcspn(program, "\n")] = '\0';
	buf_init(&text, TEXT_MAX);
	if (failed_start_put(&failed, &text) < 0 || buf_putc(&text, 0) < 0)
		abort();
	lines_are_sound((const char *)text.data);
	buf_free(&text);
	return 0;
}
