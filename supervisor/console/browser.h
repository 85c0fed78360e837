/*
 * Opens the console in the user's browser. The link is not an argument of a program:
 * every user of the machine can read those. It is in a page that only this user can read
 * and that leads to the console.
 */
#ifndef KENNEL_SUPERVISOR_CONSOLE_BROWSER_H
#define KENNEL_SUPERVISOR_CONSOLE_BROWSER_H

#include <limits.h>
#include <stdint.h>

#define BROWSER_PAGE_MS 60000 /* as long as a link is valid */

struct browser_page {
	char path[PATH_MAX]; /* "": none */
};

/* Starts xdg-open, if there is a display. Without one, or after an error, the user opens
 * the printed link. */
void browser_open(
    const char *run_dir, uint16_t port, const char *link, struct browser_page *ret);
void browser_page_remove(struct browser_page *);

#endif
