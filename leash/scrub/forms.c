/*
 * What is looked for: each value in the forms that it may come out in.  JSON
 * spellings are not forms: the text is decoded instead (reading.c).
 *
 * Process: the leash.  The only file of this room that asks for a secret's
 * bytes; patterns point into the vault and copy nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "leash/scrub/private.h"
#include "leash/vault/vault.h"

int
scrub_new(struct scrub **ret)
{
	struct scrub *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return -ENOMEM;
	*ret = s;
	return 0;
}

void
scrub_free(struct scrub *s)
{
	size_t i;

	if (s == NULL)
		return;
	for (i = 0; i < s->pattern_n; i++)
		free(s->pattern[i].z);
	free(s->pattern);
	free(s->value);
	free(s->filter.gram);
	explicit_bzero(s, sizeof(*s));
	free(s);
}

static uint32_t *
z_of(const uint8_t *data, size_t len)
{
	uint32_t *z = calloc(len, sizeof(*z));
	size_t i, left = 0, right = 0, m;

	if (z == NULL)
		return NULL;
	z[0] = (uint32_t)len;
	for (i = 1; i < len; i++) {
		m = 0;
		if (i < right)
			m = z[i - left] < right - i ? z[i - left] : right - i;
		while (i + m < len && data[m] == data[i + m])
			m++;
		z[i] = (uint32_t)m;
		if (i + m > right) {
			left = i;
			right = i + m;
		}
	}
	return z;
}

static int
add_pattern(struct scrub *s, const uint8_t *data, size_t len, uint32_t value)
{
	struct pattern *p;
	uint32_t *z;
	size_t i;

	for (i = 0; i < s->pattern_n; i++)
		if (s->pattern[i].len == len &&
		    memcmp(s->pattern[i].data, data, len) == 0)
			return 0;
	if (s->pattern_n == SCRUB_PATTERNS_MAX)
		return -ENOSPC;
	if (s->pattern_n == s->pattern_cap) {
		p = reallocarray(s->pattern, s->pattern_cap + 256, sizeof(*p));
		if (p == NULL)
			return -ENOMEM;
		s->pattern = p;
		s->pattern_cap += 256;
	}
	z = z_of(data, len);
	if (z == NULL)
		return -ENOMEM;
	s->pattern[s->pattern_n++] =
	    (struct pattern){.data = data, .len = len, .value = value, .z = z};
	return 0;
}

/* Each line of a value of several, without its end. */
static int
add_lines(struct scrub *s, const uint8_t *data, size_t len, uint32_t value)
{
	const uint8_t *end = data + len, *stop, *line;
	size_t line_len;
	int r = 0;

	for (line = data; line < end && r == 0; line = stop + 1) {
		stop = memchr(line, '\n', (size_t)(end - line));
		if (stop == NULL)
			stop = end;
		line_len = (size_t)(stop - line);
		if (line_len > 0 && line[line_len - 1] == '\r')
			line_len--;
		if (line_len >= SCRUB_LINE_MIN)
			r = add_pattern(s, line, line_len, value);
	}
	return r;
}

int
scrub_learn(struct scrub *s, const struct secret *secret, uint32_t number)
{
	const uint8_t *data = (const uint8_t *)secret_expose(secret);
	size_t len = secret_len(secret);
	struct value *v;
	int r;

	if (s->built)
		return -EBUSY;
	if (len < SCRUB_LEN_MIN)
		return -EINVAL;
	if (s->value_n == SCRUB_VALUES_MAX)
		return -ENOSPC;
	v = reallocarray(s->value, s->value_n + 1, sizeof(*v));
	if (v == NULL)
		return -ENOMEM;
	s->value = v;
	s->value[s->value_n] = (struct value){.number = number};
	r = add_pattern(s, data, len, (uint32_t)s->value_n);
	if (r == 0 && memchr(data, '\n', len) != NULL)
		r = add_lines(s, data, len, (uint32_t)s->value_n);
	if (r == 0)
		s->value_n++;
	return r;
}

uint64_t
scrub_count(const struct scrub *s, uint32_t number)
{
	uint64_t count = 0;
	size_t i;

	for (i = 0; i < s->value_n; i++)
		if (s->value[i].number == number)
			count += s->value[i].count;
	return count;
}
