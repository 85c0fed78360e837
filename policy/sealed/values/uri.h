/*
 * URIs of resources as a server may read them (uri.c).
 */
#ifndef KENNEL_POLICY_SEALED_VALUES_URI_H
#define KENNEL_POLICY_SEALED_VALUES_URI_H

#include <stdbool.h>
#include <stddef.h>

enum uri_form {
	URI_PLAIN, /* every byte means itself, to every server */
	URI_CODED, /* has percent-encoded bytes, or bytes that could be encoded */
	URI_ODD,   /* servers resolve it to another URI: it may name anything */
};
enum uri_form uri_form(const char *, size_t len);

/*
 * Like policy_glob, on percent-decoded bytes of both texts; a `%2A` is not a
 * star. It also matches the text without the parameters of its path (`;x`).
 */
bool uri_glob(const char *pattern, size_t pattern_len, const char *text, size_t text_len);
/*
 * Length of the leading part of a pattern that has only one spelling: it ends
 * at a star, or at a byte that can be percent-encoded.
 */
size_t uri_fixed(const char *pattern, size_t len);
/* Percent-decodes once into out (at most len bytes); returns how many bytes. */
size_t uri_decode(const char *, size_t len, char *out);

#endif
