#include "supervisor/learn/argv_pattern.h"

#include <stdint.h>
#include <string.h>

#include "policy/sealed/arg_slot.h"
#include "shim/base/array.h"

/* Are these what <number> and <path:root> match? */
static bool
is_number(const char *text)
{
	const struct slot_value number = {.type = SLOT_NUMBER, .hi = UINT64_MAX};

	return slot_match(&number, text, strlen(text));
}

static bool
is_path_below(const char *text, const char *root)
{
	const struct slot_value path = {
	    .type = SLOT_PATH, .text = root, .len = strlen(root)};

	return root[0] != '\0' && slot_match(&path, text, strlen(text));
}

/* A word after it may be code, or name code, or decide what the program does.  Short
 * options are often one word (-lc, -pe) and have other meanings in other programs, so a
 * letter counts anywhere in it; this also has -m, -r, -exec and -C. */
static bool
takes_code(const char *option)
{
	static const char *const code[] = {"--command", "--eval", "--exec", "--execute",
	    "--experimental-loader", "--import", "--init-file", "--loader", "--module",
	    "--print", "--rcfile", "--require", "--run", "--split-string", "-ok",
	    "-okdir"};

	for (size_t i = 0; i < ARRAY_LEN(code); i++)
		if (strcmp(option, code[i]) == 0)
			return true;
	return option[0] == '-' && option[1] != '-' &&
	       strpbrk(option, "cermpCERMPS") != NULL;
}

static bool
has_code(const struct argv_line *l, size_t before)
{
	for (size_t i = 0; i < before; i++)
		if (l->word[i].kind == WORD_LITERAL && takes_code(l->word[i].text))
			return true;
	return false;
}

/* May this word be the value of an option? */
static bool
is_value(const struct argv_line *l, size_t i)
{
	return l->word[i - 1].kind == WORD_LITERAL && l->word[i - 1].text[0] == '-' &&
	       strcmp(l->word[i - 1].text, "--") != 0;
}

/* The kind for a word that both lists may have there; false: they need lines of their
 * own. */
static bool
joined(const struct argv_line *l, size_t i, const char *word, const char *root,
    enum argv_word_kind *ret)
{
	enum argv_word_kind kind = l->word[i].kind;
	const char *text = l->word[i].text;

	if (kind == WORD_LITERAL && strcmp(text, word) == 0) {
		*ret = kind;
		return true;
	}
	if (word[0] == '-' || i == 0 || (kind == WORD_LITERAL && text[0] == '-') ||
	    has_code(l, i))
		return false;
	if (is_number(word) &&
	    (kind == WORD_NUMBER || (kind == WORD_LITERAL && is_number(text)))) {
		*ret = WORD_NUMBER;
		return true;
	}
	if (is_value(l, i))
		return false;
	*ret = is_path_below(word, root) &&
		       (kind == WORD_PATH ||
			   (kind == WORD_LITERAL && is_path_below(text, root)))
		   ? WORD_PATH
		   : WORD_ANY;
	return true;
}

static bool
join(struct argv_line *l, size_t argc, const char *const *argv, const char *root)
{
	enum argv_word_kind kind[ARGV_WORDS_MAX];

	if (l->n != argc)
		return false;
	for (size_t i = 0; i < argc; i++)
		if (!joined(l, i, argv[i], root, &kind[i]))
			return false;
	for (size_t i = 0; i < argc; i++) {
		l->word[i].kind = kind[i];
		if (kind[i] == WORD_PATH)
			l->word[i].text = root;
	}
	l->examples++;
	return true;
}

void
argv_add(struct argv_lines *lines, size_t argc, const char *const *argv, const char *root)
{
	struct argv_line *l;

	for (size_t i = 0; i < lines->n; i++)
		if (join(&lines->line[i], argc, argv, root))
			return;
	if (lines->n == ARGV_LINES_MAX || argc > ARGV_WORDS_MAX) {
		lines->left_out++;
		return;
	}
	l = &lines->line[lines->n++];
	l->n = argc;
	l->examples = 1;
	for (size_t i = 0; i < argc; i++) {
		l->word[i].kind = WORD_LITERAL;
		l->word[i].text = argv[i];
	}
}

bool
argv_may_be_option(const struct argv_line *l, size_t i)
{
	if (l->word[i].kind != WORD_ANY)
		return false;
	for (size_t k = 0; k < i; k++)
		if (l->word[k].kind == WORD_LITERAL && strcmp(l->word[k].text, "--") == 0)
			return false;
	return true;
}
