/*
 * Private to "kennel policy": code that its verbs share.  main.c has the table
 * of verbs, verb.c parses arguments and reads files, each verb_*.c is a verb.
 */
#ifndef KENNEL_POLICY_CLI_VERB_H
#define KENNEL_POLICY_CLI_VERB_H

#include "policy/base/output.h"
#include "policy/base/source.h"
#include "policy/sealed/policy.h"
#include "shim/base/buf.h"

#define VERB_WORDS_MAX 1024 /* files or request words in one call */

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

/* Options.  The row of a verb lists those that it accepts. */
enum {
	OPT_OUT = 1,        /* -o FILE */
	OPT_JSON = 2,       /* --json */
	OPT_CHECK = 4,      /* --check */
	OPT_WRITE = 8,      /* -w */
	OPT_THRESHOLD = 16, /* --threshold N */
	OPT_HTML = 32,      /* --html */
	OPT_CALLER = 128,   /* --from PATH, --in PATH, --env NAME */
	OPT_MUTATION = 64,  /* --mutation */
	OPT_SIGN = 256,     /* --key FILE, --counter N, --until DAY, --current FILE */
	OPT_GIT = 512,      /* --git REV */
};

struct args {
	const char *word[VERB_WORDS_MAX];
	size_t word_n;
	const char *out, *threshold, *from, *in, *key, *counter, *until, *current, *git;
	const char *env[VERB_WORDS_MAX];
	size_t env_n;
	unsigned int given; /* OPT_*, or'ed */
};

struct verb {
	const char *name; /* its help is in help.c */
	int (*run)(const struct args *);
	unsigned int may; /* accepted OPT_*, or'ed */
	size_t word_min, word_max;
	size_t plain; /* no options after this many words; 0: no such limit */
};

/* Prints one line with the reason, then the verb's usage; returns EXIT_USAGE. */
int verb_usage(const char *why, const char *what);
/* The same for an option that the verb does not have. */
int verb_unknown_option(const char *word);
/* 0 or an exit status, with the reason reported. */
int verb_args(const struct verb *, int argc, char **argv, struct args *ret);

/* ---- reading: 0 or an exit status, with the reason reported -------------- */

struct texts {
	struct policy_source source[VERB_WORDS_MAX];
	char *data[VERB_WORDS_MAX];
	size_t n;
};

int texts_read(const char *const *path, size_t n, size_t max, struct texts *ret);
void texts_free(struct texts *);
bool text_is_sealed(const struct policy_source *);

/* A policy to query: a sealed file used as it is, or a text that is compiled. */
struct compiled {
	struct policy p;
	struct buf bytes; /* if compiled from a text */
	char *data;       /* if read from a sealed file */
};

int compiled_read(const char *path, struct compiled *ret);
/* The same, with another reader for the text and what it includes; for a text on standard
 * input only for what it includes, and NULL: it may include nothing. */
int compiled_read_by(
    const char *path, const struct policy_reader *, struct compiled *ret);
void compiled_free(struct compiled *);
/* The server with this name; NULL: not found, reported. */
const struct sealed_server *compiled_server(
    const struct compiled *, const char *path, const char *name);

/* Warns about each server of these texts that another text of the user's directory
 * "policies" defines too, if one of these is there: a start by name refuses both. Returns
 * the number of warnings. */
size_t same_server_warn(const struct args *, const struct texts *);

/* The compiler's result as an exit status. */
int verb_status(int r);

/* ---- writing ------------------------------------------------------------------ */

/* The directory "sealed" or "policies" of this user, which may be missing. 0 or -errno. */
int own_folder(const char *name, char *out, size_t cap);
/*
 * Writes a temporary file next to the target, then renames it: the target is
 * never incomplete.  0 or -errno.
 */
int verb_write(const char *path, const void *, size_t len, unsigned int mode);
/* Reports what failed; returns EXIT_CONFIG. */
int verb_unable(const char *what, const char *path, int r);
/* Flushes standard output: 0, or EXIT_CONFIG after reporting an error. */
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
/* verb_sign.c */
int verb_key(const struct args *);
int verb_sign(const struct args *);
int verb_verify(const struct args *);
int verb_test(const struct args *);

#endif
