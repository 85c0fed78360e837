/*
 * Shared by parse.c (files, servers, blocks, recovery), parse_file.c (the other
 * statements of a file), include.c, parse_grant.c (grants of a server) and
 * parse_condition.c.
 */
#ifndef KENNEL_POLICY_LANG_PARSE_H
#define KENNEL_POLICY_LANG_PARSE_H

#include "policy/base/diag.h"
#include "policy/base/source.h"
#include "policy/lang/expand.h"
#include "policy/lang/keyword.h"
#include "policy/lang/lex.h"

struct parser {
	struct lexer lex;
	struct token tok; /* the current token */
	struct diag *diag;
	struct diag mute; /* counts further errors in a skipped statement */
	struct tree *tree;
	int error; /* 0 or -ENOMEM, which stops everything */
	struct lets *lets;
	struct opened *opened;
	uint32_t file; /* index of tree.source */
};

/* A file of this run: its path and the names visible in it. */
struct opened_file {
	const char *path; /* NULL: standard input */
	const struct policy_reader *reader;
	struct lets *lets;
	uint32_t from;  /* file that first included it; itself: a given source */
	uint32_t depth; /* nesting of includes */
	bool done;      /* completely read */
};

struct opened {
	struct opened_file *file; /* index of tree.source */
	size_t n;
	size_t len; /* bytes of all files */
};

/* ---- parse.c ------------------------------------------------------------- */

/* Moves to the next token; to the end of the text after a memory error. */
void parse_advance(struct parser *);
/* Is the current token of this kind? */
bool parse_at(const struct parser *, enum token_kind);
enum keyword parse_keyword(const struct parser *);
/*
 * The keyword of the current token at the start of a file-level statement,
 * where context keywords count too.
 */
enum keyword parse_statement(const struct parser *);
/* May the current word be at one of these places (enum keyword_where)? */
bool parse_place(const struct parser *, unsigned int where);
/* The end of a statement: a newline, a `}`, the end of the text. */
bool parse_at_end(const struct parser *);
/* A bare word with this spelling. */
bool parse_word_is(const struct word *, const char *);

/* The current token, for messages. */
const char *parse_token_text(const struct parser *);
void parse_not_in_version(struct parser *);
void parse_unknown(struct parser *, const char *what, unsigned int where);
void parse_reserved(struct parser *);

/* Skips the rest of a statement; top: one of the file, else of a server. */
void parse_skip(struct parser *, bool top);

/* Appends the current word to an array; for $name of a list, all its words. */
void parse_push(struct parser *, struct word **, size_t *n);
/* Reads words up to a reserved one, a mark, or max words. */
void parse_words(struct parser *, struct word **, size_t *n, size_t max);
/* Expects and passes `{`; false: reported and skipped. */
bool parse_open(struct parser *, const char *what);
/*
 * Parses the file that files.file[index] and tree.source[index] describe.  0,
 * -ENOMEM.
 */
int parse_file(struct tree *, struct opened *, uint32_t index, struct diag *);

/* ---- include.c ----------------------------------------------------------- */
void include_statement(struct parser *);
/* Adds a row of opened for every source given by the caller.  0 or -ENOMEM. */
int include_given(struct tree *, struct opened *);
/* ---- parse_file.c -------------------------------------------------------- */
void top_let(struct parser *);
void top_never(struct parser *);
void top_expect(struct parser *);

/* ---- parse_manifest.c ---------------------------------------------------- */
void top_manifest(struct parser *);
void top_declare(struct parser *);
void top_catalog(struct parser *);

/* ---- parse_condition.c --------------------------------------------------- */

/*
 * Parses the expression after `when`, which is already passed.  The word before
 * it must have been lexed with parens on.  NULL: reported.
 */
struct cond *when_parse(struct parser *);

/* ---- parse_grant.c ------------------------------------------------------- */

/* Parses the current grant into the server; leaves it out after an error. */
void parse_grant(struct parser *, struct server *);

/*
 * The file that `path` in a statement of file `from` refers to (include.c): in
 * or below that file's directory, or absolute.  NULL with *ret_why: the path is
 * not allowed.
 */
const char *include_path(
    struct tree *, const char *from, const char *path, const char **ret_why);

#endif
