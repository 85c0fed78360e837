/*
 * The output of "kennel policy" verbs: one JSON document, or text for people in
 * which bytes from a file cannot forge a line.
 */
#ifndef KENNEL_POLICY_BASE_OUTPUT_H
#define KENNEL_POLICY_BASE_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define OUT_DEPTH_MAX 16

/* A JSON document being written; key is NULL inside a list. */
struct out {
	FILE *f;
	unsigned int depth;
	bool more[OUT_DEPTH_MAX];  /* this level already has an element */
	char close[OUT_DEPTH_MAX]; /* closing bracket of each level */
};

void out_init(struct out *, FILE *);
void out_object(struct out *, const char *key);
void out_list(struct out *, const char *key);
void out_end(struct out *); /* closes the current object or list */
void out_text(struct out *, const char *key, const char *);
void out_bytes(struct out *, const char *key, const char *, size_t len);
void out_number(struct out *, const char *key, uint64_t);
void out_yes(struct out *, const char *key, bool);
void out_null(struct out *, const char *key);
void out_text_or_null(struct out *, const char *key, const char *); /* NULL: null */
/* A value that is JSON already; NULL: null. */
void out_json_or_null(struct out *, const char *key, const char *json);

/*
 * Writes a JSON string with its quotes.  Bytes that are not UTF-8 become
 * U+FFFD, so the output is always valid JSON.
 */
void out_string(FILE *, const char *, size_t len);
/* For people: control bytes, and invisible or reordering characters, as \xHH. */
void out_plain(FILE *, const char *, size_t len);
/* For HTML: as out_plain, and & < > " ' as character references. */
void out_html(FILE *, const char *, size_t len);

/* Decodes one UTF-8 code point: its length, or 0 if the bytes are not UTF-8. */
size_t utf8_read(const char *, size_t len, uint32_t *ret);
/* A code point that is invisible or reorders the text of a line. */
bool utf8_is_unseen(uint32_t code);

#endif
