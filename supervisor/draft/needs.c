/*
 * What the program of a draft names and no line grants: libraries, the standard library of
 * a Python, the interpreter of a virtual environment.  The compiler finds them
 * (policy_need()), and the draft has a line for each, which a person sees.
 *
 * A package can name any file of the user's.  So only what belongs to the program that was
 * named is granted: below the directory that it was installed to.  The rest is a comment.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/compile/compile.h"
#include "policy/lang/scalar.h"
#include "shim/base/array.h"
#include "supervisor/draft/draft.h"
#include "supervisor/draft/script.h"

#define NEEDS_MAX 64

struct needs {
	const struct draft *d;
	char root[PATH_MAX]; /* where its program was installed, or "" */
};

/* The directory above bin of the program's file: not a home directory, or one that holds
 * it, and at least two deep. */
static void
find_root(struct needs *n, const char *program)
{
	char real[PATH_MAX], home[PATH_MAX];
	char *slash;

	n->root[0] = '\0';
	if (realpath(program, real) == NULL)
		return;
	slash = strrchr(real, '/');
	*slash = '\0';
	slash = strrchr(real, '/');
	if (slash == NULL || strcmp(slash, "/bin") != 0)
		return;
	*slash = '\0';
	if (getenv("HOME") != NULL && realpath(getenv("HOME"), home) != NULL &&
	    path_below(real, home))
		return;
	if (strchr(real + (real[0] == '/'), '/') != NULL)
		memcpy(n->root, real, sizeof(real));
}

/* Is it the file of an installed Python: PREFIX/bin/python3.X with its library? */
static bool
is_python(const struct needs *n, const char *path)
{
	char file[2 * PATH_MAX];

	(void)snprintf(file, sizeof(file), "%s/lib/%s/os.py", n->root,
	    strrchr(path, '/') + 1); /* fits */
	return script_runtime(path) && access(file, F_OK) == 0;
}

/* A package can name any file as a library. */
static bool
is_library(const char *path)
{
	struct stat st;

	return script_is_elf(path) || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

static bool
is_own(const struct needs *n, const struct policy_need *need)
{
	char libs[PATH_MAX + 8];

	(void)snprintf(libs, sizeof(libs), "%s/lib", n->root); /* fits */
	if (n->root[0] == '\0' || !path_below(n->root, need->path))
		return false;
	if (need->start)
		return is_python(n, need->path);
	return is_library(need->path) &&
	       ((path_below(libs, need->path) && strcmp(libs, need->path) != 0) ||
		   strstr(need->path + strlen(n->root), "/lib64/") != NULL);
}

static void
put_text(FILE *out, const struct needs *n, const char *program)
{
	const char *const dirs[] = {n->d->venv, n->d->modules};

	fputs("server draft {\nrun", out);
	(void)draft_word(out, program); /* or the text has an error */
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		if (dirs[i][0] != '\0') {
			fputs("\nread", out);
			(void)draft_word(out, dirs[i]); /* the same */
		}
	fputs("\n", out);
}

static void
put_need(FILE *out, const struct policy_need *need)
{
	fputs(need->start ? "exec allow" : "read", out);
	(void)draft_word(out, need->path); /* or the text has an error */
	fputs("\n", out);
}

/* As policy_need(), for the program and the needs that are granted so far. */
static int
next_need(const struct needs *n, const char *program, const struct policy_need *granted,
    size_t granted_n, struct policy_need *ret)
{
	struct policy_source source = {.path = NULL};
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int r;

	if (out == NULL)
		return -ENOMEM;
	put_text(out, n, program);
	for (size_t i = 0; i < granted_n; i++)
		put_need(out, &granted[i]);
	fputs("}\n", out);
	r = fclose(out) != 0 ? -ENOMEM : 0;
	source.text = text;
	source.len = len;
	if (r == 0)
		r = policy_need(&source, ret);
	free(text);
	return r;
}

int
draft_needs(const struct draft *d, const char *indent, FILE *out)
{
	static struct policy_need need[NEEDS_MAX + 1]; /* large */
	static struct needs n;
	size_t count = 0;
	int r = 0;

	n = (struct needs){.d = d};
	find_root(&n, d->program);
	while (count < NEEDS_MAX &&
	       (r = next_need(&n, d->program, need, count, &need[count])) == 1) {
		bool own = is_own(&n, &need[count]);

		fprintf(out, "%s%s", indent,
		    own ? "" : "# it names this; review it before it is granted:  ");
		put_need(out, &need[count++]);
		if (!own)
			break;
	}
	return r == -ENOMEM ? r : 0;
}

bool
draft_stands_alone(const struct draft *d, const char *program)
{
	static struct policy_need need; /* large */
	static struct needs n;

	n = (struct needs){.d = d};
	return next_need(&n, program, NULL, 0, &need) != 1;
}
