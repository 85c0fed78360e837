/*
 * The launcher of "kennel serve": the half of the process that stays unconfined. It
 * reads policies and starts sessions, and reads no byte of an agent or a server.
 *
 * One SOCK_SEQPACKET between hub and launcher. Requests are even, answers odd; each
 * packet begins with a u32 of these.
 */
#ifndef KENNEL_SUPERVISOR_SERVE_LAUNCHER_SESSION_LAUNCHER_H
#define KENNEL_SUPERVISOR_SERVE_LAUNCHER_SESSION_LAUNCHER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "leash/leash.h"

#define LAUNCHER_PACKET_MAX  8192
#define LAUNCHER_NAME_MAX    127
#define LAUNCHER_VERSION_MAX 15 /* bytes of the name of a version of MCP */

enum launcher_message {
	LAUNCHER_FIND = 2, /* no fields: find every server's policy */
	LAUNCHER_SERVER =
	    3, /* str name, str the policy's server, u32 enum row_source, str version of MCP
				* that it last spoke ("": unknown), u32 enabled,
				* u32 secrets are approved per call, u32 exit status,
				* u32 enum server_reason, str why: one of them. Status 0:
				* a descriptor, the sealed policy */
	LAUNCHER_START =
	    4, /* u32 ticket, u32 it is for one call, str name, u32 n, n x str
			     * path, str request, u32 session, u64 epoch of the vault: start a
			     * session of it. A person has allowed the use of these secrets */
	LAUNCHER_FOUND = 5, /* no fields: the last server was sent */
	LAUNCHER_AGAIN = 6, /* str name: find this policy again; answered by SERVER */
	LAUNCHER_STARTED =
	    7, /* u32 ticket, u32 its start may ask a person, and a descriptor: the
				* session's agent side; none: it could not be started */
	LAUNCHER_NAMES = 8,  /* no fields: name every server, which takes no load */
	LAUNCHER_NAME = 9,   /* as often as fits: str name, str about, u32 it may start */
	LAUNCHER_NAMED = 11, /* no fields: the last name was sent */
	LAUNCHER_RECORDER = 10,  /* no fields: connect to the recorder */
	LAUNCHER_MANIFESTS = 12, /* no fields: read the manifests of secrets */
	LAUNCHER_CONNECTED = 13, /* no fields; a descriptor, none: it cannot be reached */
	LAUNCHER_REREAD = 14,    /* str SHA-256 in hex, or "": read the registry and
				* mcp-servers.json again; answered by a SERVER for each that
				* the file defines or defined, SKIPPED, CONFIGURED */
	LAUNCHER_SKIPPED =
	    17, /* str path, u32 other contents of it were approved, and a descriptor:
				* the text of a project's mcp-servers.json that no person has
				* approved. Before NAMED, after the SERVER of AGAIN */
	LAUNCHER_CONFIGURED =
	    19, /* str SHA-256 of REREAD, u32 the registry has the approval of
				   * a file with it: the last of REREAD was sent */
	LAUNCHER_TEXTS = 15, /* the manifests (supervisor/secrets/manifest_files.c) */
};

struct launcher_order {
	char *const *file; /* --policy; none: every server by name */
	size_t file_n;
	char *const *name; /* only these servers; none: all */
	size_t name_n;
	const char *project; /* --project; NULL: found from the working directory */
};

/*
 * Forks the launcher. Call it before this process confines itself or has an agent's byte.
 * 0 and the hub's end of the socket; -errno; or an exit status and why: no server has one of
 * the names. The launcher ends with this socket, after its sessions have ended; then the
 * socket reports its end.
 */
int launcher_fork(
    const struct launcher_order *, int *ret_socket, char why[LEASH_TEXT_MAX]);

#endif
