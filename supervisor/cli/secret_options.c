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
#include "supervisor/help/help.h"

static const struct option_row {
	const char *name;
	unsigned int may;
	size_t text; /* offset of a const char *, set to the next argument */
	size_t flag; /* or of a bool */
} rows[] = {
    {"--project", 0, offsetof(struct secret_options, project), 0},
    {"--json", SECRET_JSON, 0, offsetof(struct secret_options, json)},
    {"--strict", SECRET_STRICT, 0, offsetof(struct secret_options, strict)},
    {"--first", SECRET_FIRST, 0, offsetof(struct secret_options, first)},
    {"--live", SECRET_LIVE, 0, offsetof(struct secret_options, live)},
    {"--ask", SECRET_LIVE, 0, offsetof(struct secret_options, ask)},
    {"--all", SECRET_ALL, 0, offsetof(struct secret_options, filter.all)},
    {"--internal", SECRET_FILTER, 0, offsetof(struct secret_options, filter.internal)},
    {"--contains", SECRET_FILTER, offsetof(struct secret_options, filter.contains), 0},
    {"--scope", SECRET_FILTER, offsetof(struct secret_options, filter.scope), 0},
    {"--status", SECRET_FILTER, offsetof(struct secret_options, filter.status), 0},
};

int
secret_unknown_option(const char *verb, int at)
{
	fprintf(stderr, "kennel secret %s: argument %d: unknown option\n", verb, at);
	return help_usage(&secret_help, verb, NULL);
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
				return help_usage(
				    &secret_help, argv[0], "too many arguments");
			o.word[o.word_n++] = argv[i];
			continue;
		}
		row = row_find(argv[i], may);
		if (row == NULL)
			return secret_unknown_option(argv[0], i);
		if (row->flag != 0) {
			*((bool *)((char *)&o + row->flag)) = true;
			continue;
		}
		if (i + 1 == argc)
			return help_usage(
			    &secret_help, argv[0], "missing value of an option");
		text = argv[++i];
		memcpy((char *)&o + row->text, &text, sizeof(text));
	}
	if (o.word_n < word_min)
		return help_usage(&secret_help, argv[0], "missing argument");
	if (o.filter.status != NULL && meta_status_find(o.filter.status) < 0)
		return help_usage(&secret_help, argv[0],
		    "--status takes registered, expiring or expired");
	*ret = o;
	return 0;
}
