/*
 * What the supervisor asks of a leash, and what the leash answers
 * (docs/PROTOCOL.leash).  One SOCK_SEQPACKET, on descriptor LEASH_CHANNEL_FD
 * of the leash; requests even, answers odd.  Nothing depends on who is whose
 * parent.
 *
 *	supervisor			leash
 *	LEASH_LAUNCH ---------------->	loads the policy, resolves secrets,
 *					makes the cell, records it all
 *	   <--------------- LEASH_USE	a secret that a person is asked about
 *	LEASH_ANSWER ---------------->	what the person said
 *	   <--------------- LEASH_STARTED  with the server's stdio
 *	   <--------------- LEASH_REFUSED  and it exits
 *	LEASH_SIGNAL ---------------->	to the server
 *	LEASH_END ------------------->	TERM, then KILL after the grace time
 *	   <--------------- LEASH_NEEDS_RECORDER  its recorder is gone
 *	LEASH_RECORDER -------------->	a new connection
 *	   <--------------- LEASH_ASK	a program that a person is asked about
 *	LEASH_ANSWER ---------------->	what the person said
 *	   <--------------- LEASH_WITHDRAWN  nobody needs to answer any more
 *	   <--------------- LEASH_DENIED   an exec was refused
 *	   <--------------- LEASH_EXITED   the server is gone; the leash too
 *
 * End of file on the channel means LEASH_END with no grace: kill the cell.
 *
 * Stdio travels as descriptors with LEASH_STARTED.  The server's stdin is
 * the write end of its own pipe (nothing that goes in holds a secret of
 * ours); its stdout is a pipe from the leash, already scrubbed; a full pipe
 * holds up the server and nothing else.
 */
#ifndef KENNEL_LEASH_LEASH_H
#define KENNEL_LEASH_LEASH_H

#include <stdint.h>

#define LEASH_CHANNEL_FD  3
#define LEASH_VERSION     3
#define LEASH_PACKET_MAX  (64u << 10)
#define LEASH_ARGS_MAX    1024
#define LEASH_SECRETS_MAX 256 /* of one server */
#define LEASH_TEXT_MAX    4096

enum leash_message {
	/*
	 * u32 LEASH_VERSION, u32 enum leash_mode, str server name, str session
	 * (16 hex digits), u32 argc, argc times str (LEASH_EXEC only, else 0),
	 * u32 n, n times u32 how the use of each of the server's secrets is
	 * approved as manifests have it (enum sealed_approve; n: of all, or 0).
	 * Descriptors: the sealed policy (a sealed memfd), a connection to the
	 * recorder, the folder for the server's stderr log.
	 */
	LEASH_LAUNCH = 2,
	/*
	 * u32 pid of the cell's PID 1 (for people), str what the kernel could
	 * not give, "" if nothing.  Descriptors: server's stdin (write end),
	 * server's stdout (read end, scrubbed); LEASH_EXEC: its stderr too.
	 */
	LEASH_STARTED = 3,
	LEASH_SIGNAL = 4, /* u32 signal */
	/* u32 exit status for kennel (125 126 127 78), str why (names the line
	 * of the policy, never a secret) */
	LEASH_REFUSED = 5,
	LEASH_END = 6, /* u32 grace in milliseconds */
	/* u32 wait status of the server, u64 scrubbed, u64 denied execs */
	LEASH_EXITED = 7,
	LEASH_RECORDER = 8,       /* descriptor: a connection */
	LEASH_NEEDS_RECORDER = 9, /* nothing */
	/* u32 number of a LEASH_ASK or LEASH_USE, u32 enum leash_answer, str who,
	 * for the log */
	LEASH_ANSWER = 10,
	/*
	 * An exec waits for a person: u32 number (from 1, never again), u32
	 * milliseconds until silence is a no, bytes (LEASH_DIGEST_LEN) digest of
	 * all that would be done, str program, working folder, rule, because; u32
	 * 1 when not all of what follows is there, u32 n and n times str
	 * arguments, u32 n and n times str names of changed variables.  Without
	 * secrets.
	 */
	LEASH_ASK = 11,
	LEASH_WITHDRAWN = 13, /* u32 number */
	/* For who speaks to the agent: str program, rule, because, instead, reason.
	 * Sent before the server is told; not every one when there are many. */
	LEASH_DENIED = 15,
	/*
	 * LEASH_EXPLAIN: an exec as it was judged.  str verdict (allow ask deny
	 * killed), program, caller ("" when not known), rule ("" when there is
	 * none), reason (""); u32 how many were not told before it because nobody
	 * read; u32 1 when not all arguments follow, u32 n and n times str
	 * arguments.  Without secrets.
	 */
	LEASH_JUDGED = 17,
	/*
	 * Before anything is resolved, one for each secret whose use is approved
	 * by a person: u32 number (from 1), u32 milliseconds until silence is a
	 * no, u32 enum sealed_approve, bytes (LEASH_DIGEST_LEN) digest of secret,
	 * server, policy and session, str the variable, source, reference, rule,
	 * and the keys that signed the policy (hex, by spaces).
	 */
	LEASH_USE = 19,
};

#define LEASH_DIGEST_LEN    32
#define LEASH_QUESTIONS_MAX 64 /* that wait at one time */

enum leash_answer {
	LEASH_ONCE = 1,
	LEASH_SESSION, /* the supervisor remembers: it is asked and says so again */
	LEASH_DENY,
	LEASH_NOBODY, /* nobody answered in time */
};

enum leash_mode {
	LEASH_RUN = 1,     /* the server's own "run" line, speaking MCP */
	LEASH_EXEC = 2,    /* kennel exec: a granted program, raw stdio */
	LEASH_EXPLAIN = 3, /* the same, and each exec is told */
};

/* How long the leash waits between TERM and KILL when the supervisor asks for
 * a polite end; the whole tree must be gone within 2 s. */
#define LEASH_GRACE_MS 1000

#endif
