/*
 * Lines of /etc/passwd and similar files: fields separated by colons
 * (passwd(5), subuid(5)).
 */
#ifndef KENNEL_SHIM_HOST_PASSWD_LINE_H
#define KENNEL_SHIM_HOST_PASSWD_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Copies the n-th field (from 0) of a line to out; false: missing, empty, too
 * long, or with a NUL in it.
 */
bool colon_field(const char *line, const char *end, int n, char *out, size_t cap);
/* Parses an id or a count, in decimal, below UINT32_MAX, which means "no id". */
bool colon_number(const char *text, uint32_t *ret);

#endif
