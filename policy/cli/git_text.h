/*
 * The text of a policy at a revision of its git repository.
 */
#ifndef KENNEL_POLICY_CLI_GIT_TEXT_H
#define KENNEL_POLICY_CLI_GIT_TEXT_H

#include <stddef.h>

struct git_text {
	const char *revision; /* as gitrevisions(7) has it; not beginning with '-' */
	const char *file; /* the policy: what it includes is in or below its directory */
};

/*
 * The `read` of a policy_reader, whose arg is a struct git_text: the content of path, which
 * is named as in the working tree. 0, and the caller frees *ret; -EXDEV: it is not in or
 * below the directory of the policy; -EFBIG: more than max bytes; -EIO: git found no such
 * file, and has reported it on standard error; -ENOENT: there is no git; or -errno.
 */
int git_text_read(void *arg, const char *path, size_t max, char **ret, size_t *ret_len);

#endif
