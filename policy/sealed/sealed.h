/*
 * The sealed file: the format of a compiled policy on disk and in a leash's
 * memory (docs/FORMAT.sealed defines every byte).
 *
 *	header | section table | sections, in order of kind, 8-aligned | digest
 *
 * Little-endian, fixed width, no pointers.  Every reference is an index into a
 * typed table or an offset in the string pool; a range is (first, count). The
 * digest is the SHA-256 of the body before it, so that a file with flipped bits
 * is not read as another policy.  The policy's id is the SHA-256 of the whole
 * body, digest included.  Signatures follow the body (signature.h). The loader
 * checks everything once; then the tables are used in place.
 *
 * A new row or field means a new SEALED_VERSION: a loader refuses unknown
 * versions.  fields.c defines the constraints of every field.
 */
#ifndef KENNEL_POLICY_SEALED_SEALED_H
#define KENNEL_POLICY_SEALED_SEALED_H

#include <stdint.h>

#define SEALED_MAGIC   "KNLSEAL\n" /* eight bytes, no NUL */
#define SEALED_VERSION 6
#define SEALED_ALIGN   8
#define SEALED_DIGEST  32          /* bytes at the end of the body */
#define SEALED_LEN_MAX (64u << 20) /* a larger file is refused */
#define SEALED_NONE    0xffffffffu /* instead of a row number: none */

enum sealed_kind {
	SEALED_STRINGS = 1, /* bytes: every string NUL-terminated */
	SEALED_FILES,       /* struct sealed_ref: names of policy files */
	SEALED_SERVERS,
	SEALED_ENVS,
	SEALED_SECRETS,
	SEALED_MOUNTS,
	SEALED_IMAGES,
	SEALED_EXECS,
	SEALED_ARGS,
	SEALED_GATES,
	SEALED_LIMITS,
	SEALED_REQUIRES,
	SEALED_FILTERS,
	SEALED_INSNS, /* struct sealed_insn, the same as sock_filter */
	SEALED_REFS,  /* struct sealed_ref: lists of strings */
	SEALED_NETS,
	SEALED_CONDS,
	SEALED_STEPS,
	SEALED_VALUES,
	SEALED_PINS,
	SEALED_AUDITS,
	SEALED_CALLS,    /* the "syscalls" lines of a server */
	SEALED_SYSCALLS, /* the verdict of a filter for each system call */
	SEALED_COMPARES,
	SEALED_EXCEPTS,
	SEALED_EXCEPTIONS,
	SEALED_SLOTS, /* uint32_t: hash tables of execs, gates and nets */
	SEALED_KIND_END
};

struct sealed_header {
	uint8_t magic[8];
	uint32_t version;
	uint32_t section_n; /* each kind exactly once */
	uint64_t body_len;  /* header to the end of the digest */
	uint64_t reserved;  /* 0 */
};

struct sealed_section {
	uint32_t kind;
	uint32_t row_n; /* rows; bytes for STRINGS */
	uint64_t off;   /* from the start of the file */
	uint64_t len;   /* row_n * row size, without padding */
};

/* A string: pool[off .. off+len), and pool[off+len] is NUL. */
struct sealed_ref {
	uint32_t off;
	uint32_t len;
};

/* Rows first .. first+n of a table. */
struct sealed_range {
	uint32_t first;
	uint32_t n;
};

/* The line of the policy file that granted this. */
struct sealed_at {
	uint32_t file; /* index into FILES */
	uint32_t line; /* from 1 */
};

enum sealed_server_flag {
	SERVER_NO_PROC = 1,      /* "no-proc": no /proc in the view */
	SERVER_MCP_SAMPLING = 2, /* sampling allow */
	SERVER_MCP_ELICITATION = 4,
	SERVER_MCP_ROOTS = 8,
	SERVER_ONESHOT = 16, /* "oneshot": each call gets its own process */
	SERVER_REMOTE =
	    32,            /* "remote": run is kennel-remote, its last argument the URL */
	SERVER_LOGIN = 64, /* "auth oauth2 ... grant code": a person logs in, and the
			    * vault may keep a refresh token of this server */
	SERVER_TTY = 128,  /* "tty": pseudo-terminals of the cell's own, at /dev/pts */
};

/*
 * Each table has one part for each server, in the order of the servers.  A part
 * contains the server's own rows and the rows that those refer to (args of an
 * exec).
 */
struct sealed_server { /* sorted by name, unique */
	struct sealed_ref name;
	struct sealed_ref about;
	struct sealed_ref cwd;  /* absolute; default "/tmp" */
	struct sealed_ref user; /* name or number; empty: the default */
	struct sealed_at at;
	uint32_t flags;
	uint32_t run; /* row of EXECS with which the server starts */
	struct sealed_range envs, secrets, mounts, images, execs, gates, limits, requires,
	    filters; /* filters may be shared with other servers */
	struct sealed_range args, refs, nets, conds, steps, values, pins, audits, calls,
	    excepts, exceptions;
	/*
	 * Filled by the sealer: see row_index.h.  Empty if a table has few
	 * rows.
	 */
	struct sealed_range exec_slots, gate_slots, net_slots;
	uint64_t exec_depths; /* bit n: an exec begins with n literal words */
	uint64_t gate_depths; /* bit n: a glob has n bytes before its star */
};

struct sealed_env {
	struct sealed_ref name;
	struct sealed_ref value;
	struct sealed_at at;
	uint32_t passed; /* 1: the value comes from the agent's environment */
	uint32_t fixed;  /* 1: PATH HOME USER LANG TMPDIR XDG_RUNTIME_DIR */
};

enum sealed_source {
	SOURCE_ENV = 1,
	SOURCE_FILE,
	SOURCE_CMD,
	SOURCE_VAULT,
	SOURCE_PLUGIN
};

/* What a yes needs in addition, for each use; by strictness. */
enum sealed_factor { FACTOR_NONE = 0, FACTOR_PASSPHRASE, FACTOR_KEY };

enum sealed_approve { APPROVE_NONE = 0, APPROVE_SESSION, APPROVE_PER_CALL };

enum {
	SECRET_HOSTS_ANY = 1,
	/* CMD: what its sandbox permits, and which part of the output counts */
	SECRET_MAY_NETWORK = 2,
	SECRET_MAY_FILES = 4,
	SECRET_FIRST_LINE = 8,
	SECRET_OF_CMD = 14,
	SECRET_AS_FILE = 16, /* NAME_FILE names a descriptor; NAME is not set */
	SECRET_WEAK = 32,    /* the value may also occur in ordinary text */
	SECRET_CREDENTIAL =
	    64, /* a login of the source in its name; not given to the server */
	SECRET_FLAGS = 127, /* all flags */
};

/*
 * The first descriptor of SECRET_AS_FILE secrets, in row order.  It avoids 0 to
 * 15, which Node closes in its children; 10 and up, where shells keep theirs;
 * and the shim's open descriptors.  It is below the usual limit of 1024.
 */
#define SECRET_FILE_FD   100
#define SECRET_FILES_MAX 64 /* in one server: one packet carries all of them */

/* Of a PLUGIN: how many fixed args come first, and limits of the rest. */
#define SECRET_PLUGIN_ARGS   3
#define SECRET_PLUGIN_ENV    16
#define SECRET_SOURCE_LEN    64   /* bytes of a source's name */
#define SECRET_REFERENCE_LEN 1024 /* bytes */

struct sealed_secret {
	struct sealed_ref name; /* the variable it arrives in */
	/*
	 * ENV: variable; FILE: path; VAULT: path; PLUGIN: the source's name.
	 * CMD: also the source's name, if the source needs a login: the
	 * SECRET_CREDENTIAL rows named SOURCE__VARIABLE (with `_` for each
	 * `-`).
	 */
	struct sealed_ref ref;
	/*
	 * ARG_LITERAL rows.  CMD: argv.  PLUGIN: the program, its SHA-256 in
	 * hex, the secret's name in the source; then NAME=VALUE, or NAME.
	 */
	struct sealed_range args;
	struct sealed_range hosts; /* REFS: hosts that may get it; empty: not given */
	struct sealed_at at;
	uint32_t source;  /* enum sealed_source */
	uint32_t approve; /* enum sealed_approve */
	uint32_t flags;   /* SECRET_HOSTS_ANY and others */
	uint32_t factor;  /* enum sealed_factor */
	/* `from source`: the path that sources.kennel has routed; else empty */
	struct sealed_ref path;
};

#define POLICY_RUNTIME_DIR \
	"/tmp/.runtime" /* a TMPFS that only the server's user enters */

enum sealed_mount_kind {
	MOUNT_DIR = 1, /* an empty directory in the root tmpfs */
	MOUNT_SYMLINK, /* target -> source text */
	MOUNT_FILE,    /* bind of one file */
	MOUNT_TREE,    /* recursive bind of a directory */
	MOUNT_TMPFS,   /* private tmpfs, size bytes */
	MOUNT_PROC,
	MOUNT_DEV,  /* the synthetic /dev */
	MOUNT_SHM,  /* private /dev/shm */
	MOUNT_ETC,  /* the synthetic files of /etc */
	MOUNT_HIDE, /* covered: empty and unreadable */
};

enum sealed_mount_right { /* the access that Landlock and the mount allow */
	RIGHT_NONE = 0,
	RIGHT_READ = 1,   /* read, list, map executable */
	RIGHT_START = 2,  /* execve may name it: images, interpreters */
	RIGHT_WRITE = 4,  /* create, write, remove; the mount is noexec */
	RIGHT_DEVICE = 8, /* read and write a device node */
};

enum sealed_mount_why { /* printed by "policy show" */
	WHY_BASE = 1,   /* part of every cell */
	WHY_READ,
	WHY_WRITE,
	WHY_HIDE,
	WHY_TMP,     /* a line of the policy */
	WHY_PROGRAM, /* run or exec */
	WHY_LOADER,  /* PT_INTERP of a program */
	WHY_LIBRARY, /* DT_NEEDED closure of a program */
	WHY_SCRIPT,  /* the interpreter of a script */
	WHY_PRESET,  /* roots of a language runtime */
	WHY_LINK,    /* a symbolic link on the path to one of those */
	WHY_AGENT,   /* an agent's configuration: read-only below a `write` grant */
};

struct sealed_mount {             /* parents before children */
	struct sealed_ref source; /* canonical path on the host; or link text */
	struct sealed_ref target; /* path in the view, absolute, normal form */
	struct sealed_at at;
	uint32_t kind;
	uint32_t right; /* enum sealed_mount_right, or'ed */
	uint32_t why;
	uint32_t optional; /* 1: missing is not an error */
	uint64_t size;     /* TMPFS, SHM: bytes */
};

struct sealed_image {           /* sorted by real, then path; a file to start */
	struct sealed_ref path; /* as granted; its base name is argv[0] */
	struct sealed_ref real; /* canonical */
	struct sealed_at at;
	uint8_t sha256[32]; /* all zero: no digest required */
};

enum sealed_verdict { VERDICT_DENY = 0, VERDICT_ALLOW = 1, VERDICT_ASK = 2 };

/*
 * One grant to start a program, checked twice: at the call (image `asked`, the
 * caller's own argv) and again at the exec stop (image `mapped`, the argv that
 * the kernel built). For a binary both are the same image and argv is
 * unchanged.  For a script `mapped` is its interpreter, and `prefix` is what
 * the kernel puts in front: the interpreter's path, its one argument if any,
 * the script's path (execve(2), "Interpreter scripts").
 */
struct sealed_exec {                 /* sorted for the index (sealer) */
	struct sealed_range args;    /* ARGS: patterns for argv[1..] */
	struct sealed_range prefix;  /* ARGS, literals; n 0 for a binary */
	struct sealed_range excepts; /* EXCEPTS: argv that the grant excludes */
	struct sealed_range from;    /* REFS: paths of callers; n 0: any */
	struct sealed_range env;     /* REFS: variables that may have changed */
	struct sealed_ref in;        /* working directory or a parent of it; empty: any */
	struct sealed_ref because;
	struct sealed_ref instead;
	struct sealed_at at;
	uint32_t asked;     /* IMAGES */
	uint32_t mapped;    /* IMAGES */
	uint32_t verdict;   /* enum sealed_verdict */
	uint32_t flags;     /* EXEC_FROM_RUN */
	uint32_t exception; /* EXCEPTIONS, or SEALED_NONE */
	uint32_t factor;    /* enum sealed_factor */
};
#define EXEC_FROM_RUN 1

enum sealed_arg_kind {
	ARG_LITERAL = 1, /* this text */
	ARG_ANY,         /* "*": exactly one argument, may be empty */
	ARG_REST,        /* "**": zero or more, only last */
	ARG_GLOB,        /* "*" inside a word */
	ARG_CHOICE,      /* a|b: the text holds the words, separated by '|' */
	ARG_SLOT,        /* a typed slot (arg_slot.h), as written */
	ARG_OPTIONS,     /* any number of these options (arg_slot.h); once in a list */
};

struct sealed_arg {
	struct sealed_ref text;
	uint32_t kind;
	uint32_t reserved;
};

/* One pattern that a grant excludes. */
struct sealed_except {
	struct sealed_range args; /* ARGS, patterns for argv[1..] */
};

/* An exception to the rule: its owner, and its last day. */
struct sealed_exception {
	struct sealed_ref owner;
	struct sealed_ref ticket;
	struct sealed_at at;
	uint32_t until; /* days since 1970-01-01; the last valid day */
	uint32_t reserved;
};

enum sealed_gate_kind {
	GATE_TOOL = 1,
	GATE_RESOURCE,
	GATE_PROMPT,
	GATE_SAMPLING, /* from here on: a single thing, without a name */
	GATE_ELICITATION,
	GATE_ROOTS,
	GATE_METHOD, /* of JSON-RPC; ALLOW or DENY; has a name again */
};

/*
 * Classes from the annotations of a pinned tool.  A gate with classes matches
 * any of them.
 */
enum sealed_class {
	CLASS_READONLY = 1,
	CLASS_DESTRUCTIVE = 2,
	CLASS_IDEMPOTENT = 4,
	CLASS_OPENWORLD = 8,
	CLASS_UNANNOTATED = 16,
};
#define SEALED_CLASSES 31 /* all classes */

/*
 * "tool by-annotations": a destructive tool is ask, else a read-only one is
 * allow, else ask.
 */
#define GATE_BY_ANNOTATIONS 1
/* The factor of an `ask`: one of these, or none. */
#define GATE_PASSPHRASE 2
#define GATE_KEY        4

/*
 * Limits of the calls that match a gate, in one session: `rate` calls in each span
 * of rate_ms, and `quota` calls in all; 0: no limit.  Every matching gate with a
 * limit counts.  The rates of a server have a sum, so that a session can keep the
 * time of each call.
 */
#define CALL_RATE_MAX     10000u
#define CALL_RATE_MS_MIN  1000u
#define CALL_RATE_MS_MAX  (30ul * 86400000)
#define CALL_RATE_SUM_MAX 1000000u /* of all gates of a server */
#define CALL_QUOTA_MAX    1000000000u

struct sealed_gate {            /* sorted for the index (sealer) */
	struct sealed_ref name; /* glob: '*' matches any run of characters */
	struct sealed_ref because;
	struct sealed_ref instead;
	struct sealed_range conds;   /* CONDS, postfix; n 0: always */
	struct sealed_range excepts; /* REFS: globs of excluded names */
	struct sealed_at at;
	uint32_t kind;
	uint32_t verdict;
	uint32_t classes; /* enum sealed_class, or'ed; 0: by name only */
	uint32_t flags;   /* GATE_BY_ANNOTATIONS */
	uint32_t exception;
	uint32_t rate, rate_ms; /* both or none; tools only, as is the next */
	uint32_t quota;
};

/*
 * A condition in postfix order.  A comparison pushes yes, no or unknown; AND
 * and OR pop two and push one, NOT pops one and pushes one.  One is left at the
 * end.
 */
enum sealed_cond_op {
	COND_EQ = 1, /* one value; JSON equality, numbers as decimals */
	COND_NE,
	COND_IN,      /* equal to one of the values */
	COND_MATCHES, /* string; the value is a glob */
	COND_UNDER,   /* string with an absolute normal path; the value is a directory;
		       * a second value: where a relative path is looked up */
	COND_LT,      /* numbers */
	COND_LE,
	COND_GT,
	COND_GE,
	COND_EXISTS, /* no value */
	COND_AND,
	COND_OR,
	COND_NOT,
};
#define SEALED_COND_DEPTH_MAX 32

struct sealed_cond {
	struct sealed_range steps;  /* STEPS from the arguments; none for AND OR NOT */
	struct sealed_range values; /* VALUES */
	struct sealed_at at;
	uint32_t op; /* enum sealed_cond_op */
	uint32_t reserved;
};

struct sealed_step {           /* args.a.b[0]: key a, key b, index 0 */
	struct sealed_ref key; /* empty if is_index */
	uint32_t index;
	uint32_t is_index;
};

enum sealed_value_type {
	VALUE_NULL = 1,
	VALUE_FALSE,
	VALUE_TRUE,
	VALUE_NUMBER,
	VALUE_STRING
};

struct sealed_value {
	struct sealed_ref
	    text; /* NUMBER as written in JSON; STRING decoded; else empty */
	uint32_t type;
	uint32_t reserved;
};

enum sealed_host_kind {
	HOST_EXACT = 1, /* this name, lower case */
	HOST_SUFFIX,    /* host is "x.y": one or more labels below it */
	HOST_CIDR,      /* addr, prefix; host as written */
};
enum sealed_net_scope { NET_PUBLIC = 0, NET_LOOPBACK, NET_PRIVATE, NET_CIDR };
enum sealed_net_proto {
	NET_TLS = 0,
	NET_PLAIN,
	NET_NO_SNI,
	NET_STARTTLS_POSTGRES,
	NET_STARTTLS_SMTP,
	NET_STARTTLS_IMAP,
	NET_STARTTLS_MYSQL,
};

struct sealed_net { /* sorted for the index (sealer) */
	struct sealed_ref host;
	struct sealed_ref because;
	struct sealed_ref instead;
	struct sealed_at at;
	uint8_t addr[16];       /* CIDR; IPv4 as ::ffff:a.b.c.d; host bits 0 */
	uint8_t scope_addr[16]; /* NET_CIDR: addresses to which a name may resolve */
	uint32_t prefix;        /* CIDR: bits of addr, of 128 */
	uint32_t scope_prefix;
	uint32_t kind; /* enum sealed_host_kind */
	uint32_t verdict;
	uint32_t port_first; /* 1 to 65535 */
	uint32_t port_last;
	uint32_t scope;
	uint32_t proto;
	uint32_t exception;
	uint32_t factor; /* enum sealed_factor */
};

enum sealed_pin_kind {
	PIN_TOOL = 1,
	PIN_RESOURCE,
	PIN_TEMPLATE,
	PIN_PROMPT,
	PIN_CAPABILITIES,
	PIN_INSTRUCTIONS,
	PIN_SERVER_INFO,
};

struct sealed_pin {                /* sorted by kind, name, variant; unique */
	struct sealed_ref name;    /* empty for the last three kinds */
	struct sealed_ref variant; /* which set of client capabilities */
	struct sealed_ref body;    /* canonical JSON */
	uint8_t sha256[32];        /* of body */
	uint32_t kind;
	uint32_t classes; /* PIN_TOOL: classes from its annotations */
};

enum sealed_audit_flag {
	AUDIT_ARGS_FULL = 1,
	AUDIT_RESULT_FULL = 2,
	AUDIT_SYNC_STRICT = 4, /* of the whole server: name "", kind 0 */
};

struct sealed_audit {
	struct sealed_ref name; /* glob; empty with kind 0: the whole server */
	struct sealed_at at;
	uint32_t kind; /* enum sealed_gate_kind, or 0 */
	uint32_t flags;
};

struct sealed_call { /* "syscalls allow|deny NAME..."; sorted by name */
	struct sealed_ref name;
	struct sealed_ref because;
	struct sealed_at at;
	uint32_t verdict;   /* ALLOW or DENY */
	uint32_t exception; /* EXCEPTIONS, or SEALED_NONE */
};

enum sealed_limit_kind {
	LIMIT_MEMORY = 1, /* bytes */
	LIMIT_PROCESSES,  /* count */
	LIMIT_FILES,      /* open descriptors per process */
	LIMIT_CPU,        /* percent of one core; needs a cgroup */
	LIMIT_OUTPUT,     /* bytes of one message from the server */
	LIMIT_INPUT,      /* bytes of one message from the agent */
	TIMEOUT_CALL,     /* milliseconds, as are the four below */
	TIMEOUT_ASK,
	TIMEOUT_START,
	TIMEOUT_IDLE,
	TIMEOUT_MOST, /* of a call that progress prolongs; without a row: TIMEOUT_CALL */
	LIMIT_KIND_LAST = TIMEOUT_MOST,
};

struct sealed_limit { /* at most one row per kind and server */
	struct sealed_at at;
	uint32_t kind;
	uint32_t reserved;
	uint64_t value;
};

enum sealed_require_kind { REQUIRE_LANDLOCK = 1, REQUIRE_CGROUP, REQUIRE_SUBUID };

struct sealed_require {
	struct sealed_at at;
	uint32_t kind;
	uint32_t value; /* LANDLOCK: the lowest ABI */
};

/*
 * A finished BPF program and its required verdicts; or the digest of a default
 * filter, and no rows (load.h).
 */
struct sealed_filter {
	struct sealed_range insns;
	struct sealed_range syscalls; /* a missing number: ENOSYS */
	uint8_t sha256[32];           /* of the default filter's INSNS; else 0 */
	uint32_t arch;                /* AUDIT_ARCH_* of linux/audit.h */
	uint32_t reserved;
};

struct sealed_insn { /* struct sock_filter */
	uint16_t code;
	uint8_t jt, jf;
	uint32_t k;
};

/*
 * The verdict of a filter for a system call.  Rows ascend by nr.  Of several
 * rows with the same nr, the first whose compares all hold decides; the last
 * has no compares.
 */
struct sealed_syscall {
	struct sealed_ref name;
	struct sealed_range compares;
	uint32_t nr;
	uint32_t action; /* SECCOMP_RET_* including its data */
};

enum sealed_compare_op {
	COMPARE_EQ = 1, /* (argument & mask) == value */
	COMPARE_NE,
	COMPARE_GT, /* unsigned */
};

struct sealed_compare {
	uint32_t arg; /* 0 to 5 */
	uint32_t op;
	uint64_t mask;
	uint64_t value;
};

#endif
