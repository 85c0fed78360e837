/*
 * Text of the server, redacted: the only form in which a record, a question or a message
 * of the leash may contain it.  The type has no members that others see, so only the
 * functions below make one; tests/check/foreign.sh looks for casts, and for events and
 * messages that contain other text.
 *
 * Each function writes to the caller's room, and the result is valid until the room is
 * used again.  A text that cannot be redacted becomes SCRUB_MASK.
 */
#ifndef KENNEL_LEASH_SCRUB_FOREIGN_H
#define KENNEL_LEASH_SCRUB_FOREIGN_H

#include "leash/scrub/scrub.h"

#define FOREIGN_NAME_MAX 512 /* bytes; a longer name becomes SCRUB_MASK */

struct foreign;

/* Any text.  scrub NULL: the server has no secrets, and the text is copied. */
const struct foreign *foreign_text(struct scrub *, const char *text, struct buf *room);

/*
 * The name of a host, or what a client sends in place of one (SNI, ALPN).  Such a name
 * loses its case, is cut into labels, and cannot contain most signs: so a value is also
 * found without regard to case and to any sign, as long as eight letters, digits or
 * bytes above 0x7f are left of it.  In a name with a label that begins with "xn--", only
 * letters and digits have to be left: the other characters are encoded there.  A value of
 * several labels is also found across that beginning, and across the code at their ends.
 */
const struct foreign *foreign_name(struct scrub *, const char *name, struct buf *room);

/* "before: text" or, if text is "", before alone, which is text of kennel's. */
const struct foreign *foreign_after(
    const char *before, const struct foreign *text, struct buf *room);

/* For writers of records and messages. */
const char *foreign_str(const struct foreign *);

/* Several texts, each with its NUL. */
struct foreign_list {
	struct buf bytes; /* only foreign_list_add() writes to it */
	size_t n;
};

/* An empty list that holds at most max bytes; freed by foreign_list_free(). */
void foreign_list_init(struct foreign_list *, size_t max);
void foreign_list_free(struct foreign_list *);
void foreign_list_clear(struct foreign_list *);
/* False: it does not fit. */
bool foreign_list_add(struct foreign_list *, const struct foreign *);
/* The texts one after the other, for a writer. */
const char *foreign_list_str(const struct foreign_list *);

#endif
