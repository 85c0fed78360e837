/*
 * Scripts: two images (the script and the interpreter that its first line names) and one
 * row.  "#!/usr/bin/env X" needs a second row, because env starts X by an exec.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIAG_CODE "program"

#include "policy/compile/lower.h"
#include "policy/lang/scalar.h"
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

static int
interpreter_add(struct lower *l, const char *path, struct at at, uint32_t *ret)
{
	size_t before = l->image_n, i;
	int r = image_add(l, path, at, ret);

	if (r < 0)
		return r;
	for (i = 0; before != l->image_n && i < l->view_n; i++)
		if (l->view[i].kind == MOUNT_FILE && l->view[i].why == WHY_PROGRAM &&
		    strcmp(l->view[i].target, l->image_real[*ret]) == 0)
			l->view[i].why = WHY_SCRIPT;
	return image_need(l, *ret, true, at);
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
	if ((r = interpreter_add(l, prefix[0], at, &interp)) < 0 ||
	    (r = exec_put(l, s, image, interp, NULL, prefix)) < 0)
		return r;
	if (!is_env(prefix[0]))
		return 0;
	if ((r = env_find(l, line.arg, at, &name)) < 0 ||
	    (r = interpreter_add(l, name, at, &named)) < 0)
		return r;
	return exec_put(l, s, named, named, path, NULL);
}
