/*
 * Where kennel-secret reads values from: the terminal, without echo; a descriptor;
 * a key file.  Never the command line.
 *
 * Process: kennel-secret.  All input goes into locked pages, and is wiped with
 * them.  The terminal is this process's own, /dev/tty, regardless of stdin.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "leash/secret/private.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"

#define KEY_FILE_MIN 32 /* bytes; a shorter one could be guessed */
#define BYTE_CANCEL  3  /* ^C */
#define BYTE_END     4  /* ^D */

int
order_fail(const struct order *o, int status, const char *what)
{
	log_error("%s: %s", o->verb, what);
	return status;
}

/* ---- a descriptor ------------------------------------------------------------------ */

static int
read_all(struct order *o, int fd, size_t cap, struct typed *ret)
{
	char *bytes = vault_scratch(o->pages, cap + 2);
	size_t len = 0;
	ssize_t n = 1;

	if (bytes == NULL)
		return order_fail(o, LOG_EXIT_FAILED, "no locked memory left");
	while (n != 0 && len < cap + 2) {
		n = read(fd, bytes + len, cap + 2 - len);
		if (n < 0 && errno != EINTR)
			return order_fail(o, STATUS_INPUT, "unable to read the input");
		len += n > 0 ? (size_t)n : 0;
	}
	if (len > 0 && bytes[len - 1] == '\n')
		len--;
	if (len > cap)
		return order_fail(o, STATUS_INPUT, "the input is too long");
	ret->bytes = bytes;
	ret->len = len;
	return STATUS_OK;
}

/* ---- the terminal ------------------------------------------------------------------- */

static void
print(int fd, const char *text)
{
	(void)fd_write_all(fd, text, strlen(text)); /* the user may be gone */
}

/* Reads to the end of the line; 0, -ECANCELED, -EFBIG, -errno. */
static int
hear_line(int tty, char *bytes, size_t cap, size_t *ret_len)
{
	size_t len = 0;
	char c = 0;

	for (;;) {
		ssize_t n = read(tty, &c, 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || c == BYTE_CANCEL || (c == BYTE_END && len == 0))
			return -ECANCELED;
		if (c == '\n' || c == '\r' || c == BYTE_END)
			break;
		if (len == cap)
			return -EFBIG;
		bytes[len++] = c;
	}
	*ret_len = len;
	return 0;
}

/* Reads a line without echo; ^C arrives as a byte.  The terminal's mode is restored
 * before anything else happens. */
static int
hear(struct order *o, const char *prompt, size_t cap, struct typed *ret)
{
	struct termios was, quiet;
	sigset_t ends, before;
	char *bytes;
	int r;

	*ret = (struct typed){0};
	if (o->tty < 0)
		return order_fail(
		    o, STATUS_USAGE, "no terminal to prompt on: use --stdin or --fd N");
	bytes = vault_scratch(o->pages, cap + 1);
	/* syscalls: ioctl */
	if (bytes == NULL || tcgetattr(o->tty, &was) < 0)
		return order_fail(o, LOG_EXIT_FAILED, "unable to use the terminal");
	quiet = was;
	quiet.c_lflag &= (tcflag_t) ~(ECHO | ECHOE | ECHOK | ECHONL | ISIG);
	(void)sigemptyset(&ends);
	(void)sigaddset(&ends, SIGTERM);
	(void)sigaddset(&ends, SIGHUP);
	(void)sigaddset(&ends, SIGINT);
	(void)sigaddset(&ends, SIGTSTP);
	(void)sigprocmask(SIG_BLOCK, &ends, &before); /* valid signals */
	r = tcsetattr(o->tty, TCSAFLUSH, &quiet) < 0 ? -errno : 0;
	if (r == 0) {
		print(o->tty, prompt);
		r = hear_line(o->tty, bytes, cap, &ret->len);
		print(o->tty, "\n");
		/* if this fails, the user needs `reset` */
		(void)tcsetattr(o->tty, TCSAFLUSH, &was);
	}
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	if (r == -EFBIG)
		return order_fail(o, STATUS_INPUT, "the input is too long");
	if (r < 0)
		return order_fail(o, STATUS_INPUT, "aborted; nothing was changed");
	ret->bytes = bytes;
	return STATUS_OK;
}

int
type_line(struct order *o, const char *prompt, bool twice, size_t cap, struct typed *ret)
{
	struct typed again;
	int status;

	if (o->fd >= 0)
		return read_all(o, o->fd, cap, ret);
	status = hear(o, prompt, cap, ret);
	if (status != STATUS_OK || !twice)
		return status;
	if (ret->len < PASSPHRASE_MIN) /* before the second entry */
		return order_fail(o, STATUS_INPUT, PASSPHRASE_SHORT);
	status = hear(o, "Enter it again: ", cap, &again);
	if (status != STATUS_OK)
		return status;
	if (again.len != ret->len || memcmp(again.bytes, ret->bytes, ret->len) != 0)
		return order_fail(
		    o, STATUS_INPUT, "the two entries differ; run the command again");
	return STATUS_OK;
}

int
type_two(struct order *o, const char *const prompt[2], struct typed ret[2])
{
	struct typed all;
	char *end;
	int status;

	if (o->fd < 0) {
		status = hear(o, prompt[0], KEEPER_MATERIAL_MAX, &ret[0]);
		if (status == STATUS_OK)
			status =
			    type_line(o, prompt[1], true, KEEPER_MATERIAL_MAX, &ret[1]);
		return status;
	}
	status = read_all(o, o->fd, (size_t)2 * KEEPER_MATERIAL_MAX, &all);
	if (status != STATUS_OK)
		return status;
	end = memchr(all.bytes, '\n', all.len);
	if (end == NULL)
		return order_fail(o, STATUS_INPUT, "expected two lines");
	ret[0] = (struct typed){all.bytes, (size_t)(end - all.bytes)};
	ret[1] = (struct typed){end + 1, all.len - ret[0].len - 1};
	return STATUS_OK;
}

/* ---- a key file ---------------------------------------------------------------------- */

int
type_file(struct order *o, const char *path, struct typed *ret)
{
	const char *what = NULL;
	struct stat st;
	int fd, status;

	/* NONBLOCK: do not wait if it is a fifo.  syscalls: openat */
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		what =
		    "unable to open the key file; to create one: (umask 077; head -c 64 "
		    "/dev/urandom >FILE)";
	else if (!S_ISREG(st.st_mode))
		what = "the key file is not a regular file: name one after --key-file";
	else if (st.st_uid != geteuid() && st.st_uid != 0)
		what = "the key file belongs to another user: name your own after "
		       "--key-file";
	else if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
		what = "the key file is open to its group or to others (chmod 600)";
	status = what != NULL ? order_fail(o, STATUS_INPUT, what)
			      : read_all(o, fd, KEEPER_MATERIAL_MAX, ret);
	fd_close(&fd);
	if (status == STATUS_OK && ret->len < KEY_FILE_MIN)
		status = order_fail(o, STATUS_INPUT,
		    "the key file is too short: expected at least 32 random bytes");
	return status;
}

int
type_show(struct order *o, const char *text, size_t len)
{
	if (o->tty < 0)
		return order_fail(o, STATUS_USAGE, "no terminal to show it on");
	if (fd_write_all(o->tty, text, len) < 0)
		return order_fail(o, LOG_EXIT_FAILED, "unable to write to the terminal");
	return STATUS_OK;
}
