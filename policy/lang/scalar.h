/*
 * Values of the language: units, dates, paths, names of variables, limits.
 */
#ifndef KENNEL_POLICY_LANG_SCALAR_H
#define KENNEL_POLICY_LANG_SCALAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/lang/keyword.h"

/* Units of the language (kennel-policy(5)): 0 or -EINVAL. */
int unit_bytes(const char *, uint64_t *ret);   /* 512M */
int unit_ms(const char *, uint64_t *ret);      /* 30s 15m 250ms */
int unit_percent(const char *, uint64_t *ret); /* 200% */
int unit_count(const char *, uint64_t *ret);
/* True: absolute, in normal form, no NUL. */
bool path_is_normal(const char *);
/* The name of a server or block: a letter or digit, then letters, digits, `_` and `-`. */
bool server_name_is_valid(const char *, size_t len);
#define SERVER_NAME_TAKES \
	"up to 64 letters, digits, `_` and `-`, starting with a letter or digit"
/*
 * Variables that a policy may not set, because loaders and interpreters use
 * them.
 */
bool env_is_refused(const char *name);
/* Does a refused variable's name begin with this text? */
bool env_beginning_is_refused(const char *text, size_t len);

/*
 * limit_kind: the kind that the name in a `limit` or `timeout` means, or 0.
 * limit_value: its value in the unit of the kind (enum sealed_limit_kind); 0 or
 * -EINVAL.
 */
enum sealed_limit_kind limit_kind(enum keyword, const char *name);
int limit_value(enum sealed_limit_kind, const char *text, uint64_t *ret);

/* Is inner equal to outer, or below it? Both are in normal form. */
bool path_below(const char *outer, const char *inner);

/* `rate`: calls and milliseconds of 30/1m.  `quota`: calls.  0 or -EINVAL. */
int rate_read(const char *, uint32_t *ret_calls, uint32_t *ret_ms);
int quota_read(const char *, uint32_t *ret);

/* YYYY-MM-DD as days since 1970-01-01: 0 or -EINVAL. */
int unit_date(const char *, uint32_t *ret);
/* Days since 1970-01-01, in UTC. */
uint32_t unit_today(void);

#endif
