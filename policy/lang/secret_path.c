/*
 * The syntax of secret paths.  If there are several errors, the first of this
 * order is reported: number of parts, an empty part, a part reserved for
 * kennel, invalid characters.
 */
#include "policy/lang/secret_path.h"

#include <string.h>

#define PARTS_MIN  3
#define PLACES_MAX 4 /* messages give the position only up to the fourth part */

bool
secret_path_part(const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (!(text[i] >= 'a' && text[i] <= 'z') &&
		    (i == 0 || !((text[i] >= '0' && text[i] <= '9') || text[i] == '-')))
			return false;
	return len > 0;
}

/*
 * Reads the part that begins at *at and moves *at past its `/`; false: it was
 * the last.
 */
static bool
part_next(const char *text, size_t len, size_t *at, size_t *ret_from, size_t *ret_len)
{
	const char *slash = memchr(text + *at, '/', len - *at);

	*ret_from = *at;
	*ret_len = slash == NULL ? len - *at : (size_t)(slash - text) - *at;
	*at += *ret_len + (slash != NULL ? 1 : 0);
	return slash != NULL;
}

/*
 * The number of the first empty part, or else of the first part with an invalid
 * character.
 */
static size_t
part_wrong(const char *text, size_t len, bool empty)
{
	size_t at = 0, from, n, place = 1;
	bool more;

	do {
		more = part_next(text, len, &at, &from, &n);
		if (empty ? n == 0 : !secret_path_part(text + from, n))
			return place;
		place++;
	} while (more);
	return 0;
}

const char *
secret_path_wrong(const char *text, size_t len)
{
	static const char *const empty[] = {NULL, "the first part of the path is empty",
	    "the second part of the path is empty", "the third part of the path is empty",
	    "a part of the path is empty"};
	static const char *const letters[] = {NULL,
	    "invalid first part of the path: use lower-case letters, digits and `-`, "
	    "starting with a letter",
	    "invalid second part of the path: use lower-case letters, digits and `-`, "
	    "starting with a letter",
	    "invalid third part of the path: use lower-case letters, digits and `-`, "
	    "starting with a letter",
	    "invalid part of the path: use lower-case letters, digits and `-`, starting "
	    "with a letter"};
	size_t i, parts = 1, place;

	for (i = 0; i < len; i++)
		parts += text[i] == '/';
	if (len > SECRET_PATH_MAX)
		return "the path of the secret is longer than 255 bytes";
	if (parts < PARTS_MIN)
		return "expected a secret path of three or more parts, "
		       "scope/provider/purpose, as in team/github/token";
	place = part_wrong(text, len, true);
	if (place > 0)
		return empty[place < PLACES_MAX ? place : PLACES_MAX];
	if (strncmp(text, "__", 2) == 0 || strncmp(text, "_test/", 6) == 0)
		return "paths that start with `__` or `_test` are reserved for kennel";
	place = part_wrong(text, len, false);
	return place > 0 ? letters[place < PLACES_MAX ? place : PLACES_MAX] : NULL;
}
