/*
 * The tools of facet secrets, as the hub calls them (secrets_tools.c).
 */
#ifndef KENNEL_SUPERVISOR_SERVE_SECRETS_TOOLS_H
#define KENNEL_SUPERVISOR_SERVE_SECRETS_TOOLS_H

#include <stdbool.h>

#include "supervisor/json/json.h"
#include "supervisor/serve/tools/own_tools.h"

struct hub;
struct incoming;
struct sealed_secret;
struct server;
struct wire_in;
struct wire_out;

/* Call it before the process confines itself. 0 or -errno. */
int secrets_open(struct hub *);
void secrets_close(struct hub *);
/* The agent's input has ended: no person is asked any more. */
void secrets_withdraw(struct hub *);
/* Answers a call, or parks it. */
void secrets_call(
    struct hub *, struct incoming *, enum own_tool_id, struct json arguments);
/* The launcher sent the manifests. False: the packet is invalid. */
bool secrets_texts(struct hub *, struct wire_in *, int fd);
/* The launcher sent a project's mcp-servers.json that no person has approved. False: the
 * packet is invalid. */
bool secrets_skipped(struct hub *, struct wire_in *, int fd);
/* The answer to the request to read the registry again. The same. */
bool secrets_configured(struct hub *, struct wire_in *);
/* A person has approved a file with this SHA-256. True: its servers are read now. */
bool secrets_trusted(struct hub *, const char *sha256);
/* The manifests were read after the line that waits until then had come. */
bool secrets_have_texts(const struct hub *, uint64_t until);
/* The log has caught up. */
void secrets_recorded(struct hub *);
/* False: a person has allowed a use of its secrets for the session, and the vault's epoch
 * that belongs to the answer is still on its way; launcher_start() is called when it comes. */
bool secrets_grants_known(const struct server *);
/* The uses of its secrets that a person has allowed, for LAUNCHER_START. */
void secrets_put_grants(struct server *, struct wire_out *);
/* Its last start failed because a value is not in the vault, or the vault is locked. */
bool secrets_lacking(const struct server *);
/* The same of this cause: the call is answered with that. False: it is not. */
bool secrets_refused(struct hub *, const struct incoming *, const struct leash_refused *);
/* A person has refused the use of a secret at a start of it: the path is closed until a person
 * reopens it. */
void secrets_start_denied(struct server *, const struct leash_refused *);
/* The session's queue, which remembers what a person refused; NULL: none. */
struct queue *secrets_queue(const struct hub *);
/* A secret of it whose use a person has refused in this session; NULL: none. */
const struct sealed_secret *secrets_closed(const struct server *);
/* The member of _meta with the version of the protocol; NULL: the tools are denied. */
const char *secrets_meta(const struct hub *);

#endif
