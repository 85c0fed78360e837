/*
 * Shared by the files of the query room: a parsed record, a log opened for queries,
 * the table that answers are printed in, and the verbs.
 *
 *	options.c	the options of all verbs
 *	log_view.c	the log: its segments, its checkpoint, kennel-verify's verdict
 *	scan.c		one pass over its records
 *	record.c	one record, its values as text
 *	table.c		rows as text, JSON, CSV or HTML; the only printer
 *	escape.c	escapes untrusted text for each of these formats
 *	describe.c	a record as a sentence
 *	group.c		rows counted by a key
 *	verb_*.c	the verbs, by family
 *	query.c		the table of verbs
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_QUERY_QUERY_H
#define KENNEL_SUPERVISOR_AUDIT_QUERY_QUERY_H

#include <stdio.h>

#include "supervisor/audit/log/merkle.h"
#include "supervisor/audit/log/open_log.h"
#include "supervisor/audit/log/record.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define NS_PER_S     ((uint64_t)1000000000)

/* Exit statuses (kennel-audit(1)); 125 and 127 are kennel's own. */
enum {
	ASK_OK = 0,
	ASK_TAMPERED = 1,
	ASK_USAGE = 64,
	ASK_NO_SUCH = 65, /* the object is not in the log */
	ASK_FAILED = 125,
	ASK_NO_LOG = 127,
};

/* ---- record.c: one record ------------------------------------------------ */

struct log_record_field {
	char key[32];
	const char *text; /* n texts, each with its NUL; NULL: a number */
	size_t n;
	uint64_t number;
};

/* Large: make it static, or allocate it. Text is valid UTF-8 if kennel wrote the
 * record. */
struct log_record {
	uint64_t idx, ts, boot, pid, seq;
	const char *role, *writer, *session, *kind;
	const void *body;
	size_t len;
	struct log_record_field field[SCAN_FIELDS_MAX];
	size_t field_n;
	struct scan scan;
	char memory[2 * AUDIT_BODY_MAX];
};

/* The caller keeps body, which must outlive the record. 0 or -EBADMSG. */
int log_record_make(const void *body, size_t len, struct log_record *ret);
const struct log_record_field *log_record_find(
    const struct log_record *, const char *key);
/* The (first) text of a field; NULL: missing. */
const char *log_record_text(const struct log_record *, const char *key);
bool log_record_number(const struct log_record *, const char *key, uint64_t *ret);
const char *log_record_item(const struct log_record_field *, size_t i);
bool log_record_is(const struct log_record *, const char *key, const char *text);
bool log_record_has(
    const struct log_record *, const char *key, const char *text); /* any item */

/* ---- options.c --------------------------------------------------------------- */

enum form { FORM_TEXT, FORM_JSON, FORM_CSV, FORM_HTML };

struct query {
	const char *verb;
	const char *server, *kind, *verdict, *session, *tool, *rule;
	uint64_t from_ns, to_ns; /* from <= ts < to */
	bool from_given, to_given;
	uint64_t last_n;     /* -n; 0: not given */
	const char *as_of;   /* SIZE, SIZE:ROOT or a file with a checkpoint */
	const char *log;     /* not this user's own log */
	const char *policy;  /* --policy */
	const char *control; /* --control */
	const char *seed;    /* --seed */
	const char *out;     /* -o */
	const char *report;  /* kind of a report, or --format of export */
	uint64_t days;
	bool verified, bare /* no header */, follow, all, once, text;
	/* verb_ask sets these */
	const char *kinds;  /* "exec call": only these; NULL: all */
	bool hide;          /* without the log's records about itself */
	bool by_time;       /* ordered by time, so that the first row comes at once */
	uint64_t most_rows; /* per page; 0: all */
	uint64_t first;     /* only records from this one on */
	uint64_t beyond;    /* and before this one; 0: all */
	bool denied;        /* only records with a verdict other than "allow" */
	enum form form;
	int argc; /* remaining arguments of the verb */
	char **argv;
};

/* argv[0] is the verb; may lists the verb's own option letters, "" for none (see
 * verb.may). Returns 0, or -EINVAL after printing the reason. */
int options_read(int argc, char **argv, const char *may, struct query *ret);
/* Parses "90s" "10m" "2h" "3d" ago, or "2026-11-21[T22:00[:00]][Z]". */
int options_time(const char *text, uint64_t *ret_ns);
/* The log's records about itself; "log" shows them only on request. */
#define QUERY_HIDDEN "genesis open epoch heartbeat end"
/* True if the record matches the query; checks its body, not its columns. */
bool options_match(const struct query *, const struct log_record *);

/* ---- log_view.c ---------------------------------------------------------- */

#define LOG_VIEW_SEGMENTS_MAX 100000

struct segment_at {
	uint64_t base; /* its first record */
	char name[40]; /* in the log directory */
};

struct log_view {
	char folder[AUDIT_PATH_MAX];
	struct segment_at *segment; /* oldest first; the live one is last */
	size_t segment_n;
	struct reader reader;          /* of the open segment */
	size_t open;                   /* index of the open segment; segment_n: none */
	uint64_t first;                /* earlier records were pruned */
	uint64_t size;                 /* number of records that the answer is about */
	uint8_t root[MERKLE_HASH_LEN]; /* their root, from a checkpoint */
	bool verified;
	bool complete;       /* truncation of the end is ruled out */
	struct merkle start; /* subtrees left of the first record */
	uint64_t sure_size;  /* the size that kennel-verify verified, if requested */
	uint8_t sure_root[MERKLE_HASH_LEN];
	struct log_record *record; /* the current record */
	char why[AUDIT_WHY_MAX];
};

/* Returns an exit status; if it is not ASK_OK, view->why gives the reason. The caller
 * closes the view in any case. */
int log_view_open(const struct query *, struct log_view *ret);
void log_view_close(struct log_view *);
/* Opens a segment, unless it is open: 0, or -EBADMSG and similar with why. */
int log_view_turn(struct log_view *, size_t segment);

/* ---- scan.c -------------------------------------------------------------- */

/* Called for each record that matches the query, by number. 0 continues; any other
 * result ends the pass and is returned. */
typedef int log_record_fn(void *arg, const struct log_record *);
/* Returns 0, the result of fn, -EBADMSG (why is set), or -EUCLEAN: with --verified,
 * the records are not those that were verified. */
int log_scan_each(struct log_view *, const struct query *, log_record_fn *, void *arg);
/* Loads one record by its number into view->record: 0, -ENOENT, -EBADMSG. */
int log_scan_one(struct log_view *, uint64_t idx);

/* ---- escape.c: escaping untrusted text ----------------------------------- */

/* Each writes all of the text: for a terminal (\xNN), inside the quotes of a JSON
 * string (\uXXXX), inside the quotes of a CSV field, in HTML. */
void escape_text(FILE *, const char *);
void escape_json(FILE *, const char *);
void escape_csv(FILE *, const char *);
void escape_html(FILE *, const char *);
/* Writes a stored body in ASCII: the same JSON value. */
void escape_body(FILE *, const void *body, size_t len);

/* ---- table.c ------------------------------------------------------------- */

enum cell {
	CELL_TEXT,
	CELL_NUMBER,
	CELL_TIME, /* ns of CLOCK_REALTIME; shown in UTC */
	CELL_ID,   /* hex; text output shows the first digits */
	CELL_US,   /* microseconds */
	CELL_VERDICT,
};
struct column {
	const char *name;
	enum cell cell;
	int width; /* in text output; 0: natural width */
};

struct table {
	FILE *out;
	enum form form;
	const struct column *column;
	size_t column_n, at;
	uint64_t rows, most; /* most: number of rows printed; 0: all */
	const char *verb;
	bool bare, colour;
};

void table_begin(struct table *, const struct query *, const struct log_view *,
    const struct column *, size_t column_n);
/* Print the fields of a row, left to right; the last one ends the row. */
void table_text(struct table *, const char *text_or_null);
void table_number(struct table *, uint64_t);
void table_none(struct table *);
/* Prints this field of the record in the type of the column. */
void table_field(struct table *, const struct log_record *, const char *key);
/* -EPIPE if the reader has closed the pipe. */
int table_end(struct table *);
/* 2026-11-22T01:02:03.004Z; decimals: 3 or 9. */
#define TABLE_TIME_MAX 40
const char *table_time(uint64_t ns, int decimals, char out[TABLE_TIME_MAX]);
void table_hex(char out[2 * MERKLE_HASH_LEN + 1], const uint8_t hash[MERKLE_HASH_LEN]);

/* ---- describe.c ---------------------------------------------------------- */

#define DESCRIBE_MAX (AUDIT_BODY_MAX + 2048) /* a body's texts and the words between */
/* Returns unescaped text; table.c escapes it. */
const char *describe_tell(const struct log_record *, char out[DESCRIBE_MAX]);
/* All its fields as key=value. */
const char *describe_fields(const struct log_record *, char out[DESCRIBE_MAX]);
/* The object of the record: a tool, a program, a host; NULL: none. */
const char *describe_object(const struct log_record *);
/* Fills {key} and [optional {key}] of a pattern. */
const char *describe_fill(
    const struct log_record *, const char *pattern, char out[DESCRIBE_MAX]);

/* ---- group.c ------------------------------------------------------------- */

#define GROUP_PARTS 6
#define GROUP_MAX   (1u << 20)
struct group_row {
	const char *part[GROUP_PARTS]; /* "" if missing */
	uint64_t n, sum, most;
	uint64_t first_ts, last_ts, first_idx, last_idx;
	uint64_t flag;
	uint64_t extra[4];
};
struct groups;
struct groups *group_new(void); /* NULL: out of memory */
void group_free(struct groups *);
/* The row with these parts (NULL counts as ""); a new row has n 0. NULL: more than
 * GROUP_MAX rows, or out of memory. */
struct group_row *group_at(struct groups *, const char *const *part, size_t part_n);
/* The same, and counts the record in it. */
struct group_row *group_count(
    struct groups *, const struct log_record *, const char *const *part, size_t part_n);
/* Stores a digest of 64 digits in a row's extra, and reads it; false: none. */
#define GROUP_DIGEST_MAX 65
bool group_pack(const char *hex, uint64_t ret[4]);
bool group_bytes(const char *hex, uint8_t ret[MERKLE_HASH_LEN]);
void group_unpack(const uint64_t from[4], char hex[GROUP_DIGEST_MAX]);
size_t group_rows(const struct groups *);
/* Sorts the rows, ties by their parts; the groups own the array. */
typedef int group_order(const struct group_row *, const struct group_row *);
struct group_row *const *group_sorted(struct groups *, group_order *);
int group_by_count(const struct group_row *, const struct group_row *);
int group_by_name(const struct group_row *, const struct group_row *);
int group_by_first(const struct group_row *, const struct group_row *);

/* ---- verbs ----------------------------------------------------------------------- */

struct verb;
struct ask {
	const struct verb *verb;
	struct query q; /* the verb may narrow it */
	struct log_view *view;
	struct table table;
	const char *word; /* the verb's argument; NULL: none */
	struct groups *groups;
	uint64_t number, from_ns;
	void *own;       /* freed with the ask */
	const char *why; /* static: why the query failed */
};

struct verb {
	const char *name;
	const char *words; /* for its usage: "IDX", "[SESSION]" or "" */
	const char *what;  /* one-line description */
	const char *may;   /* option letters (options.c) beyond the common ones */
	const char *kinds; /* "exec call": only these records; NULL: all */
	const struct column *column;
	size_t column_n;
	int (*begin)(struct ask *); /* NULL: nothing; -EINVAL rejects the word */
	log_record_fn *see;         /* arg is the ask; NULL: see_plain */
	int (*end)(struct ask *);   /* NULL; else adds rows that need the whole log */
	bool (*match)(
	    struct ask *, const struct log_record *); /* for see_plain; NULL: all */
};
#define COLUMNS(array) (array), ARRAY_LEN(array)

/* Prints a row whose columns are named after fields of the record, for each record
 * that the verb's match accepts. */
int see_plain(void *ask, const struct log_record *);
/* Prints the field of one such column. */
void see_cell(struct ask *, const struct log_record *, const char *column);

/* Runs the query and prints on out. Returns an exit status and, if it is not 0,
 * *ret_why (static, or the view's). The view must be open. */
int verb_ask(const struct verb *, const struct query *, struct log_view *, FILE *out,
    const char **ret_why);
const struct verb *verb_find(const char *name);

/* Families of verbs; a row without a name ends each. */
extern const struct verb verbs_log[], verbs_session[], verbs_object[], verbs_call[],
    verbs_count[], verbs_change[], verbs_gap[], verbs_odd[], verbs_sample[];

/* ---- query.c: one verb -------------------------------------------------------------- */

/* "kennel audit VERB ...": argv[0] is a verb of the families above.  An exit status. */
int query_main(int argc, char **argv);
/* A line of help for each of these verbs. */
void query_help(FILE *);
int tail_main(int argc, char **argv);
/* Opens the log of q, runs the query, prints on stdout, reports failures. */
int verb_main(const struct verb *, const struct query *);
/* "kennel audit prune-WHAT --to TIME": removes older data kept next to the log. */
int verb_prune(int argc, char **argv, const char *what,
    int (*prune)(const char *log_dir, uint64_t before_ns, uint64_t *ret_n));
/* Explains, on standard error, a status that is not ASK_OK. */
void verb_complain(const struct query *, int status, const char *why);

#endif
