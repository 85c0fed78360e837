/*
 * A page for a person to read, on standard output. The texts are a server's: nothing that
 * moves the cursor, reverses text or is invisible reaches the terminal.
 */
#include "supervisor/pin/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/utf8.h"
#include "supervisor/base/terminal.h"
#include "shim/host/codepoint.h"

#define COLUMNS      80  /* of a file or pipe */
#define COLUMNS_MAX  110 /* longer lines are hard to read */
#define COLUMNS_LEFT 20  /* at least, after an indentation */
#define INDENT_MAX   16  /* blanks that are shown of a row of them */

static bool
locale_is_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (value != NULL && value[0] != '\0')
			return strcasestr(value, "utf-8") != NULL ||
			       strcasestr(value, "utf8") != NULL;
	}
	return false;
}

void
page_begin(struct page *p)
{
	struct terminal screen = terminal_of(STDOUT_FILENO);

	*p = (struct page){.columns = screen.is ? screen.columns : COLUMNS,
	    .utf8 = locale_is_utf8(),
	    .colour = screen.colour};
	if (p->columns > COLUMNS_MAX)
		p->columns = COLUMNS_MAX;
	buf_init(&p->text, MCP_MESSAGE_MAX);
	buf_init(&p->shown, (size_t)8 * MCP_MESSAGE_MAX);
}

void
page_free(struct page *p)
{
	buf_free(&p->text);
	buf_free(&p->shown);
}

/* ---- lines ----------------------------------------------------------------------- */

void
page_line(struct page *p)
{
	(void)putchar('\n');
	p->at = p->blanks = 0;
}

void
page_to(struct page *p, int column)
{
	if (p->at > 0 && p->at >= column)
		page_line(p);
	printf("%*s", column - p->at, "");
	p->at = column;
}

static int
width(const char *text, size_t len)
{
	const char *end = text + len;
	int n = 0;

	while (text < end)
		n += codepoint_width(utf8_take(&text, end));
	return n;
}

/* A word that is longer than a line is cut where the line ends. */
static void
put_long(struct page *p, int indent, const char *word, size_t len)
{
	const char *end = word + len;

	while (word < end) {
		const char *from = word;
		int n = codepoint_width(utf8_take(&word, end));

		if (p->at + n > p->columns) {
			page_line(p);
			page_to(p, indent);
		}
		(void)fwrite(from, 1, (size_t)(word - from), stdout);
		p->at += n;
	}
}

/* The blanks before a word are left out where a line begins with it. */
static void
put_word(struct page *p, int indent, int blanks, const char *word, size_t len)
{
	blanks += p->blanks;
	p->blanks = 0;
	if (p->at + blanks + width(word, len) > p->columns && p->at > indent) {
		page_line(p);
		page_to(p, indent);
		blanks = 0;
	}
	printf("%*s", blanks, "");
	p->at += blanks;
	put_long(p, indent, word, len);
}

/* One line of the text: words that do not fit move to the next line. */
static void
put_line(struct page *p, int indent, const char *text, size_t len)
{
	const char *end = text + len;

	while (text < end) {
		size_t blanks = 0, n = 0;

		while (text + blanks < end && text[blanks] == ' ')
			blanks++;
		text += blanks;
		if (blanks > INDENT_MAX)
			blanks = INDENT_MAX;
		while (text + n < end && text[n] != ' ')
			n++;
		if (n > 0)
			put_word(p, indent, (int)blanks, text, n);
		else
			p->blanks += (int)blanks; /* before what is appended next */
		text += n;
	}
}

static const char *const styles[] = {
    [PAGE_PLAIN] = "",
    [PAGE_NAME] = "\x1b[1m",
    [PAGE_MARK] = "\x1b[31m",
    [PAGE_OLD] = "\x1b[31m",
    [PAGE_NEW] = "\x1b[32m",
};

static void
show(struct page *p, const char *text, size_t len, unsigned int how)
{
	buf_clear(&p->shown);
	if (codepoint_show(&p->shown, text, len, how | (p->utf8 ? SHOW_UTF8 : 0u)) < 0) {
		buf_clear(&p->shown);
		(void)buf_puts(&p->shown, "(out of memory)"); /* so */
	}
}

void
page_put(struct page *p, int indent, enum page_style style, const char *text, size_t len)
{
	const char *at, *end;

	if (indent > p->columns - COLUMNS_LEFT)
		indent = p->columns - COLUMNS_LEFT;
	show(p, text, len, SHOW_LINES);
	at = buf_str(&p->shown);
	end = at + strlen(at);
	(void)fputs(p->colour ? styles[style] : "", stdout);
	while (at < end) {
		const char *line = memchr(at, '\n', (size_t)(end - at));
		const char *stop = line != NULL ? line : end;

		put_line(p, indent, at, (size_t)(stop - at));
		at = line != NULL ? line + 1 : end;
		if (line != NULL && at < end) {
			page_line(p);
			page_to(p, indent);
		}
	}
	(void)fputs(p->colour && styles[style][0] != '\0' ? "\x1b[0m" : "", stdout);
}

void
page_puts(struct page *p, int indent, enum page_style style, const char *text)
{
	page_put(p, indent, style, text, strlen(text));
}

void
page_json(struct page *p, int indent, enum page_style style, struct json value)
{
	size_t len = 0;

	buf_clear(&p->text);
	if (value.type == JSON_IS_STRING && buf_reserve(&p->text, value.len) == 0 &&
	    json_text(value, (char *)p->text.data, p->text.cap, &len) == 0)
		page_put(p, indent, style, (const char *)p->text.data, len);
	else
		page_put(p, indent, style, (const char *)value.at, value.len);
}

int
page_width(struct page *p, const char *text, size_t len)
{
	show(p, text, len, 0);
	return width(buf_str(&p->shown), strlen(buf_str(&p->shown)));
}
