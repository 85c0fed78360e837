/*
 * The name of a secret: scope/provider/purpose.
 */
#ifndef KENNEL_POLICY_LANG_SECRET_PATH_H
#define KENNEL_POLICY_LANG_SECRET_PATH_H

#include <stdbool.h>
#include <stddef.h>

#define SECRET_PATH_MAX 255 /* bytes */

/*
 * A path has three or more parts separated by `/`. Each part is a lower-case
 * letter followed by lower-case letters, digits and `-`. Returns NULL, or why
 * the path is invalid: a static text that gives the position and never contains
 * a byte of the path.
 */
const char *secret_path_wrong(const char *, size_t len);
/* Is this a valid single part? */
bool secret_path_part(const char *, size_t len);

#endif
