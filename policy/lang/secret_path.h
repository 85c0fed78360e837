/*
 * What a secret is called: scope/provider/purpose.
 */
#ifndef KENNEL_POLICY_SECRETPATH_H
#define KENNEL_POLICY_SECRETPATH_H

#include <stdbool.h>
#include <stddef.h>

#define SECRET_PATH_MAX 255 /* bytes */

/*
 * Three or more parts with `/` between them, each a small letter and then small
 * letters, digits and `-`.  NULL, or why it is none: a static text that names the
 * place and never holds a byte of the path.
 */
const char *secret_path_wrong(const char *, size_t len);
/* One part of it by itself. */
bool secret_path_part(const char *, size_t len);

#endif
