/*
 * What the files of the schema room share.
 */
#ifndef KENNEL_SUPERVISOR_SCHEMA_PRIVATE_H
#define KENNEL_SUPERVISOR_SCHEMA_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/json/json.h"
#include "supervisor/schema/schema.h"

#define NO_VALUE UINT32_MAX

/* ---- tree.c: a JSON value as an array, in the order of the text ----------- */

struct value {
	const char *text; /* of a string (decoded) or of a number */
	const char *key;  /* decoded; NULL: not a member */
	uint32_t len, key_len;
	uint32_t key_hash;
	uint32_t n;      /* members or items */
	uint32_t next;   /* the first value after this one and its contents */
	uint32_t parent; /* NO_VALUE: the root */
	enum json_type type;
	bool
	    raw; /* string: not decodable (a NUL or an unpaired surrogate); text is as sent */
};

/* The children of a value i: c = i + 1; c < value[i].next; c = value[c].next. */
struct value_tree {
	struct value *value; /* one more than n: room for a value that is no part of it */
	uint32_t n;
	char *text; /* what had to be decoded */
};

/* -EEXIST: a duplicate key; -EILSEQ: a key without text; -E2BIG: more than max values;
 * -ENOMEM. *ret_at has the member that is a duplicate, the object with the key without
 * text, or NO_VALUE. *ret must be freed in every case. */
int value_tree_new(struct json, uint32_t max, struct value_tree *ret, uint32_t *ret_at);
void value_tree_free(struct value_tree *);
/* The member with this key, or NO_VALUE. */
uint32_t value_tree_member(
    const struct value_tree *, uint32_t object, const char *key, size_t len);
uint32_t value_tree_named(const struct value_tree *, uint32_t object, const char *name);
/* The member with the key of this value. */
uint32_t value_tree_like(
    const struct value_tree *, uint32_t object, const struct value *);
/* Is this string this text? */
bool value_tree_text_is(const struct value *, const char *text);

/* ---- decimal.c ------------------------------------------------------------ */

/* All: -ERANGE for an exponent of more than 17 digits. */
int decimal_integer(const struct value *, bool *ret);
int decimal_order(const struct value *, const struct value *, int *ret);
int decimal_hash(const struct value *, uint64_t *ret);
/* A number of at most 18 digits may divide: else -EINVAL. */
struct divisor {
	uint64_t digits; /* without zeros at the end */
	int64_t power;   /* of ten, of the last digit */
};
int decimal_divisor(const struct value *, struct divisor *ret);
int decimal_multiple(const struct value *, const struct divisor *, bool *ret);
/* A number of things, at most UINT32_MAX; -EINVAL: a fraction, or negative. */
int decimal_count(const struct value *, uint32_t *ret);

/* ---- pattern.c, ecma_pattern.c -------------------------------------------- */

#define PATTERN_LEN_MAX 4096 /* bytes of a pattern */
#define PATTERN_WHY_MAX 160

struct pattern;
/* -EINVAL: it cannot be checked, and why; -ENOMEM. */
int pattern_new(
    const char *text, size_t len, struct pattern **ret, char why[PATTERN_WHY_MAX]);
void pattern_free(struct pattern *);
/* 1: it matches; 0; -E2BIG: needs more steps than are left; -ENOMEM. */
int pattern_match(const struct pattern *, const char *, size_t len, uint64_t *steps);

/* Translates to the syntax of PCRE2. -EINVAL: not a pattern of ECMA-262; -ENOMEM,
 * -EMSGSIZE of the buffer. */
int ecma_pattern(const char *, size_t len, struct buf *out);

/* ---- schema.c ------------------------------------------------------------- */

struct keyword;

struct rule { /* one keyword of one schema */
	const struct keyword *keyword;
	uint32_t value; /* of the keyword */
	uint32_t a, b;  /* related values of the schema; NO_VALUE: none */
	uint32_t n;     /* a count, a set of types or the number of a pattern */
	uint32_t most;
};

struct node { /* one schema: an object or a boolean */
	uint32_t value;
	uint32_t rule, rule_n;
	bool tracks; /* has a keyword that asks what others have checked */
};

#define PATTERNS_MAX 256

struct schema {
	struct value_tree tree;
	uint32_t *node_of; /* of a value; NO_VALUE: not a schema */
	struct node *node;
	uint32_t node_n, node_cap;
	struct rule *rule;
	uint32_t rule_n, rule_cap;
	struct pattern *pattern[PATTERNS_MAX]; /* NULL: cannot be checked */
	uint32_t pattern_n;
	struct places *places; /* while it is compiled */
	schema_warn_fn *warn;  /* likewise */
	void *warn_arg;
};

/* Reports a value of the schema that is not checked. */
void schema_warn(const struct schema *, uint32_t value, const char *, ...)
    __attribute__((format(printf, 3, 4)));
/* This value is a schema: it gets a node, now or later. 0, -ENOMEM. */
int schema_add(struct schema *, uint32_t value);
/* The same for each member or item. */
int schema_add_each(struct schema *, uint32_t container);
/* Compiles a pattern; one that cannot be checked is reported. 0, -ENOMEM. */
int schema_add_pattern(struct schema *, uint32_t value, const char *text, size_t len);

/* ---- reference.c ---------------------------------------------------------- */

int places_new(const struct schema *, struct places **ret);
void places_free(struct places *);
/* The value to which a reference in the schema `from` leads: 0; -ENOENT: there is
 * none; -EXDEV: out of the document; -ENOMEM. */
int places_find(
    const struct schema *, uint32_t from, const struct value *reference, uint32_t *ret);

/* ---- check.c -------------------------------------------------------------- */

#define FAILURE_RULES 8

struct failure {
	const struct rule *rule[FAILURE_RULES]; /* alternatives */
	size_t rule_n;
	uint32_t at;    /* a value of the arguments */
	bool name;      /* its key, and not the value, does not match */
	uint32_t found; /* a count, a value: as the keyword says */
	uint32_t second;
};

struct check {
	const struct schema *schema;
	struct value_tree tree;
	uint64_t steps; /* left */
	uint32_t depth;
	uint32_t named; /* the member whose key is in the tree's spare value */
	struct failure failure;
	const char *limit; /* why it cannot be checked */
	uint32_t limit_at;
	/* Marks of the children that were checked, of each schema that is being
	 * evaluated. */
	uint64_t *mark;
	size_t mark_n, mark_cap;
};

/* A set of marks in check.mark: 0 for none, or its index plus one. */
typedef size_t marks;

/* 0: matches; -EBADMSG: does not, and check.failure says why; other errors end the
 * check. schema is a value of the schema. */
int eval_value(struct check *, uint32_t schema, uint32_t at, marks);
int eval_spend(struct check *, uint64_t steps);
/* The check ends here: returns error. */
int eval_limit(struct check *, int error, uint32_t at, const char *what);
/* Does the text of this value match? An uncheckable pattern: 1. */
int eval_pattern(
    struct check *, uint32_t pattern, uint32_t at, const char *text, size_t len);
/* Returns -EBADMSG. */
int eval_fail(struct check *, const struct rule *, uint32_t at, uint32_t found);
/* The better of two failures of alternatives stays in *best. */
void failure_merge(const struct check *, struct failure *best, const struct failure *);
void marks_set(struct check *, marks, uint32_t child);
void marks_set_all(struct check *, marks, uint32_t n);
bool marks_has(const struct check *, marks, uint32_t child);

/* ---- equality.c ----------------------------------------------------------- */

/* 1: equal; 0; or an error that ends the check. */
int equal_values(struct check *, uint32_t at, const struct value_tree *, uint32_t other);
/* Finds two equal items: 1, 0 or an error. */
int equal_items(struct check *, uint32_t array, uint32_t *ret_one, uint32_t *ret_two);

/* ---- failure.c ------------------------------------------------------------ */

struct line { /* text that may be cut at its end */
	char *text;
	size_t cap, len;
};
void line_put(struct line *, const char *, ...) __attribute__((format(printf, 2, 3)));
/* Foreign text, escaped, at most 80 characters. */
void line_quote(struct line *, const char *text, size_t len);
/* The JSON pointer of a value. */
void line_pointer(struct line *, const struct value_tree *, uint32_t value);
/* "a string" */
/* The whole sentence. */
void failure_tell(const struct check *, char why[SCHEMA_WHY_MAX]);

/* ---- the keywords ----------------------------------------------------------- */

#define TYPE_BIT(t)  (1u << (t))
#define TYPE_INTEGER (1u << 16)
#define FOR_STRING   TYPE_BIT(JSON_IS_STRING)
#define FOR_NUMBER   TYPE_BIT(JSON_IS_NUMBER)
#define FOR_ARRAY    TYPE_BIT(JSON_IS_ARRAY)
#define FOR_OBJECT   TYPE_BIT(JSON_IS_OBJECT)
#define FOR_ANY      (~0u)

enum keyword_kind { /* of alternatives that fail at one place, which are told */
	KIND_OTHER,
	KIND_TYPE,  /* together */
	KIND_VALUE, /* together, and before all others: a value that distinguishes forms */
};

struct keyword {
	const char *name;
	unsigned int types; /* of values; others match */
	/* 1: rule is filled in; 0: nothing to check; -EINVAL: the keyword's value is
	 * invalid; other errors end the compilation. schema: the object with the
	 * keyword. */
	int (*compile)(struct schema *, uint32_t schema, struct rule *);
	int (*check)(struct check *, const struct rule *, uint32_t at, marks);
	/* expected X, found Y; NULL: the keyword fails by the failure of another */
	void (*tell)(const struct check *, const struct failure *, struct line *);
	enum keyword_kind kind;
	bool at_least, strict; /* bounds.c */
	const char *unit;
	bool tracks;
};

struct keyword_table {
	const struct keyword *row;
	size_t n;
};
extern const struct keyword_table values_keywords, bounds_keywords, members_keywords,
    items_keywords, alternatives_keywords, unevaluated_keywords;

#endif
