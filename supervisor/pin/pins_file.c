/*
 * Writes a pins file (docs/FORMAT.pins).
 *
 * Process: kennel, for its user. Replaces only a file of this user.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/base/ask.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/pin/private.h"

#define FIRST_ROW "{\"kennel-pins\":1,\"server\":"

int
pins_file_print(FILE *out, const char *server, const struct row *row, size_t n)
{
	fprintf(out, FIRST_ROW "\"%s\"}\n", server); /* a server's name is plain */
	for (size_t i = 0; i < n; i++) {
		const struct row *r = &row[i];

		fprintf(out,
		    "{\"body\":%.*s,\"kind\":\"%s\",\"name\":%.*s,\"variant\":\"%s\"}\n",
		    (int)r->body.len, (const char *)r->body.data, pin_kind_word(r->kind),
		    (int)r->name.len, (const char *)r->name.data, r->variant);
	}
	return fflush(out) != 0 || ferror(out) ? -EIO : 0;
}

static int
write_file(const char *path, const char *server, const struct row *row, size_t n)
{
	char temp[PATH_MAX];
	FILE *out;
	int fd, len, r = fd_may_replace(path);

	if (r < 0)
		return r;
	len = snprintf(temp, sizeof(temp), "%s.%ld.new", path, (long)getpid());
	if (len < 0 || (size_t)len >= sizeof(temp))
		return -ENAMETOOLONG;
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return -errno;
	out = fdopen(fd, "w");
	if (out == NULL) {
		fd_close(&fd);
		(void)unlink(temp);
		return -ENOMEM;
	}
	r = pins_file_print(out, server, row, n);
	if (r == 0 && fsync(fd) != 0)
		r = -errno;
	if (fclose(out) != 0 && r == 0)
		r = -EIO;
	if (r == 0 && rename(temp, path) != 0)
		r = -errno;
	if (r != 0)
		(void)unlink(temp); /* r has the error already */
	return r;
}

/* Shows how the rows differ from what was reviewed. False: the user does not accept it. */
static bool
is_accepted(const struct policy_found *before, const char *path, const struct row *row,
    size_t n, bool yes)
{
	char question[PATH_MAX + 64];

	if (before->server == NULL || before->server->pins.n == 0 ||
	    pin_diff(before, row, n, false) == 0 || yes)
		return true;
	if (!ask_possible()) {
		(void)fflush(stdout); /* the differences first */
		log_error("the definitions of the server differ from the reviewed ones: "
			  "to accept them, run this again with --yes, or on a terminal");
		return false;
	}
	(void)snprintf(question, sizeof(question),
	    "Replace the reviewed definitions by these in %.4000s?", path); /* fits */
	return ask_yes(question);
}

int
pins_file_replace(const struct policy_found *before, const char *path, const char *server,
    const struct row *row, size_t n, bool yes)
{
	int r;

	if (!is_accepted(before, path, row, n, yes)) {
		log_info("nothing is written: %s keeps the definitions that were "
			 "reviewed",
		    path);
		return 1;
	}
	r = write_file(path, server, row, n);
	if (r < 0) {
		log_error("unable to write %s: %s", path, strerror(-r));
		return EXIT_CONFIG;
	}
	log_info("%zu definitions of %s are in %s: review them", n, server, path);
	return 0;
}
