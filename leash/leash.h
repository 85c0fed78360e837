/*
 * The supervisor's requests to a leash, and the leash's messages
 * (docs/PROTOCOL.leash).  One SOCK_SEQPACKET, on descriptor LEASH_CHANNEL_FD of the
 * leash; requests even, answers odd.  The protocol does not depend on which process
 * is the parent.
 *
 *	supervisor			leash
 *	LEASH_LAUNCH ---------------->	loads the policy, resolves secrets,
 *					makes the cell, records it all
 *	   <--------------- LEASH_USE	a secret needs approval
 *	LEASH_ANSWER ---------------->	the user's answer
 *	   <--------------- LEASH_STARTED  with the server's stdio
 *	   <--------------- LEASH_REFUSED  and it exits
 *	   <--------------- LEASH_RESOLVED LEASH_LIVE: and it exits
 *	   <--------------- LEASH_STALE    the same, without a record of it
 *	LEASH_SIGNAL ---------------->	to the server
 *	LEASH_END ------------------->	TERM, then KILL after the grace time
 *	   <--------------- LEASH_NEEDS_RECORDER  its recorder is gone
 *	LEASH_RECORDER -------------->	a new connection
 *	   <--------------- LEASH_ASK	an exec needs approval
 *	LEASH_ANSWER ---------------->	the user's answer
 *	   <--------------- LEASH_WITHDRAWN  the request is no longer pending
 *	   <--------------- LEASH_DENIED   an exec was refused
 *	   <--------------- LEASH_ENDS     the leash kills the cell: why
 *	   <--------------- LEASH_UNREACHED  a connection was refused
 *	   <--------------- LEASH_NAMED    LEASH_LEARN: a file was named
 *	   <--------------- LEASH_EXITED   the server is gone; the leash too
 *
 * End of file on the channel means LEASH_END without grace: kill the cell.
 *
 * Stdio is passed as descriptors with LEASH_STARTED.  The server's stdin is the
 * write end of its own pipe (its input contains none of our secrets).  Its stdout
 * is a pipe from the leash, already redacted; a full pipe blocks only the server.
 */
#ifndef KENNEL_LEASH_LEASH_H
#define KENNEL_LEASH_LEASH_H

#include <stdint.h>

#define LEASH_CHANNEL_FD  3
#define LEASH_VERSION     11
#define LEASH_PACKET_MAX  (64u << 10)
#define LEASH_ARGS_MAX    1024
#define LEASH_SECRETS_MAX 256 /* of one server */
#define LEASH_TEXT_MAX    4096
#define LEASH_LAST_MAX    4096 /* bytes of the server's last lines */
#define LEASH_SEED_LEN    32   /* of placeholders */
#define LEASH_FORMAT_MAX  64   /* bytes of a token format's name */

enum leash_message {
	/*
	 * u32 LEASH_VERSION, u32 enum leash_mode, str server name, str session (16 hex
	 * digits), u32 argc (LEASH_RUN: 0 for the policy's `run`), argc times str, u32 n,
	 * n times u32 enum sealed_approve: how each of the server's secrets is approved
	 * according to the manifests (n: number of secrets, or 0), u32 1 if the supervisor
	 * handles LEASH_STALE, else 0, u32 1 if the server gets placeholders in place of
	 * its secrets (LEASH_LEARN: always), else 0; then, with 1, bytes
	 * (LEASH_SEED_LEN) their seed, u32 n, the number of secrets, and for each u32 1
	 * if it gets the value all the same, str the name of its token format
	 * ("": unknown).  Descriptors: the sealed policy (a sealed memfd), a
	 * connection to the recorder, the directory for the server's stderr log.
	 */
	LEASH_LAUNCH = 2,
	/*
	 * u32 pid of the cell's PID 1 (for people), str features that the kernel lacks,
	 * "" if none.  Descriptors: server's stdin (write end), server's stdout (read
	 * end, redacted); LEASH_EXEC: its stderr too.
	 */
	LEASH_STARTED = 3,
	LEASH_SIGNAL = 4, /* u32 signal */
	/* u32 exit status for kennel (125 126 127 78), u32 enum leash_cause, str variable
	 * and str path of the secret that it is about ("": unknown), str why, for people
	 * (names the line of the policy, never a secret). Programs decide by the cause. */
	LEASH_REFUSED = 5,
	LEASH_END = 6, /* u32 grace in milliseconds */
	/* u32 wait status of the server, u64 number of redactions, u64 denied execs,
	 * str how the cell's PID 1 ended without a report ("": it did not), str the end
	 * of the server's standard error, as it is in its log (LEASH_LAST_MAX bytes) */
	LEASH_EXITED = 7,
	LEASH_RECORDER = 8,       /* descriptor: a connection */
	LEASH_NEEDS_RECORDER = 9, /* empty */
	/* u32 number of a LEASH_ASK, LEASH_ASK_NET or LEASH_USE, u32 enum leash_answer,
	 * str who, for the log */
	LEASH_ANSWER = 10,
	/*
	 * An exec needs approval: u32 number (counts from 1, never reused), u32
	 * milliseconds until it counts as refused, u32 enum sealed_factor, bytes
	 * (LEASH_DIGEST_LEN) digest of the whole exec, str program, working directory, rule, because; u32 1 if the lists
	 * are incomplete, u32 n and n times str arguments, u32 n and n times str names of
	 * changed variables.  Without secrets.
	 */
	LEASH_ASK = 11,
	LEASH_WITHDRAWN = 13, /* u32 number */
	/* For the process that talks to the agent: str program, rule, because,
	 * instead, reason.  Sent before the server gets its error; some are dropped if
	 * there are many. */
	LEASH_DENIED = 15,
	/*
	 * LEASH_EXPLAIN: an exec and its verdict.  str verdict (allow ask deny killed),
	 * program, caller ("": unknown), rule ("": none), reason (""); u32 number dropped
	 * before it because the reader was slow; u32 1 if the arguments are incomplete,
	 * u32 n and n times str arguments.  Without secrets.
	 */
	LEASH_JUDGED = 17,
	/*
	 * Sent before anything is resolved, one for each secret that needs approval: u32
	 * number (from 1), u32 milliseconds until it counts as refused, u32 enum
	 * sealed_approve, bytes (LEASH_DIGEST_LEN) digest of secret, server, policy and
	 * session, str the variable, source, reference, rule, and the keys that signed
	 * the policy (hex, separated by spaces).
	 */
	LEASH_USE = 19,
	/* The leash itself kills the cell: str reason (stable, for the log), str
	 * message (what and why).  LEASH_EXITED follows. */
	LEASH_ENDS = 21,
	/* For the process that talks to the agent: str name ("": the network as a
	 * whole), u32 port (0: a name was looked up), str rule, because, instead,
	 * reason, and the line that would grant it or "", u32 1: the host has only
	 * addresses that the grant does not include.  Some are dropped if there are
	 * many. */
	LEASH_UNREACHED = 23,
	/* A connection waits for a person: u32 number (from LEASH_NET_FIRST, never
	 * again), u32 milliseconds until silence is a no, u32 enum sealed_factor, bytes (LEASH_DIGEST_LEN)
	 * digest of policy, row, name and port, str name, u32 port, str rule, because. */
	LEASH_ASK_NET = 25,
	/* LEASH_LEARN: a program in the cell named a file for the first time in this
	 * way.  u32 enum leash_named, str path, as an absolute path of the cell, str the
	 * program ("": unknown).  Without secrets. */
	LEASH_NAMED = 27,
	/*
	 * LEASH_LIVE: u32 n, the number of the server's secrets without the credentials of
	 * sources, and for each u32 enum leash_resolved, u32 exit status of its program
	 * (RESOLVED_STATUS, else 0), str why ("": RESOLVED_OK).  Without secrets.
	 */
	LEASH_RESOLVED = 29,
	/*
	 * A secret is granted to the server under another policy.  As LEASH_REFUSED, but
	 * nothing is recorded: the supervisor grants again and starts again, or records
	 * the refusal.
	 */
	LEASH_STALE = 31,
};

/* Why nothing was started. */
enum leash_cause {
	LEASH_CAUSE_OTHER,       /* it is not about one secret */
	LEASH_CAUSE_LOCKED,      /* the vault is locked */
	LEASH_CAUSE_NO_VAULT,    /* no vault exists */
	LEASH_CAUSE_NOT_STORED,  /* the vault has no value at this path */
	LEASH_CAUSE_NOT_GRANTED, /* to this server, under no policy */
	LEASH_CAUSE_NO_VALUE,    /* its source has none for another reason */
	LEASH_CAUSE_UNFIT,       /* the value is too weak, or has too many parts */
	LEASH_CAUSE_UNAPPROVED,  /* its use was not approved: nobody answered */
	LEASH_CAUSE_STALE,       /* granted to this server, under another policy */
	LEASH_CAUSE_DENIED,      /* a person refused its use */
	LEASH_CAUSE_END
};

#define LEASH_VARIABLE_MAX 256 /* bytes of its name, with the NUL; a longer one is "" */
#define LEASH_PATH_MAX     256 /* bytes of a path in the vault, with the NUL */

/* The same, in the memory of either side. */
struct leash_refused {
	enum leash_cause cause;
	char variable[LEASH_VARIABLE_MAX];
	char path[LEASH_PATH_MAX]; /* "": the value is not from the vault */
};

/* What the source of a secret has. */
enum leash_resolved {
	RESOLVED_OK = 1,  /* a value */
	RESOLVED_MISSING, /* none that a server could use */
	RESOLVED_LOCKED,  /* the vault is locked */
	RESOLVED_STATUS,  /* its program ended with this status */
	RESOLVED_ASKS,    /* its use was not approved, so the source was not queried */
	RESOLVED_END
};

/* What a system call does with the file that it names. */
enum leash_named {
	NAMED_LOOK = 1, /* asks for its type, times or rights, or follows it as a link */
	NAMED_READ,
	NAMED_LIST,    /* opens it as a directory */
	NAMED_WRITE,   /* writes to it, or changes its attributes */
	NAMED_CREATE,  /* creates, removes or renames it in its directory */
	NAMED_MAKEDIR, /* creates it as a directory */
	NAMED_CONNECT, /* connects to it as a socket */
	NAMED_END
};

#define LEASH_DIGEST_LEN    32
#define LEASH_NET_FIRST     (1u << 31) /* numbers of LEASH_ASK_NET; others are below */
#define LEASH_QUESTIONS_MAX 64         /* pending at one time */

enum leash_answer {
	LEASH_ONCE = 1,
	LEASH_SESSION, /* the supervisor remembers it, and repeats it when asked */
	LEASH_DENY,
	LEASH_NOBODY, /* no answer in time */
};

enum leash_mode {
	LEASH_RUN = 1,     /* a server, speaking MCP: "run", or a granted program */
	LEASH_EXEC = 2,    /* kennel exec: a granted program, raw stdio */
	LEASH_EXPLAIN = 3, /* the same, and each exec is reported */
	LEASH_CALL = 4,    /* as LEASH_RUN, in a process that is for one call */
	LEASH_LEARN = 5,   /* as LEASH_RUN; each exec and each named file is reported */
	LEASH_LOGIN =
	    6, /* as LEASH_EXEC, of a remote server's command: a person logs in */
	LEASH_LIVE = 7, /* starts no server: queries the sources of its secrets */
};

#define LEASH_RESOLVED_MAX 128 /* secrets of a LEASH_LIVE without credentials */
#define LEASH_RESOLVED_WHY 400 /* bytes of a why, with its NUL */

/* How long the leash waits between TERM and KILL when the supervisor requests a
 * graceful end; the whole tree must be gone within 2 s. */
#define LEASH_GRACE_MS 1000

#endif
