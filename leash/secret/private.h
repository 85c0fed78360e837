/*
 * Between the files of kennel-secret: what a verb has, and where it gets values.
 */
#ifndef KENNEL_LEASH_KEEPER_SECRET_H
#define KENNEL_LEASH_KEEPER_SECRET_H

#include <stdbool.h>

#include "leash/keeper/keeper.h"

#define STATUS_OK        0
#define STATUS_USAGE     64
#define STATUS_INPUT     65
#define STATUS_CONFIG    78
#define STATUS_DENIED    126
#define STATUS_NOT_FOUND 127

/* kennel(1): what was asked on the command line. */
struct order {
	const char *verb;
	const char *path; /* NULL: none was given */
	const char *server, *key_file;
	const char *shape; /* of the value, by the manifests; NULL: nobody says */
	bool any_shape;    /* it is kept whatever it looks like */
	int fd;            /* where a value or a passphrase comes from; -1: typed */
	int policy_fd;     /* the sealed policy of --policy; -1 */
	uint32_t version;
	uint32_t idle_s, cap_s;
	bool json;
	/* ---- once it is connected ---- */
	struct vault *pages;
	int keeper;
	enum keeper_state state;
	int tty;         /* -1: there is none */
	uint8_t *packet; /* KEEPER_PACKET_MAX, in the pages */
};

/* ---- type.c ---- */

/* Bytes of the pages, at most cap of them, and how many.  Wiped with the pages. */
struct typed {
	char *bytes;
	size_t len;
};

/*
 * What the person types, unseen, or what --stdin and --fd bring (all of it; one
 * newline at its end is not part of it).  twice: typed again, and the same.  An
 * exit status; it was said.
 */
int type_line(
    struct order *, const char *prompt, bool twice, size_t cap, struct typed *ret);
/* Lines of --stdin or --fd, taken apart; else two prompts. */
int type_two(struct order *, const char *const prompt[2], struct typed ret[2]);
/* The file's bytes: ours or root's, and nobody else may touch it. */
int type_file(struct order *, const char *path, struct typed *ret);
/* For the person at the terminal, and nobody else. */
int type_show(struct order *, const char *text, size_t len);

/* ---- talk.c ---- */

/* Sends what stands in out, reads the answer over it.  0 and *ret_in behind its
 * type; or an exit status, and it was said, with what to do about it. */
int talk(struct order *, const struct wire_out *out, enum keeper_message wanted,
    struct wire_in *ret_in);
void talk_begin(struct order *, struct wire_out *, enum keeper_message);

/* ---- verbs.c, shows.c: an exit status each ---- */

typedef int verb_fn(struct order *);
verb_fn verb_init, verb_unlock, verb_lock, verb_set, verb_rotate, verb_remove, verb_trace,
    verb_recover, verb_export, verb_grant, verb_revoke, show_versions, show_grants;

#endif
