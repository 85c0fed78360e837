/*
 * The keywords of the language: one row each, in the order of enum keyword,
 * which is sorted by name.  WHERE_LATER marks a keyword that is reserved for a
 * later version: using it is an error that names it.  A context keyword is not
 * reserved: it is an ordinary word everywhere except at its own place.
 */
#include "policy/base/diag.h"
#include "policy/lang/keyword.h"
#include "policy/lang/keyword.h"
#include "shim/base/array.h"
#include "shim/help/near_word.h"

#include <string.h>

#define TOP                .where = WHERE_TOP
#define GRANT              .where = WHERE_GRANT
#define ROW(kw, text, ...) [kw] = {.name = (text), __VA_ARGS__}
#define NUM(min, max)      .word_min = (min), .word_max = (max)

#define ASKED                  (WHERE_GRANT | WHERE_ASKED)
#define CONTEXT(kw, text, ...) ROW(kw, text, .context = true, __VA_ARGS__)
#define MCP_QUALS              (QUAL_BECAUSE | QUAL_EXCEPTION | QUAL_EXCEPT | QUAL_WHEN | QUAL_FACTOR)
#define OFFER \
	.where = ASKED, .verdict = true, .once = true, NUM(0, 0), \
	.quals = QUAL_BECAUSE | QUAL_EXCEPTION, .takes = "allow, ask or deny"

static const struct keyword_row rows[KW_ROWS] = {
    ROW(KW_ABOUT, "about", GRANT, .once = true, NUM(1, 1), .takes = "one quoted string"),
    ROW(KW_ALLOW, "allow", .where = 0),
    ROW(KW_APPROVE, "approve", .where = WHERE_OPTION, NUM(1, 1), .quals = QUAL_SECRET,
	.takes = "session or per-call, and perhaps with passphrase or with key"),
    CONTEXT(KW_AS, "as", .where = WHERE_OPTION, NUM(1, 1), .quals = QUAL_SECRET,
	.takes = "file"),
    ROW(KW_ASK, "ask", .where = 0),
    ROW(KW_AUDIT, "audit", GRANT, NUM(2, WORDS_ANY),
	.takes = "args full, result full (and names of tools), or sync strict"),
    CONTEXT(KW_AUTH, "auth", GRANT, .once = true, NUM(2, 11),
	.takes = "bearer VARIABLE, api-key HEADER VARIABLE, or oauth2 client ID ..."),
    ROW(KW_BECAUSE, "because", .where = WHERE_QUAL, NUM(1, 1), .quals = QUAL_BECAUSE,
	.takes = "one quoted string"),
    ROW(KW_BLOCK, "block", TOP),
    CONTEXT(KW_BY_ANNOTATIONS, "by-annotations", .where = 0),
    CONTEXT(KW_CA, "ca", .where = WHERE_QUAL, NUM(1, 1), .quals = QUAL_REMOTE,
	.takes = "one path: the certificates to trust"),
    CONTEXT(KW_CATALOG, "catalog", TOP, .hidden = true),
    ROW(KW_CWD, "cwd", GRANT, .once = true, NUM(1, 1), .takes = "one path"),
    ROW(KW_DENY, "deny", .where = 0),
    CONTEXT(KW_DIGEST, "digest", GRANT, NUM(1, 2),
	.takes = "a program, and its sha256 if it is known"),
    ROW(KW_ELICITATION, "elicitation", OFFER),
    ROW(KW_ENV, "env", GRANT, .hidden = true, NUM(1, 2),
	.takes = "a name, or a name, `=` and one value"),
    ROW(KW_EXCEPT, "except", .where = WHERE_QUAL, NUM(1, WORDS_ANY), .quals = QUAL_EXCEPT,
	.takes = "what to exclude"),
    ROW(KW_EXEC, "exec", .where = ASKED, .verdict = true, NUM(1, WORDS_ANY),
	.quals = QUAL_BECAUSE | QUAL_EXCEPTION | QUAL_EXCEPT | QUAL_CALLER | QUAL_FACTOR,
	.takes = "a program and its arguments"),
    ROW(KW_EXPECT, "expect", TOP),
    ROW(KW_FROM, "from", .where = WHERE_QUAL, NUM(1, WORDS_ANY), .quals = QUAL_CALLER,
	.takes = "the programs that may start it"),
    CONTEXT(KW_HEADER, "header", GRANT, NUM(2, 2),
	.takes = "the name of a header and its quoted value"),
    ROW(KW_HIDE, "hide", GRANT, NUM(1, WORDS_ANY), .quals = QUAL_OPTIONAL,
	.takes = "one or more paths"),
    ROW(KW_HOSTS, "hosts", .where = WHERE_OPTION, NUM(1, WORDS_ANY), .quals = QUAL_SECRET,
	.takes = "hosts, or any"),
    ROW(KW_IN, "in", .where = WHERE_QUAL, NUM(1, 1), .quals = QUAL_CALLER,
	.takes = "one directory"),
    ROW(KW_INCLUDE, "include", TOP),
    ROW(KW_INSTEAD, "instead", .where = WHERE_QUAL, NUM(1, 1), .quals = QUAL_BECAUSE,
	.takes = "one quoted string"),
    ROW(KW_LET, "let", TOP, .hidden = true),
    ROW(KW_LIMIT, "limit", GRANT, NUM(2, WORDS_ANY),
	.takes = "pairs of a limit and its value"),
    CONTEXT(KW_MAY, "may", .where = WHERE_OPTION, NUM(1, 2), .quals = QUAL_SECRET,
	.takes = "network, files or both"),
    CONTEXT(KW_METHOD, "method", .where = ASKED, .verdict = true, NUM(1, WORDS_ANY),
	.quals = QUAL_BECAUSE | QUAL_EXCEPTION, .takes = "one or more names of methods"),
    ROW(KW_NET, "net", .where = ASKED, .verdict = true, NUM(1, WORDS_ANY),
	.quals = QUAL_BECAUSE | QUAL_EXCEPTION | QUAL_NET | QUAL_FACTOR,
	.takes = "one or more HOST:PORT"),
    ROW(KW_NEVER, "never", TOP),
    ROW(KW_NO_PROC, "no-proc", GRANT, .once = true, NUM(0, 0), .takes = "nothing"),
    CONTEXT(KW_NO_SNI, "no-sni", .where = WHERE_QUAL, NUM(0, 0), .quals = QUAL_NET,
	.takes = "nothing"),
    CONTEXT(KW_ONESHOT, "oneshot", GRANT, .once = true, NUM(0, 0), .takes = "nothing"),
    ROW(KW_OPTIONAL, "optional", .where = WHERE_OPTION, NUM(0, 0), .quals = QUAL_OPTIONAL,
	.takes = "nothing"),
    CONTEXT(KW_OVERRIDE, "override", TOP, .hidden = true),
    ROW(KW_OWNER, "owner", .where = WHERE_QUAL, NUM(1, 1), .quals = QUAL_EXCEPTION,
	.takes = "one word: the person responsible"),
    ROW(KW_PINS, "pins", GRANT, .once = true, NUM(1, 1), .takes = "one quoted path"),
    CONTEXT(KW_PLAIN, "plain", .where = WHERE_QUAL, NUM(0, 0), .quals = QUAL_NET,
	.takes = "nothing"),
    ROW(KW_PROMPT, "prompt", .where = ASKED, .verdict = true, NUM(1, WORDS_ANY),
	.quals = MCP_QUALS, .takes = "one or more names"),
    CONTEXT(KW_QUOTA, "quota", .where = WHERE_QUAL, NUM(1, 1), .quals = QUAL_LIMIT,
	.takes = "the number of calls in a session, as in 100"),
    CONTEXT(KW_RATE, "rate", .where = WHERE_QUAL, NUM(1, 1), .quals = QUAL_LIMIT,
	.takes = "calls and a duration, as in 30/1m"),
    ROW(KW_READ, "read", .where = ASKED, NUM(1, WORDS_ANY), .quals = QUAL_OPTIONAL,
	.takes = "one or more paths"),
    CONTEXT(KW_REMOTE, "remote", GRANT, .once = true, NUM(1, 1), .quals = QUAL_REMOTE,
	.takes = "one URL, as in https://mcp.example.com/mcp"),
    ROW(KW_REQUIRE, "require", GRANT, NUM(1, 2), .takes = "landlock N, cgroup or subuid"),
    CONTEXT(KW_REQUIRED, "required", TOP, .hidden = true),
    ROW(KW_RESOURCE, "resource", .where = ASKED, .verdict = true, NUM(1, WORDS_ANY),
	.quals = MCP_QUALS & ~(unsigned int)QUAL_WHEN, .takes = "one or more names"),
    ROW(KW_ROOTS, "roots", OFFER),
    ROW(KW_RUN, "run", GRANT, .once = true, NUM(1, WORDS_ANY),
	.takes = "a program and its arguments"),
    ROW(KW_SAMPLING, "sampling", OFFER),
    ROW(KW_SCRUB, "scrub", .where = WHERE_GRANT | WHERE_LATER),
    ROW(KW_SECRET, "secret", .where = WHERE_TOP | WHERE_GRANT, .hidden = true,
	NUM(3, WORDS_ANY), .quals = QUAL_SECRET,
	.takes =
	    "NAME from env NAME, file PATH, cmd PROGRAM..., vault PATH or source PATH"),
    ROW(KW_SERVER, "server", TOP),
    CONTEXT(KW_STARTTLS, "starttls", .where = WHERE_QUAL, NUM(1, 1), .quals = QUAL_NET,
	.takes = "postgres, smtp, imap or mysql"),
    ROW(KW_SYSCALLS, "syscalls", GRANT, .verdict = true, NUM(1, WORDS_ANY),
	.quals = QUAL_BECAUSE, .takes = "names of system calls"),
    ROW(KW_TICKET, "ticket", .where = WHERE_QUAL, NUM(1, 1), .quals = QUAL_EXCEPTION,
	.takes = "one word: the ticket that records the approval"),
    ROW(KW_TIMEOUT, "timeout", GRANT, NUM(2, WORDS_ANY),
	.takes = "pairs of a timeout and its duration"),
    ROW(KW_TMP, "tmp", GRANT, .once = true, NUM(1, 1), .takes = "one size"),
    ROW(KW_TO, "to", .where = WHERE_QUAL, NUM(1, 1), .quals = QUAL_NET | QUAL_REMOTE,
	.takes = "loopback, private, or ADDRESS/BITS"),
    CONTEXT(KW_TOKEN, "token", TOP, .hidden = true),
    ROW(KW_TOOL, "tool", .where = ASKED, .verdict = true, NUM(1, WORDS_ANY),
	.quals = MCP_QUALS | QUAL_LIMIT, .takes = "one or more names"),
    CONTEXT(KW_TTY, "tty", GRANT, .once = true, NUM(0, 0), .takes = "nothing"),
    ROW(KW_UNTIL, "until", .where = WHERE_QUAL, NUM(1, 1), .quals = QUAL_EXCEPTION,
	.takes = "one date, as in 2027-01-31"),
    ROW(KW_USE, "use", GRANT, NUM(1, WORDS_ANY), .takes = "names of blocks"),
    ROW(KW_USER, "user", GRANT, .once = true, NUM(1, 1),
	.takes = "one user name or number"),
    CONTEXT(KW_WEAK, "weak", .where = WHERE_OPTION, NUM(1, 1), .quals = QUAL_SECRET,
	.takes = "allowed"),
    ROW(KW_WHEN, "when", .where = WHERE_QUAL, .quals = QUAL_WHEN),
    ROW(KW_WITH, "with", .where = WHERE_QUAL, NUM(1, WORDS_ANY), .quals = QUAL_CALLER,
	.takes = "env and names of variables"),
    ROW(KW_WRITE, "write", .where = ASKED, NUM(1, WORDS_ANY), .quals = QUAL_OPTIONAL,
	.takes = "one or more paths"),
    ROW(KW_WITH_FACTOR, "with", .where = 0, NUM(1, 1), .quals = QUAL_FACTOR,
	.takes = "passphrase or key; of a program also env and names of variables"),
};

const struct keyword_row *
keyword_row(enum keyword kw)
{
	return &rows[kw < KW_ROWS ? kw : KW_NONE];
}

const char *
keyword_name(enum keyword kw)
{
	const char *name = keyword_row(kw)->name;

	return name != NULL ? name : "(no keyword)";
}

static enum keyword
find(const char *text, size_t len)
{
	size_t low = KW_NONE + 1, high = KW_END, mid;
	int c;

	while (low < high) {
		mid = (low + high) / 2;
		c = strncmp(rows[mid].name, text, len);
		if (c == 0 && rows[mid].name[len] != '\0')
			c = 1;
		if (c == 0)
			return (enum keyword)mid;
		if (c < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return KW_NONE;
}

enum keyword
keyword_find(const char *text, size_t len)
{
	enum keyword kw = find(text, len);

	return rows[kw].context ? KW_NONE : kw;
}

enum keyword
keyword_context(const char *text, size_t len)
{
	enum keyword kw = find(text, len);

	return rows[kw].context ? kw : KW_NONE;
}

enum keyword
keyword_near(const char *text, size_t len, unsigned int where)
{
	const char *list[2 * KW_END] = {NULL}, *near;
	char word[40];
	size_t i;

	if (len >= sizeof(word))
		return KW_NONE;
	memcpy(word, text, len);
	word[len] = '\0';
	/* of two equally near keywords, prefer one that this version supports */
	for (i = 0; i < KW_END; i++)
		if ((rows[i].where & where) != 0)
			list[(rows[i].where & WHERE_LATER) != 0 ? KW_END + i : i] =
			    rows[i].name;
	near = near_word(word, list, ARRAY_LEN(list));
	return near == NULL ? KW_NONE : find(near, strlen(near));
}
