/*
 * What programs remove around a value that they read: the union of what trim() and
 * strip() of JavaScript, Python, Java, Go, C# and PHP remove, and characters without a
 * width, which come along when a value is copied from a page or a document.
 */
#ifndef KENNEL_LEASH_SCRUB_WHITE_SPACE_H
#define KENNEL_LEASH_SCRUB_WHITE_SPACE_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the white space character with which the text begins, or ends; 0: none. */
size_t white_space_first(const uint8_t *text, size_t len);
size_t white_space_last(const uint8_t *text, size_t len);

/* Bytes of the line end with which the text begins (CR, LF, NEL, LS, PS); 0: none. */
size_t white_space_line_end(const uint8_t *text, size_t len);

#endif
