/*
 * The protocol between leash and shim (docs/PROTOCOL.shim). The shim is PID 1
 * of the cell: it answers, so it owns this protocol.  Requests are even,
 * answers odd.
 *
 *	leash				shim
 *	SHIM_PLAN ------------------->	reads it into static memory
 *					no new privileges, Landlock, seccomp
 *	   <------------------- SHIM_SHUT {number of the notify descriptor}
 *	pidfd_getfd()
 *	SHIM_GO --------------------->	closes it, forks, execs the server
 *	   <------------------- SHIM_FAILED {step, errno}   at any point; exits
 *	SHIM_KILL {signal} ---------->	forwards it to the server
 *	   <------------------- SHIM_EXITED {wait status}; then PID 1 exits
 *
 * The leash bases no decision on the shim's answers: the shim is untrusted.
 */
#ifndef KENNEL_SHIM_SHIM_H
#define KENNEL_SHIM_SHIM_H

#include <stddef.h>
#include <stdint.h>

#include "shim/base/wire.h"

#define SHIM_VERSION    1
#define SHIM_CHANNEL_FD 3           /* the SOCK_SEQPACKET to the leash */
#define SHIM_PLAN_MAX   (1u << 20)  /* bytes of a plan, static in the shim */
#define SHIM_PACKET_MAX (60u << 10) /* a plan is sent in packets of this size */
#define SHIM_ARGS_MAX   4096
#define SHIM_ENVS_MAX   1024
#define SHIM_RULES_MAX  4096
/*
 * Descriptors that come with SHIM_PLAN get numbers from here on in the server.
 * This avoids 0 to 15, which Node closes in its children; 10 and up, where
 * shells keep theirs; and the shim's open descriptors.
 */
#define SHIM_FILE_FD   100
#define SHIM_FILES_MAX WIRE_FDS_MAX

/*
 * Each packet begins with its u32 enum shim_message.  The exception is the plan
 * itself: its bytes follow the SHIM_PLAN packet, which contains their total
 * length.
 */
enum shim_message {
	SHIM_PLAN = 2,   /* u32 total length and the files, then raw plan packets */
	SHIM_SHUT = 3,   /* u32 notify fd */
	SHIM_GO = 4,     /* nothing */
	SHIM_FAILED = 5, /* u32 enum shim_step, u32 errno, str detail */
	SHIM_KILL = 6,   /* u32 signal */
	SHIM_EXITED = 7, /* u32 wait status as in waitpid(2) */
};

enum shim_step {
	SHIM_STEP_PLAN = 1,
	SHIM_STEP_PRIVS,
	SHIM_STEP_LANDLOCK,
	SHIM_STEP_SECCOMP,
	SHIM_STEP_FORK,
	SHIM_STEP_CWD,
	SHIM_STEP_EXEC,
	SHIM_STEP_START, /* sent by the cell: the shim itself did not start */
	SHIM_STEP_END
};
const char *shim_step_name(uint32_t); /* defined in leash/cell/shim_plan.c */

/*
 * The plan's fields, in this order on the wire:
 *	u32 SHIM_VERSION
 *	u64 handled_fs, u64 handled_net, u64 scoped	(Landlock; all 0: none)
 *	u32 n, then n times: str path, u64 allowed_fs
 *	bytes seccomp filter (struct sock_filter[])
 *	str cwd
 *	str path of the program
 *	u32 n, then n times: str argument
 *	u32 n, then n times: str "NAME=value"
 */
struct shim_rule {
	const char *path;    /* in the view */
	uint64_t allowed_fs; /* LANDLOCK_ACCESS_FS_* */
};

struct shim_plan {
	uint64_t handled_fs, handled_net, scoped;
	struct shim_rule *rule;
	uint32_t rule_n;
	struct span filter;
	const char *cwd;
	const char *path;
	const char **arg; /* NULL-terminated */
	uint32_t arg_n;
	const char **env; /* NULL-terminated */
	uint32_t env_n;
	uint32_t file_n; /* descriptors from SHIM_FILE_FD on */
};

#endif
