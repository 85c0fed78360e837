/*
 * The lines of a YAML file, and the texts in them, which may go over lines.
 */
#ifndef KENNEL_SUPERVISOR_IMPORT_YAML_TEXT_H
#define KENNEL_SUPERVISOR_IMPORT_YAML_TEXT_H

#include "supervisor/import/config/config_tree.h"

struct yaml_scan {
	struct config_tree *t;
	size_t at;    /* in a line */
	size_t end;   /* of the line, without its line end */
	size_t least; /* the spaces before the next lines of a text; 0 in [] and {} */
};

/* The byte at s, or -1 at the end of its line. */
int yaml_peek(const struct yaml_scan *);
void yaml_blanks(struct yaml_scan *);
/* Finds the end of the line that s is in. */
void yaml_line_find_end(struct yaml_scan *);
/* Moves to the start of the next line. */
void yaml_line_next(struct yaml_scan *);
/* Moves to the first byte of the next line that is not empty. False: it has fewer spaces than
 * `least`, or the file ends. */
bool yaml_line_continues(struct yaml_scan *);

/*
 * Each reads one text at s, and leaves s after it, in its last line. 0; -EBADMSG with the
 * tree's line and why; -ENOMEM.
 */

/* A text in quotes. *ret NULL: an escape is invalid or has no text. */
int yaml_quoted(struct yaml_scan *, char **ret);
/* A text without quotes, up to a byte of stop, a comment, or a line that does not continue it.
 * Sets text, end and type of a node with `at`. */
int yaml_plain(struct yaml_scan *, const char *stop, struct config_node *);
/* A block scalar below a key or a dash at this indentation, from its | or >: s is at the line
 * after it then. Sets text, end and type. */
int yaml_block_text(struct yaml_scan *, size_t indent, struct config_node *);

#endif
