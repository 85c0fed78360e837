/*
 * kennel-verify: is this log what was written?
 *
 * Process: started by hand or by "kennel audit verify"; ends with the answer.
 * Holds: a database that somebody else may have made.
 * Trusts: nothing in it: no index, no column, no view, no trigger.
 * Must never: write anything, or take an answer from what it has not checked.
 *
 * Exit status: 0 intact, 1 tampered with, 2 incomplete, 3 it cannot be told.
 *
 * SQLite reading (strace -f):
 * syscalls: openat read pread64 lseek fcntl fstat newfstatat stat lstat readlink
 * syscalls: getcwd access faccessat faccessat2 geteuid getpid mmap munmap mremap
 * syscalls: sysinfo sched_getaffinity uname clock_nanosleep
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/confine.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/audit/inside.h"
#include "verify_syscalls.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define AGAIN_MAX    10 /* how often a log may change under our eyes */
#define USAGE        "usage: kennel-verify [--json] LOG_DIR|FILE"
#define EXIT_USAGE   64

enum verdict { INTACT, TAMPERED, INCOMPLETE, UNKNOWN };
static const char *const verdict_name[] = {"intact", "tampered", "incomplete", "error"};

struct answer {
	enum verdict verdict;
	bool named;    /* bad is a record's number */
	uint64_t bad;  /* the first record that is not what was written */
	uint64_t gaps; /* records that say that something is missing */
	char why[512];
	struct tree tree;
};

struct pass {
	sqlite3 *db;
	sqlite3_stmt *rec, *cp, *node;
	struct answer *answer;
	uint64_t cp_size, cp_before; /* the next checkpoint, and the last that held */
	uint8_t cp_root[CHAIN_HASH_LEN];
	bool cp_left;
	uint64_t node_n;
};

enum { IDX, TS, KIND, SERVER, SESSION, TOOL, VERDICT, RULE, WRITER, WSEQ, BODY };

/* ---- the answer -------------------------------------------------------------- */

/* The first finding stands.  Always -EBADMSG, to return with. */
static int __attribute__((format(printf, 3, 4)))
found(struct answer *answer, enum verdict verdict, const char *format, ...)
{
	va_list ap;

	if (answer->verdict == INTACT) {
		answer->verdict = verdict;
		va_start(ap, format);
		(void)vsnprintf(answer->why, sizeof(answer->why), format, ap);
		va_end(ap);
	}
	return -EBADMSG;
}

static int
bad_record(struct answer *answer, uint64_t idx, const char *why)
{
	if (answer->verdict == INTACT) {
		answer->named = true;
		answer->bad = idx;
	}
	return found(answer, TAMPERED, "record %" PRIu64 ": %s", idx, why);
}

/* A statement that could not go on: a damaged file, or ours to blame. */
static int
sql_failed(struct pass *pass, uint64_t at)
{
	int code = sqlite3_errcode(pass->db) & 0xff;

	if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_TOOBIG ||
	    code == SQLITE_SCHEMA)
		return bad_record(pass->answer, at, sqlite3_errmsg(pass->db));
	return found(
	    pass->answer, UNKNOWN, "unable to read: %s", sqlite3_errmsg(pass->db));
}

/* ---- columns ------------------------------------------------------------------ */

static bool
is_number(sqlite3_stmt *s, int column, struct span raw)
{
	uint64_t number;

	return sqlite3_column_type(s, column) == SQLITE_INTEGER &&
	       scan_number(raw, &number) && number <= INT64_MAX &&
	       (int64_t)number == sqlite3_column_int64(s, column);
}

static bool
is_string(sqlite3_stmt *s, int column, struct span raw)
{
	static char text[AUDIT_BODY_MAX];
	long len = scan_string(raw, text, sizeof(text));

	return len >= 0 && sqlite3_column_type(s, column) == SQLITE_TEXT &&
	       sqlite3_column_bytes(s, column) == (int)len &&
	       memcmp(sqlite3_column_text(s, column), text, (size_t)len) == 0;
}

/* A field that may be missing: then the column is NULL. */
static bool
is_field(sqlite3_stmt *s, int column, const struct scan *scan, const char *key)
{
	const struct scan_field *field = scan_find(scan, key);

	if (field == NULL)
		return sqlite3_column_type(s, column) == SQLITE_NULL;
	return is_string(s, column, field->value);
}

/* The first name of a tools/call, and of nothing else. */
static bool
is_tool(sqlite3_stmt *s, const struct scan *scan)
{
	const struct scan_field *name = scan_find(scan, "name");
	struct span first;
	size_t at = 0;

	if (scan_find(scan, "action") == NULL || name == NULL ||
	    scan_next(name->value, &at, &first) != 1)
		return sqlite3_column_type(s, TOOL) == SQLITE_NULL;
	return is_string(s, TOOL, first);
}

/* Each copied column says what the body says; NULL, or what lies. */
static const char *
lying_column(sqlite3_stmt *s, const struct scan *scan)
{
	uint64_t v;

	if (!scan_number(scan->head[SCAN_V], &v) || v != 2)
		return "its version is unknown";
	if (!is_number(s, IDX, scan->head[SCAN_IDX]))
		return "its number is not the one in its body";
	if (!is_number(s, TS, scan->head[SCAN_TS]))
		return "column ts is not what the body says";
	if (!is_string(s, KIND, scan->head[SCAN_KIND]))
		return "column kind is not what the body says";
	if (!is_field(s, SERVER, scan, "server"))
		return "column server is not what the body says";
	if (!is_string(s, SESSION, scan->head[SCAN_SESSION]))
		return "column session is not what the body says";
	if (!is_field(s, RULE, scan, "rule"))
		return "column rule is not what the body says";
	if (!is_tool(s, scan))
		return "column tool is not what the body says";
	if (!is_field(s, VERDICT, scan, "verdict"))
		return "column verdict is not what the body says";
	if (!is_string(s, WRITER, scan->head[SCAN_INSTANCE]))
		return "column writer is not what the body says";
	if (!is_number(s, WSEQ, scan->head[SCAN_SEQ]))
		return "column wseq is not what the body says";
	return NULL;
}

/* ---- the tree ------------------------------------------------------------------ */

static bool
is_hash(sqlite3_stmt *s, int column, const uint8_t hash[CHAIN_HASH_LEN])
{
	return sqlite3_column_type(s, column) == SQLITE_BLOB &&
	       sqlite3_column_bytes(s, column) == CHAIN_HASH_LEN &&
	       memcmp(sqlite3_column_blob(s, column), hash, CHAIN_HASH_LEN) == 0;
}

/* A stored tile must be the one that the leaves give. */
static int
check_tile(void *arg, unsigned int level, uint64_t n, const uint8_t root[CHAIN_HASH_LEN],
    const uint8_t tile[TILE_LEN])
{
	struct pass *pass = arg;
	int code, r = 0;

	(void)sqlite3_bind_int(pass->node, 1, (int)level);
	(void)sqlite3_bind_int64(pass->node, 2, (sqlite3_int64)n);
	code = sqlite3_step(pass->node);
	/* by the first record below it: what else is wrong lies behind that */
	if (code != SQLITE_ROW || !is_hash(pass->node, 0, root) ||
	    sqlite3_column_bytes(pass->node, 1) != (int)TILE_LEN ||
	    memcmp(sqlite3_column_blob(pass->node, 1), tile, TILE_LEN) != 0)
		r = bad_record(pass->answer, n << ((level + 1) * TILE_BITS),
		    "the stored tile above it is not the hashes of what is below");
	(void)sqlite3_reset(pass->node);
	pass->node_n++;
	return r;
}

static int
next_checkpoint(struct pass *pass)
{
	static struct note note;
	struct checkpoint said;
	int code = sqlite3_step(pass->cp);

	pass->cp_left = code == SQLITE_ROW;
	if (code == SQLITE_DONE)
		return 0;
	if (code != SQLITE_ROW)
		return sql_failed(pass, pass->cp_before);
	pass->cp_size = (uint64_t)sqlite3_column_int64(pass->cp, 0);
	if (sqlite3_column_bytes(pass->cp, 1) <= 0 ||
	    note_parse(sqlite3_column_blob(pass->cp, 1),
		(size_t)sqlite3_column_bytes(pass->cp, 1), &note) < 0 ||
	    checkpoint_parse(note.text, &said) < 0 || said.size != pass->cp_size)
		return bad_record(
		    pass->answer, pass->cp_before, "its checkpoint holds no root");
	memcpy(pass->cp_root, said.root, CHAIN_HASH_LEN);
	return 0;
}

/* The tree has reached this size: does the checkpoint agree? */
static int
check_root(struct pass *pass)
{
	struct answer *answer = pass->answer;
	uint8_t root[CHAIN_HASH_LEN];

	if (!pass->cp_left || pass->cp_size > answer->tree.chain.size)
		return 0;
	chain_root(&answer->tree.chain, root);
	if (pass->cp_size < answer->tree.chain.size ||
	    memcmp(root, pass->cp_root, sizeof(root)) != 0)
		return bad_record(answer, pass->cp_before,
		    "it, or one behind it up to the next checkpoint, gives another root");
	pass->cp_before = pass->cp_size;
	return next_checkpoint(pass);
}

/* ---- the scan ------------------------------------------------------------------- */

static int
check_record(struct pass *pass)
{
	struct answer *answer = pass->answer;
	const void *body = sqlite3_column_blob(pass->rec, BODY);
	int len = sqlite3_column_bytes(pass->rec, BODY);
	uint64_t want = answer->tree.chain.size;
	uint8_t leaf[CHAIN_HASH_LEN];
	static struct scan scan;
	const char *lie;

	if (sqlite3_column_int64(pass->rec, IDX) != (sqlite3_int64)want)
		return bad_record(answer, want, "it is missing");
	if (len <= 0 || (size_t)len > AUDIT_BODY_MAX)
		return bad_record(answer, want, "its body has an impossible size");
	chain_leaf(body, (size_t)len, leaf);
	if (scan_body(body, (size_t)len, &scan) < 0)
		return bad_record(answer, want, "its body was not written by kennel");
	lie = lying_column(pass->rec, &scan);
	if (lie != NULL)
		return bad_record(answer, want, lie);
	if (scan.head[SCAN_KIND].len == 5 &&
	    memcmp(scan.head[SCAN_KIND].data, "\"gap\"", 5) == 0)
		answer->gaps++;
	if (tree_append(&answer->tree, leaf, check_tile, pass) < 0)
		return -EBADMSG;
	return check_root(pass);
}

static int
count(struct pass *pass, const char *sql, uint64_t *ret)
{
	sqlite3_stmt *s = NULL;
	int r = 0;

	if (sqlite3_prepare_v2(pass->db, sql, -1, &s, NULL) != SQLITE_OK ||
	    sqlite3_step(s) != SQLITE_ROW)
		r = sql_failed(pass, pass->answer->tree.chain.size);
	else
		*ret = (uint64_t)sqlite3_column_int64(s, 0);
	(void)sqlite3_finalize(s); /* its result was seen at the step */
	return r;
}

/* Behind the last record: nothing may be missing, nothing may be too much. */
static int
check_end(struct pass *pass)
{
	struct answer *answer = pass->answer;
	uint64_t size = answer->tree.chain.size, nodes;

	if (pass->cp_left)
		return bad_record(answer, size, "it is missing: a checkpoint counted it");
	if (pass->cp_before != size)
		return bad_record(
		    answer, pass->cp_before, "no checkpoint ever counted it");
	if (count(pass, "SELECT count(*) FROM tile NOT INDEXED", &nodes) < 0)
		return -EBADMSG;
	if (nodes != pass->node_n)
		return found(answer, TAMPERED, "nodes of records that do not exist");
	return 0;
}

static int
scan_records(struct pass *pass)
{
	int code, r;

	if (sqlite3_prepare_v2(pass->db,
		"SELECT idx, ts, kind, server, session, tool, verdict, rule, writer, "
		"wseq, body FROM rec NOT INDEXED ORDER BY idx",
		-1, &pass->rec, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(pass->db,
		"SELECT size, note FROM cp NOT INDEXED ORDER BY size", -1, &pass->cp,
		NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(pass->db,
		"SELECT root, h FROM tile WHERE level = ? AND n = ?", -1, &pass->node,
		NULL) != SQLITE_OK)
		return sql_failed(pass, 0);
	r = next_checkpoint(pass);
	if (r == 0)
		r = check_root(pass); /* one of size 0 is one too many */
	while (r == 0 && (code = sqlite3_step(pass->rec)) == SQLITE_ROW)
		r = check_record(pass);
	if (r == 0 && code != SQLITE_DONE)
		r = sql_failed(pass, pass->answer->tree.chain.size);
	return r == 0 ? check_end(pass) : r;
}

/* The indexes answer "kennel audit log": they must hold every row. */
static int
check_integrity(struct pass *pass)
{
	sqlite3_stmt *s = NULL;
	const char *says;
	int r = 0;

	if (sqlite3_prepare_v2(pass->db, "PRAGMA integrity_check(1)", -1, &s, NULL) !=
		SQLITE_OK ||
	    sqlite3_step(s) != SQLITE_ROW) {
		r = sql_failed(pass, 0);
	} else {
		says = (const char *)sqlite3_column_text(s, 0);
		if (says == NULL || strcmp(says, "ok") != 0)
			r = found(pass->answer, TAMPERED, "the database is not whole: %s",
			    says != NULL ? says : "?");
	}
	(void)sqlite3_finalize(s);
	return r;
}

static int
check_schema(struct pass *pass)
{
	const char *differs;
	char name[128], shown[512];
	uint64_t rows = 0;

	if (count(pass, "SELECT count(*) FROM sqlite_schema", &rows) < 0)
		return -EBADMSG;
	if (rows == 0)
		return found(pass->answer, INCOMPLETE, "the log has no tables");
	differs = schema_differs(pass->db, name, sizeof(name));
	if (differs == NULL)
		return 0;
	return found(pass->answer, TAMPERED, "the schema is not kennel's: %s",
	    log_quote(shown, sizeof(shown), differs, strlen(differs)));
}

/* The two rows that name the log; nothing signs them yet. */
static int
check_meta(struct pass *pass)
{
	uint64_t rows = 0;

	if (count(pass, "SELECT count(*) FROM meta", &rows) < 0)
		return -EBADMSG;
	if (rows != 4)
		return found(pass->answer, TAMPERED, "the log's own name was changed");
	return 0;
}

/* ---- one reading ----------------------------------------------------------------- */

static void
judge(struct reader *reader, struct answer *answer)
{
	struct pass pass = {.db = reader->db, .answer = answer};

	if (check_schema(&pass) == 0 && check_meta(&pass) == 0 &&
	    scan_records(&pass) == 0)
		(void)check_integrity(&pass);
	(void)sqlite3_finalize(pass.rec);
	(void)sqlite3_finalize(pass.cp);
	(void)sqlite3_finalize(pass.node);
}

static void
verify(const char *path, struct answer *answer)
{
	struct reader reader;
	char why[AUDIT_WHY_MAX] = "";
	bool changed = true;
	int r;

	for (int i = 0; changed && i < AGAIN_MAX; i++) {
		*answer = (struct answer){0};
		r = reader_open(path, &reader, why);
		if (r < 0) {
			(void)found(answer, r == -EBADMSG ? TAMPERED : UNKNOWN,
			    "unable to read the log: %s", why);
			return;
		}
		if (reader.still && reader.size == 0)
			(void)found(answer, INCOMPLETE, "the log is an empty file");
		else
			judge(&reader, answer);
		changed = reader_changed(&reader);
		reader_close(&reader);
	}
	if (changed)
		(void)found(answer, UNKNOWN, "the log changes faster than it is read");
}

/* ---- telling ---------------------------------------------------------------------- */

static void
put_hex(char out[2 * CHAIN_HASH_LEN + 1], const uint8_t hash[CHAIN_HASH_LEN])
{
	for (size_t i = 0; i < CHAIN_HASH_LEN; i++)
		(void)snprintf(out + 2 * i, 3, "%02x", hash[i]);
}

/* Inert: no quote, no backslash, nothing that is not printable. */
static void
make_inert(char *text)
{
	for (; *text != '\0'; text++) {
		if (*text < 0x20 || *text == 0x7f || *text == '"' || *text == '\\')
			*text = '?';
	}
}

static void
tell_json(const struct answer *answer, const char *root)
{
	printf("{\"status\":\"%s\",\"records\":%" PRIu64 ",\"gaps\":%" PRIu64,
	    verdict_name[answer->verdict], answer->tree.chain.size, answer->gaps);
	if (answer->verdict == INTACT)
		printf(",\"root\":\"%s\"", root);
	if (answer->named)
		printf(",\"first_bad\":%" PRIu64, answer->bad);
	if (answer->verdict != INTACT)
		printf(",\"reason\":\"%s\"", answer->why);
	printf("}\n");
}

static void
tell(struct answer *answer, bool json)
{
	char root[2 * CHAIN_HASH_LEN + 1];
	uint8_t hash[CHAIN_HASH_LEN];

	chain_root(&answer->tree.chain, hash);
	put_hex(root, hash);
	make_inert(answer->why);
	if (json) {
		tell_json(answer, root);
		return;
	}
	if (answer->verdict != INTACT) {
		printf("%s: %s\n", verdict_name[answer->verdict], answer->why);
		return;
	}
	printf("intact: %" PRIu64 " records, root %s", answer->tree.chain.size, root);
	if (answer->gaps > 0)
		printf("; %" PRIu64 " of them say that events are missing", answer->gaps);
	printf("\n");
}

/* The folder that is read, and nothing else from here on. */
static int
confine(const char *path)
{
	struct confine_path may = {.may = CONFINE_READ};
	char folder[AUDIT_PATH_MAX];
	char *slash;
	int r;

	(void)snprintf(folder, sizeof(folder), "%s", path);
	slash = strrchr(folder, '/');
	if (slash != NULL)
		slash[slash == folder ? 1 : 0] = '\0';
	may.fd = open(slash != NULL ? folder : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (may.fd < 0)
		return -errno;
	r = confine_no_dumps();
	if (r == 0)
		r = confine_paths(&may, 1);
	if (r == 0)
		r = confine_syscalls(verify_syscalls, ARRAY_LEN(verify_syscalls));
	fd_close(&may.fd);
	return r;
}

/* What SQLite might write with (as root it gives a write-ahead log to the owner
 * of the database): taken from it before it opens anything. */
static int
no_writing(void)
{
	errno = EROFS;
	return -1;
}

/* The exclusive lock that SQLite wants on a copy whose index it keeps in memory
 * needs a descriptor that can write, and there is none. */
static int
read_only_fcntl(int fd, int command, ...)
{
	va_list ap;
	void *arg;
	int r;

	va_start(ap, command);
	arg = va_arg(ap, void *);
	va_end(ap);
	r = fcntl(fd, command, arg);
	return r < 0 && command == F_SETLK && errno == EBADF ? 0 : r;
}

static int
take_writing_away(void)
{
	static const char *const call[] = {"fchown", "fchmod", "ftruncate", "fallocate",
	    "write", "pwrite", "pwrite64", "unlink", "mkdir", "rmdir"};
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	if (vfs == NULL || vfs->iVersion < 3)
		return -ENOSYS;
	for (size_t i = 0; i < ARRAY_LEN(call); i++) {
		/* one that this SQLite does not know, it does not call */
		(void)vfs->xSetSystemCall(
		    vfs, call[i], (sqlite3_syscall_ptr)(void (*)(void))no_writing);
	}
	return vfs->xSetSystemCall(vfs, "fcntl",
		   (sqlite3_syscall_ptr)(void (*)(void))read_only_fcntl) == SQLITE_OK
		   ? 0
		   : -ENOSYS;
}

int
main(int argc, char **argv)
{
	static struct answer answer;
	char path[AUDIT_PATH_MAX];
	bool json = false;
	struct stat st;
	int r;

	log_open("kennel-verify", LOG_WARN);
	if (argc > 1 && strcmp(argv[1], "--json") == 0) {
		json = true;
		argv++;
		argc--;
	}
	if (argc != 2 || argv[1][0] == '-') {
		fprintf(stderr, "%s\n", USAGE);
		return EXIT_USAGE;
	}
	r = snprintf(path, sizeof(path), "%s%s", argv[1],
	    stat(argv[1], &st) == 0 && S_ISDIR(st.st_mode) ? "/" AUDIT_DB_NAME : "");
	r = (size_t)r >= sizeof(path) ? -ENAMETOOLONG : take_writing_away();
	if (r == 0)
		r = confine(path);
	if (r < 0) {
		log_error("unable to read %s: %s", argv[1], strerror(-r));
		return UNKNOWN;
	}
	verify(path, &answer);
	tell(&answer, json);
	return (int)answer.verdict;
}
