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

struct fact_field {
	char key[32];
	const char *text; /* n texts, each with its NUL; NULL: a number */
	size_t n;
	uint64_t number;
};

/* Large: make it static, or allocate it. Text is valid UTF-8 if kennel wrote the
 * record. */
struct fact {
	uint64_t idx, ts, boot, pid, seq;
	const char *role, *writer, *session, *kind;
	const void *body;
	size_t len;
	struct fact_field field[SCAN_FIELDS_MAX];
	size_t field_n;
	struct scan scan;
	char memory[2 * AUDIT_BODY_MAX];
};

/* The caller keeps body, which must outlive the fact. 0 or -EBADMSG. */
int fact_make(const void *body, size_t len, struct fact *ret);
const struct fact_field *fact_find(const struct fact *, const char *key);
/* The (first) text of a field; NULL: missing. */
const char *fact_text(const struct fact *, const char *key);
bool fact_number(const struct fact *, const char *key, uint64_t *ret);
const char *fact_item(const struct fact_field *, size_t i);
bool fact_is(const struct fact *, const char *key, const char *text);
bool fact_has(const struct fact *, const char *key, const char *text); /* any item */

/* ---- options.c --------------------------------------------------------------- */

enum form { FORM_TEXT, FORM_JSON, FORM_CSV, FORM_HTML };

struct question {
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
int options_read(int argc, char **argv, const char *may, struct question *ret);
/* Parses "90s" "10m" "2h" "3d" ago, or "2026-11-21[T22:00[:00]][Z]". */
int options_time(const char *text, uint64_t *ret_ns);
/* The log's records about itself; "log" shows them only on request. */
#define QUERY_HIDDEN "genesis open epoch heartbeat end"
/* True if the record matches the query; checks its body, not its columns. */
bool options_match(const struct question *, const struct fact *);

/* ---- log_view.c ---------------------------------------------------------- */

#define BOOK_SEGMENTS_MAX 100000

struct segment_at {
	uint64_t base; /* its first record */
	char name[40]; /* in the log directory */
};

struct book {
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
	struct fact *fact; /* the current record */
	char why[AUDIT_WHY_MAX];
};

/* Returns an exit status; if it is not ASK_OK, book->why gives the reason. The caller
 * closes the book in any case. */
int book_open(const struct question *, struct book *ret);
void book_close(struct book *);
/* Opens a segment, unless it is open: 0, or -EBADMSG and similar with why. */
int book_turn(struct book *, size_t segment);

/* ---- scan.c -------------------------------------------------------------- */

/* Called for each record that matches the query, by number. 0 continues; any other
 * result ends the pass and is returned. */
typedef int fact_fn(void *arg, const struct fact *);
/* Returns 0, the result of fn, -EBADMSG (why is set), or -EUCLEAN: with --verified,
 * the records are not those that were verified. */
int pass_each(struct book *, const struct question *, fact_fn *, void *arg);
/* Loads one record by its number into book->fact: 0, -ENOENT, -EBADMSG. */
int pass_one(struct book *, uint64_t idx);

/* ---- escape.c: escaping untrusted text ----------------------------------- */

/* Each writes all of the text: for a terminal (\xNN), inside the quotes of a JSON
 * string (\uXXXX), inside the quotes of a CSV field, in HTML. */
void inert_text(FILE *, const char *);
void inert_json(FILE *, const char *);
void inert_csv(FILE *, const char *);
void inert_html(FILE *, const char *);
/* Writes a stored body in ASCII: the same JSON value. */
void inert_body(FILE *, const void *body, size_t len);

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

struct sheet {
	FILE *out;
	enum form form;
	const struct column *column;
	size_t column_n, at;
	uint64_t rows, most; /* most: number of rows printed; 0: all */
	const char *verb;
	bool bare, colour;
};

void sheet_begin(struct sheet *, const struct question *, const struct book *,
    const struct column *, size_t column_n);
/* Print the fields of a row, left to right; the last one ends the row. */
void sheet_text(struct sheet *, const char *text_or_null);
void sheet_number(struct sheet *, uint64_t);
void sheet_none(struct sheet *);
/* Prints this field of the record in the type of the column. */
void sheet_field(struct sheet *, const struct fact *, const char *key);
/* -EPIPE if the reader has closed the pipe. */
int sheet_end(struct sheet *);
/* 2026-11-22T01:02:03.004Z; decimals: 3 or 9. */
#define SHEET_TIME_MAX 40
const char *sheet_time(uint64_t ns, int decimals, char out[SHEET_TIME_MAX]);
void sheet_hex(char out[2 * MERKLE_HASH_LEN + 1], const uint8_t hash[MERKLE_HASH_LEN]);

/* ---- describe.c ---------------------------------------------------------- */

#define STORY_MAX (AUDIT_BODY_MAX + 2048) /* a body's texts and the words between */
/* Returns unescaped text; table.c escapes it. */
const char *story_tell(const struct fact *, char out[STORY_MAX]);
/* All its fields as key=value. */
const char *story_fields(const struct fact *, char out[STORY_MAX]);
/* The object of the record: a tool, a program, a host; NULL: none. */
const char *story_object(const struct fact *);
/* Fills {key} and [optional {key}] of a pattern. */
const char *story_fill(const struct fact *, const char *pattern, char out[STORY_MAX]);

/* ---- group.c ------------------------------------------------------------- */

#define TALLY_PARTS 6
#define TALLY_MAX   (1u << 20)
struct tally_row {
	const char *part[TALLY_PARTS]; /* "" if missing */
	uint64_t n, sum, most;
	uint64_t first_ts, last_ts, first_idx, last_idx;
	uint64_t flag;
	uint64_t extra[4];
};
struct tally;
struct tally *tally_new(void); /* NULL: out of memory */
void tally_free(struct tally *);
/* The row with these parts (NULL counts as ""); a new row has n 0. NULL: more than
 * TALLY_MAX rows, or out of memory. */
struct tally_row *tally_at(struct tally *, const char *const *part, size_t part_n);
/* The same, and counts the record in it. */
struct tally_row *tally_count(
    struct tally *, const struct fact *, const char *const *part, size_t part_n);
/* Stores a digest of 64 digits in a row's extra, and reads it; false: none. */
#define TALLY_DIGEST_MAX 65
bool tally_pack(const char *hex, uint64_t ret[4]);
bool tally_bytes(const char *hex, uint8_t ret[MERKLE_HASH_LEN]);
void tally_unpack(const uint64_t from[4], char hex[TALLY_DIGEST_MAX]);
size_t tally_rows(const struct tally *);
/* Sorts the rows, ties by their parts; the tally owns the array. */
typedef int tally_order(const struct tally_row *, const struct tally_row *);
struct tally_row *const *tally_sorted(struct tally *, tally_order *);
int tally_by_count(const struct tally_row *, const struct tally_row *);
int tally_by_name(const struct tally_row *, const struct tally_row *);
int tally_by_first(const struct tally_row *, const struct tally_row *);

/* ---- verbs ----------------------------------------------------------------------- */

struct verb;
struct ask {
	const struct verb *verb;
	struct question q; /* the verb may narrow it */
	struct book *book;
	struct sheet sheet;
	const char *word; /* the verb's argument; NULL: none */
	struct tally *tally;
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
	fact_fn *see;               /* arg is the ask; NULL: see_plain */
	int (*end)(struct ask *);   /* NULL; else adds rows that need the whole log */
	bool (*match)(struct ask *, const struct fact *); /* for see_plain; NULL: all */
};
#define COLUMNS(array) (array), ARRAY_LEN(array)

/* Prints a row whose columns are named after fields of the record, for each record
 * that the verb's match accepts. */
int see_plain(void *ask, const struct fact *);
/* Prints the field of one such column. */
void see_cell(struct ask *, const struct fact *, const char *column);

/* Runs the query and prints on out. Returns an exit status and, if it is not 0,
 * *ret_why (static, or the book's). The book must be open. */
int verb_ask(const struct verb *, const struct question *, struct book *, FILE *out,
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
int verb_main(const struct verb *, const struct question *);
/* "kennel audit prune-WHAT --to TIME": removes older data kept next to the log. */
int verb_prune(int argc, char **argv, const char *what,
    int (*prune)(const char *log_dir, uint64_t before_ns, uint64_t *ret_n));
/* Explains, on standard error, a status that is not ASK_OK. */
void verb_complain(const struct question *, int status, const char *why);

#endif
