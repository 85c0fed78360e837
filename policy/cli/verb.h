/*
 * Private to "kennel policy": what its verbs share.  main.c is their table,
 * verb.c reads arguments and files, verb_*.c are the verbs.
 */
#ifndef KENNEL_POLICY_VERB_H
#define KENNEL_POLICY_VERB_H

#include "policy/lang/output.h"
#include "policy/lang/ast.h"

#define VERB_WORDS_MAX 1024 /* files of one call, or words of one question */

/* kennel-policy(1), EXIT STATUS */
enum {
	EXIT_OK = 0,
	EXIT_NO = 1, /* the answer is no */
	EXIT_USAGE = 64,
	EXIT_BAD_INPUT = 65,
	EXIT_MISSING = 69,
	EXIT_CONFIG = 78,
	EXIT_FAILED = 125,
};

/* Options; which of them a verb knows stands in its row. */
enum {
	OPT_OUT = 1,        /* -o FILE */
	OPT_JSON = 2,       /* --json */
	OPT_CHECK = 4,      /* --check */
	OPT_WRITE = 8,      /* -w */
	OPT_THRESHOLD = 16, /* --threshold N */
	OPT_HTML = 32,      /* --html */
	OPT_CALLER = 128,   /* --from PATH, --in PATH, --env NAME */
	OPT_QUICK = 64,     /* --no-mutation */
	OPT_SIGN = 256,     /* --key FILE, --counter N, --until DAY */
};

struct args {
	const char *word[VERB_WORDS_MAX];
	size_t word_n;
	const char *out, *threshold, *from, *in, *key, *counter, *until;
	const char *env[VERB_WORDS_MAX];
	size_t env_n;
	unsigned int given; /* OPT_*, or'ed */
};

struct verb {
	const char *name;
	int (*run)(const struct args *); /* NULL: not in this version */
	const char *takes;               /* for the usage */
	unsigned int may;                /* OPT_*, or'ed */
	size_t word_min, word_max;
	size_t plain; /* behind so many words nothing is an option; 0: never */
};

/* One line of why, then how the verb is used; EXIT_USAGE. */
int verb_usage(const char *why, const char *what);
/* 0 or an exit status, which has been told. */
int verb_args(const struct verb *, int argc, char **argv, struct args *ret);

/* ---- reading: 0 or an exit status, the reason told --------------------------- */

struct texts {
	struct policy_source source[VERB_WORDS_MAX];
	char *data[VERB_WORDS_MAX];
	size_t n;
};

int texts_read(const char *const *path, size_t n, size_t max, struct texts *ret);
void texts_free(struct texts *);
bool text_is_sealed(const struct policy_source *);

/* A policy to ask questions of: a sealed file as it is, a text compiled. */
struct compiled {
	struct policy p;
	struct buf bytes; /* of a text */
	char *data;       /* of a file */
};

int compiled_read(const char *path, struct compiled *ret);
void compiled_free(struct compiled *);
/* The server of this name, or NULL and it has been told. */
const struct sealed_server *compiled_server(
    const struct compiled *, const char *path, const char *name);

/* What the compiler said, as an exit status. */
int verb_status(int r);

/* ---- writing ------------------------------------------------------------------ */

/* Beside the file, then in its place: it is never half there.  0 or -errno. */
int verb_write(const char *path, const void *, size_t len, unsigned int mode);
/* Tells what could not be done; EXIT_CONFIG. */
int verb_unable(const char *what, const char *path, int r);
/* Standard output is flushed and had no error: 0, or told and EXIT_CONFIG. */
int verb_flush(void);

/* ---- the verbs ------------------------------------------------------------------ */

int verb_check(const struct args *);
int verb_compile(const struct args *);
int verb_show(const struct args *);
int verb_fmt(const struct args *);
int verb_explain(const struct args *);
int verb_diff(const struct args *);
int verb_query(const struct args *);
int verb_score(const struct args *);
int verb_doc(const struct args *);
/* sign.c */
int verb_key(const struct args *);
int verb_sign(const struct args *);
int verb_verify(const struct args *);
int verb_test(const struct args *);

#endif
