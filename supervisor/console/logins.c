/*
 * Links and logins of the console.
 */
#include "supervisor/console/logins.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "shim/base/hex.h"

static int
random_secret(uint8_t ret[LOGIN_SECRET_LEN])
{
	/* syscalls: getrandom */
	ssize_t n = getrandom(ret, LOGIN_SECRET_LEN, 0);

	return n == LOGIN_SECRET_LEN ? 0 : n < 0 ? -errno : -EIO;
}

/* In constant time. */
static bool
same_secret(const uint8_t *a, const uint8_t *b)
{
	unsigned int differ = 0;

	for (size_t i = 0; i < LOGIN_SECRET_LEN; i++)
		differ |= (unsigned int)(a[i] ^ b[i]);
	return differ == 0;
}

static bool
read_secret(const char *text, uint8_t ret[LOGIN_SECRET_LEN])
{
	return text != NULL && hex_get(text, strlen(text), ret, LOGIN_SECRET_LEN);
}

/* Forgets what has expired. */
static void
expire(struct logins *l, uint64_t now)
{
	for (size_t i = 0; i < LOGIN_LINKS_MAX; i++)
		if (now >= l->link[i].until)
			explicit_bzero(&l->link[i], sizeof(l->link[i]));
	for (size_t i = 0; i < LOGINS_MAX; i++)
		if (l->login[i].used != 0 && login_left(&l->login[i], now) == 0)
			login_end(&l->login[i]);
}

/* ---- links ------------------------------------------------------------------ */

int
login_link_new(struct logins *l, uint64_t now, char ret[LOGIN_TEXT_MAX])
{
	struct login_link *at = &l->link[0], made = {.until = now + LOGIN_LINK_NS};
	int r = random_secret(made.secret);

	if (r < 0)
		return r;
	for (size_t i = 1; i < LOGIN_LINKS_MAX; i++)
		if (l->link[i].until < at->until)
			at = &l->link[i];
	*at = made;
	(void)hex_put(ret, made.secret, sizeof(made.secret));
	return 0;
}

static struct login_link *
find_link(struct logins *l, const uint8_t *secret)
{
	for (size_t i = 0; i < LOGIN_LINKS_MAX; i++)
		if (l->link[i].until != 0 && same_secret(l->link[i].secret, secret))
			return &l->link[i];
	return NULL;
}

/* ---- logins ----------------------------------------------------------------- */

void
login_end(struct login *login)
{
	explicit_bzero(login, sizeof(*login));
}

uint64_t
login_left(const struct login *login, uint64_t now)
{
	uint64_t idle = login->used + LOGIN_IDLE_NS, life = login->began + LOGIN_LIFE_NS;
	uint64_t end = idle < life ? idle : life;

	return end > now ? end - now : 0;
}

/* The open login that this link was used for. */
static struct login *
login_of_link(struct logins *l, const uint8_t *secret)
{
	for (size_t i = 0; i < LOGINS_MAX; i++)
		if (l->login[i].used != 0 && same_secret(l->login[i].link, secret))
			return &l->login[i];
	return NULL;
}

static struct login *
free_place(struct logins *l)
{
	struct login *at = &l->login[0];

	for (size_t i = 1; i < LOGINS_MAX; i++)
		if (l->login[i].used < at->used)
			at = &l->login[i];
	return at;
}

int
login_enter(struct logins *l, uint64_t now, const char *text, struct login_keys *ret)
{
	struct login made = {.began = now, .used = now}, *before;
	struct login_link *link;
	int r;

	expire(l, now);
	if (!read_secret(text, made.link))
		return -ENOENT;
	before = login_of_link(l, made.link);
	if (before != NULL) {
		login_end(before);
		return -EALREADY;
	}
	link = find_link(l, made.link);
	if (link == NULL)
		return -ENOENT;
	r = random_secret(made.cookie);
	if (r == 0)
		r = random_secret(made.page);
	if (r < 0)
		return r;
	explicit_bzero(link, sizeof(*link));
	*free_place(l) = made;
	(void)hex_put(ret->cookie, made.cookie, sizeof(made.cookie));
	(void)hex_put(ret->page, made.page, sizeof(made.page));
	return 0;
}

struct login *
login_find(
    struct logins *l, uint64_t now, const char *cookie, const char *page, bool active)
{
	uint8_t secret[2][LOGIN_SECRET_LEN];

	expire(l, now);
	if (!read_secret(cookie, secret[0]) || !read_secret(page, secret[1]))
		return NULL;
	for (size_t i = 0; i < LOGINS_MAX; i++) {
		struct login *login = &l->login[i];

		if (login->used == 0 || !same_secret(login->cookie, secret[0]) ||
		    !same_secret(login->page, secret[1]))
			continue;
		if (active)
			login->used = now;
		return login;
	}
	return NULL;
}
