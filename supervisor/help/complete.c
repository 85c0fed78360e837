/*
 * kennel complete: what may follow on a command line.  The scripts of the shells
 * (supervisor/help/completions) pass the words after "kennel", and the last one is incomplete.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/base/paths.h"
#include "supervisor/help/help.h"

#define LINE_CAP 4096

/* ---- names of servers ----------------------------------------------------------------- */

static void
offer(const char *name, const char *begun)
{
	if (strncmp(name, begun, strlen(begun)) == 0)
		(void)puts(name); /* a closed pipe ends it at exit */
}

/* The names in the lines "server NAME {" of a policy. */
static void
offer_servers_of(const char *path, const char *begun)
{
	char line[LINE_CAP], name[65];
	FILE *f = fopen(path, "re");

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, " server %64[A-Za-z0-9_-]", name) == 1)
			offer(name, begun);
	if (f != NULL)
		(void)fclose(f); /* read-only */
}

/* Each file of a directory with this suffix: its servers, or its name without it. */
static void
offer_dir(const char *dir, const char *suffix, bool text, const char *begun)
{
	char path[LINE_CAP];
	struct dirent *entry;
	DIR *d = opendir(dir);

	while (d != NULL && (entry = readdir(d)) != NULL) {
		size_t len = strlen(entry->d_name), end = strlen(suffix);

		if (len <= end || strcmp(entry->d_name + len - end, suffix) != 0)
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		if (text) {
			offer_servers_of(path, begun);
			continue;
		}
		entry->d_name[len - end] = '\0';
		offer(entry->d_name, begun);
	}
	if (d != NULL)
		(void)closedir(d); /* read-only */
}

static void
offer_servers(const char *begun)
{
	const char *config = paths_config_dir();
	char dir[LINE_CAP];

	offer_dir("/etc/kennel/sealed", ".sealed", false, begun);
	if (config == NULL)
		return;
	(void)snprintf(dir, sizeof(dir), "%s/sealed", config);
	offer_dir(dir, ".sealed", false, begun);
	(void)snprintf(dir, sizeof(dir), "%s/policies", config);
	offer_dir(dir, ".kennel", true, begun);
}

/* ---- kinds of arguments ----------------------------------------------------------------- */

static bool
is_kind(const char *kind, const char *name)
{
	size_t len = strcspn(kind, " .");

	return len == strlen(name) && strncmp(kind, name, len) == 0;
}

/* kind: as in help_verb.operands, up to a blank. */
static void
offer_kind(const char *kind, const char *begun)
{
	char word[64];
	size_t len;

	if (is_kind(kind, "file"))
		(void)puts(":files");
	else if (is_kind(kind, "server"))
		offer_servers(begun);
	else if (kind[0] != '-')
		for (;; kind += len + 1) {
			len = strcspn(kind, "| .");
			(void)snprintf(word, sizeof(word), "%.*s", (int)len, kind);
			if (len > 0)
				offer(word, begun);
			if (kind[len] != '|')
				return;
		}
}

/* The value of an option. */
static void
offer_value(const struct help_option *o, const char *begun)
{
	static const char *const files[] = {"FILE", "OUT", "DIR", "KEY", "PROGRAM"};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (strcmp(o->value, files[i]) == 0) {
			(void)puts(":files");
			return;
		}
	if (strcmp(o->value, "SERVER") == 0)
		offer_servers(begun);
	else if (strchr(o->value, '|') != NULL)
		offer_kind(o->value, begun);
}

/* ---- a command line --------------------------------------------------------------------- */

static void
offer_verbs(const struct help_family *f, const char *begun)
{
	for (size_t i = 0; i < f->verb_n; i++)
		offer(f->verb[i].name, begun);
}

static void
offer_options(const struct help_family *f, const struct help_verb *v, const char *begun)
{
	for (size_t i = 0; i < f->option_n; i++)
		if (help_option_find(f, v, f->option[i].name) == &f->option[i])
			offer(f->option[i].name, begun);
	offer("--help", begun);
}

/* The kind of the argument with this number; the last one repeats if "..." follows it. */
static const char *
kind_of(const char *operands, size_t number)
{
	size_t len;

	for (; number > 0; number--) {
		len = strcspn(operands, " ");
		if (operands[len] == '\0')
			return strstr(operands, "...") != NULL ? operands : "-";
		operands += len + 1;
	}
	return operands;
}

/* What may follow the arguments of a verb; the last one is incomplete. */
static void
offer_argument(
    const struct help_family *f, const struct help_verb *v, int argc, char **argv)
{
	const struct help_option *o = NULL;
	const char *begun = argv[argc - 1];
	size_t number = 0;

	for (int i = 0; i + 1 < argc; i++) {
		if (strcmp(argv[i], "--") == 0) {
			(void)puts(":files"); /* a command */
			return;
		}
		if (o == NULL && argv[i][0] != '-')
			number++;
		o = o == NULL ? help_option_find(f, v, argv[i]) : NULL;
		if (o != NULL && o->value == NULL)
			o = NULL;
	}
	if (o != NULL)
		offer_value(o, begun);
	else if (begun[0] == '-')
		offer_options(f, v, begun);
	else
		offer_kind(kind_of(v->operands, number), begun);
}

int
complete_main(int argc, char **argv)
{
	const struct help_family *f = &kennel_help, *sub;
	const struct help_verb *v;
	bool help = argc > 1 && strcmp(argv[1], "help") == 0;

	argc -= 1 + help;
	argv += 1 + help;
	sub = argc > 1 ? help_family_of(argv[0]) : NULL;
	if (sub != NULL) {
		f = sub;
		argc--;
		argv++;
	}
	if (argc == 1)
		offer_verbs(f, argv[0]);
	v = argc > 1 && !help ? help_find(f, argv[0]) : NULL;
	if (v != NULL)
		offer_argument(f, v, argc - 1, argv + 1);
	return 0;
}
