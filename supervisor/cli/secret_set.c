/*
 * kennel secret set, rotate, form value: finds the token format that the manifests give
 * for the value. kennel-secret, which this process runs, or kennel-form compares it; no
 * value is here. What agents have asked for is settled once the keeper has the value.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "policy/manifests/manifests.h"
#include "policy/tokens/token_format.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/approve/approve.h"
#include "supervisor/cli/cli.h"
#include "supervisor/cli/secret.h"

#define WORDS_MAX 32

const char *
secret_shape(const char *path, const char *project)
{
	const struct token_format *found = NULL;
	struct metas m;

	if (metas_read(metas_project(project), paths_config_dir(), 0, stderr, &m) < 0) {
		fprintf(stderr,
		    "kennel secret: the value is stored without a check of its format\n");
		return NULL;
	}
	for (size_t i = 0; i < m.n; i++)
		if (!m.meta[i].internal && m.meta[i].pattern != NULL &&
		    strcmp(m.meta[i].path, path) == 0)
			found = token_format_find(m.meta[i].pattern);
	metas_free(&m);
	return found == NULL ? NULL : found->name; /* the table's string */
}

/* The project that argv[i] names, as --project=DIR, or as the value of --project; or NULL. */
static const char *
project_at(char **argv, int i)
{
	static const char option[] = "--project";
	size_t len = sizeof(option) - 1;

	if (strncmp(argv[i], option, len) == 0 && argv[i][len] == '=')
		return argv[i] + len + 1;
	return strcmp(argv[i - 1], option) == 0 ? argv[i] : NULL;
}

static bool
is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The verb has skip words; the path follows them. The manifest of the project names the
 * format. */
static int
put_main(int argc, char **argv, int skip)
{
	const char *path = NULL, *project = NULL, *shape;
	char *word[WORDS_MAX + 2], shown[512];
	int n = 0, status;

	if (argc > WORDS_MAX) {
		fprintf(stderr, "kennel secret: more than %d arguments\n", WORDS_MAX);
		return EXIT_USAGE;
	}
	for (int i = 0; i < argc; i++) {
		bool value = i > 0 && strcmp(argv[i - 1], "--fd") == 0;
		const char *at = i >= skip ? project_at(argv, i) : NULL;

		if (at != NULL) {
			project = at;
			value = true;
		}
		if (at != NULL && at != argv[i])
			continue; /* kennel-console writes it so, and kennel alone knows that */
		if (i >= skip && argv[i][0] != '-' && !value)
			path = argv[i];
		word[n++] = argv[i];
	}
	if (project != NULL && !is_directory(project)) {
		fprintf(stderr, "kennel secret: --project: no such directory: %s\n",
		    log_quote(shown, sizeof(shown), project, strlen(project)));
		return EXIT_INPUT;
	}
	shape = path == NULL ? NULL : secret_shape(path, project);
	if (shape != NULL) {
		word[n++] = (char *)"--shape";
		word[n++] = (char *)shape;
	}
	status = secret_become(n, word);
	if (status == 0 && path != NULL)
		approve_saved(path);
	return status;
}

int
secret_put_main(int argc, char **argv)
{
	return put_main(argc, argv, 1);
}

int
secret_form_main(int argc, char **argv)
{
	bool is_value = argc > 1 && strcmp(argv[1], "value") == 0;

	approve_channel_set(VIA_CONSOLE); /* its page is one */
	return is_value ? put_main(argc, argv, 2) : secret_become(argc, argv);
}
