/*
 * What the verbs of "kennel policy" write: one JSON document, or text for
 * people in which nothing that came from a file can forge a line.
 */
#ifndef KENNEL_POLICY_OUT_H
#define KENNEL_POLICY_OUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define OUT_DEPTH_MAX 16

/* A JSON document on its way; a key is NULL inside of a list. */
struct out {
	FILE *f;
	unsigned int depth;
	bool more[OUT_DEPTH_MAX];  /* something stands before in this one */
	char close[OUT_DEPTH_MAX]; /* what ends it */
};

void out_init(struct out *, FILE *);
void out_object(struct out *, const char *key);
void out_list(struct out *, const char *key);
void out_end(struct out *); /* of the object or list at hand */
void out_text(struct out *, const char *key, const char *);
void out_bytes(struct out *, const char *key, const char *, size_t len);
void out_number(struct out *, const char *key, uint64_t);
void out_yes(struct out *, const char *key, bool);
void out_null(struct out *, const char *key);
void out_text_or_null(struct out *, const char *key, const char *); /* NULL: null */

/* Valid UTF-8 as a JSON string, with its quotes.  Bytes that are not UTF-8
 * become U+FFFD: what is written is always JSON. */
void out_string(FILE *, const char *, size_t len);
/* For people: control bytes, and what hides or reorders, as \xHH. */
void out_plain(FILE *, const char *, size_t len);
/* For a page: as out_plain, and & < > " ' as references. */
void out_html(FILE *, const char *, size_t len);

#endif
