#include "supervisor/install/python.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/draft/draft.h"

#define NAME_PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

/* A package, as `uvx` and `pipx run` name it. */
struct wanted {
	char name[PACKAGE_TEXT_MAX], version[PACKAGE_TEXT_MAX]; /* version: or "" */
	const char *program;
	int rest;
};

bool
python_is(int argc, char *const *argv)
{
	int at;

	return draft_runner(argc, argv, &at) == RUNNER_PYTHON;
}

/* NAME, NAME==VERSION, NAME@VERSION. */
static bool
split(const char *spec, struct wanted *w)
{
	size_t n = strspn(spec, NAME_PLAIN), k;
	const char *rest = spec + n;

	if (n == 0 || n >= sizeof(w->name) || spec[0] == '-' || spec[0] == '.')
		return false;
	memcpy(w->name, spec, n);
	w->name[n] = '\0';
	w->version[0] = '\0';
	if (*rest == '\0')
		return true;
	k = *rest == '@' ? 1 : strncmp(rest, "==", 2) == 0 ? 2 : 0;
	rest += k;
	if (k == 0 || rest[0] == '\0' || strlen(rest) >= sizeof(w->version) ||
	    rest[strspn(rest, NAME_PLAIN "+!")] != '\0')
		return false;
	if (strcmp(rest, "latest") != 0)
		(void)snprintf(w->version, sizeof(w->version), "%s", rest); /* fits */
	return true;
}

/* uvx [--from SPEC] PROGRAM, uv tool run ..., pipx run [--spec SPEC] PROGRAM. */
static bool
wanted(int argc, char *const *argv, struct wanted *ret)
{
	const char *spec = NULL;
	int at;

	(void)draft_runner(argc, argv, &at); /* its options were checked */
	for (int i = 1; i + 1 < at; i++)
		if (strcmp(argv[i], "--from") == 0 || strcmp(argv[i], "--spec") == 0)
			spec = argv[++i];
	if (at < 0 || !split(spec != NULL ? spec : argv[at], ret))
		return false;
	ret->program = spec != NULL ? argv[at] : ret->name;
	ret->rest = at + 1;
	return ret->program[0] != '.' && strchr(ret->program, '/') == NULL;
}

static void
tell(const struct install *in, const char *dir, const struct wanted *w)
{
	char pip[PATH_MAX];

	printf("kennel does not run pip. Install one version and review it:\n\n"
	       "    python3 -m venv");
	draft_shell_word(stdout, dir);
	(void)snprintf(pip, sizeof(pip), "%.4000s/bin/pip", dir); /* fits */
	printf("\n   ");
	draft_shell_word(stdout, pip);
	printf(" install --only-binary :all: %s==%s\n\nThen:\n\n    kennel install %s",
	    w->name, w->version[0] != '\0' ? w->version : "VERSION", in->name);
	for (int i = 0; i < in->option_n; i++)
		draft_shell_word(stdout, in->option[i]);
	printf(" --");
	for (int i = 0; i < in->command_n; i++)
		draft_shell_word(stdout, in->command[i]);
	printf(
	    "\n\n--only-binary runs no code of the packages while they are installed.\n");
}

/* Is this version of the package in the environment? By its metadata, *.dist-info, whose
 * name has "_" for "-" and may have other letters' case. */
static bool
has_version(const char *dir, const struct wanted *w)
{
	char pattern[PATH_MAX], name[2 * PACKAGE_TEXT_MAX];
	bool found = false;
	glob_t files;

	(void)snprintf(
	    pattern, sizeof(pattern), "%.3500s/lib/python3*/site-packages/*", dir);
	(void)snprintf(
	    name, sizeof(name), "/%s-%s.dist-info", w->name, w->version); /* fits */
	for (char *p = name; p < name + 1 + strlen(w->name); p++)
		*p = (char)(*p == '-' || *p == '.' ? '_' : *p);
	if (glob(pattern, 0, NULL, &files) != 0)
		return false;
	for (size_t i = 0; i < files.gl_pathc && !found; i++) {
		const char *slash = strrchr(files.gl_pathv[i], '/');

		found = strcasecmp(slash, name) == 0;
	}
	globfree(&files);
	return found;
}

int
python_program(const struct install *in, char **ret_program, int *ret_rest)
{
	static char program[PATH_MAX];
	char dir[PATH_MAX];
	struct wanted w;
	int status = draft_runner_option(in->command_n, in->command);

	if (status != 0)
		return status;
	if (!wanted(in->command_n, in->command, &w)) {
		log_error("no package name found after %s: expected %s PACKAGE==VERSION",
		    in->command[0], in->command[0]);
		return EXIT_INPUT;
	}
	(void)snprintf(dir, sizeof(dir), "%.3600s/servers/%.200s", paths_data_dir(),
	    in->name); /* fits */
	(void)snprintf(
	    program, sizeof(program), "%.3900s/bin/%.180s", dir, w.program); /* fits */
	if (access(program, X_OK) < 0) {
		tell(in, dir, &w);
		return EXIT_MISSING;
	}
	if (w.version[0] != '\0' && !has_version(dir, &w)) {
		log_error("another version of %s than %s is in %s: remove it to install "
			  "this one",
		    w.name, w.version, dir);
		return EXIT_INPUT;
	}
	*ret_program = program;
	*ret_rest = w.rest;
	return 0;
}
