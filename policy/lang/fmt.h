/*
 * The canonical form of a policy's text (fmt.c).
 */
#ifndef KENNEL_POLICY_LANG_FMT_H
#define KENNEL_POLICY_LANG_FMT_H

#include "policy/base/source.h"
#include "shim/base/buf.h"

#define FMT_WIDTH 100 /* columns; a tab counts as eight */

/*
 * Writes the canonical form of a policy, with its comments, to out.  The text
 * must parse.  The output is read again, and the call fails unless it has the
 * same words and comments.  Returns 0; -EINVAL if the text does not lex or the
 * output would differ; -EMSGSIZE; -ENOMEM.
 */
int fmt_text(const struct policy_source *, struct buf *out);

#endif
