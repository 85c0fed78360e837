/*
 * The tools that a program lists, asked in a cell that grants it its package, the
 * directories among its arguments to read without what its policy hides, and nothing else:
 * no secret, no host, nothing to write.
 */
#ifndef KENNEL_SUPERVISOR_INSTALL_DEFINITIONS_H
#define KENNEL_SUPERVISOR_INSTALL_DEFINITIONS_H

#include <stddef.h>

#define DEFINITIONS_MAX 512

struct definitions {
	struct {
		char *name; /* printable */
		char *text; /* the definition, canonical JSON, printable */
	} tool[DEFINITIONS_MAX];
	size_t n;
	char why[256]; /* why they are not known */
};

/* hidden: lines of the policy's `hide`, or "". file: where the policy of the cell is written, and removed again. 0; -errno with why.
 * definitions_free in every case. */
int definitions_ask(const char *file, const char *name, int argc, char *const *argv,
    const char *hidden, struct definitions *ret);
void definitions_free(struct definitions *);
/* Prints how they differ. Returns how many do. */
size_t definitions_diff(const struct definitions *was, const struct definitions *is);

#endif
