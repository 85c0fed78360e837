/*
 * What the files that compare settings share.
 */
#ifndef KENNEL_POLICY_DIFF_PRIVATE_H
#define KENNEL_POLICY_DIFF_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/diff/diff.h"

/* A setting: its name, its value as text and, where the direction depends on it, as a
 * number. */
struct pair {
	char *name, *value;
	uint64_t number; /* of a limit, a secret */
};

struct pairs {
	struct pair *v;
	size_t n, cap;
	bool failed;
};

/* Takes ownership of value; NULL counts as no memory. */
void pairs_add(
    struct pairs *, const char *name, size_t len, char *value, uint64_t number);
/* malloc'ed. */
char *pairs_number(uint64_t);

/* Each adds the settings of one kind. */
typedef void settings_read(
    const struct policy *, const struct sealed_server *, struct pairs *);
/* settings_rows.c */
settings_read read_env, read_secrets, read_vault_uses, read_limits, read_requires,
    read_place, read_user, read_run, read_remote, read_oneshot, read_pins, read_audits,
    read_images;
/* settings_mounts.c */
settings_read read_tmp, read_proc, read_tty, read_hides, read_optional, read_links,
    read_rights, read_programs_rights;
/* settings_filters.c */
settings_read read_calls, read_programs, read_denials, read_call_ends;

#endif
