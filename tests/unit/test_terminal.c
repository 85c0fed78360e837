/*
 * What a terminal can show, and tables that fit it without losing a byte.
 */
#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "shim/base/array.h"
#include "shim/base/loop.h"
#include "supervisor/base/layout.h"
#include "supervisor/base/terminal.h"

static struct terminal
of_width(unsigned short columns)
{
	struct winsize size = {.ws_row = 24, .ws_col = columns};
	struct terminal t;
	int master, slave;

	assert_int_equal(openpty(&master, &slave, NULL, NULL, &size), 0);
	t = terminal_of(slave);
	close(slave);
	close(master);
	return t;
}

static void
knows_a_terminal(void **state)
{
	int fd[2];

	(void)state;
	unsetenv("NO_COLOR");
	unsetenv("COLUMNS");
	setenv("TERM", "xterm", 1);
	assert_int_equal(pipe(fd), 0);
	assert_false(terminal_of(fd[1]).is);
	assert_false(terminal_of(fd[1]).colour);
	assert_int_equal(terminal_of(fd[1]).columns, 0);
	close(fd[0]);
	close(fd[1]);
	assert_true(of_width(132).is);
	assert_true(of_width(132).colour);
	assert_int_equal(of_width(132).columns, 132);
	assert_int_equal(of_width(0).columns, 80);
	assert_int_equal(of_width(7).columns, TERMINAL_COLUMNS_MIN);
	setenv("COLUMNS", "100", 1);
	assert_int_equal(of_width(0).columns, 100);
	assert_int_equal(of_width(90).columns, 90);
}

static void
respects_no_color_and_dumb(void **state)
{
	(void)state;
	setenv("TERM", "xterm", 1);
	setenv("NO_COLOR", "1", 1);
	assert_false(of_width(80).colour);
	setenv("NO_COLOR", "", 1);
	assert_true(of_width(80).colour);
	setenv("TERM", "dumb", 1);
	assert_false(of_width(80).colour);
	assert_true(of_width(80).is);
}

static void
shows_local_time(void **state)
{
	char text[TERMINAL_TIME_MAX];

	(void)state;
	setenv("TZ", "XYZ-5:30", 1);
	tzset();
	assert_string_equal(
	    terminal_time(1763850000 * NS_PER_S, text), "2025-11-23 03:50:00");
	assert_int_equal(strlen(text), TERMINAL_TIME_LEN);
}

/* ---- tables ------------------------------------------------------------------------ */

static const struct layout_column wide[] = {
    {.width = 8, .least = 8, .right = true},
    {.width = 19, .least = 19},
    {.width = 16, .least = 8},
    {.width = 28, .least = 8},
    {.width = 0, .least = 24},
};
static const char *const row[] = {"4711", "2026-11-22 18:58:11", "a-server-of-long-name",
    "/usr/lib/x86_64-linux-gnu/libexec/program", "the last one takes the rest of it"};

static char *
laid_out(int columns, const char *const *colour)
{
	static const char *const none[ARRAY_LEN(wide)];
	struct layout l;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	layout_fit(&l, wide, ARRAY_LEN(wide), columns);
	layout_row(&l, out, row, colour != NULL ? colour : none);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void
fits_every_width(void **state)
{
	(void)state;
	for (int columns = TERMINAL_COLUMNS_MIN; columns < 300; columns++) {
		char *text = laid_out(columns, NULL);
		size_t shown = 0, given = 0;

		for (char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1)
			assert_true(strcspn(line, "\n") <= (size_t)columns);
		for (char *c = text; *c != '\0'; c++)
			shown += *c != ' ' && *c != '\n';
		for (size_t i = 0; i < ARRAY_LEN(row); i++)
			for (const char *c = row[i]; *c != '\0'; c++)
				given += *c != ' ';
		assert_int_equal(shown, given);
		free(text);
	}
}

static void
wraps_inside_columns(void **state)
{
	char *text = laid_out(200, NULL);

	(void)state;
	assert_string_equal(text,
	    "    4711  2026-11-22 18:58:11  a-server-of-long  /usr/lib/x86_64-linux-gnu/"
	    "    the last one takes the rest of it\n"
	    "                               -name             libexec/program\n");
	free(text);
	text = laid_out(60, NULL);
	assert_string_equal(text,
	    "    4711  2026-11-22 18:58:11  a-server-of  /usr/lib/x86_\n"
	    "                               -long-name   64-linux-gnu/\n"
	    "                                            libexec/program\n"
	    "    the last one takes the rest of it\n");
	free(text);
}

static void
colours_only_text(void **state)
{
	static const char *const colour[ARRAY_LEN(wide)] = {NULL, NULL, "\x1b[31m"};
	char *text = laid_out(200, colour);

	(void)state;
	assert_non_null(strstr(text, "\x1b[31ma-server-of-long\x1b[0m  "));
	assert_non_null(strstr(text, "\x1b[31m-name\x1b[0m "));
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(knows_a_terminal),
	    cmocka_unit_test(respects_no_color_and_dumb),
	    cmocka_unit_test(shows_local_time),
	    cmocka_unit_test(fits_every_width),
	    cmocka_unit_test(wraps_inside_columns),
	    cmocka_unit_test(colours_only_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
