/*
 * Opens the console in the user's browser, through a page that only this user can read.
 */
#include "supervisor/console/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/console/launcher.h"

#define PAGE_MAX 512

static int
write_page(const char *path, uint16_t port, const char *link)
{
	char text[PAGE_MAX];
	int fd, r,
	    n = snprintf(text, sizeof(text),
		"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
		"<title>kennel console</title>"
		"<meta http-equiv=\"refresh\" content=\"0;url=http://localhost:%u/#%s\">"
		"</head><body><a href=\"http://localhost:%u/#%s\">kennel console</a>"
		"</body></html>\n",
		port, link, port, link);

	if (n < 0 || (size_t)n >= sizeof(text))
		return -EMSGSIZE;
	(void)unlink(path); /* of an earlier process with this pid */
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, text, (size_t)n);
	fd_close(&fd);
	explicit_bzero(text, sizeof(text));
	return r;
}

/* In the child: a browser that xdg-open starts has no terminal of the console's. */
static void
become(const char *path)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char *const argv[] = {(char *)"xdg-open", (char *)(uintptr_t)path, NULL};

	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    dup2(null, STDERR_FILENO) < 0 || setsid() < 0)
		_exit(1);
	launcher_release();
	(void)execvp(argv[0], argv);
	_exit(1); /* the user opens the printed link */
}

static void
start(const char *path)
{
	pid_t child = fork();

	if (child == 0)
		become(path);
	if (child < 0)
		log_warn("unable to start xdg-open: %s; open the printed link",
		    strerror(errno));
}

static int
make_page(const char *run_dir, uint16_t port, const char *link, struct browser_page *ret)
{
	int n = snprintf(
	    ret->path, sizeof(ret->path), "%s/console-%ld.html", run_dir, (long)getpid());

	if (n < 0 || (size_t)n >= sizeof(ret->path))
		return -ENAMETOOLONG;
	return write_page(ret->path, port, link);
}

void
browser_open(
    const char *run_dir, uint16_t port, const char *link, struct browser_page *ret)
{
	int r;

	if (getenv("DISPLAY") == NULL && getenv("WAYLAND_DISPLAY") == NULL)
		return;
	r = make_page(run_dir, port, link, ret);
	if (r < 0) {
		log_warn(
		    "unable to write a page for the browser: %s; open the printed link",
		    strerror(-r));
		browser_page_remove(ret);
		return;
	}
	start(ret->path);
}

void
browser_page_remove(struct browser_page *page)
{
	if (page->path[0] != '\0')
		(void)unlink(page->path); /* its link is used or late */
	page->path[0] = '\0';
}
