/*
 * settings.kennel: what an administrator or the user sets for every `kennel serve`, and
 * whether catalogs are fetched (kennel-settings(5)). It chooses what a list shows and grants nothing.
 */
#ifndef KENNEL_SUPERVISOR_SERVE_TOOLS_SETTINGS_H
#define KENNEL_SUPERVISOR_SERVE_TOOLS_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "shim/base/cause.h"

#define SETTINGS_LEN_MAX    (64u << 10) /* bytes of the file */
#define SETTINGS_EXPOSE_MAX 1024        /* patterns */
#define SETTINGS_COUNT_MAX  4096        /* of `budget` and `ahead` */

/* Ways to show a question to a person. */
enum channel {
	CHANNEL_TERMINAL,
	CHANNEL_CONSOLE,
	CHANNEL_PINENTRY,
	CHANNEL_NOTIFY,
	CHANNEL_ELICITATION,
	CHANNEL_N
};
const char *channel_name(enum channel);

struct expose; /* a pattern: SERVER.TOOL */

struct settings {
	struct arena *arena;
	const char *file;        /* the one that was read; NULL: no file */
	uint32_t facets_allowed; /* as in struct facet_lists */
	uint32_t facets_denied;
	bool has_budget;
	uint32_t budget;     /* tools that may be exposed, at most */
	uint32_t ahead;      /* servers that are started before they are needed */
	uint32_t channels;   /* 1u << enum channel, or'ed */
	bool catalog_denied; /* no catalog is fetched */
	struct expose *expose;
	size_t expose_n;
};

/*
 * Finds and reads the file: in /etc/kennel, else in the configuration directory; none
 * is no error. 0; -EINVAL after errors, which are all on diag; -ENOMEM. The caller
 * calls settings_free() in any case.
 */
int settings_load(FILE *diag, struct settings *ret);
/* The same for this text; file is the name in messages. */
int settings_read(
    const char *file, const char *text, size_t len, FILE *diag, struct settings *ret);
void settings_free(struct settings *);

/* Adds a pattern of `--expose`. 0; -EINVAL with why; -ENOMEM. */
int settings_expose(struct settings *, const char *pattern, struct reason *why);
/* Does a pattern match this tool? */
bool settings_exposes(
    const struct settings *, const char *server, const char *tool, size_t len);
/* The patterns of tools that apply to this server, each text once: NULL after the last. *at
 * is 0 before the first call. */
const char *settings_tool(const struct settings *, const char *server, size_t *at);

#endif
