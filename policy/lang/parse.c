/*
 * Parses words into a tree: files, servers, blocks.  A statement with an error
 * is reported, skipped and left out; parsing continues after it.
 */
#define DIAG_CODE "syntax"

#include "policy/base/arena.h"
#include "policy/base/fs_cache.h"
#include "policy/lang/parse.h"
#include "policy/lang/scalar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void
parse_advance(struct parser *p)
{
	if (p->error == 0)
		p->error = lex_next(&p->lex, &p->tok);
	if (p->error != 0)
		p->tok.kind = TOKEN_END;
}

bool
parse_at(const struct parser *p, enum token_kind kind)
{
	return p->tok.kind == kind;
}

enum keyword
parse_keyword(const struct parser *p)
{
	return parse_at(p, TOKEN_WORD) ? p->tok.word.kw : KW_NONE;
}

/* Can the current word begin a statement of this place? */
bool
parse_place(const struct parser *p, unsigned int where)
{
	return (keyword_row(parse_keyword(p))->where & where) != 0;
}

bool
parse_at_end(const struct parser *p)
{
	return parse_at(p, TOKEN_NEWLINE) || parse_at(p, TOKEN_CLOSE) ||
	       parse_at(p, TOKEN_END);
}

/*
 * Describes the token; never the text of a word, which may be a misplaced
 * secret.
 */
const char *
parse_token_text(const struct parser *p)
{
	static const char *const names[] = {
	    [TOKEN_END] = "end of file",
	    [TOKEN_NEWLINE] = "end of line",
	    [TOKEN_WORD] = "word",
	    [TOKEN_OPEN] = "`{`",
	    [TOKEN_CLOSE] = "`}`",
	    [TOKEN_LIST] = "`[`",
	    [TOKEN_UNLIST] = "`]`",
	    [TOKEN_COMMA] = "`,`",
	    [TOKEN_LEFT] = "`(`",
	    [TOKEN_RIGHT] = "`)`",
	};

	if (parse_keyword(p) != KW_NONE)
		return keyword_name(parse_keyword(p));
	return names[p->tok.kind];
}

/* ---- words --------------------------------------------------------------- */

static void
push_one(struct parser *p, struct word **array, size_t *n, const struct word *one)
{
	struct word *w = arena_push(p->tree->arena, *array, *n, sizeof(*w));

	if (w == NULL) {
		p->error = -ENOMEM;
		return;
	}
	w[(*n)++] = *one;
	*array = w;
}

void
parse_push(struct parser *p, struct word **array, size_t *n)
{
	const struct let *l = p->tok.word.let;
	struct word w;
	size_t i;

	if (l == NULL || l->list == NULL) {
		push_one(p, array, n, &p->tok.word);
		return;
	}
	for (i = 0; i < l->list_n; i++) {
		w = p->tok.word;
		w.text = l->list[i].text;
		w.len = l->list[i].len;
		w.literal = l->list[i].literal;
		w.rest = i > 0;
		push_one(p, array, n, &w);
	}
}

void
parse_words(struct parser *p, struct word **array, size_t *n, size_t max)
{
	while (parse_at(p, TOKEN_WORD) && p->tok.word.kw == KW_NONE && *n < max) {
		parse_push(p, array, n);
		parse_advance(p);
	}
}

/* ---- recovery ------------------------------------------------------------ */

/*
 * Skips the rest of a statement and its { }, up to the newline or to the `}`
 * that closes the server.  An unclosed { } ends where a statement begins.
 */
void
parse_skip(struct parser *p, bool top)
{
	size_t depth = 0;
	bool fresh = false; /* at the start of a line */

	p->lex.flat = p->lex.commas = p->lex.parens = false;
	p->lex.diag = &p->mute;
	while (!parse_at(p, TOKEN_END)) {
		if (parse_at(p, TOKEN_NEWLINE) && depth == 0)
			break;
		if (parse_at(p, TOKEN_CLOSE)) {
			if (depth == 0 && !top)
				break;
			if (depth > 0)
				depth--;
		}
		if (parse_at(p, TOKEN_OPEN))
			depth++;
		if (fresh && parse_place(p,
				 top ? WHERE_TOP : WHERE_TOP | WHERE_GRANT | WHERE_ASKED))
			break;
		fresh = parse_at(p, TOKEN_NEWLINE);
		parse_advance(p);
	}
	p->lex.diag = p->diag;
}

void
parse_not_in_version(struct parser *p)
{
	diag_error(p->diag, p->tok.at, "`%s` is not supported in this version",
	    keyword_name(parse_keyword(p)));
}

/*
 * Reports a word that is not allowed here, with a suggestion.  A word that is
 * not near any keyword may be a misplaced secret: neither it nor its line is
 * shown.
 */
void
parse_unknown(struct parser *p, const char *what, unsigned int where)
{
	const struct word *w = &p->tok.word;
	enum keyword near = keyword_near(w->raw, w->raw_len, where);
	char shown[DIAG_TEXT_CAP];
	bool hide = p->diag->hide_line;

	p->diag->hide_line = hide || near == KW_NONE || keyword_row(near)->hidden;
	diag_text(shown, w->raw, w->raw_len);
	if (near != KW_NONE && strcmp(shown, keyword_name(near)) == 0)
		diag_error(p->diag, w->at, "`%s` is not allowed here", shown);
	else if (near != KW_NONE)
		diag_error(p->diag, w->at, "unknown %s `%s`: did you mean `%s`?", what,
		    shown, keyword_name(near));
	else if (w->kw != KW_NONE)
		diag_error(p->diag, w->at, "`%s` is not a valid %s here",
		    keyword_name(w->kw), what);
	else
		diag_error(p->diag, w->at, "unknown %s", what);
	p->diag->hide_line = hide;
}

/* A reserved word where it is not allowed: the arguments end before it. */
void
parse_reserved(struct parser *p)
{
	diag_error(p->diag, p->tok.at,
	    "`%s` is a keyword: write \"%s\" in quotes to use it as text",
	    keyword_name(parse_keyword(p)), keyword_name(parse_keyword(p)));
}

bool
parse_word_is(const struct word *w, const char *text)
{
	return !w->quoted && w->raw_len == strlen(text) &&
	       memcmp(w->raw, text, w->raw_len) == 0;
}

/* ---- server -------------------------------------------------------------- */

/* `allow tool NAME`: the verdict is first. */
static void
verdict_first(struct parser *p)
{
	const char *verdict = keyword_name(parse_keyword(p));
	struct at at = p->tok.at;
	enum keyword kw;

	parse_advance(p);
	kw = parse_at(p, TOKEN_WORD) ? parse_statement(p) : KW_NONE;
	if (kw != KW_NONE && !keyword_row(kw)->verdict)
		diag_error(p->diag, at,
		    "expected a grant, found `%s`: `%s` takes no verdict, remove `%s`",
		    verdict, keyword_name(kw), verdict);
	else if (kw == KW_NONE)
		diag_error(p->diag, at,
		    "expected a grant before `%s`: write `tool %s NAME`", verdict,
		    verdict);
	else
		diag_error(p->diag, at,
		    "expected a grant, found its verdict: write `%s %s`, not `%s %s`",
		    keyword_name(kw), verdict, verdict, keyword_name(kw));
}

static void
body_stranger(struct parser *p)
{
	enum keyword kw = parse_keyword(p);

	p->diag->hide_line = parse_at(p, TOKEN_WORD);
	if (parse_at(p, TOKEN_WORD) && kw == KW_NONE && !p->tok.word.quoted) {
		p->diag->hide_line = false; /* a keyword: show it */
		parse_unknown(p, "keyword", WHERE_GRANT);
	} else if (kw == KW_LET)
		diag_error(p->diag, p->tok.at, "`let` is not allowed inside a server");
	else if (kw == KW_ALLOW || kw == KW_ASK || kw == KW_DENY)
		verdict_first(p);
	else
		diag_error(p->diag, p->tok.at, "expected a grant, found %s",
		    parse_token_text(p));
	p->diag->hide_line = false;
}

/* A file-level statement inside a server: the `}` is missing. */
static bool
body_is_left_open(const struct parser *p)
{
	return parse_place(p, WHERE_TOP) && !parse_place(p, WHERE_GRANT) &&
	       parse_keyword(p) != KW_LET;
}

static void
body(struct parser *p, struct server *server, struct at open)
{
	while (!parse_at(p, TOKEN_CLOSE)) {
		if (parse_at(p, TOKEN_END) || body_is_left_open(p)) {
			diag_error(p->diag, open, "unclosed `{`: expected `}`");
			server->broken = true;
			return;
		}
		if (parse_at(p, TOKEN_NEWLINE)) {
			parse_advance(p);
		} else if ((keyword_row(parse_statement(p))->where & WHERE_GRANT) != 0) {
			parse_grant(p, server);
		} else {
			body_stranger(p);
			server->broken = true;
			parse_skip(p, false);
		}
	}
	parse_advance(p);
}

bool
parse_open(struct parser *p, const char *what)
{
	if (!parse_at(p, TOKEN_OPEN)) {
		diag_error(p->diag, p->tok.at, "expected `{` on the line of %s", what);
		while (!parse_at(p, TOKEN_OPEN) && !parse_at_end(p))
			parse_advance(p);
		while (parse_at(p, TOKEN_NEWLINE))
			parse_advance(p);
		if (!parse_at(p, TOKEN_OPEN))
			return false;
	}
	parse_advance(p);
	return true;
}

/* NAME { ... }: the part that servers and blocks share. */
static bool
named_body(struct parser *p, struct server *s, const char *what)
{
	struct at open;

	s->at = p->tok.at;
	parse_advance(p);
	if (!parse_at(p, TOKEN_WORD)) {
		diag_error(p->diag, p->tok.at, "expected a name: %s NAME {", what);
		parse_skip(p, true);
		return false;
	}
	if (parse_keyword(p) != KW_NONE)
		parse_reserved(p);
	s->name = p->tok.word;
	if (!server_name_is_valid(s->name.text, s->name.len))
		diag_error(
		    p->diag, s->name.at, "invalid %s name: use " SERVER_NAME_TAKES, what);
	parse_advance(p);
	open = p->tok.at;
	if (!parse_open(p, "the name"))
		return false;
	body(p, s, open);
	if (!s->broken && !parse_at_end(p))
		diag_error(p->diag, p->tok.at, "expected a newline after `}`");
	return true;
}

static void
server(struct parser *p)
{
	struct server s = {.stmt_n = 0}, *array;
	struct tree *t = p->tree;

	if (!named_body(p, &s, "server"))
		return;
	array = arena_push(t->arena, t->server, t->server_n, sizeof(s));
	if (array == NULL) {
		p->error = -ENOMEM;
		return;
	}
	array[t->server_n++] = s;
	t->server = array;
}

static void
block(struct parser *p)
{
	struct tree *t = p->tree;
	struct block b = {.used = false}, *own = NULL, **array;
	const struct block *old;
	const char *path;

	if (!named_body(p, &b.body, "block"))
		return;
	old = block_find(p->lets, b.body.name.text, b.body.name.len);
	if (old != NULL) {
		path = t->source[old->body.at.file].path;
		diag_error(p->diag, b.body.name.at,
		    "duplicate block `%s`: first defined %s%s%s%u", b.body.name.text,
		    path == NULL ? "on line " : "at ", path == NULL ? "" : path,
		    path == NULL ? "" : ":", old->body.at.line);
		return;
	}
	/* NOLINTNEXTLINE(bugprone-sizeof-expression): its elements are pointers */
	array = arena_push(t->arena, t->block, t->block_n, sizeof(*array));
	own = arena_alloc(t->arena, sizeof(*own));
	if (array == NULL || own == NULL ||
	    known_add(t->arena, p->lets, b.body.name.text, b.body.name.len, NULL, own) !=
		0) {
		p->error = -ENOMEM;
		return;
	}
	*own = b;
	array[t->block_n++] = own;
	t->block = array;
}

/* ---- file ---------------------------------------------------------------- */

static void
top_stranger(struct parser *p)
{
	p->diag->hide_line = keyword_row(parse_keyword(p))->hidden || p->tok.word.quoted;
	if (parse_place(p, WHERE_GRANT))
		diag_error(p->diag, p->tok.at,
		    "`%s` is only allowed inside a server: server NAME { ... }",
		    keyword_name(parse_keyword(p)));
	else if (parse_at(p, TOKEN_WORD) && parse_keyword(p) == KW_NONE &&
		 !p->tok.word.quoted)
		parse_unknown(p, "keyword", WHERE_TOP);
	else if (parse_at(p, TOKEN_CLOSE))
		diag_error(p->diag, p->tok.at, "unexpected `}`: no `{` is open");
	else
		diag_error(p->diag, p->tok.at, "expected a statement, found %s",
		    parse_token_text(p));
	if (parse_at(p, TOKEN_CLOSE))
		parse_advance(p);
	else
		parse_skip(p, true);
	p->diag->hide_line = false;
}

typedef void top_fn(struct parser *);

static top_fn *const statements[KW_END] = {
    [KW_BLOCK] = block,
    [KW_CATALOG] = top_catalog,
    [KW_EXPECT] = top_expect,
    [KW_INCLUDE] = include_statement,
    [KW_LET] = top_let,
    [KW_NEVER] = top_never,
    [KW_OPTIONAL] = top_declare,
    [KW_OVERRIDE] = top_manifest,
    [KW_REQUIRED] = top_declare,
    [KW_SECRET] = top_manifest,
    [KW_SERVER] = server,
    [KW_TOKEN] = top_manifest,
};

enum keyword
parse_statement(const struct parser *p)
{
	const struct word *w = &p->tok.word;
	enum keyword kw = parse_keyword(p);

	if (kw == KW_NONE && parse_at(p, TOKEN_WORD) && !w->quoted)
		kw = keyword_context(w->raw, w->raw_len);
	return kw;
}

int
parse_file(struct tree *tree, struct opened *opened, uint32_t index, struct diag *diag)
{
	const struct policy_source *s = &tree->source[index];
	struct parser p = {.diag = diag,
	    .tree = tree,
	    .opened = opened,
	    .file = index,
	    .lets = opened->file[index].lets};

	if (s->len > SOURCE_LEN_MAX) {
		diag_error(diag, (struct at){.file = index},
		    "the file is larger than %u MiB", SOURCE_LEN_MAX >> 20);
		return 0;
	}
	lex_scan(s, index, diag);
	lex_init(&p.lex, s, index, tree->arena, diag);
	p.lex.lets = p.lets;
	parse_advance(&p);
	while (!parse_at(&p, TOKEN_END)) {
		if (parse_at(&p, TOKEN_NEWLINE))
			parse_advance(&p);
		else if (statements[parse_statement(&p)] != NULL)
			statements[parse_statement(&p)](&p);
		else
			top_stranger(&p);
	}
	return p.error;
}

int
tree_parse(
    const struct policy_source *source, size_t n, struct diag *diag, struct tree *ret)
{
	struct tree t = {.source = source, .source_n = n, .source_own = n};
	struct opened opened = {.n = 0};
	size_t i;
	int r = 0;

	t.arena = arena_new();
	if (t.arena == NULL)
		return -ENOMEM;
	r = include_given(&t, &opened);
	for (i = 0; i < n && r == 0; i++) {
		if (opened.file[i].done)
			continue; /* already included by another file */
		r = parse_file(&t, &opened, (uint32_t)i, diag);
		opened.file[i].done = true;
	}
	if (r != 0) {
		diag->source = source;
		diag->source_n = n;
		arena_free(t.arena);
	} else
		*ret = t;
	return r;
}

void
tree_free(struct tree *t)
{
	fs_cache_free(t->fs_cache);
	arena_free(t->arena);
	memset(t, 0, sizeof(*t));
}

struct fs_cache *
tree_fs_cache(struct tree *t)
{
	if (t->fs_cache == NULL)
		t->fs_cache = fs_cache_new();
	return t->fs_cache;
}
