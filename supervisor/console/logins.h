/*
 * Who may use the console: one-time links, and the logins of browsers that opened one.
 *
 * A link is printed on a terminal and is exchanged once for two secrets: a cookie, which
 * scripts cannot read, and the key of the page, which is in the storage of this origin
 * alone. A request needs both. Browsers send a cookie to every port of a host, so the
 * cookie alone would be known to any local user with a page on another port.
 *
 * All times are of loop_now().
 */
#ifndef KENNEL_SUPERVISOR_CONSOLE_LOGINS_H
#define KENNEL_SUPERVISOR_CONSOLE_LOGINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/loop.h"

#define LOGIN_SECRET_LEN 16 /* 128 bits */
#define LOGIN_TEXT_LEN   ((size_t)2 * LOGIN_SECRET_LEN)
#define LOGIN_TEXT_MAX   (LOGIN_TEXT_LEN + 1)

#define LOGIN_LINK_NS (60 * NS_PER_S)    /* a link is valid */
#define LOGIN_IDLE_NS (900 * NS_PER_S)   /* 15 min: a login that is not used ends */
#define LOGIN_LIFE_NS (28800 * NS_PER_S) /* 8 h: every login ends */

#define LOGIN_LINKS_MAX 4
#define LOGINS_MAX      8

struct login_link {
	uint64_t until; /* 0: none */
	uint8_t secret[LOGIN_SECRET_LEN];
};

struct login {
	uint64_t began, used; /* used 0: none */
	uint8_t link[LOGIN_SECRET_LEN], cookie[LOGIN_SECRET_LEN], page[LOGIN_SECRET_LEN];
};

/* All zero: no link, no login. */
struct logins {
	struct login_link link[LOGIN_LINKS_MAX];
	struct login login[LOGINS_MAX];
};

/* What a browser gets, in hex. */
struct login_keys {
	char cookie[LOGIN_TEXT_MAX], page[LOGIN_TEXT_MAX];
};

/* Makes a link; the oldest is replaced if there are LOGIN_LINKS_MAX. 0 or -errno. */
int login_link_new(struct logins *, uint64_t now, char ret[LOGIN_TEXT_MAX]);
/*
 * Exchanges the secret of a link. 0; -ENOENT: it is unknown, late or used; -EALREADY: it
 * was used for a login that was open, which has ended now: one of the two who had the
 * link should not have had it. -errno without randomness. The login that was unused for
 * the longest time is replaced if there are LOGINS_MAX.
 */
int login_enter(struct logins *, uint64_t now, const char *link, struct login_keys *ret);
/* The login that both keys belong to, or NULL. active: a person did it, so the idle time
 * begins again. */
struct login *login_find(
    struct logins *, uint64_t now, const char *cookie, const char *page, bool active);
/* Nanoseconds until this login ends, if it is not used. */
uint64_t login_left(const struct login *, uint64_t now);
void login_end(struct login *);

#endif
