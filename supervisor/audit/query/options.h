/*
 * The options of all verbs of kennel audit (kennel-audit(1)): which records, in
 * which form.
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_QUERY_OPTIONS_H
#define KENNEL_SUPERVISOR_AUDIT_QUERY_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisor/audit/query/record.h"

enum form { FORM_TEXT, FORM_JSON, FORM_CSV, FORM_HTML };

/* Compares two policies that are kept next to the log: "wider", "not wider", "no
 * difference" or "unknown: ...".  *ret_text: the lines, malloc'ed; NULL: none. */
typedef const char *policy_diff_fn(const char *log_dir, const uint8_t before[32],
    const uint8_t after[32], char **ret_text);

struct query {
	const char *verb;
	const char *server, *kind, *verdict, *session, *tool, *rule;
	uint64_t from_ns, to_ns; /* from <= ts < to */
	bool from_given, to_given;
	uint64_t last_n;        /* -n; 0: not given */
	uint64_t last_rows;     /* -n of a verb that has no other meaning for it */
	const char *as_of;      /* SIZE, SIZE:ROOT or a file with a checkpoint */
	const char *log;        /* not this user's own log */
	const char *policy;     /* --policy */
	const char *control;    /* --control */
	const char *seed;       /* --seed */
	const char *out;        /* -o */
	const char *report;     /* kind of a report, or --format of export */
	const char *for_verify; /* a new directory */
	const char *contains;   /* --contains: bytes of the record's JSON */
	uint64_t days;
	bool verified, bare /* no header */, follow, all, once, text;
	bool absent; /* --absent: what is absent too */
	bool diff;   /* --diff */
	bool own;    /* --own: sessions of kennel's own too */
	policy_diff_fn *diff_by;
	/* verb_ask sets these */
	const char *kinds;  /* "exec call": only these; NULL: all */
	bool hide;          /* without the log's records about itself */
	bool by_time;       /* ordered by time, so that the first row comes at once */
	uint64_t most_rows; /* per page; 0: all */
	uint64_t first;     /* only records from this one on */
	uint64_t beyond;    /* and before this one; 0: all */
	bool denied;        /* only refusals: denials and what is absent */
	bool present;       /* without what is absent (log_record_absent) */
	enum form form;
	int argc; /* remaining arguments of the verb */
	char **argv;
};

/* argv[0] is the verb; may lists the verb's own option letters, "" for none (see
 * verb.may); after a '!', they are all that it accepts beside --log. Returns 0, or -EINVAL after printing the reason. */
int options_read(int argc, char **argv, const char *may, struct query *ret);
/* Parses "today", "yesterday", "90s" "10m" "2h" "3d" ago, "22:00[:00][Z]" of today, or
 * "2026-11-21[T22:00[:00]][Z]". */
#define OPTIONS_TIME_FORMS "2026-11-21T22:00, 22:00, yesterday, 2h, 3d"
int options_time(const char *text, uint64_t *ret_ns);
/* The letter of --own. */
#define OPTION_OWN 'I'
/* The log's records about itself; "log" shows them only on request. */
#define QUERY_HIDDEN "genesis open epoch heartbeat end"
/* True if the answer includes what is absent: --absent, or --verdict absent. */
bool options_with_absent(const struct query *);
/* True if the record matches the query; checks its body, not its columns. */
bool options_match(const struct query *, const struct log_record *);

#endif
