/*
 * What a descriptor's terminal can show, and the time as its user reads it.
 */
#include "supervisor/base/terminal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/loop.h"

#define COLUMNS_DEFAULT 80
#define COLUMNS_MAX     1000

/* The kernel knows the size of a window; COLUMNS is for a terminal without one, such
 * as a serial line. */
static int
columns_of(int fd)
{
	const char *text = getenv("COLUMNS");
	struct winsize size = {0};
	long n = COLUMNS_DEFAULT;

	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		n = size.ws_col;
	else if (text != NULL && strtol(text, NULL, 10) > 0)
		n = strtol(text, NULL, 10);
	return n < TERMINAL_COLUMNS_MIN ? TERMINAL_COLUMNS_MIN
	       : n > COLUMNS_MAX        ? COLUMNS_MAX
					: (int)n;
}

static struct terminal kept; /* of kept_fd, while a pager runs */
static int kept_fd = -1;

void
terminal_keep(int fd, struct terminal t)
{
	kept_fd = fd;
	kept = t;
}

struct terminal
terminal_of(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
	struct terminal t = {.is = isatty(fd) == 1};

	if (fd == kept_fd)
		return kept;
	if (!t.is)
		return t;
	/* no-color.org: present and not empty */
	t.colour =
	    (no == NULL || no[0] == '\0') && (term == NULL || strcmp(term, "dumb") != 0);
	t.columns = columns_of(fd);
	return t;
}

const char *
terminal_time(uint64_t ns, char out[TERMINAL_TIME_MAX])
{
	time_t s = (time_t)(ns / NS_PER_S);
	struct tm tm;

	if (localtime_r(&s, &tm) == NULL ||
	    strftime(out, TERMINAL_TIME_MAX, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		(void)snprintf(out, TERMINAL_TIME_MAX, "%" PRIu64, ns);
	return out;
}
