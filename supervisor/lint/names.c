/*
 * Names of the user's servers and tools: a text that names another server or its tool, and
 * a tool whose name looks like another one.
 *
 * A name's skeleton is what it looks like: compatibility forms and look-alikes become
 * ASCII, case is left out, and so is the difference between 1, I, l and between 0 and O.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "shim/base/utf8.h"
#include "shim/host/codepoint.h"
#include "supervisor/lint/private.h"

#define NAMES_MAX    65536
#define SKELETON_MAX 512 /* bytes; a longer name looks like none */
#define COMPOUND_MIN 6   /* bytes of a tool's name that is no ordinary word */

struct known {
	char *name;         /* owned */
	char *skeleton;     /* owned; NULL: of a server */
	const char *server; /* its server, or NULL: own */
};

struct lint_names {
	char *own;
	struct known *row; /* sorted by name, other servers' names before own */
	size_t n;
	struct known *like; /* tools sorted by skeleton; names are those of row */
	size_t like_n;
};

/* ---- begin and end ------------------------------------------------------------ */

int
lint_names_new(const char *server, struct lint_names **ret)
{
	struct lint_names *names = calloc(1, sizeof(*names));

	if (names == NULL || (names->own = strdup(server)) == NULL) {
		free(names);
		return -ENOMEM;
	}
	*ret = names;
	return 0;
}

void
lint_names_free(struct lint_names *names)
{
	if (names == NULL)
		return;
	for (size_t i = 0; i < names->n; i++) {
		free(names->row[i].name);
		free(names->row[i].skeleton);
		free((char *)(uintptr_t)names->row[i].server);
	}
	free(names->row);
	free(names->like);
	free(names->own);
	free(names);
}

/* ---- skeletons ------------------------------------------------------------------ */

static char
skeleton_of(char c)
{
	static const char from[] = "1I|0O", to[] = "llloo";
	const char *at = strchr(from, c);

	if (c != '\0' && at != NULL)
		return to[at - from];
	return (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
}

/* False: it is too long. */
static bool
skeleton(const char *name, size_t len, char out[SKELETON_MAX])
{
	const char *end = name + len;
	size_t n = 0;

	while (name < end) {
		const char *from = name;
		char memory[2];
		const char *as = codepoint_ascii(utf8_take(&name, end), memory);
		size_t as_len = as != NULL ? strlen(as) : (size_t)(name - from);

		if (n + as_len >= SKELETON_MAX)
			return false;
		for (size_t i = 0; i < as_len; i++)
			out[n++] = (char)(as != NULL ? skeleton_of(as[i]) : from[i]);
	}
	out[n] = '\0';
	return true;
}

int
lint_names_add(struct lint_names *names, const char *server, const char *tool, size_t len)
{
	struct known k = {.name = tool != NULL ? strndup(tool, len) : strdup(server)};
	bool own = strcmp(server, names->own) == 0;
	char like[SKELETON_MAX];
	struct known *more = NULL;

	if (names->n == NAMES_MAX || (own && tool == NULL) ||
	    (tool != NULL && !skeleton(tool, len, like))) {
		free(k.name);
		return 0;
	}
	if (k.name != NULL && tool != NULL)
		k.skeleton = strdup(like);
	if (!own)
		k.server = strdup(server);
	if (k.name != NULL && (k.skeleton != NULL || tool == NULL) &&
	    (k.server != NULL || own))
		more = realloc(names->row, (names->n + 1) * sizeof(*more));
	if (more == NULL) {
		free(k.name);
		free(k.skeleton);
		free((char *)(uintptr_t)k.server);
		/* cppcheck-suppress memleak ; freed above, through a cast */
		return -ENOMEM;
	}
	names->row = more;
	names->row[names->n++] = k;
	return 0;
}

/* ---- order ----------------------------------------------------------------------- */

static int
by_name(const void *one, const void *two)
{
	const struct known *a = one, *b = two;
	int d = strcmp(a->name, b->name);

	return d != 0 ? d : (a->server == NULL) - (b->server == NULL);
}

static int
by_skeleton(const void *one, const void *two)
{
	const struct known *a = one, *b = two;

	return strcmp(a->skeleton, b->skeleton);
}

void
lint_names_sort(struct lint_names *names)
{
	free(names->like);
	names->like = calloc(names->n + 1, sizeof(*names->like));
	names->like_n = 0;
	if (names->n > 0)
		qsort(names->row, names->n, sizeof(*names->row), by_name);
	/* out of memory: no name looks like another */
	for (size_t i = 0; names->like != NULL && i < names->n; i++)
		if (names->row[i].skeleton != NULL)
			names->like[names->like_n++] = names->row[i];
	if (names->like_n > 0)
		qsort(names->like, names->like_n, sizeof(*names->like), by_skeleton);
}

/* ---- look-alikes ------------------------------------------------------------------ */

const char *
lint_names_like(const struct lint_names *names, const char *tool, size_t len,
    char out[LINT_SHOWN_MAX])
{
	char like[SKELETON_MAX];
	size_t low = 0, high = names->like_n;

	if (!skeleton(tool, len, like))
		return NULL;
	while (low < high) {
		size_t mid = (low + high) / 2;

		if (strcmp(names->like[mid].skeleton, like) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < names->like_n && strcmp(names->like[low].skeleton, like) == 0;
	     low++) {
		const struct known *k = &names->like[low];

		if (strlen(k->name) == len && memcmp(k->name, tool, len) == 0)
			continue;
		(void)snprintf(out, LINT_SHOWN_MAX, "%.70s of %.70s", k->name,
		    k->server != NULL ? k->server : "this server"); /* may be cut */
		return out;
	}
	return NULL;
}

bool
lint_names_mixed(const char *name, size_t len)
{
	const char *end = name + len;
	bool ascii = false, alike = false;

	while (name < end) {
		char memory[2];
		uint32_t c = utf8_take(&name, end);
		const char *as = codepoint_ascii(c, memory);

		ascii |= (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
		alike |= c >= 0x80 && as != NULL && as[0] > ' ';
	}
	return ascii && alike;
}

/* ---- names in a text ---------------------------------------------------------------- */

static bool
is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/* The first row of this name: another server's before an own one. */
static const struct known *
find(const struct lint_names *names, const char *word, size_t len)
{
	size_t low = 0, high = names->n;

	while (low < high) {
		size_t mid = (low + high) / 2;
		const char *name = names->row[mid].name;
		int d = strncmp(name, word, len);

		if (d < 0)
			low = mid + 1;
		else
			high = mid;
	}
	if (low < names->n && strncmp(names->row[low].name, word, len) == 0 &&
	    names->row[low].name[len] == '\0')
		return &names->row[low];
	return NULL;
}

const char *
lint_names_equal(const struct lint_names *names, const char *tool, size_t len)
{
	const struct known *k = find(names, tool, len), *end = names->row + names->n;

	for (; k != NULL && k < end && strlen(k->name) == len &&
	       memcmp(k->name, tool, len) == 0;
	     k++)
		if (k->server != NULL && k->skeleton != NULL)
			return k->server;
	return NULL;
}

/* Not an ordinary word: read_file, readFile, git-2. */
static bool
is_compound(const char *word, size_t len)
{
	for (size_t i = 1; i < len; i++)
		if (strchr("_-0123456789", word[i]) != NULL ||
		    (word[i] >= 'A' && word[i] <= 'Z' && word[i - 1] >= 'a'))
			return true;
	return false;
}

static bool
follows(const char *p, const char *end, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(end - p) >= n && strncasecmp(p, word, n) == 0 &&
	       (p + n == end || !is_word(p[n]) || p[n] == 's');
}

/* A server's name that is an ordinary word counts where the text means the server. */
static bool
means_server(const struct lint_text *t, const char *word, size_t len)
{
	const char *end = t->at + t->len, *after = word + len;
	char before = (char)(word > t->at ? word[-1] : ' ');

	if (is_compound(word, len))
		return true;
	if (after == end)
		return false;
	if (strchr("`'\"", before) != NULL && *after == before)
		return true;
	if (*after == ' ')
		return follows(after + 1, end, "server") ||
		       follows(after + 1, end, "tool") || follows(after + 1, end, "mcp");
	if ((*after == '.' || *after == ':') && after + 1 < end) {
		size_t n = 0;

		while (after + 1 + n < end && is_word(after[1 + n]))
			n++;
		return n > 0 && memchr(after + 1, '_', n) != NULL;
	}
	return false;
}

#define WHAT_MAX 160

/* mcp__NAME__tool, NAME__tool: of another server; what it says, or false. */
static bool
is_wire_name(
    const struct lint_names *names, const char *word, size_t len, char ret_what[WHAT_MAX])
{
	const char *end = word + len, *two;
	const struct known *k;
	bool mcp = len > 5 && memcmp(word, "mcp__", 5) == 0;
	size_t n;

	word += mcp ? 5 : 0;
	two = memmem(word, (size_t)(end - word), "__", 2);
	if (two == NULL)
		two = end;
	n = (size_t)(two - word);
	if (mcp && strlen(names->own) == n && memcmp(names->own, word, n) == 0)
		return false;
	k = mcp || two == end ? NULL : find(names, word, n);
	if (!mcp && (k == NULL || k->server == NULL || k->skeleton != NULL))
		return false;
	(void)snprintf(ret_what, WHAT_MAX, "names a tool of server %.*s",
	    n > 80 ? 80 : (int)n, word); /* or cut */
	return true;
}

static bool
is_own_tool(const struct lint_names *names, const struct known *k)
{
	const char *name = k->name;

	for (; k < names->row + names->n && strcmp(k->name, name) == 0; k++)
		if (k->server == NULL)
			return true;
	return false;
}

/* True: this word names another server or its tool, as ret_what says. */
static bool
is_foreign(const struct lint_names *names, const struct lint_text *t, const char *word,
    size_t len, char ret_what[WHAT_MAX])
{
	const struct known *k;

	if (is_wire_name(names, word, len, ret_what))
		return true;
	k = find(names, word, len);
	if (k == NULL || is_own_tool(names, k))
		return false;
	if (k->skeleton == NULL) {
		(void)snprintf(ret_what, WHAT_MAX, "names server %.80s", k->name);
		return means_server(t, word, len);
	}
	(void)snprintf(ret_what, WHAT_MAX, "names %.60s, a tool of server %.60s", k->name,
	    k->server); /* or cut */
	return len >= COMPOUND_MIN && is_compound(word, len);
}

void
lint_names_in(const struct lint_names *names, struct lint *l, const struct lint_text *t)
{
	const char *p = t->at, *end = t->at + t->len;
	char what[WHAT_MAX];

	while (p < end) {
		const char *word = p;

		while (p < end && is_word(*p))
			p++;
		if (p > word && is_foreign(names, t, word, (size_t)(p - word), what))
			lint_part_about(l, LINT_SHADOW, t, (size_t)(word - t->at),
			    (size_t)(p - t->at), what);
		p += p == word;
	}
}
