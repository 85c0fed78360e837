/*
 * The keywords of the language and the form of each statement.
 */
#ifndef KENNEL_POLICY_LANG_KEYWORD_H
#define KENNEL_POLICY_LANG_KEYWORD_H

#include <stdbool.h>
#include <stddef.h>

/* Every keyword that has a row in keyword.c, sorted by name. */
enum keyword {
	KW_NONE = 0,
	KW_ABOUT,
	KW_ALLOW,
	KW_APPROVE,
	KW_AS,
	KW_ASK,
	KW_AUDIT,
	KW_AUTH,
	KW_BECAUSE,
	KW_BLOCK,
	KW_BY_ANNOTATIONS,
	KW_CA,
	KW_CATALOG,
	KW_CWD,
	KW_DENY,
	KW_DIGEST,
	KW_ELICITATION,
	KW_ENV,
	KW_EXCEPT,
	KW_EXEC,
	KW_EXPECT,
	KW_FROM,
	KW_HEADER,
	KW_HIDE,
	KW_HOSTS,
	KW_IN,
	KW_INCLUDE,
	KW_INSTEAD,
	KW_LET,
	KW_LIMIT,
	KW_MAY,
	KW_METHOD,
	KW_NET,
	KW_NEVER,
	KW_NO_PROC,
	KW_NO_SNI,
	KW_ONESHOT,
	KW_OPTIONAL,
	KW_OVERRIDE,
	KW_OWNER,
	KW_PINS,
	KW_PLAIN,
	KW_PROMPT,
	KW_QUOTA,
	KW_RATE,
	KW_READ,
	KW_REMOTE,
	KW_REQUIRE,
	KW_REQUIRED,
	KW_RESOURCE,
	KW_ROOTS,
	KW_RUN,
	KW_SAMPLING,
	KW_SCRUB,
	KW_SECRET,
	KW_SERVER,
	KW_STARTTLS,
	KW_SYSCALLS,
	KW_TICKET,
	KW_TIMEOUT,
	KW_TMP,
	KW_TO,
	KW_TOKEN,
	KW_TOOL,
	KW_TTY,
	KW_UNTIL,
	KW_USE,
	KW_USER,
	KW_WEAK,
	KW_WHEN,
	KW_WITH,
	KW_WRITE,
	KW_END,
	/* no word of its own: `with passphrase`, another qualifier than `with env` */
	KW_WITH_FACTOR = KW_END,
	KW_ROWS
};

const char *keyword_name(enum keyword);

enum keyword_where {
	WHERE_TOP = 1,    /* opens a statement of the file */
	WHERE_GRANT = 2,  /* opens a statement of a server */
	WHERE_QUAL = 4,   /* follows the words in a grant */
	WHERE_OPTION = 8, /* inside the { } of a grant */
	WHERE_LATER = 16, /* reserved for a later version */
	WHERE_ASKED = 32, /* in `never` and `expect` */
};

/* The qualifiers that a grant may have after its words. */
enum keyword_qual {
	QUAL_BECAUSE = 1, /* and instead */
	QUAL_OPTIONAL = 2,
	QUAL_EXCEPTION = 4, /* owner ticket until */
	QUAL_EXCEPT = 8,
	QUAL_CALLER = 16, /* from in with */
	QUAL_NET = 32,    /* to plain no-sni starttls */
	QUAL_WHEN = 64,
	QUAL_SECRET = 128,  /* approve as hosts may weak */
	QUAL_LIMIT = 256,   /* rate quota */
	QUAL_REMOTE = 512,  /* to ca */
	QUAL_FACTOR = 1024, /* with passphrase */
};

#define WORDS_ANY 0xffff

/* One kind of grant: its form and how many words it has. */
struct keyword_row {
	const char *name;
	unsigned int where; /* enum keyword_where, or'ed */
	bool verdict;       /* begins with allow, ask or deny */
	bool hidden;        /* its line may hold a secret and is never shown */
	bool once;          /* at most one in a server */
	bool context;       /* not reserved: a keyword only at its own place */
	unsigned int word_min, word_max;
	unsigned int quals; /* enum keyword_qual, or'ed */
	const char *takes;  /* for the message when the number of words is wrong */
};

const struct keyword_row *keyword_row(enum keyword);
/* The reserved word, or KW_NONE. */
enum keyword keyword_find(const char *, size_t len);
/* The context keyword with this name, or KW_NONE. */
enum keyword keyword_context(const char *, size_t len);
/* The nearest keyword that is allowed at this place, or KW_NONE. */
enum keyword keyword_near(const char *, size_t len, unsigned int where);

#endif
