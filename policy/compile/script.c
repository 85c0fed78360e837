/*
 * Scripts: two images (the script and the interpreter that its first line names) and one
 * row.  "#!/usr/bin/env X" needs a second row, because env starts X by an exec.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIAG_CODE "program"

#include "policy/compile/lower.h"
#include "policy/lang/expand.h"
#include "policy/lang/scalar.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "shim/host/path_open.h"

#define SHEBANG_MAX 255 /* bytes that the kernel reads, "#!" included */

/* The parsed text after "#!". */
struct shebang {
	char line[SHEBANG_MAX + 1];
	const char *interp;
	const char *arg; /* or NULL */
};

/*
 * Parses like the kernel: blanks, the interpreter, blanks, the rest as one
 * argument.
 */
static int
shebang_read(const char *real, struct shebang *ret)
{
	char *p, *end;
	ssize_t n;
	int fd, r;

	r = path_open_real(real, &fd);
	if (r < 0)
		return r;
	/* syscalls: read close */
	n = read(fd, ret->line, SHEBANG_MAX);
	(void)close(fd); /* only read */
	if (n < 3 || ret->line[0] != '#' || ret->line[1] != '!')
		return -ENOEXEC;
	ret->line[n] = 0;
	if ((end = strchr(ret->line, '\n')) == NULL && n == SHEBANG_MAX)
		return -ENAMETOOLONG;
	if (end != NULL)
		*end = 0;
	for (end = ret->line + strlen(ret->line); end > ret->line + 2; *--end = 0)
		if (end[-1] != ' ' && end[-1] != '\t')
			break;
	p = ret->line + 2 + strspn(ret->line + 2, " \t");
	ret->interp = p;
	p += strcspn(p, " \t");
	ret->arg = NULL;
	if (*p != 0) {
		*p++ = 0;
		ret->arg = p + strspn(p, " \t");
	}
	return ret->interp[0] == '/' ? 0 : -ENOEXEC;
}

/* X of "#!/usr/bin/env X", found in the fixed PATH. */
static int
env_find(struct lower *l, const char *name, struct at at, const char **ret)
{
	static const char *const dirs[] = {"/usr/local/bin", "/usr/bin", "/bin"};
	const struct way *w;
	size_t i;
	char *path;

	if (name == NULL || name[0] == '-' || strpbrk(name, " \t=/") != NULL) {
		diag_host(l->diag, at,
		    "its first line gives `env` more than a program name: grant the "
		    "interpreter, with the script as its argument");
		return -EINVAL;
	}
	for (i = 0; i < ARRAY_LEN(dirs); i++) {
		if ((path = lower_printf(l, "%s/%s", dirs[i], name)) == NULL)
			return -ENOMEM;
		if ((w = fs_cache_way(l->tree->fs_cache, path)) == NULL)
			return -ENOMEM;
		/* a link that is not followed is an error when it is added */
		if (w->error == -ELOOP || w->error == -EXDEV ||
		    (S_ISREG(w->mode) && (w->mode & 0111) != 0)) {
			*ret = path;
			return 0;
		}
	}
	diag_host(l->diag, at,
	    "its interpreter %s is not in /usr/local/bin, /usr/bin, /bin: write its full "
	    "path in the first line",
	    name);
	return -EINVAL;
}

/* ---- may the first line start it? ----------------------------------------- */

/* How the arguments that a first line puts before those of the caller fit a pattern. */
enum fit {
	FIT_NEVER,
	FIT_SOME, /* it depends on the caller's arguments, or cannot be known here */
	FIT_ALL,  /* for every list that the script's own line permits */
};

/* ARG_REST and ARG_OPTIONS match more than one argument; 0: it does not match this one. */
static enum sealed_arg_kind
word_fits(struct lower *l, const struct word *w, const char *text)
{
	enum sealed_arg_kind kind;
	const char *want;

	if (word_pattern(l->arena, w, &kind, &want) < 0)
		return 0; /* the checker reported it */
	return kind == ARG_REST || kind == ARG_OPTIONS ||
		       policy_arg(kind, want, strlen(want), text)
		   ? kind
		   : 0;
}

static bool
same_words(const struct word *a, size_t a_n, const struct word *b, size_t b_n)
{
	for (size_t i = 0; a_n == b_n && i < a_n; i++)
		if (strcmp(a[i].text, b[i].text) != 0 ||
		    word_is_literal(&a[i]) != word_is_literal(&b[i]))
			return false;
	return a_n == b_n;
}

/* lead: the option, if there is one, and the script; script: its line. */
static enum fit
words_fit(struct lower *l, const struct word *w, size_t n, const char *const *lead,
    size_t lead_n, const struct stmt *script)
{
	enum sealed_arg_kind kind;
	size_t i;

	for (i = 0; i < n && i < lead_n; i++) {
		kind = word_fits(l, &w[i], lead[i]);
		if (kind == ARG_REST || kind == ARG_OPTIONS)
			return kind == ARG_REST ? FIT_ALL : FIT_SOME;
		if (kind == 0)
			return FIT_NEVER;
	}
	if (i < lead_n)
		return FIT_NEVER;
	return (i < n && word_fits(l, &w[i], "") == ARG_REST) ||
		       same_words(w + i, n - i, script->word + 1, script->word_n - 1)
		   ? FIT_ALL
		   : FIT_SOME;
}

/* The same for a line with its exceptions. */
static enum fit
line_fits(struct lower *l, const struct stmt *t, const char *const *lead, size_t lead_n,
    const struct stmt *script)
{
	enum fit fit = words_fit(l, t->word + 1, t->word_n - 1, lead, lead_n, script);

	for (size_t i = 0; i < t->qual_n && fit == FIT_ALL; i++)
		if (t->qual[i].kw == KW_EXCEPT &&
		    words_fit(l, t->qual[i].word, t->qual[i].word_n, lead, lead_n,
			script) != FIT_NEVER)
			fit = FIT_SOME;
	return fit;
}

static int
refused_by_line(struct lower *l, const struct stmt *s, const struct stmt *t,
    const char *interp, const char *option)
{
	diag_error(l->diag, s->word[0].at,
	    "its first line starts %s%s%s, which line %u %s: grant another script",
	    interp, option != NULL ? " " : "", option != NULL ? option : "",
	    (unsigned)t->at.line, t->verdict == VERDICT_ASK ? "asks for" : "denies");
	return -EINVAL;
}

static int
not_granted(struct lower *l, const struct stmt *s, const char *interp,
    const char *const *lead, size_t lead_n)
{
	if (lead_n == 1) {
		content_needs(l, interp, true);
		diag_error(l->diag, s->word[0].at,
		    "its interpreter %s is not granted: add `exec allow %s %s **`",
		    interp, interp, lead[0]);
	} else
		diag_error(l->diag, s->word[0].at,
		    "its interpreter %s is not granted with the argument in its first "
		    "line: add `exec allow %s \"%s\" %s **`",
		    interp, interp, lead[0], lead[1]);
	return -EINVAL;
}

/* Does a line that denies or asks name this file, also by a link? */
static bool
names_file(struct lower *l, const struct stmt *t, const char *path, const char *real)
{
	const struct way *w = fs_cache_way(l->tree->fs_cache, t->word[0].text);
	char followed[PATH_MAX];

	return content_names(l, t, path, real) ||
	       (w != NULL && w->error == -ELOOP &&
		   realpath(t->word[0].text, followed) != NULL &&
		   strcmp(followed, real) == 0);
}

/*
 * A first line is content (content_path.c), and it starts its interpreter: so to read that
 * is not enough.  It is root's, or a line starts it.  Without an argument of its own, a first
 * line starts it for a script that is granted; with one, lines decide about the arguments as
 * if the caller had given them.
 */
static int
interpreter_check(struct lower *l, const struct stmt *s, uint32_t interp,
    const char *option, const char *script)
{
	const char *path = l->image_path[interp], *real = l->image_real[interp];
	const char *lead[2] = {option != NULL ? option : script, script};
	const struct way *w = fs_cache_way(l->tree->fs_cache, path);
	bool ask = s->kw == KW_EXEC && s->verdict == VERDICT_ASK, public, granted;
	size_t lead_n = option != NULL ? 2 : 1;

	if (w == NULL)
		return -ENOMEM;
	public = granted = content_public(l, w);
	for (size_t i = 0; i < l->server->stmt_n; i++) {
		const struct stmt *t = &l->server->stmt[i];
		bool strict = t->kw == KW_EXEC && t->verdict != VERDICT_ALLOW &&
			      !(ask && t->verdict == VERDICT_ASK);
		enum fit fit;

		if (strict ? !names_file(l, t, path, real)
			   : !content_names(l, t, path, real))
			continue;
		fit = line_fits(l, t, lead, lead_n, s);
		if (strict && fit != FIT_NEVER && (option != NULL || !public))
			return refused_by_line(l, s, t, path, option);
		if (content_starts(t, ask))
			granted |= option == NULL || fit == FIT_ALL;
	}
	return granted ? 0 : not_granted(l, s, path, lead, lead_n);
}

/* option: the argument of the first line of this script, or NULL. */
static int
interpreter_add(struct lower *l, const struct stmt *s, const char *path,
    const char *option, const char *script, uint32_t *ret)
{
	size_t before = l->image_n, i;
	int r = image_add(l, path, s->word[0].at, ret);

	if (r < 0 || (r = interpreter_check(l, s, *ret, option, script)) < 0)
		return r;
	for (i = 0; before != l->image_n && i < l->view_n; i++)
		if (l->view[i].kind == MOUNT_FILE && l->view[i].why == WHY_PROGRAM &&
		    strcmp(l->view[i].target, l->image_real[*ret]) == 0)
			l->view[i].why = WHY_SCRIPT;
	return image_need(l, *ret, true, s->word[0].at);
}

static bool
is_env(const char *path)
{
	return strcmp(strrchr(path, '/') + 1, "env") == 0;
}

int
script_lower(struct lower *l, const struct stmt *s, uint32_t image)
{
	const char *path = l->image_path[image], *prefix[PREFIX_MAX + 1] = {NULL}, *name;
	struct at at = s->word[0].at;
	struct shebang line = {.interp = NULL};
	uint32_t interp, named;
	size_t n = 0;
	int r = shebang_read(l->image_real[image], &line);

	if (r < 0) {
		diag_host(l->diag, at,
		    "%s is not a program: expected an ELF file, or a script whose first "
		    "line names its interpreter",
		    path);
		return -EINVAL;
	}
	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): set where r is 0 */
	prefix[n++] = arena_copy(l->arena, line.interp, strlen(line.interp));
	if (line.arg != NULL)
		prefix[n++] = arena_copy(l->arena, line.arg, strlen(line.arg));
	prefix[n++] = path;
	if (prefix[0] == NULL || prefix[1] == NULL)
		return -ENOMEM;
	if (!path_is_normal(prefix[0])) {
		diag_host(l->diag, at,
		    "invalid path of its interpreter: expected an absolute path without "
		    "`//`, `.` or `..`");
		return -EINVAL;
	}
	name = line.arg != NULL ? prefix[1] : NULL;
	r = interpreter_add(l, s, prefix[0], name, path, &interp);
	if (r < 0 || (r = exec_put(l, s, image, interp, NULL, prefix)) < 0)
		return r;
	if (!is_env(prefix[0]))
		return 0;
	if ((r = env_find(l, line.arg, at, &name)) < 0 ||
	    (r = interpreter_add(l, s, name, NULL, path, &named)) < 0)
		return r;
	return exec_put(l, s, named, named, path, NULL);
}
