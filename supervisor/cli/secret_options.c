/*
 * Options of the verbs that show metadata, and finding the project.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/cli/secret.h"

static const struct option_row {
	const char *name;
	unsigned int may;
	size_t text; /* offset of a const char *, set to the next argument */
	size_t flag; /* or of a bool */
} rows[] = {
    {"--project", 0, offsetof(struct secret_options, project), 0},
    {"--json", SECRET_JSON, 0, offsetof(struct secret_options, json)},
    {"--strict", SECRET_STRICT, 0, offsetof(struct secret_options, strict)},
    {"--all", SECRET_ALL, 0, offsetof(struct secret_options, filter.all)},
    {"--internal", SECRET_FILTER, 0, offsetof(struct secret_options, filter.internal)},
    {"--contains", SECRET_FILTER, offsetof(struct secret_options, filter.contains), 0},
    {"--scope", SECRET_FILTER, offsetof(struct secret_options, filter.scope), 0},
    {"--status", SECRET_FILTER, offsetof(struct secret_options, filter.status), 0},
};

static int
usage(const char *verb, const char *why, const char *what)
{
	fprintf(stderr,
	    "kennel secret %s: %s%s; \"kennel secret help\" lists the verbs\n", verb, why,
	    what);
	return EXIT_USAGE;
}

static const struct option_row *
row_find(const char *word, unsigned int may)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strcmp(rows[i].name, word) == 0 &&
		    (rows[i].may == 0 || (rows[i].may & may) != 0))
			return &rows[i];
	return NULL;
}

int
secret_options(int argc, char **argv, unsigned int may, int word_min, int word_max,
    struct secret_options *ret)
{
	struct secret_options o = {.word_n = 0};
	const struct option_row *row;
	const char *text;

	for (int i = 1; i < argc; i++) {
		if (argv[i][0] != '-') {
			if (o.word_n == word_max)
				return usage(argv[0], "too many arguments", "");
			o.word[o.word_n++] = argv[i];
			continue;
		}
		row = row_find(argv[i], may);
		if (row == NULL)
			return usage(argv[0], "unknown option", "");
		if (row->flag != 0) {
			*((bool *)((char *)&o + row->flag)) = true;
			continue;
		}
		if (i + 1 == argc)
			return usage(argv[0], row->name, " takes a value");
		text = argv[++i];
		memcpy((char *)&o + row->text, &text, sizeof(text));
	}
	if (o.word_n < word_min)
		return usage(argv[0], "missing argument", "");
	if (o.filter.status != NULL && meta_status_find(o.filter.status) < 0)
		return usage(
		    argv[0], "--status takes registered, expiring or expired", "");
	*ret = o;
	return 0;
}
