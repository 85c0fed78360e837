/*
 * Log lines for the operator.  Bytes from outside are made printable here, in
 * one place, so that no caller can forget it.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"

#define LINE_MAX_LEN 4096

static const char *program = "kennel";
static enum log_level level_most = LOG_INFO;

void
log_open(const char *name, enum log_level most)
{
	program = name;
	level_most = most;
}

char *
log_quote(char *out, size_t out_cap, const void *bytes, size_t len)
{
	const uint8_t *in = bytes;
	size_t o = 0;

	if (out_cap == 0)
		return out;
	for (size_t i = 0; i < len; i++) {
		bool plain = in[i] >= 0x20 && in[i] < 0x7f;

		if (o + (plain ? 1 : 4) >= out_cap)
			break;
		if (plain) {
			out[o++] = (char)in[i];
			continue;
		}
		out[o++] = '\\';
		out[o++] = 'x';
		(void)hex_put(out + o, in + i, 1);
		o += 2;
	}
	out[o] = '\0';
	return out;
}

static void say(const char *format, va_list ap) __attribute__((format(printf, 1, 0)));

static void
say(const char *format, va_list ap)
{
	char raw[LINE_MAX_LEN / 4], line[LINE_MAX_LEN + 64];
	int n, head;

	n = vsnprintf(raw, sizeof(raw), format, ap);
	if (n < 0)
		return;
	if ((size_t)n >= sizeof(raw))
		n = (int)sizeof(raw) - 1;
	head = snprintf(line, 64, "%.48s: ", program);
	(void)log_quote(line + head, LINE_MAX_LEN, raw, (size_t)n);
	n = (int)strlen(line);
	line[n++] = '\n';
	/*
	 * One write per line, so that lines of several processes are not mixed.
	 * If standard error is closed, there is no other way to report.
	 */
	(void)fd_write_all(STDERR_FILENO, line, (size_t)n);
}

void
log_at(enum log_level level, const char *format, ...)
{
	int saved = errno;
	va_list ap;

	if (level > level_most)
		return;
	va_start(ap, format);
	say(format, ap);
	va_end(ap);
	errno = saved;
}

void
die(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	say(format, ap);
	va_end(ap);
	_exit(LOG_EXIT_FAILED);
}

void
bug_at(const char *file, int line, const char *what)
{
	log_at(LOG_ERROR, "bug at %s:%d: %s", file, line, what);
	abort(); /* syscalls: rt_sigprocmask gettid getpid tgkill rt_sigaction */
}
