/*
 * The services of the "hosts:" line, split into those that kennel-dial uses and
 * the rest.  An action ("[NOTFOUND=return]") belongs to the service before it and
 * goes with it.  Trusts the file with nothing but this choice.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/host/nsswitch.h"

#define FILE_MAX_N 65536 /* bytes */

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\0';
}

static bool
is_used(const char *word, size_t len)
{
	static const char *const used[] = {"files", "dns", "resolve", "myhostname"};

	for (size_t i = 0; i < ARRAY_LEN(used); i++)
		if (strlen(used[i]) == len && memcmp(used[i], word, len) == 0)
			return true;
	return false;
}

/* Appends a word and a blank before it; false: it does not fit. */
static bool
append(char *out, size_t cap, const char *word, size_t len)
{
	size_t n = strlen(out);

	if (n + 1 + len + 1 > cap)
		return false;
	if (n > 0)
		out[n++] = ' ';
	memcpy(out + n, word, len);
	out[n + len] = '\0';
	return true;
}

/* Where the word or the action at p ends. */
static const char *
word_end(const char *p, const char *end)
{
	if (*p == '[') {
		const char *close = memchr(p, ']', (size_t)(end - p));

		return close == NULL ? end : close + 1;
	}
	while (p < end && !is_blank(*p) && *p != '[')
		p++;
	return p;
}

static int
split(const char *p, const char *end, struct nsswitch_hosts *ret)
{
	bool used = false;

	*ret = (struct nsswitch_hosts){0};
	for (const char *stop; p < end; p = stop) {
		size_t len;

		if (is_blank(*p)) {
			stop = p + 1;
			continue;
		}
		stop = word_end(p, end);
		len = (size_t)(stop - p);
		if (*p != '[')
			used = is_used(p, len);
		if (used && !append(ret->used, sizeof(ret->used), p, len))
			return -E2BIG;
		if (!used && *p != '[') {
			ret->left_out_n++;
			(void)append(ret->left_out, sizeof(ret->left_out), p, len);
		}
	}
	if (ret->used[0] == '\0')
		memcpy(ret->used, "files", sizeof("files"));
	return 0;
}

/* What follows "hosts:" on this line; NULL: it is another line. */
static const char *
after_key(const char *p, const char *end)
{
	static const char key[] = "hosts";

	while (p < end && is_blank(*p))
		p++;
	if ((size_t)(end - p) < sizeof(key) - 1 || memcmp(p, key, sizeof(key) - 1) != 0)
		return NULL;
	for (p += sizeof(key) - 1; p < end && is_blank(*p); p++)
		;
	return p < end && *p == ':' ? p + 1 : NULL;
}

int
nsswitch_hosts_in(const char *text, size_t len, struct nsswitch_hosts *ret)
{
	const char *end = text + len;
	int r = 0;

	*ret = (struct nsswitch_hosts){0};
	for (const char *line = text, *next; line < end && r == 0; line = next) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		const char *comment, *services;

		next = stop == NULL ? end : stop + 1;
		if (stop == NULL)
			stop = end;
		comment = memchr(line, '#', (size_t)(stop - line));
		if (comment != NULL)
			stop = comment;
		services = after_key(line, stop);
		if (services != NULL)
			r = split(services, stop, ret);
	}
	return r;
}

int
nsswitch_hosts(struct nsswitch_hosts *ret)
{
	int fd = open(NSSWITCH_CONF, O_RDONLY | O_CLOEXEC), r;
	char *text = NULL;
	size_t len = 0;

	*ret = (struct nsswitch_hosts){0};
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	r = fd_slurp(fd, FILE_MAX_N, &text, &len);
	fd_close(&fd);
	if (r == 0)
		r = nsswitch_hosts_in(text, len, ret);
	free(text);
	return r;
}
