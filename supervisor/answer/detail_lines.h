/*
 * All that an approval shows, as lines for a screen.
 */
#ifndef KENNEL_SUPERVISOR_ANSWER_DETAIL_LINES_H
#define KENNEL_SUPERVISOR_ANSWER_DETAIL_LINES_H

#include "supervisor/answer/answer.h"

#define DETAIL_CONTINUATION "  | "

enum line_style {
	LINE_PLAIN,
	LINE_LABEL, /* ours, and no text from outside */
	LINE_OLD,   /* what would be replaced */
	LINE_NEW,   /* by what */
	LINE_WARNING,
};

struct detail_line {
	char *text; /* printable ASCII */
	enum line_style style;
};

struct detail_lines {
	struct detail_line *line;
	size_t n, cap;
	int width, error; /* error: 0 or the first -errno */
};

/*
 * The lines of this approval, of at most width characters, at least 20. A text from
 * outside is escaped; where it is longer than a line, each further one begins with "  | ",
 * and so does no other. 0 or -errno. The caller frees them.
 */
int detail_lines_make(const struct approval *, int width, struct detail_lines *ret);
void detail_lines_free(struct detail_lines *);

/* A text from outside on one line, cut: escaped. Returns out. */
char *inert_text(char *out, size_t cap, const char *text);

#endif
