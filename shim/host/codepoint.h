/*
 * Characters of texts from outside: which of them are invisible or misleading, which ASCII
 * characters they look like, and how all of them are shown to a person.
 */
#ifndef KENNEL_SHIM_HOST_CODEPOINT_H
#define KENNEL_SHIM_HOST_CODEPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/buf.h"

enum codepoint_class {
	CODEPOINT_PLAIN,
	CODEPOINT_CONTROL,
	CODEPOINT_ESCAPE, /* begins a terminal's escape sequence */
	CODEPOINT_BIDI,
	CODEPOINT_ZERO_WIDTH,
	CODEPOINT_TAG,
	CODEPOINT_SELECTOR,
	CODEPOINT_PRIVATE,
	CODEPOINT_SPACE, /* blank, and no ASCII space */
};
enum codepoint_class codepoint_class(uint32_t);

/*
 * The ASCII text that it looks like, after compatibility forms (full width, mathematical,
 * circled) and look-alikes of Latin, Greek, Cyrillic and Armenian: its letters keep their
 * case. "": it is invisible. NULL: it looks like none.
 */
const char *codepoint_ascii(uint32_t, char memory[2]);

/*
 * Appends text so that a person sees every character of it: printable ASCII as it is,
 * others as \u{XXXX}. utf8: letters and symbols of left-to-right scripts as they are too.
 * lines: "\n" stays. 0 or an error of the buffer.
 */
enum codepoint_show { SHOW_UTF8 = 1, SHOW_LINES = 2 };
int codepoint_show(struct buf *, const char *text, size_t len, unsigned int how);
/* Columns that it takes on a terminal, if codepoint_show leaves it as it is. */
int codepoint_width(uint32_t);

#endif
