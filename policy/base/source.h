/*
 * The text of a policy, and how the files that it includes are read.
 */
#ifndef KENNEL_POLICY_BASE_SOURCE_H
#define KENNEL_POLICY_BASE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * How `include` and `pins` read files.  Reads the whole file at path, absolute
 * or relative to the current directory, into malloc'd memory, which the caller
 * frees: 0; -EFBIG above max; -errno (path_why() describes it).
 */
struct policy_reader {
	int (*read)(
	    void *arg, const char *path, size_t max, char **ret_text, size_t *ret_len);
	void *arg;
	bool no_pins; /* `pins` statements count as absent: their file is to be made */
};

struct policy_source {
	const char *path; /* shown in errors; NULL: "(standard input)" */
	const char *text; /* len bytes, of any value */
	size_t len;
	const struct policy_reader *reader; /* NULL: `include` is not possible */
};

#endif
