/*
 * Lines however they are cut, lines that are too long, the id of such a line,
 * and writing to one that reads slowly.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "supervisor/json/json.h"
#include "supervisor/mcp/line/frame.h"

/* All lines of a text that arrives in pieces of this size, '|' between them,
 * '!' and the length where one was too long. */
static char *
lines(const char *text, size_t piece, size_t limit)
{
	static char out[4096];
	struct frame_in in;
	const uint8_t *line;
	enum frame_what what;
	size_t len = strlen(text);
	uint64_t n;
	int fd[2];

	assert_int_equal(pipe(fd), 0);
	assert_int_equal(frame_in_init(&in, fd[0], limit), 0);
	out[0] = '\0';
	for (size_t at = 0; at < len; at += piece) {
		size_t some = len - at < piece ? len - at : piece;

		assert_int_equal(write(fd[1], text + at, some), some);
		assert_int_equal(frame_fill(&in), 1);
		while ((what = frame_next(&in, &line, &n)) != FRAME_NONE) {
			char *end = out + strlen(out);

			if (what == FRAME_OVERSIZE)
				sprintf(end, "!%d", (int)n);
			else
				sprintf(end, "%.*s|", (int)n, (const char *)line);
		}
	}
	close(fd[1]);
	assert_int_equal(frame_fill(&in), 0);
	sprintf(out + strlen(out), "+%d", (int)frame_rest(&in));
	frame_in_free(&in);
	close(fd[0]);
	return out;
}

/* S4-15 */
static void
cutting(void **state)
{
	(void)state;
	for (size_t piece = 1; piece < 24; piece++) {
		assert_string_equal(lines("a\n\nbcd\r\n0123456789\nrest", piece, 10),
		    "a||bcd\r|0123456789|+4");
		assert_string_equal(
		    lines("0123456789a\nok\n0123456789abcdef\nno", piece, 10),
		    "!11ok|!16+2");
		assert_string_equal(lines("0123456789abcdef", piece, 10), "+16");
	}
}

static void
skimmed(void **state)
{
	static const struct {
		const char *text, *id;
		bool method;
	} row[] = {
	    {"{\"id\":1,\"method\":\"x\"}", "1", true},
	    {"{\"result\":{\"id\":7,\"a\":[{\"id\":\"}\"}]}, \"id\" : \"a\\\"}\" }",
		"\"a\\\"}\"", false},
	    {"{\"a\":\"\\\\\",\"id\":-1.5e3,\"b\":[\"{\"]}", "-1.5e3", false},
	    {"{\"id\":null}", "", false},
	    {"{\"id\":[1]}", "", false},
	    {"{\"id\":{\"id\":1},\"x\":2}", "", false},
	    {"{\"id\":01}", "", false},
	    {"{\"a\":\"id\",\"b\":3}", "", false},
	    {"[{\"id\":1}]", "", false},
	    {"{\"x\":\"method\",\"id\":2", "", false},
	    {"not json", "", false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++)
		for (size_t piece = 1; piece < 40; piece += 6) {
			const uint8_t *p = (const uint8_t *)row[i].text;
			size_t len = strlen(row[i].text);
			struct skim k;

			skim_begin(&k);
			for (size_t at = 0; at < len; at += piece)
				skim_feed(
				    &k, p + at, len - at < piece ? len - at : piece);
			assert_int_equal(k.id_len, strlen(row[i].id));
			assert_memory_equal(k.id, row[i].id, k.id_len);
			assert_int_equal(k.has_method, row[i].method);
		}
}

static void
slow_reader(void **state)
{
	static char big[300000], got[300000];
	struct frame_out out;
	size_t n = 0;
	int fd[2], r;

	(void)state;
	for (size_t i = 0; i < sizeof(big); i++)
		big[i] = (char)(i * 7 + i / 251);
	assert_int_equal(pipe(fd), 0);
	fd_nonblock(fd[1], true);
	frame_out_init(&out, fd[1]);
	assert_int_equal(frame_put(&out, big, 1000), 0);
	assert_int_equal(frame_put(&out, big + 1000, 199000), 0);
	assert_int_equal(out.part_n, 1); /* neighbours are one write */
	assert_int_equal(frame_flush(&out), -EAGAIN);
	assert_int_equal(frame_put(&out, big + 200000, 50000), 0);
	assert_int_equal(frame_say(&out, big + 250000, 50000), 0);
	do {
		r = frame_flush(&out);
		n += (size_t)read(fd[0], got + n, 60000);
	} while (r == -EAGAIN || n < sizeof(big));
	assert_memory_equal(got, big, sizeof(big));
	assert_int_equal(frame_queued(&out), 0);
	close(fd[0]);
	assert_int_equal(frame_put(&out, big, 10), 0);
	assert_int_equal(frame_flush(&out), -EPIPE);
	assert_true(out.closed);
	assert_int_equal(frame_put(&out, big, 10), 0);
	assert_int_equal(frame_queued(&out), 0);
	frame_out_free(&out);
	close(fd[1]);
}

static void
many_parts(void **state)
{
	struct frame_out out;
	char text[] = "abcdefghij", got[4096];
	int fd[2];

	(void)state;
	assert_int_equal(pipe(fd), 0);
	frame_out_init(&out, fd[1]);
	for (int i = 0; i < 200; i++)
		assert_int_equal(frame_put(&out, text + i % 10, 1), 0);
	assert_int_equal(frame_flush(&out), 0);
	assert_int_equal(read(fd[0], got, sizeof(got)), 200);
	for (int i = 0; i < 200; i++)
		assert_int_equal(got[i], 'a' + i % 10);
	frame_out_free(&out);
	close(fd[0]);
	close(fd[1]);
}

/* What a peer has read takes no room in the queue. */
static void
partly_read(void **state)
{
	const size_t whole = (size_t)40 << 20, part = (size_t)18 << 20;
	char *big = calloc(1, whole), *got = malloc(65536);
	struct frame_out out;
	size_t n = 0;
	int fd[2];

	(void)state;
	assert_true(big != NULL && got != NULL);
	assert_int_equal(pipe(fd), 0);
	fd_nonblock(fd[1], true);
	frame_out_init(&out, fd[1]);
	assert_int_equal(frame_say(&out, big, whole), 0);
	while (frame_queued(&out) > whole - part) {
		(void)frame_flush(&out); /* what the pipe takes */
		n += (size_t)read(fd[0], got, 65536);
	}
	assert_true(n < part + 65536);
	assert_int_equal(frame_say(&out, big, FRAME_MAX), -EMSGSIZE); /* the control */
	assert_int_equal(frame_say(&out, big, part), 0);
	assert_true(frame_queued(&out) > whole - 65536);
	frame_out_free(&out);
	free(big);
	free(got);
	close(fd[0]);
	close(fd[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(cutting),
	    cmocka_unit_test(skimmed),
	    cmocka_unit_test(slow_reader),
	    cmocka_unit_test(many_parts),
	    cmocka_unit_test(partly_read),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
