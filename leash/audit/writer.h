/*
 * Events on their way to the recorder: what a writer (a leash, a supervisor)
 * records, and how it knows that an event is on disk.
 *
 * Each writer numbers its own events from 1 and has its own connection, so the
 * process that parses MCP cannot drop events of the leash.  The recorder adds the
 * log's own number; the record contains both.
 *
 * An event consists of typed fields, never of text to be parsed.  It cannot contain
 * a secret: there is no field and no accessor for one.
 */
#ifndef KENNEL_LEASH_AUDIT_WRITER_H
#define KENNEL_LEASH_AUDIT_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/wire.h"

#define REPORT_EVENT_MAX (12u << 10) /* bytes of one event on the wire */
#define REPORT_QUEUE_MAX 4096        /* events not yet durable */
#define REPORT_TEXT_MAX  1024        /* bytes of a string field; longer is cut, marked */
#define REPORT_NAME_MAX  64          /* bytes of session and instance in a hello */
#define REPORT_CUT_ROOM  9           /* bytes reserved for the mark KEY_CUT */
/* u32 message, u64 number, u32 kind, u32 class, u64 realtime, u64 boottime */
#define EVENT_HEAD_LEN   36
#define REPORT_JOIN_ROOM 5    /* bytes around each event of a joint packet */
#define REPORT_LATER     (-1) /* instead of a timeout */
#define REPORT_LATE_MS   1000 /* older events are late: see report_late */

enum event_kind {
	EVENT_START = 1, /* a server start was requested: policy, mode */
	EVENT_MOUNTS,    /* the view as built; features the kernel lacks */
	EVENT_SECRETS,   /* names injected */
	EVENT_EXEC,      /* each exec: program, argv digest, verdict, rule */
	EVENT_CALL,      /* each MCP request: method, tool, digests, time */
	EVENT_REFUSED,   /* a refused MCP message, or a refused start */
	EVENT_DROPPED,   /* a line that is not JSON, a late answer... */
	EVENT_SCRUB,     /* how often each secret was redacted */
	EVENT_STOP,      /* how the server (leash) or the session ended */
	EVENT_GAP,       /* events lost, and why */
	EVENT_POLICY,    /* a policy took effect: id, version, signer */
	EVENT_EXPORT,    /* the log was exported: range, format, recipient */
	EVENT_COSIG,     /* what a witness signed */
	EVENT_PRUNE,     /* the first records were removed; sent by REPORT_AUDITOR */
	EVENT_EGRESS,    /* a connection out of a cell, granted or refused */
	EVENT_APPROVE,   /* an approval request: its content, answer, answerer */
	EVENT_VAULT,     /* a value left the vault, or was stored in it */
	EVENT_EXCEPTION, /* an exception of a policy took effect or expired */
	EVENT_MANIFEST,  /* a tool's definition, and whether it matches the pin */
	EVENT_ROTATE,    /* close the live file; sent by REPORT_AUDITOR */
	EVENT_REGISTRY,  /* a change of the registry of servers */
	EVENT_CATALOG,   /* a catalog by URL was to be fetched */
	EVENT_CONSOLE,   /* the page for people: its start and end, logins, refusals */
	EVENT_INSTALL,   /* a package was to be installed: its signatures */
	/* From here on the recorder's own: no writer may send one. */
	EVENT_GENESIS,   /* first of the log: its keys, its period */
	EVENT_OPEN,      /* a recorder started: host, boot */
	EVENT_EPOCH,     /* the next epoch's key; the last record of its epoch */
	EVENT_HEARTBEAT, /* sent periodically: counters */
	EVENT_CLOCK,     /* the clock was set */
	EVENT_BREAK,     /* the epoch's key was lost */
	EVENT_END,       /* the recorder ended, with no writer connected */
	EVENT_KIND_END
};
const char *event_kind_name(enum event_kind);

/* Fields.  event.c's table has the type, and whether a field may repeat. */
enum event_key {
	KEY_SERVER = 1,  /* text */
	KEY_POLICY,      /* text: hex of the policy's id */
	KEY_MODE,        /* text: run exec */
	KEY_VERDICT,     /* text: allow ask deny killed */
	KEY_RULE,        /* text: file:line */
	KEY_PROGRAM,     /* text: path as granted or requested */
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
	KEY_LACKS,        /* text, repeats: features the kernel lacks */
	KEY_MOUNT,        /* text, repeats: "ro /usr/lib/x (library)" */
	KEY_BYTES,        /* number */
	KEY_UID,          /* number */
	KEY_SOURCE,       /* text: "mcp:SERVER", of a tool call; person agent */
	KEY_ACTION,       /* text: "mcp_tool_call" */
	/* fields of the log itself (docs/FORMAT.audit) */
	KEY_ORIGIN,  /* text: the log's name, as in its checkpoints */
	KEY_VKEY,    /* text, repeats: public keys as C2SP vkeys */
	KEY_EPOCH,   /* number */
	KEY_PERIOD,  /* number: seconds between heartbeats */
	KEY_HOST,    /* text */
	KEY_BOOT_ID, /* text: of this boot of the machine */
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
	/* fields of connections, approvals, exceptions and pins */
	KEY_ADDRESS,   /* text: the address that was dialled */
	KEY_PORT,      /* number */
	KEY_BYTES_OUT, /* number: sent by the server */
	KEY_BYTES_IN,  /* number */
	KEY_APPROVER,  /* text: the user who answered */
	KEY_OWNER,     /* text */
	KEY_TICKET,    /* text */
	KEY_UNTIL,     /* number: seconds since 1970, the first second after the end */
	KEY_SHA256,    /* text: hex, of what was shown or defined */
	KEY_PINNED,    /* text: hex, of the definition as pinned */
	KEY_CALLER,    /* text: canonical path of the image that called exec */
	KEY_TRACE,     /* text: hex, repeats: fingerprint of a secret */
	KEY_CHAIN, /* text, repeats: "PID PROGRAM", the parent of that image, and so on */
	KEY_CHECKPOINTS, /* number: in an epoch, before its last */
	KEY_ALPN,        /* of a ClientHello: "h2,http/1.1" */
	KEY_ECH,         /* number: 1, it contained another, encrypted hello */
	KEY_USER,        /* text: name of the user with KEY_UID */
	KEY_CLIENT,      /* text, repeats: name and version that the agent gives itself */
	KEY_PATH,    /* text, repeats: of a secret in the vault; "-": it is not there */
	KEY_PURPOSE, /* text: PURPOSE_, of a session of kennel's own */
	KEY_CHANNEL, /* text: where the person answered, as that process said */
	KEY_CUT_SHA256, /* text, repeats: "KEY N DIGEST" of a whole text that was cut; set here */
	KEY_CUT, /* number: fields cut or left out; set here, not by callers */
	KEY_END
};
/* Values of KEY_PURPOSE.  A record with one is of a session that kennel itself started,
 * and not an agent or a person. */
#define PURPOSE_INSTALL  "install" /* a package is installed */
#define PURPOSE_FETCH    "fetch"   /* a catalog of tokens is fetched */
#define PURPOSE_PIN      "pin"     /* `server pin`, under the policy without the pins */
#define PURPOSE_INIT     "init"    /* the first list of tools, for a draft */
#define PURPOSE_IMPORT   "import"  /* the same, of a draft that `import` tries */
#define PURPOSE_UPDATE   "update"  /* `install --update` compares two versions */
#define PURPOSE_TRY      "try"
#define PURPOSE_LEARN    "learn"
#define PURPOSE_CHECK    "check"    /* the registry's connection to a server */
#define PURPOSE_VALIDATE "validate" /* `secret validate --live` asks the sources */

const char *event_key_name(enum event_key);
bool event_key_is_number(enum event_key);
bool event_key_repeats(enum event_key);

enum event_class {
	EVENT_FLOW, /* durable within 50 ms */
	EVENT_GATE, /* durable before the act: the caller waits */
};

/* Each packet begins with a u32 enum report_message. */
enum report_message {
	/* u32 version, u32 enum report_role, str session, str instance (16 hex digits,
	 * random, by the writer), u32 pid */
	REPORT_HELLO = 2,
	REPORT_WELCOME = 3, /* u64 next number of the log */
	/* u64 writer's number, u32 kind, u32 class, u64 realtime ns, u64
	 * boottime ns, then fields to the end: u8 key, u64 or str */
	REPORT_EVENT = 4,
	REPORT_DURABLE = 5, /* u64 writer's number: all events up to it are on disk */
	/* several REPORT_EVENT, in order, each as bytes: those that waited for room in
	 * the socket */
	REPORT_EVENTS = 6,
};
#define REPORT_VERSION 4

/* An auditor may send only export, cosig, prune and rotate; a leash and a supervisor
 * may send none of these. */
enum report_role { REPORT_SUPERVISOR = 1, REPORT_LEASH = 2, REPORT_AUDITOR = 3 };
const char *report_role_name(enum report_role);

struct event {
	struct wire_out out; /* begins after the head, which report_send writes */
	enum event_kind kind;
	uint32_t cut_n;                   /* fields left out or cut */
	uint8_t nth[KEY_END];             /* values so far, of fields that repeat */
	uint8_t memory[REPORT_EVENT_MAX]; /* last: a short event writes one page */
};

#define REPORT_DIGEST_LEN 32

void event_begin(struct event *, enum event_kind);
/* event_put_text, by the names below, takes the whole text, of any length.  A longer one than REPORT_TEXT_MAX is cut, with
 * the SHA-256 of the whole beside it (KEY_CUT_SHA256); the recorder replaces invalid
 * UTF-8 with U+FFFD.  A field that no longer fits is left out and the event is marked as
 * cut: an event never fails for its length. */
void event_put_text(struct event *, enum event_key, const char *);
void event_bytes(struct event *, enum event_key, const void *, size_t);
void event_number(struct event *, enum event_key, uint64_t);

/* A text that is kept until its record is written: what a record shows of it. */
struct event_name {
	uint16_t len; /* of head */
	bool cut;     /* head is not all of it, and sha256 is over all */
	uint8_t sha256[REPORT_DIGEST_LEN];
	char head[REPORT_TEXT_MAX];
};
void event_sha256(const void *bytes, size_t len, uint8_t ret[REPORT_DIGEST_LEN]);
void event_name_keep(struct event_name *, const void *bytes, size_t len);
void event_name_put(struct event *, enum event_key, const struct event_name *);

/*
 * A text in an array that is smaller than a record's may have been cut before it came
 * here, and nothing would say so.  event_text does not compile with one.  event_short
 * takes it: the code that fills the array has checked that the whole text fits.
 */
#define event_text(event, key, text) \
	((void)EVENT_CHECK_ARRAY(text), event_put_text((event), (key), (text)))
/* A sentence that may have been cut when it was written into this array: marks the event
 * as cut if the array is full. */
#define event_sentence(event, key, array) \
	event_capped((event), (key), (array), sizeof(array))
void event_capped(struct event *, enum event_key, const char *, size_t cap);
#define event_short(event, key, text) (event_put_text((event), (key), (text)))
#define EVENT_CHECK_ARRAY(text) \
	sizeof(struct { \
		_Static_assert(__builtin_types_compatible_p( \
				   __typeof__(text), __typeof__(&(text)[0])) || \
				   __builtin_constant_p(text) || \
				   sizeof(text) >= REPORT_TEXT_MAX, \
		    "an array that is smaller than the text of a record"); \
		int unused; \
	})

/* Fields of every record of a server: its name and the policy's id. */
void event_identity(
    struct event *, const char *server, const uint8_t policy[REPORT_DIGEST_LEN]);
/* A SHA-256 as text. */
void event_digest(
    struct event *, enum event_key, const uint8_t digest[REPORT_DIGEST_LEN]);

struct report;

/*
 * Greets the recorder on sock (now owned by the report) and waits for its welcome,
 * at most wait_ms; with REPORT_LATER report_welcome or report_ready does that, and
 * events are only kept until then.  0, -ETIMEDOUT, -EPIPE, -EPROTO, -ENOMEM.
 */
int report_open(
    int sock, enum report_role, const char *session, int wait_ms, struct report **ret);
/* After report_open with REPORT_LATER: 0, or as report_open. */
int report_welcome(struct report *, int wait_ms);
void report_free(struct report *);

/*
 * Queues an event.  Its number is in *ret_number (may be NULL).  0: the event is
 * kept here until it is durable and, unless the recorder is gone, being sent.
 * -ENOBUFS: the queue is full, and the act to be recorded must not happen.  Never
 * blocks.
 */
int report_send(
    struct report *, const struct event *, enum event_class, uint64_t *ret_number);
/* Is the event with this number on disk? */
bool report_durable(const struct report *, uint64_t number);
/* Blocks until it is, at most wait_ms: only before the loop runs.  0, -ETIMEDOUT,
 * -EPIPE. */
int report_wait(struct report *, uint64_t number, int wait_ms);

/* For the loop: the descriptor (-1 while the recorder is gone), whether there is
 * something to write, and the handler of poll's result.  -EPIPE: the recorder is gone;
 * events are kept, request a new connection. */
int report_fd(const struct report *);
/* The recorder is there, and its welcome has come. */
bool report_greeted(const struct report *);
bool report_wants_write(const struct report *);
int report_ready(struct report *);
/* A new connection: greets as report_open, and sends again everything not yet durable. */
int report_replace(struct report *, int sock, int wait_ms);
/*
 * Has an event waited so long for the disk that the log must have a problem (full,
 * stuck, a recorder that keeps restarting)?  Then no act that needs a record may
 * happen; refusals and ends are still queued.
 */
bool report_late(const struct report *);
/* Events queued and not yet durable. */
size_t report_pending(const struct report *);

#endif
