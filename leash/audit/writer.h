/*
 * Events on their way to the recorder: what a writer (a leash, a supervisor)
 * says, and how it knows that it is on disk.
 *
 * Each writer numbers its own events from 1 and has a connection of its own,
 * so the process that parses MCP cannot drop what the leash saw.  The recorder
 * adds the log's own number; both stand in the record.
 *
 * An event is typed fields, never text that somebody else must parse.  There
 * is no way to put a secret into one: a value has no field and no accessor.
 */
#ifndef KENNEL_LEASH_REPORT_H
#define KENNEL_LEASH_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/wire.h"

#define REPORT_EVENT_MAX (12u << 10) /* bytes of one event on the wire */
#define REPORT_QUEUE_MAX 4096        /* events not yet durable */
#define REPORT_TEXT_MAX  1024        /* one string field; longer is cut and marked */
#define REPORT_NAME_MAX  64          /* session and instance in a hello */
#define REPORT_CUT_ROOM  9           /* kept free for the mark: KEY_CUT */
/* u32 message, u64 number, u32 kind, u32 class, u64 realtime, u64 boottime */
#define EVENT_HEAD_LEN   36
#define REPORT_JOIN_ROOM 5    /* around each of several in one packet */
#define REPORT_LATER     (-1) /* instead of a time to wait */
#define REPORT_LATE_MS   1000 /* not durable for so long: see report_late */

enum event_kind {
	EVENT_START = 1, /* a server was asked for: policy, mode */
	EVENT_MOUNTS,    /* the view as built; what the kernel lacked */
	EVENT_SECRETS,   /* names injected */
	EVENT_EXEC,      /* each exec: program, argv digest, verdict, rule */
	EVENT_CALL,      /* each MCP request: method, tool, digests, time */
	EVENT_REFUSED,   /* an MCP message, or a whole start, that was refused */
	EVENT_DROPPED,   /* a line that is not JSON, a late answer... */
	EVENT_SCRUB,     /* how often which secret was taken out */
	EVENT_STOP,      /* how it ended: the server (leash), the session */
	EVENT_GAP,       /* events lost, and why */
	EVENT_POLICY,    /* a policy came into force: id, version, who signed it */
	EVENT_EXPORT,    /* the log was given away: range, format, for whom */
	EVENT_COSIG,     /* what a witness signed */
	EVENT_PRUNE,     /* the first records were removed; asked for by REPORT_AUDITOR */
	EVENT_EGRESS,    /* a connection out of a cell, granted or refused */
	EVENT_APPROVE,   /* a person was asked: what was shown, the answer, by whom */
	EVENT_VAULT,     /* a value left the vault, or was put there */
	EVENT_EXCEPTION, /* an exception of a policy came into force, or ran out */
	EVENT_MANIFEST,  /* a tool's definition was seen, and whether it is as pinned */
	EVENT_ROTATE,    /* the live file is to be closed; asked for by REPORT_AUDITOR */
	/* From here on the recorder's own: no writer may send one. */
	EVENT_GENESIS,   /* the log's first: its keys, its period */
	EVENT_OPEN,      /* a recorder began: host, boot */
	EVENT_EPOCH,     /* the next epoch's key; the last record of its epoch */
	EVENT_HEARTBEAT, /* still here: counters */
	EVENT_CLOCK,     /* the clock was set */
	EVENT_BREAK,     /* the epoch's key was lost */
	EVENT_END,       /* the recorder ended, and nothing was open */
	EVENT_KIND_END
};
const char *event_kind_name(enum event_kind);

/* Fields.  The type and whether it may repeat stand in event.c's table. */
enum event_key {
	KEY_SERVER = 1,  /* text */
	KEY_POLICY,      /* text: hex of the policy's id */
	KEY_MODE,        /* text: run exec */
	KEY_VERDICT,     /* text: allow ask deny killed */
	KEY_RULE,        /* text: file:line */
	KEY_PROGRAM,     /* text: path as granted or asked */
	KEY_IMAGE,       /* text: canonical path of the mapped image */
	KEY_ARGV,        /* text, repeats */
	KEY_ARGV_SHA256, /* text: hex */
	KEY_PID,         /* number */
	KEY_METHOD,      /* text */
	KEY_NAME,        /* text: tool, prompt, resource, secret; repeats */
	KEY_DIRECTION,   /* text: agent server kennel */
	KEY_REQUEST,     /* text: the JSON-RPC id as written */
	KEY_PARAMS_SHA256,
	KEY_RESULT_SHA256, /* text: hex */
	KEY_PARAMS_BYTES,
	KEY_RESULT_BYTES, /* number */
	KEY_DURATION_US,  /* number */
	KEY_OUTCOME,      /* text: ok error timeout refused cancelled ... */
	KEY_REASON,       /* text */
	KEY_COUNT,        /* number */
	KEY_STATUS,       /* number: exit status */
	KEY_SIGNAL,       /* number */
	KEY_LACKS,        /* text, repeats: what the kernel could not give */
	KEY_MOUNT,        /* text, repeats: "ro /usr/lib/x (library)" */
	KEY_BYTES,        /* number */
	KEY_UID,          /* number */
	KEY_SOURCE,       /* text: "mcp:SERVER", of a tool call */
	KEY_ACTION,       /* text: "mcp_tool_call" */
	/* the log's own words (docs/FORMAT.audit) */
	KEY_ORIGIN,  /* text: the log's name, as its checkpoints say it */
	KEY_VKEY,    /* text, repeats: public keys as C2SP vkeys */
	KEY_EPOCH,   /* number */
	KEY_PERIOD,  /* number: seconds between heartbeats */
	KEY_HOST,    /* text */
	KEY_BOOT_ID, /* text: of this start of the machine */
	KEY_SIZE,    /* number: records counted by a checkpoint */
	KEY_ROOT,    /* text: base64, as in a checkpoint */
	KEY_NOTE,    /* text: a line of a signed note */
	KEY_FIRST,   /* number: of a record */
	KEY_BEFORE,  /* number: ns */
	KEY_AFTER,   /* number: ns */
	KEY_SIGNER,  /* text */
	KEY_VERSION, /* number */
	KEY_FORMAT,  /* text */
	KEY_RECORDS, /* number */
	KEY_WRITERS, /* number: connected */
	/* what connections, questions, exceptions and pins say */
	KEY_ADDRESS,   /* text: the address that was dialled */
	KEY_PORT,      /* number */
	KEY_BYTES_OUT, /* number: from the server to the world */
	KEY_BYTES_IN,  /* number */
	KEY_APPROVER,  /* text: who answered */
	KEY_OWNER,     /* text */
	KEY_TICKET,    /* text */
	KEY_UNTIL,     /* number: seconds since 1970, the first that is too late */
	KEY_SHA256,    /* text: hex, of what was shown or defined */
	KEY_PINNED,    /* text: hex, of the definition as pinned */
	KEY_CALLER,    /* text: canonical path of the image that asked for an exec */
	KEY_TRACE,     /* text: hex, repeats: by what a secret is found again */
	KEY_CHAIN, /* text, repeats: "PID PROGRAM", who started that image, and so on */
	KEY_CUT,   /* number: fields cut or left out; set here, not by callers */
	KEY_END
};
const char *event_key_name(enum event_key);
bool event_key_is_number(enum event_key);
bool event_key_repeats(enum event_key);

enum event_class {
	EVENT_FLOW, /* durable within 50 ms */
	EVENT_GATE, /* durable before the act: wait for it */
};

/* Each packet begins with a u32 enum report_message. */
enum report_message {
	/* u32 version, u32 enum report_role, str session, str instance (16 hex
	 * digits, drawn by the writer), u32 pid */
	REPORT_HELLO = 2,
	REPORT_WELCOME = 3, /* u64 next number of the log */
	/* u64 writer's number, u32 kind, u32 class, u64 realtime ns, u64
	 * boottime ns, then fields to the end: u8 key, u64 or str */
	REPORT_EVENT = 4,
	REPORT_DURABLE = 5, /* u64 writer's number: all up to it are on disk */
	/* several of REPORT_EVENT, in order, each as bytes: those that waited for
	 * room in the socket */
	REPORT_EVENTS = 6,
};
#define REPORT_VERSION 3

/* An auditor may say nothing but export, cosig, prune and rotate, a leash and a
 * supervisor none of these. */
enum report_role { REPORT_SUPERVISOR = 1, REPORT_LEASH = 2, REPORT_AUDITOR = 3 };
const char *report_role_name(enum report_role);

struct event {
	uint8_t memory[REPORT_EVENT_MAX];
	struct wire_out out; /* begins behind the head that report_send writes */
	enum event_kind kind;
	uint32_t cut_n; /* fields that did not fit whole */
};

void event_begin(struct event *, enum event_kind);
/* Text is cut at REPORT_TEXT_MAX; bytes that are not UTF-8 become U+FFFD in
 * the recorder.  A field that no longer fits is left out and the event is
 * marked as cut: an event never fails for being long. */
void event_text(struct event *, enum event_key, const char *);
void event_bytes(struct event *, enum event_key, const void *, size_t);
void event_number(struct event *, enum event_key, uint64_t);

/* What every record of a server carries: its name and the policy's id. */
#define REPORT_DIGEST_LEN 32
void event_identity(
    struct event *, const char *server, const uint8_t policy[REPORT_DIGEST_LEN]);
/* A SHA-256 as text. */
void event_digest(
    struct event *, enum event_key, const uint8_t digest[REPORT_DIGEST_LEN]);

struct report;

/*
 * Greets the recorder on sock (now the report's) and waits for its welcome,
 * at most wait_ms; with REPORT_LATER that is left to report_welcome.  0, -ETIMEDOUT, -EPIPE, -EPROTO, -ENOMEM.
 */
int report_open(
    int sock, enum report_role, const char *session, int wait_ms, struct report **ret);
/* After report_open with REPORT_LATER, and before anything is sent: 0, or as
 * report_open. */
int report_welcome(struct report *, int wait_ms);
void report_free(struct report *);

/*
 * Hand an event over.  Its number in *ret_number (may be NULL).  0 means: kept
 * here until it is durable and, unless the recorder is gone, on its way.
 * -ENOBUFS when the queue is full: the act that wanted the record must not
 * happen.  Never blocks.
 */
int report_send(
    struct report *, const struct event *, enum event_class, uint64_t *ret_number);
/* Is the event with this number on disk? */
bool report_durable(const struct report *, uint64_t number);
/* Block until it is, at most wait_ms: only before the loop runs.  0,
 * -ETIMEDOUT, -EPIPE. */
int report_wait(struct report *, uint64_t number, int wait_ms);

/* For the loop: the descriptor (-1 while the recorder is gone), whether it
 * has something to write, and what to do when poll says so.  -EPIPE: the
 * recorder is gone; events are kept, ask for a new connection. */
int report_fd(const struct report *);
bool report_wants_write(const struct report *);
int report_ready(struct report *);
/* A new connection: greets and sends again all that was not durable. */
int report_replace(struct report *, int sock, int wait_ms);
/*
 * Has an event waited so long for the disk that something is wrong with the log
 * (full, stuck, a recorder that comes and goes)?  Then no act that wants a
 * record may happen; what is refused or has ended is still handed over.
 */
bool report_late(const struct report *);
/* Events given and not durable yet. */
size_t report_pending(const struct report *);

#endif
