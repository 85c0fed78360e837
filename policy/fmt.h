/*
 * The canonical form of a policy's text (fmt.c).
 */
#ifndef KENNEL_POLICY_FMT_H
#define KENNEL_POLICY_FMT_H

#include "policy/lang/ast.h"

#define FMT_WIDTH 100 /* columns; a tab is eight of them */

/*
 * The text in its canonical form, comments and all, into out.  The text must
 * parse; what comes out is read again and has the same words and the same
 * comments, or this fails.  0, -EINVAL for a text that does not lex or whose
 * form would not be the same text, -EMSGSIZE, -ENOMEM.
 */
int fmt_text(const struct policy_source *, struct buf *out);

#endif
