/*
 * The secrets tools: what an agent asks about the secrets of its project, and what it
 * gets. Independent of how a call arrives; it opens no file and knows no value.
 *
 *	arguments.c	reads the arguments of a call
 *	manifest_files.c	the manifests, from one process to another
 *	routes.c	likewise, which values are not in kennel's vault
 *	inventory.c	secrets_list, secrets_describe
 *	use_approval.c	secrets_request_use_approval, secrets_poll_status
 *	value_request.c	secrets_request_provision, secrets_request_rotation
 *	proposal.c	secrets_propose_metadata, secrets_propose_new_path
 *	dialogs.c	questions to a person, and what their answers mean
 *	question.c	their texts
 *	requests.c	requests that a person answers, by their ids
 *	grants.c	uses that a person has allowed
 */
#ifndef KENNEL_SUPERVISOR_SECRETS_SECRETS_H
#define KENNEL_SUPERVISOR_SECRETS_SECRETS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "shim/base/buf.h"
#include "supervisor/hub/secrets_reply.h"
#include "supervisor/json/json.h"

/* The manifests of the project, as they were read for this call. */
struct secrets_manifests {
	/* 0: read; -EIO: no answer; else why a file may not be read, as a negative
	 * errno */
	int error;
	const char *project, *index; /* no NUL at the end; NULL: no such file */
	size_t project_len, index_len;
	const char *routes; /* of sources.kennel (routes.c); NULL: none */
	size_t routes_len;
	uint64_t vault_epoch; /* as secrets_vault_epoch() */
	char *both;           /* the memory that the texts are in; owned; may be NULL */
	char place[PATH_MAX]; /* the project's directory */
};

/* SHA-256 of both texts, as docs/PROTOCOL.approve describes it, in hex. 0; -ENOMEM. */
#define MANIFESTS_DIGEST_CAP 65
int secrets_manifests_digest(
    const struct secrets_manifests *, char ret[MANIFESTS_DIGEST_CAP]);

/* In the process that may open files: reads both manifests and writes them to a packet
 * and a memfd (ret_fd, -1: none). What is wrong with one is reported on standard error. */
struct wire_out;
struct wire_in;
/* Differs whenever the vault's file was changed, or its keeper was started, in between:
 * a rotation and a lock end what was approved before. Never 0. */
uint64_t secrets_vault_epoch(void);
void secrets_manifests_put(struct wire_out *, int *ret_fd);
/* In the process that uses them. 0 (also if they could not be read: ret->error), or
 * -EBADMSG. ret is replaced; it owns its texts. */
int secrets_manifests_get(struct wire_in *, int fd, struct secrets_manifests *ret);
void secrets_manifests_free(struct secrets_manifests *);

/* What the agent gets. The caller frees it with secrets_answer_free(). */
struct secrets_answer {
	struct buf structured;
	struct buf text; /* empty: the same as structured */
	bool failed;     /* it is an error: */
	enum secrets_fault fault;
	bool no_memory; /* it is incomplete */
};
void secrets_answer_init(struct secrets_answer *);
void secrets_answer_free(struct secrets_answer *);
/* Writes this error as the answer. */
void secrets_fail(struct secrets_answer *, const struct secrets_error *);

/* Reads the member with this name, an object of fields that are proposed. False: an error
 * was written, without a byte of them. */
struct meta_change;
bool secrets_change_read(
    struct json, const char *name, struct meta_change *ret, struct secrets_answer *);

/* May a call that names this version of the secrets protocol be served? version:
 * JSON_IS_NONE: it names none. False: an error was written. */
bool secrets_version(struct json version, struct secrets_answer *);

/* today: days since 1970-01-01, as meta_today() gives it. */
struct secrets_context {
	const struct secrets_manifests *manifests;
	uint32_t today;
};
typedef void secrets_tool(
    const struct secrets_context *, struct json arguments, struct secrets_answer *);
secrets_tool secrets_list, secrets_describe;

#endif
