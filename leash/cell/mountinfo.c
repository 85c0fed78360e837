/*
 * Parses proc_pid_mountinfo(5) byte by byte: which covers are in place.
 *
 *	36 35 98:0 /in/the/source /the/place rw,noatime ...
 *	id                        path: " ", "\t", "\n" and "\\" as octal escapes
 *
 * Process: the leash.  The text is the kernel's, the paths in it are the host's:
 * they are compared as they arrive and never stored.
 */
#include "leash/cell/private.h"

#define FIELD_ID    0
#define FIELD_PLACE 4

static struct cell_cover *
cover_of(const struct mountinfo *m, uint64_t id)
{
	for (size_t i = 0; i < m->cover_n; i++)
		if (m->cover[i].mount_id == id)
			return &m->cover[i];
	return NULL;
}

static void
path_byte(struct mountinfo *m, unsigned char c)
{
	if (c != '\0' && (unsigned char)*m->want == c)
		m->want++;
	else
		m->want = NULL;
}

static void
place_byte(struct mountinfo *m, char c)
{
	if (m->want == NULL)
		return;
	if (m->escape == 0 && c == '\\') {
		m->escape = 3;
		m->value = 0;
	} else if (m->escape == 0) {
		path_byte(m, (unsigned char)c);
	} else if (c < '0' || c > '7') {
		m->want = NULL;
	} else {
		m->value = (unsigned char)(m->value * 8 + (c - '0'));
		if (--m->escape == 0)
			path_byte(m, m->value);
	}
}

static void
field_end(struct mountinfo *m)
{
	if (m->field == FIELD_ID) {
		m->line = cover_of(m, m->id);
		m->want = m->line == NULL ? NULL : m->line->path;
		m->escape = 0;
	}
	if (m->field == FIELD_PLACE && m->want != NULL && *m->want == '\0' &&
	    m->escape == 0)
		m->line->seen = true;
	m->field++;
}

void
mountinfo_byte(struct mountinfo *m, char c)
{
	if (c == '\n') {
		m->field = FIELD_ID;
		m->id = 0;
	} else if (c == ' ') {
		field_end(m);
	} else if (m->field == FIELD_ID) {
		/* ids have 32 bits; any other text is not the id of a cover */
		m->id = c >= '0' && c <= '9' && m->id <= UINT32_MAX
			    ? m->id * 10 + (uint64_t)(c - '0')
			    : UINT64_MAX;
	} else if (m->field == FIELD_PLACE) {
		place_byte(m, c);
	}
}
