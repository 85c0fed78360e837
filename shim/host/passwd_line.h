/*
 * Lines of /etc/passwd and its like: fields with a colon between them (passwd(5),
 * subuid(5)).
 */
#ifndef KENNEL_SHIM_BASE_COLON_H
#define KENNEL_SHIM_BASE_COLON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The n-th field (from 0) of a line, into out; false: none, empty, too long, or with
 * a NUL in it. */
bool colon_field(const char *line, const char *end, int n, char *out, size_t cap);
/* An id or a count, in decimal, below UINT32_MAX: that one means "no id". */
bool colon_number(const char *text, uint32_t *ret);

#endif
