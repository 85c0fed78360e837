/*
 * A preset defines its interpreter, package and directory with `let`, each on a line
 * of its own; one for Python its virtual environment. Those lines, the server's name,
 * and what the agent's entry sets itself are replaced; all else is copied.
 */
#include "supervisor/draft/preset.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "supervisor/base/paths.h"

#define PRESET_MAX 65536
#define OF_VENV    "$venv/bin/"

/* The text of a line after this prefix, or NULL. */
static const char *
behind(const char *line, const char *start)
{
	size_t n = strlen(start);

	return strncmp(line, start, n) == 0 ? line + n : NULL;
}

const char *
preset_missing(const char **at, size_t *ret_len)
{
	const char *line;

	while (**at != '\0') {
		const char *value = behind(*at, "let ");
		size_t n = strcspn(*at, "\n");
		char path[PATH_MAX];

		line = *at;
		*at += n + (line[n] == '\n');
		value = value == NULL ? NULL : memmem(value, n - 4, " = /", 4);
		if (value == NULL || n >= sizeof(path))
			continue;
		value += 3;
		(void)snprintf(path, sizeof(path), "%.*s", (int)(line + n - value),
		    value); /* fits */
		if (access(path, F_OK) == 0)
			continue;
		*ret_len = n;
		return line;
	}
	return NULL;
}

/* The first line with this prefix: the text after it, or NULL. */
static const char *
find_line(const char *text, const char *start)
{
	const char *at;

	for (; text != NULL; text = strchr(text, '\n')) {
		text += *text == '\n';
		at = behind(text, start);
		if (at != NULL)
			return at;
	}
	return NULL;
}

/* True for a path that needs no quotes in the language and is one line, as a preset's
 * `let` requires. Any other path gets a draft, which quotes it. */
static bool
is_bare(const char *path)
{
	return path[strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				 "0123456789-._/@+:=,%")] == '\0';
}

static bool
is_for_package(const char *text, const char *package)
{
	const char *value = find_line(text, "let package = "), *at;
	size_t n = strlen(package);

	at = value == NULL ? NULL : strstr(value, "/node_modules/");
	if (at == NULL || at > value + strcspn(value, "\n"))
		return false;
	at += strlen("/node_modules/");
	return strncmp(at, package, n) == 0 && at[n] == '\n';
}

/* Of Python: by the program that it starts from its virtual environment. */
static bool
is_for_program(const char *text, const char *program)
{
	const char *at = find_line(text, "\trun " OF_VENV "python3 " OF_VENV);
	size_t n = strlen(program);

	return at != NULL && strncmp(at, program, n) == 0 && strchr(" \n", at[n]) != NULL;
}

/* The name of the distribution whose program of the same name the draft starts from a
 * virtual environment, or NULL. */
static const char *
distribution_of(const struct draft *d)
{
	char pattern[2 * PATH_MAX], name[NAME_MAX + 1];
	const char *rest = d->venv[0] == '\0' ? NULL : behind(d->script, d->venv);
	const char *program = rest == NULL ? NULL : behind(rest, "/bin/");
	glob_t found;
	bool has;

	if (program == NULL || strlen(program) >= sizeof(name) || !is_bare(d->venv) ||
	    program[strspn(program, "abcdefghijklmnopqrstuvwxyz0123456789-")] != '\0')
		return NULL;
	(void)snprintf(name, sizeof(name), "%s", program); /* fits */
	for (char *p = name; *p != '\0'; p++)
		*p = (char)(*p == '-' ? '_' : *p);
	(void)snprintf(pattern, sizeof(pattern),
	    "%s/lib/python3*/site-packages/%s-[0-9]*.dist-info", d->venv,
	    name); /* fits */
	has = glob(pattern, 0, NULL, &found) == 0;
	globfree(&found);
	return has ? program : NULL;
}

const char *
preset_name(const struct draft *d)
{
	return d->package.name[0] != '\0' ? d->package.name : distribution_of(d);
}

/* ---- the file ---------------------------------------------------------------- */

/* The text, to be freed; NULL: it cannot be read, or has a NUL. */
static char *
read_preset(const char *path)
{
	char *text = NULL;
	size_t len;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY), r;

	if (fd < 0)
		return NULL;
	r = fd_slurp(fd, PRESET_MAX, &text, &len);
	fd_close(&fd);
	if (r == 0 && strlen(text) == len)
		return text;
	free(text);
	return NULL;
}

void
presets_each(bool (*fn)(void *arg, const char *text), void *arg)
{
	const char *folder = paths_presets_dir();
	char path[2 * PATH_MAX];
	struct dirent *e;
	DIR *dir = folder == NULL ? NULL : opendir(folder);
	bool more = dir != NULL;

	while (more && (e = readdir(dir)) != NULL) {
		char *text;

		if (strstr(e->d_name, ".kennel") == NULL)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", folder, e->d_name); /* fits */
		text = read_preset(path);
		if (text != NULL)
			more = fn(arg, text);
		free(text);
	}
	if (dir != NULL)
		(void)closedir(dir); /* read-only */
}

struct wanted {
	const struct draft *d;
	const char *name;
	char *text; /* the first that fits */
};

static bool
take_preset(void *arg, const char *text)
{
	struct wanted *w = arg;

	if (w->d->package.name[0] != '\0' ? is_for_package(text, w->name)
					  : is_for_program(text, w->name))
		w->text = strdup(text);
	return w->text == NULL;
}

char *
preset_for(const struct draft *d)
{
	struct wanted w = {.d = d, .name = preset_name(d)};

	if (w.name != NULL && is_bare(d->package.root) && is_bare(d->program) &&
	    is_bare(d->modules) && is_bare(d->work))
		presets_each(take_preset, &w);
	return w.text;
}

/* The file that a variable names, where its directory has other things or is not one to
 * grant; else the directory. */
static void
take_file(struct draft *d, const char *file)
{
	char dir[PATH_MAX], real[PATH_MAX];
	char *slash;

	(void)snprintf(dir, sizeof(dir), "%s", file); /* fits */
	slash = strrchr(dir, '/');
	if (slash != NULL && slash != dir)
		*slash = '\0';
	if (realpath(file, real) != NULL)
		(void)snprintf(d->work, sizeof(d->work), "%s", real); /* same size */
	else if (realpath(dir, real) == NULL || draft_dir_refused(real) == NULL)
		(void)snprintf(d->work, sizeof(d->work), "%s", dir); /* the same */
}

/* From a variable that the preset sets to a path in its directory. */
static void
work_of_variable(const char *preset, struct draft *d)
{
	static const char *const name[] = {"work", "files"};
	char start[256], real[PATH_MAX];

	for (size_t i = 0; i < 2 * d->variable_n && d->work[0] == '\0'; i++) {
		const struct draft_variable *v = &d->variable[i / 2];
		const char *at;

		(void)snprintf(start, sizeof(start), "\tenv %.100s = $%s", v->name,
		    name[i % 2]); /* fits */
		at = find_line(preset, start);
		if (at == NULL || v->value == NULL || v->value[0] != '/' ||
		    !is_bare(v->value) || strlen(v->value) >= PATH_MAX)
			continue;
		if (*at == '/')
			take_file(d, v->value);
		else if (realpath(v->value, real) == NULL ||
			 draft_dir_refused(real) == NULL)
			(void)snprintf(
			    d->work, sizeof(d->work), "%s", v->value); /* fits */
	}
}

static void
work_of_directory(struct draft *d, const char *dir)
{
	char real[PATH_MAX];
	struct draft_path p = {.is = PATH_IS_DIR};

	if (dir[0] == '\0' || realpath(dir, real) == NULL)
		return;
	memcpy(p.path, real, sizeof(p.path));
	if (draft_path_refused(d, &p) == NULL)
		memcpy(d->work, real, sizeof(d->work));
}

/* Is its directory only read, and the arguments that name a file in it are the agent's? */
static bool
has_its_files(const char *preset, const struct draft *d)
{
	bool file = false;

	for (size_t i = 0; i < d->path_n; i++)
		file |= d->path[i].is == PATH_IS_FILE;
	return file && d->args_at < d->argc &&
	       find_line(preset, "\tcwd $files") == NULL &&
	       find_line(preset, "\twrite $files") == NULL;
}

enum preset_wants
preset_wants(const char *preset, struct draft *d)
{
	bool own = find_line(preset, "let work = ") != NULL;

	if (d->work[0] != '\0' || (!own && find_line(preset, "let files = ") == NULL))
		return PRESET_NONE;
	for (size_t i = 0; i < d->path_n && d->work[0] == '\0'; i++)
		if (d->path[i].is == PATH_IS_DIR)
			work_of_directory(d, d->path[i].path);
	if (d->work[0] == '\0')
		work_of_variable(preset, d);
	if (d->work[0] == '\0' && !own)
		work_of_directory(d, d->cwd);
	if (d->work[0] != '\0')
		return PRESET_NONE;
	if (!own && has_its_files(preset, d)) {
		d->without_work = true;
		return PRESET_NONE;
	}
	return own ? PRESET_OWN : PRESET_FILES;
}

/* ---- filling it in ------------------------------------------------------------ */

/* The length of the first word. */
static size_t
word_len(const char *words, size_t n)
{
	size_t len = strcspn(words, " ");

	return len < n ? len : n;
}

/* The program and the script: by the preset's names where they mean the same. */
static int
put_program(const struct draft *d, const char *script, size_t len, FILE *out)
{
	char path[2 * PATH_MAX];
	const char *at = behind(script, "$package/");
	int r = 0;

	fprintf(out, "\trun $node");
	for (int i = 1; r == 0 && i < d->args_at - 1; i++)
		r = draft_word(out, d->argv[i]);
	if (r < 0 || at == NULL)
		return r < 0 ? r : draft_word(out, d->script);
	(void)snprintf(path, sizeof(path), "%s/%.*s", d->package.root,
	    (int)(script + len - at), at); /* fits, or differs */
	if (strcmp(path, d->script) != 0)
		return draft_word(out, d->script);
	fprintf(out, " %.*s", (int)len, script);
	return 0;
}

/* The agent's own arguments replace those of the preset. */
static int
put_run(const struct draft *d, const char *words, size_t n, FILE *out)
{
	size_t len = word_len(words, n), script = 0;
	bool by_node = behind(words, "$node ") != NULL;
	bool by_venv = behind(words, OF_VENV) != NULL;
	int r = 0;

	if (by_node || by_venv) {
		script = len + 1;
		len = script + word_len(words + script, n - script);
	}
	if (by_venv) {
		fprintf(out, "\trun");
		for (int i = 0; r == 0 && i < d->args_at; i++)
			r = draft_word(out, d->argv[i]);
	} else if (!by_node) {
		fprintf(out, "\trun %.*s", (int)len, words);
	} else if (d->script[0] != '\0') {
		r = put_program(d, words + script, len - script, out);
	} else {
		fprintf(out, "\trun");
		r = draft_word(out, d->program);
	}
	if (d->args_at == d->argc) {
		fprintf(out, "%.*s\n", (int)(n - len), words + len);
		return r;
	}
	for (int i = d->args_at; r == 0 && i < d->argc; i++)
		r = draft_word(out, d->argv[i]);
	fprintf(out, "\n");
	if (len < n)
		fprintf(out, "\t# these arguments replace the preset's:%.*s\n",
		    (int)(n - len), words + len);
	return r;
}

/* `read $package` is also for the modules beside the package. */
static void
put_read(const struct draft *d, const char *words, size_t n, FILE *out)
{
	const char *at = strstr(words, "$package");
	size_t len = strlen("$package");

	if (at == NULL || at >= words + n || strchr(" \n", at[len]) == NULL) {
		fprintf(out, "\tread %.*s\n", (int)n, words);
		return;
	}
	fprintf(out, "\tread %.*s", (int)(at - words), words);
	fprintf(out, "%s%.*s\n",
	    strcmp(d->modules, d->package.root) == 0 ? "$package" : d->modules,
	    (int)(words + n - at - len), at + len);
}

/* Is this a line for a variable that the agent's entry sets too? */
static bool
is_set(const struct draft *d, const char *line, bool *skip)
{
	const char *secret = behind(line, "\tsecret ");
	const char *name = secret != NULL ? secret : behind(line, "\tenv ");
	size_t n = name == NULL ? 0 : strcspn(name, " \n");

	for (size_t i = 0; name != NULL && i < d->variable_n; i++) {
		if (strlen(d->variable[i].name) != n ||
		    strncmp(d->variable[i].name, name, n) != 0)
			continue;
		if (secret == NULL || !d->variable[i].secret)
			return true;
		skip[i] = true; /* the preset's line says the same, and more */
	}
	return false;
}

static int
put_end(const struct draft *d, const bool *skip, FILE *out)
{
	const char *user = draft_user(d);
	int r;

	if (user != NULL)
		fprintf(out, "\tuser %s\n", user);
	if (draft_needs(d, "\t", out) < 0)
		return -ENOMEM;
	r = draft_cwd_line(d, "\t", out);
	if (r == 0)
		r = draft_project_put(d, "\t", out);
	if (r == 0)
		r = draft_cwd_put(d, "\t", out);
	return r < 0 ? r : draft_settings(d, "\t", skip, out);
}

/* Is this the grant of a program that is not on this machine? */
static bool
is_absent(const char *line)
{
	const char *program = behind(line, "\texec allow ");
	char path[PATH_MAX];
	size_t n = program == NULL || program[0] != '/' ? 0 : strcspn(program, " \n");

	if (n == 0 || n >= sizeof(path))
		return false;
	memcpy(path, program, n);
	path[n] = '\0';
	return access(path, F_OK) < 0;
}

/* `read` of absolute paths: one that is not on this machine becomes a comment. */
static bool
put_present(const char *words, size_t n, FILE *out)
{
	char path[PATH_MAX];
	size_t len, there = 0;

	if (memmem(words, n, "$", 1) != NULL || memmem(words, n, "{", 1) != NULL)
		return false;
	for (size_t at = 0; at < n; at += len + 1) {
		len = word_len(words + at, n - at);
		(void)snprintf(path, sizeof(path), "%.*s", (int)len, words + at);
		if (path[0] != '/' || len >= sizeof(path))
			return false;
		if (access(path, F_OK) == 0)
			fprintf(out, "%s %s", there++ == 0 ? "\tread" : "", path);
	}
	if (there > 0)
		fprintf(out, "\n");
	for (size_t at = 0; at < n; at += len + 1) {
		len = word_len(words + at, n - at);
		(void)snprintf(path, sizeof(path), "%.*s", (int)len, words + at);
		if (access(path, F_OK) < 0)
			fprintf(out,
			    "\t# it is not installed here; when it is:\tread %s\n", path);
	}
	return true;
}

bool
preset_leaves_out(const struct draft *d, const char *line, char name[PRESET_NAME_CAP])
{
	const char *end = line + strcspn(line, "\n");
	const char *mark = memmem(
	    line, (size_t)(end - line), PRESET_WITHOUT, sizeof(PRESET_WITHOUT) - 1);

	if (mark == NULL || sscanf(line, "\tsecret %64[A-Z0-9_] from env", name) != 1)
		return false;
	for (size_t i = 0; i < d->variable_n; i++)
		if (strcmp(d->variable[i].name, name) == 0)
			return false;
	return getenv(name) == NULL;
}

/* A preset's line for a secret that is in the vault: its source is replaced. */
static bool
put_vault(const struct draft *d, const char *line, size_t n, FILE *out)
{
	const char *name = behind(line, "\tsecret "), *from;

	for (size_t i = 0; name != NULL && i < d->variable_n; i++) {
		const struct draft_variable *v = &d->variable[i];
		const char *rest = behind(name, v->name);

		from = rest == NULL ? NULL : behind(rest, " from env ");
		if (v->vault == NULL || from == NULL)
			continue;
		from += word_len(from, (size_t)(line + n - from));
		fprintf(out, "\tsecret %s from vault %s%.*s\n", v->name, v->vault,
		    (int)(line + n - from), from);
		return true;
	}
	return false;
}

static int
put_line(const struct draft *d, const char *line, size_t n, bool *skip, FILE *out)
{
	const struct {
		const char *start, *value, *end;
	} mine[] = {
	    {"let node = ", d->script[0] == '\0' ? "" : d->program, ""},
	    {"let package = ", d->package.root, ""},
	    {"let venv = ", d->venv, ""},
	    {"let work = ", d->work, ""},
	    {"let files = ", d->work, ""},
	    {"server ", d->name, " {"},
	};
	char name[PRESET_NAME_CAP];
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(mine); i++)
		if (mine[i].value[0] != '\0' && behind(line, mine[i].start) != NULL) {
			fprintf(
			    out, "%s%s%s\n", mine[i].start, mine[i].value, mine[i].end);
			return 0;
		}
	if (behind(line, "\trun ") != NULL)
		return put_run(d, line + 5, n - 5, out);
	if (d->without_work && (behind(line, "let files = ") != NULL ||
				   memmem(line, n, "$files", 6) != NULL))
		return 0;
	if (d->cwd[0] != '\0' && behind(line, "\tcwd ") != NULL)
		return 0; /* the agent's is at the end */
	if (behind(line, "\tread ") != NULL) {
		if (!put_present(line + 6, n - 6, out))
			put_read(d, line + 6, n - 6, out);
		return 0;
	}
	if (preset_leaves_out(d, line, name)) {
		fprintf(out, "\t# it starts without a value, and none is set here; "
			     "remove the first "
			     "# once one is\n\t#");
		fprintf(out, "%.*s\n", (int)n, line);
		return 0;
	}
	if (is_set(d, line, skip) || put_vault(d, line, n, out))
		return 0;
	if (line[0] == '}')
		r = put_end(d, skip, out);
	if (is_absent(line))
		fprintf(out, "\t# it is not installed here; when it is:");
	fprintf(out, "%.*s\n", (int)n, line);
	return r;
}

int
preset_write(const char *preset, const struct draft *d, FILE *out)
{
	bool skip[DRAFT_VARIABLES_MAX] = {false};
	const char *end, *mark;
	size_t n;
	int r = 0;

	fprintf(out, "# From the preset for %s: review every line.\n", preset_name(d));
	for (; r == 0 && *preset != '\0'; preset = end + (*end == '\n')) {
		end = preset + strcspn(preset, "\n");
		mark = memmem(preset, (size_t)(end - preset), "  " PRESET_WITHOUT,
		    sizeof("  " PRESET_WITHOUT) - 1);
		n = (size_t)((mark != NULL ? mark : end) - preset);
		r = put_line(d, preset, n, skip, out);
	}
	return r < 0 ? r : ferror(out) ? -EIO : 0;
}
