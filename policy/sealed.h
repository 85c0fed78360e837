/*
 * The sealed file: what a compiled policy looks like on disk and in a leash's
 * memory (docs/FORMAT.sealed tells it byte by byte).
 *
 *	header | section table | sections, in order of kind, 8-aligned | end
 *
 * Little-endian, fixed width, no pointers.  Every reference is an index into
 * a typed table or a place in the string pool; a range is (first, count).
 * The policy's id is the SHA-256 of the whole body; signatures, when they
 * come, stand behind the body.  The loader checks everything once, then the
 * tables are used in place.
 *
 * A new row or field means a new SEALED_VERSION: a loader refuses what it
 * does not know.
 */
#ifndef KENNEL_POLICY_SEALED_H
#define KENNEL_POLICY_SEALED_H

#include <stdint.h>

#define SEALED_MAGIC   "KNLSEAL\n" /* eight bytes, no NUL */
#define SEALED_VERSION 1
#define SEALED_ALIGN   8
#define SEALED_LEN_MAX (64u << 20) /* a file above this is not read */

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
	SEALED_INSNS, /* struct sealed_insn, what sock_filter is */
	SEALED_KIND_END
};

struct sealed_header {
	uint8_t magic[8];
	uint32_t version;
	uint32_t section_n; /* every kind exactly once */
	uint64_t body_len;  /* header to the end of the last section */
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

/* Which line of which policy file granted this. */
struct sealed_at {
	uint32_t file; /* index into FILES */
	uint32_t line; /* from 1 */
};

enum sealed_server_flag {
	SERVER_NO_PROC = 1,      /* "no-proc": no /proc in the view */
	SERVER_MCP_SAMPLING = 2, /* sampling allow */
	SERVER_MCP_ELICITATION = 4,
	SERVER_MCP_ROOTS = 8,
};

struct sealed_server { /* sorted by name, unique */
	struct sealed_ref name;
	struct sealed_ref about;
	struct sealed_ref cwd;  /* absolute; "/tmp" when not said */
	struct sealed_ref user; /* name or number; empty: the default */
	struct sealed_at at;
	uint32_t flags;
	uint32_t run; /* row of EXECS that the server starts as */
	struct sealed_range envs, secrets, mounts, images, execs, gates, limits, requires,
	    filters;
};

struct sealed_env {
	struct sealed_ref name;
	struct sealed_ref value;
	struct sealed_at at;
	uint32_t passed; /* 1: value comes from the agent's env */
	uint32_t fixed;  /* 1: PATH HOME USER LANG TMPDIR */
};

enum sealed_source { SOURCE_ENV = 1, SOURCE_FILE, SOURCE_CMD, SOURCE_VAULT };

struct sealed_secret {
	struct sealed_ref name;   /* the variable it arrives in */
	struct sealed_ref ref;    /* ENV: variable; FILE: path; VAULT: path */
	struct sealed_range args; /* CMD: argv as ARG_LITERAL rows */
	struct sealed_at at;
	uint32_t source; /* enum sealed_source */
	uint32_t reserved;
};

enum sealed_mount_kind {
	MOUNT_DIR = 1, /* an empty folder in the root tmpfs */
	MOUNT_SYMLINK, /* target -> source text */
	MOUNT_FILE,    /* bind of one file */
	MOUNT_TREE,    /* recursive bind of a folder */
	MOUNT_TMPFS,   /* private tmpfs, size bytes */
	MOUNT_PROC,
	MOUNT_DEV,  /* the synthetic /dev */
	MOUNT_SHM,  /* private /dev/shm */
	MOUNT_ETC,  /* the synthetic files of /etc */
	MOUNT_HIDE, /* covered: empty, unreadable */
};

enum sealed_mount_right { /* what Landlock and the mount allow there */
	RIGHT_NONE = 0,
	RIGHT_READ = 1,   /* read, list, map executable */
	RIGHT_START = 2,  /* execve may name it: images, interpreters */
	RIGHT_WRITE = 4,  /* create, write, remove; the mount is noexec */
	RIGHT_DEVICE = 8, /* read and write a device node */
};

enum sealed_mount_why { /* printed by "policy show" */
	WHY_BASE = 1,   /* every cell has it */
	WHY_READ,
	WHY_WRITE,
	WHY_HIDE,
	WHY_TMP,     /* a line of the policy */
	WHY_PROGRAM, /* run or exec */
	WHY_LOADER,  /* PT_INTERP of a program */
	WHY_LIBRARY, /* DT_NEEDED closure of a program */
	WHY_SCRIPT,  /* the interpreter of a script */
	WHY_PRESET,  /* roots of a language runtime */
	WHY_LINK,    /* a symbolic link on the way to one of those */
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

struct sealed_image {           /* a file that execve may be asked for */
	struct sealed_ref path; /* as granted; its base name is argv[0] */
	struct sealed_ref real; /* canonical */
	struct sealed_at at;
	uint8_t sha256[32]; /* all zero: not pinned */
};

enum sealed_verdict { VERDICT_DENY = 0, VERDICT_ALLOW = 1, VERDICT_ASK = 2 };

/*
 * One grant to start a program, judged twice: at the call (image `asked`, the
 * caller's own argv) and again at the exec stop (image `mapped`, the argv the
 * kernel made).  For a binary both are the same image and the argv is as given;
 * for a script `mapped` is its interpreter and `prefix` is what the kernel put
 * in front: the interpreter's path, its one argument if any, the script's path
 * (execve(2), "Interpreter scripts").
 */
struct sealed_exec {
	struct sealed_range args;   /* ARGS: patterns for argv[1..] */
	struct sealed_range prefix; /* ARGS, literals; n 0 for a binary */
	struct sealed_ref because;
	struct sealed_at at;
	uint32_t asked;   /* IMAGES */
	uint32_t mapped;  /* IMAGES */
	uint32_t verdict; /* enum sealed_verdict */
	uint32_t flags;   /* EXEC_FROM_RUN */
};
#define EXEC_FROM_RUN 1

enum sealed_arg_kind {
	ARG_LITERAL = 1, /* this text */
	ARG_ANY,         /* "*": exactly one argument, may be empty */
	ARG_REST,        /* "**": zero or more, only last */
	ARG_GLOB,        /* "*" inside a word */
	ARG_CHOICE,      /* a|b: text holds the words, '|' between them */
};

struct sealed_arg {
	struct sealed_ref text;
	uint32_t kind;
	uint32_t reserved;
};

enum sealed_gate_kind { GATE_TOOL = 1, GATE_RESOURCE, GATE_PROMPT };

struct sealed_gate {
	struct sealed_ref name; /* glob: '*' is any run of characters */
	struct sealed_ref because;
	struct sealed_at at;
	uint32_t kind;
	uint32_t verdict;
};

enum sealed_limit_kind {
	LIMIT_MEMORY = 1, /* bytes */
	LIMIT_PROCESSES,  /* count */
	LIMIT_FILES,      /* open descriptors per process */
	LIMIT_CPU,        /* percent of one core; needs a cgroup */
	LIMIT_OUTPUT,     /* bytes of one message from the server */
	LIMIT_INPUT,      /* bytes of one message from the agent */
	TIMEOUT_CALL,     /* milliseconds, as the three below */
	TIMEOUT_ASK,
	TIMEOUT_START,
	TIMEOUT_IDLE,
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
	uint32_t value; /* LANDLOCK: least ABI */
};

struct sealed_filter { /* one finished BPF program */
	struct sealed_range insns;
	uint32_t arch; /* AUDIT_ARCH_* of linux/audit.h */
	uint32_t reserved;
};

struct sealed_insn { /* struct sock_filter */
	uint16_t code;
	uint8_t jt, jf;
	uint32_t k;
};

#endif
