/*
 * Any bytes as what a learned server sends: as the definition of a tool (the call that is made
 * of it is JSON), as a name in a comment or a word of the draft (it stays on its line), and as
 * lists of arguments and paths.
 */
#include <string.h>

#include "supervisor/learn/argv_pattern.h"
#include "supervisor/learn/exercise.h"
#include "supervisor/learn/fold.h"
#include "supervisor/learn/policy_text.h"
#include "tests/fuzz/fuzz.h"

#define WORDS_MAX 64

static void
definition(const uint8_t *data, size_t len)
{
	const struct exercise_values v = {.dir = "/w", .file = "/w/f"};
	static struct json_message m, made;
	struct buf out;

	if (json_scan(data, len, &m) < 0)
		return;
	buf_init(&out, EXERCISE_PARAMS_MAX);
	if (buf_putc(&out, '{') == 0 && exercise_params(m.root, "t", &v, &out) == 0 &&
	    buf_putc(&out, '}') == 0 && json_scan(out.data, out.len, &made) < 0)
		abort();
	buf_free(&out);
}

/* What is written has no line end, and no backslash at its end. */
static void
text_of(const char *text)
{
	static char out[64 << 10];

	for (int i = 0; i < 2; i++) {
		FILE *f = fmemopen(out, sizeof(out), "w");
		size_t n;

		if (f == NULL)
			abort();
		if (i == 0)
			learn_inert(f, text);
		else if (!learn_word(f, text))
			fputs("none", f);
		(void)fputc('\0', f);
		if (fclose(f) != 0)
			abort();
		n = strlen(out);
		if (strchr(out, '\n') != NULL || (n > 0 && out[n - 1] == '\\'))
			abort();
	}
}

static void
lists(char *text, size_t len)
{
	static struct argv_lines lines;
	static struct folds folds;
	const char *word[WORDS_MAX];
	struct seen s;
	size_t n = 0;

	if (seen_new(&s) < 0)
		abort();
	for (size_t at = 0; at < len && n < WORDS_MAX; at += strlen(text + at) + 1) {
		struct child_news news = {.type = LEASH_NAMED,
		    .named = {.use = 1 + (uint32_t)n % (NAMED_END - 1),
			.path = text + at,
			.program = ""}};

		text_of(text + at);
		word[n++] = text + at;
		seen_add(&s, &news);
	}
	lines.n = lines.left_out = 0;
	for (size_t i = 0; i + 2 <= n; i += 2)
		argv_add(&lines, 2, word + i, "/w");
	for (size_t i = 0; i < s.file_n; i++) {
		s.file[i].is = (enum seen_is)(i % 4);
		s.file[i].root = 0;
	}
	folds.left_out = 0;
	if (fold_files(&s, 0, "/w", true, &folds) < 0)
		abort();
	for (size_t i = 0; i < folds.n; i++)
		if (!fold_below(folds.line[i].path, "/w"))
			abort();
	folds_free(&folds);
	seen_free(&s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *text = malloc(len + 1);

	if (text == NULL)
		return 0;
	memcpy(text, data, len);
	text[len] = '\0';
	definition(data, len);
	lists(text, len);
	free(text);
	return 0;
}
