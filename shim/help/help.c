/*
 * Prints what a table of verbs says.
 */
#include "shim/help/help.h"

#include <string.h>

#include "shim/base/log.h"
#include "shim/help/near_word.h"

#define WORDS_MAX 128 /* verbs, or options of one */

/* ---- the table ---------------------------------------------------------------------- */

const struct help_verb *
help_find(const struct help_family *f, const char *name)
{
	for (size_t i = 0; i < f->verb_n; i++)
		if (strcmp(f->verb[i].name, name) == 0)
			return &f->verb[i];
	return NULL;
}

bool
help_next(const char **list, char ret_name[32])
{
	size_t len;

	*list += strspn(*list, " ");
	len = strcspn(*list, " ");
	if (len == 0 || len >= 32)
		return false;
	memcpy(ret_name, *list, len);
	ret_name[len] = '\0';
	*list += len;
	return true;
}

/* The row of an option for this verb: its own, else the general one. */
static const struct help_option *
row_of(const struct help_family *f, const struct help_verb *v, const char *name)
{
	const struct help_option *found = NULL;

	for (size_t i = 0; i < f->option_n; i++) {
		const struct help_option *o = &f->option[i];

		if (strcmp(o->name, name) != 0)
			continue;
		if (o->only != NULL && strcmp(o->only, v->name) == 0)
			return o;
		if (o->only == NULL)
			found = o;
	}
	return found;
}

/* The options of a verb, in the order of its list; returns their number. */
static size_t
rows_of(const struct help_family *f, const struct help_verb *v,
    const struct help_option *ret[WORDS_MAX])
{
	const char *list[2] = {v->options, ""};
	char name[32];
	size_t n = 0;

	if (strncmp(list[0], "*", 1) == 0) {
		list[0]++;
		list[1] = f->common;
	}
	for (size_t i = 0; i < 2; i++)
		while (n < WORDS_MAX && help_next(&list[i], name)) {
			ret[n] = row_of(f, v, name);
			n += ret[n] != NULL;
		}
	return n;
}

const struct help_option *
help_option_find(const struct help_family *f, const struct help_verb *v, const char *name)
{
	const struct help_option *row[WORDS_MAX];
	size_t n = rows_of(f, v, row), len = strcspn(name, "=");

	for (size_t i = 0; i < n; i++)
		if (strlen(row[i]->name) == len && strncmp(row[i]->name, name, len) == 0)
			return row[i];
	return NULL;
}

bool
help_asked(const struct help_family *f, const struct help_verb *v, int argc, char **argv)
{
	const struct help_option *o;
	size_t words = 0;

	for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (v->plain > 0 && words >= v->plain)
			return false;
		if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0)
			return true;
		if (argv[i][0] != '-') {
			words++;
			continue;
		}
		o = help_option_find(f, v, argv[i]);
		if (o != NULL && o->value != NULL && strchr(argv[i], '=') == NULL)
			i++;
	}
	return false;
}

/* ---- printing ----------------------------------------------------------------------- */

static const char *
blank_before(const char *text)
{
	return text[0] != '\0' ? " " : "";
}

static void
print_usage(const struct help_family *f, const struct help_verb *v, FILE *out)
{
	const char *lead = "usage:", *line = v->takes, *end;

	for (; line != NULL; line = end != NULL ? end + 1 : NULL) {
		end = strchr(line, '\n');
		(void)fprintf(out, "%-6s %s%s%s%s%.*s\n", lead, f->program,
		    blank_before(v->name), v->name, blank_before(line),
		    (int)strcspn(line, "\n"), line);
		lead = "";
	}
}

void
help_list(const struct help_family *f, FILE *out)
{
	const char *group = "";

	(void)fprintf(out, "usage: %s COMMAND ...\n\n%s\n", f->program, f->what);
	for (size_t i = 0; i < f->verb_n; i++) {
		if (strcmp(f->verb[i].group, group) != 0)
			(void)fprintf(out, "\n%s:\n", f->verb[i].group);
		group = f->verb[i].group;
		(void)fprintf(out, "  %-15s %s\n", f->verb[i].name, f->verb[i].what);
	}
	(void)fprintf(out, "\n`%s COMMAND --help` explains one command. Manual: %s\n",
	    f->program, f->page);
}

void
help_print(const struct help_family *f, const struct help_verb *v, FILE *out)
{
	const struct help_option *row[WORDS_MAX];
	size_t n = rows_of(f, v, row);
	char shown[96];

	print_usage(f, v, out);
	(void)fprintf(out, "\n%s\n", v->what);
	if (v->more != NULL)
		(void)fprintf(out, "\n%s\n", v->more);
	if (n > 0)
		(void)fprintf(out, "\noptions:\n");
	for (size_t i = 0; i < n; i++) {
		(void)snprintf(shown, sizeof(shown), "%s%s%s", row[i]->name,
		    row[i]->value != NULL ? " " : "",
		    row[i]->value != NULL ? row[i]->value : "");
		if (strlen(shown) > 20)
			(void)fprintf(out, "  %s\n%24s%s\n", shown, "", row[i]->what);
		else
			(void)fprintf(out, "  %-20s  %s\n", shown, row[i]->what);
	}
	(void)fprintf(out, "\nexample:\n  %s\n\nManual: %s\n", v->example, f->page);
}

/* ---- errors ------------------------------------------------------------------------- */

int
help_usage(const struct help_family *f, const char *verb, const char *why)
{
	const struct help_verb *v = help_find(f, verb);

	if (why != NULL)
		(void)fprintf(
		    stderr, "%s%s%s: %s\n", f->program, blank_before(verb), verb, why);
	if (v != NULL)
		print_usage(f, v, stderr);
	return HELP_EXIT_USAGE;
}

/* "unknown WHAT `word`: did you mean `near`?" */
static void
print_unknown(const struct help_family *f, const char *verb, const char *what,
    const char *word, const char *near)
{
	char shown[128];

	(void)fprintf(
	    stderr, "%s%s%s: unknown %s", f->program, blank_before(verb), verb, what);
	if (!f->quiet)
		(void)fprintf(
		    stderr, " `%s`", log_quote(shown, sizeof(shown), word, strlen(word)));
	if (near != NULL)
		(void)fprintf(stderr, ": did you mean `%s`?", near);
	(void)fprintf(stderr, "\n");
}

int
help_unknown_verb(const struct help_family *f, const char *word)
{
	const char *list[WORDS_MAX];
	size_t n;

	for (n = 0; n < f->verb_n && n < WORDS_MAX; n++)
		list[n] = f->verb[n].name;
	print_unknown(f, "", "command", word, near_word(word, list, n));
	(void)fprintf(stderr, "`%s --help` lists the commands\n", f->program);
	return HELP_EXIT_USAGE;
}

int
help_unknown_option(const struct help_family *f, const char *verb, const char *word)
{
	const struct help_verb *v = help_find(f, verb);
	const struct help_option *row[WORDS_MAX];
	const char *list[WORDS_MAX];
	size_t n = v != NULL ? rows_of(f, v, row) : 0;

	for (size_t i = 0; i < n; i++)
		list[i] = row[i]->name;
	print_unknown(f, verb, "option", word, near_word(word, list, n));
	return help_usage(f, verb, NULL);
}

int
help_refuse(const struct help_family *f, const char *verb, const char *word)
{
	const struct help_verb *v = help_find(f, verb);

	if (word[0] != '-')
		return help_usage(f, verb, "too many arguments");
	if (v == NULL || help_option_find(f, v, word) == NULL)
		return help_unknown_option(f, verb, word);
	return help_usage(f, verb, "missing or invalid value of an option");
}
