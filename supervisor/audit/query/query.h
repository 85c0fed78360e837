/*
 * What the files of the query side say to each other: a record taken apart, a
 * log opened to be asked, the sheet that answers are written on, and the verbs.
 *
 *	options.c	what every verb may be told
 *	book.c		the log: its segments, its checkpoint, what verify says
 *	pass.c		one pass over its records
 *	fact.c		one record, its values as text
 *	sheet.c		rows as text, JSON, CSV or HTML: the only printer
 *	inert.c		foreign text made harmless for each of them
 *	story.c		a record as a sentence
 *	tally.c		rows counted under a name
 *	ask_*.c		the verbs, by family
 *	query.c		the table of verbs
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_QUERY_H
#define KENNEL_SUPERVISOR_AUDIT_QUERY_H

#include "supervisor/audit/log/inside.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define NS_PER_S     ((uint64_t)1000000000)

/* Exit statuses (kennel-audit(1)); 125 and 127 are kennel's own. */
enum {
	ASK_OK = 0,
	ASK_TAMPERED = 1,
	ASK_USAGE = 64,
	ASK_NO_SUCH = 65, /* what was asked about is not in the log */
	ASK_FAILED = 125,
	ASK_NO_LOG = 127,
};

/* ---- fact.c: one record ----------------------------------------------------- */

struct fact_field {
	char key[32];
	const char *text; /* n texts, each with its NUL; NULL: a number */
	size_t n;
	uint64_t number;
};

/* Big: static, or allocated.  Text is UTF-8 as far as the record is kennel's. */
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

/* body stays the caller's and must outlive the fact.  0 or -EBADMSG. */
int fact_make(const void *body, size_t len, struct fact *ret);
const struct fact_field *fact_find(const struct fact *, const char *key);
/* The (first) text of a field; NULL: there is none. */
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
	uint64_t last_n;     /* -n: 0 is "not given" */
	const char *as_of;   /* SIZE, SIZE:ROOT or a file with a checkpoint */
	const char *log;     /* another log than this user's */
	const char *policy;  /* --policy */
	const char *control; /* --control */
	const char *seed;    /* --seed */
	const char *out;     /* -o */
	const char *report;  /* --kind of report, --format of export */
	uint64_t days;
	bool verified, bare /* no header */, follow, all, once, text;
	/* set by verb_ask */
	const char *kinds;  /* "exec call": only these; NULL: all */
	bool hide;          /* not what the log says about itself */
	bool by_time;       /* by time, so that the first comes at once */
	uint64_t most_rows; /* on a page; 0: all */
	uint64_t first;     /* only records from this one on */
	uint64_t beyond;    /* and before this one; 0: all */
	bool denied;        /* only what has a verdict that is not "allow" */
	enum form form;
	int argc; /* what is left: the verb's own words */
	char **argv;
};

/* argv[0] is the verb; may is the verb's own options, "" none (see verb.may).
 * 0, or -EINVAL after the reason was printed. */
int options_read(int argc, char **argv, const char *may, struct question *ret);
/* "90s" "10m" "2h" "3d" ago, or "2026-11-21[T22:00[:00]][Z]". */
int options_time(const char *text, uint64_t *ret_ns);
/* What the log says about itself, and "log" does not show unasked. */
#define QUERY_HIDDEN "genesis open epoch heartbeat end"
/* Does the record meet what was asked for?  On its body, not on columns. */
bool options_match(const struct question *, const struct fact *);

/* ---- book.c -------------------------------------------------------------------- */

#define BOOK_SEGMENTS_MAX 100000

struct segment_at {
	uint64_t base; /* its first record */
	char name[40]; /* in the log's folder */
};

struct book {
	char folder[AUDIT_PATH_MAX];
	struct segment_at *segment; /* oldest first; the live one is the last */
	size_t segment_n;
	struct reader reader;         /* of the segment at hand */
	size_t open;                  /* which; segment_n: none */
	uint64_t first;               /* records before it were pruned */
	uint64_t size;                /* records that the answer is about */
	uint8_t root[CHAIN_HASH_LEN]; /* and their root, as a checkpoint says it */
	bool verified;
	bool complete;      /* and nothing says that its end may have been cut off */
	struct chain start; /* the tree left of the first record, for that */
	uint64_t sure_size; /* what kennel-verify vouched for, if asked to */
	uint8_t sure_root[CHAIN_HASH_LEN];
	struct fact *fact; /* of the record at hand */
	char why[AUDIT_WHY_MAX];
};

/* An exit status; when not ASK_OK, book->why says it.  The caller closes. */
int book_open(const struct question *, struct book *ret);
void book_close(struct book *);
/* Opens a segment, if it is not open: 0, or -EBADMSG and the like with why. */
int book_turn(struct book *, size_t segment);

/* ---- pass.c -------------------------------------------------------------------- */

/* For each record that the question means, by number: 0 goes on, else the pass
 * ends with it. */
typedef int fact_fn(void *arg, const struct fact *);
/* 0, what fn returned, -EBADMSG (why is filled), -EUCLEAN: --verified, and the
 * records are not those that were verified. */
int pass_each(struct book *, const struct question *, fact_fn *, void *arg);
/* One record by its number, into book->fact: 0, -ENOENT, -EBADMSG. */
int pass_one(struct book *, uint64_t idx);

/* ---- inert.c: foreign text where it can do nothing ------------------------------ */

/* Each writes all of the text: for a terminal (\xNN), between the quotes of a
 * JSON string (\uXXXX), between the quotes of a CSV cell, in HTML. */
void inert_text(FILE *, const char *);
void inert_json(FILE *, const char *);
void inert_csv(FILE *, const char *);
void inert_html(FILE *, const char *);
/* A stored body as ASCII: the same JSON value. */
void inert_body(FILE *, const void *body, size_t len);

/* ---- sheet.c ------------------------------------------------------------------- */

enum cell {
	CELL_TEXT,
	CELL_NUMBER,
	CELL_TIME, /* ns of CLOCK_REALTIME; shown in UTC */
	CELL_ID,   /* hex; people see its first digits */
	CELL_US,   /* microseconds */
	CELL_VERDICT,
};
struct column {
	const char *name;
	enum cell cell;
	int width; /* of text; 0: as it comes */
};

struct sheet {
	FILE *out;
	enum form form;
	const struct column *column;
	size_t column_n, at;
	uint64_t rows, most; /* most: rows that are printed; 0: all */
	const char *verb;
	bool bare, colour;
};

void sheet_begin(struct sheet *, const struct question *, const struct book *,
    const struct column *, size_t column_n);
/* The cells of a row, left to right; a row ends by itself. */
void sheet_text(struct sheet *, const char *text_or_null);
void sheet_number(struct sheet *, uint64_t);
void sheet_none(struct sheet *);
/* Whatever the column wants of this field of the record. */
void sheet_field(struct sheet *, const struct fact *, const char *key);
/* -EPIPE when nobody reads any more. */
int sheet_end(struct sheet *);
/* 2026-11-22T01:02:03.004Z; decimals: 3 or 9. */
#define SHEET_TIME_MAX 40
const char *sheet_time(uint64_t ns, int decimals, char out[SHEET_TIME_MAX]);
void sheet_hex(char out[2 * CHAIN_HASH_LEN + 1], const uint8_t hash[CHAIN_HASH_LEN]);

/* ---- story.c ------------------------------------------------------------------- */

#define STORY_MAX (AUDIT_BODY_MAX + 2048) /* a body's texts, and the words between */
/* Not yet inert: sheet.c sees to that. */
const char *story_tell(const struct fact *, char out[STORY_MAX]);
/* All its fields as key=value. */
const char *story_fields(const struct fact *, char out[STORY_MAX]);
/* The thing the record is about: a tool, a program, a host; NULL: none. */
const char *story_object(const struct fact *);
/* Fills {key} and [optional {key}] of a pattern. */
const char *story_fill(const struct fact *, const char *pattern, char out[STORY_MAX]);

/* ---- tally.c ------------------------------------------------------------------- */

#define TALLY_PARTS 6
#define TALLY_MAX   (1u << 20)
struct tally_row {
	const char *part[TALLY_PARTS]; /* "" where there is none */
	uint64_t n, sum, most;
	uint64_t first_ts, last_ts, first_idx, last_idx;
	uint64_t flag;
	uint64_t extra[4];
};
struct tally;
struct tally *tally_new(void); /* NULL: no memory */
void tally_free(struct tally *);
/* The row of these parts (NULL counts as ""), made when it is new (n is 0).
 * NULL: more than TALLY_MAX, or no memory. */
struct tally_row *tally_at(struct tally *, const char *const *part, size_t part_n);
/* The same, and the record counted in it. */
struct tally_row *tally_count(
    struct tally *, const struct fact *, const char *const *part, size_t part_n);
/* A digest of 64 digits as a row's extra, and back; false: it is none. */
#define TALLY_DIGEST_MAX 65
bool tally_pack(const char *hex, uint64_t ret[4]);
bool tally_bytes(const char *hex, uint8_t ret[CHAIN_HASH_LEN]);
void tally_unpack(const uint64_t from[4], char hex[TALLY_DIGEST_MAX]);
size_t tally_rows(const struct tally *);
/* Rows sorted, ties by their parts; the array is the tally's. */
typedef int tally_order(const struct tally_row *, const struct tally_row *);
struct tally_row *const *tally_sorted(struct tally *, tally_order *);
int tally_by_count(const struct tally_row *, const struct tally_row *);
int tally_by_name(const struct tally_row *, const struct tally_row *);
int tally_by_first(const struct tally_row *, const struct tally_row *);

/* ---- verbs ----------------------------------------------------------------------- */

struct verb;
struct ask {
	const struct verb *verb;
	struct question q; /* its verb may narrow it */
	struct book *book;
	struct sheet sheet;
	const char *word; /* the verb's argument; NULL: none */
	struct tally *tally;
	uint64_t number, from_ns;
	void *own;       /* freed with the ask */
	const char *why; /* static: why the question cannot be answered */
};

struct verb {
	const char *name;
	const char *words; /* of its usage: "IDX", "[SESSION]" or "" */
	const char *what;  /* one line for people */
	const char *may;   /* letters of options.c beyond the common ones */
	const char *kinds; /* "exec call": only these records; NULL: all */
	const struct column *column;
	size_t column_n;
	int (*begin)(struct ask *); /* NULL: nothing to do; -EINVAL refuses its word */
	fact_fn *see;               /* arg is the ask; NULL: see_plain */
	int (*end)(struct ask *);   /* NULL; else rows that only the whole log gives */
	bool (*match)(struct ask *, const struct fact *); /* for see_plain; NULL: all */
};
#define COLUMNS(array) (array), ARRAY_LEN(array)

/* Prints a row whose columns are named like the fields of the record, for each
 * record that its verb's match takes. */
int see_plain(void *ask, const struct fact *);
/* The cell of one such column. */
void see_cell(struct ask *, const struct fact *, const char *column);

/* Ask and print on out: an exit status, and *ret_why (static, or the book's) when
 * it is not 0.  The book is open. */
int verb_ask(const struct verb *, const struct question *, struct book *, FILE *out,
    const char **ret_why);
const struct verb *verb_find(const char *name);

/* Families, each ended by a row without a name. */
extern const struct verb verbs_log[], verbs_session[], verbs_object[], verbs_call[],
    verbs_count[], verbs_change[], verbs_gap[], verbs_odd[], verbs_sample[];

/* ---- programs of their own --------------------------------------------------------- */

int export_main(int argc, char **argv);
int page_main(int argc, char **argv);
int tail_main(int argc, char **argv);
int pack_main(int argc, char **argv);
int certify_main(int argc, char **argv);
/* Opens the log of q, asks, prints on stdout and says what went wrong. */
int verb_main(const struct verb *, const struct question *);
/* "kennel audit prune-WHAT --to TIME": what is kept beside the log, and is older. */
int verb_prune(int argc, char **argv, const char *what,
    int (*prune)(const char *log_dir, uint64_t before_ns, uint64_t *ret_n));
/* What is said, on standard error, about a status that is not ASK_OK. */
void verb_complain(const struct question *, int status, const char *why);

#endif
