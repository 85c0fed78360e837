/*
 * The tokens of one server, in pages of a vault, and their redaction from what the server
 * sends.  A token that was replaced is redacted as well, up to TOKENS_MAX of them.
 */
#ifndef KENNEL_LEASH_REMOTE_TOKENS_H
#define KENNEL_LEASH_REMOTE_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

#define TOKENS_MAX 12
#define TOKEN_MAX  8192 /* bytes of one */

enum token_kind { TOKEN_ACCESS, TOKEN_REFRESH, TOKEN_KINDS };

struct tokens;
struct secret;
struct buf;

int tokens_new(struct tokens **ret);
/* Wipes them.  NULL is fine. */
void tokens_free(struct tokens *);
/*
 * The present token of this kind, from now on.  0; -EINVAL and *ret_what: a value that
 * cannot be redacted safely; -ENOMEM, -EPERM: no locked memory.  On failure nothing has
 * changed.
 */
int tokens_add(
    struct tokens *, enum token_kind, const char *, size_t, const char **ret_what);
/* NULL: none.  Valid until the next tokens_add. */
const struct secret *tokens_present(const struct tokens *, enum token_kind);
/* It is not used any more, and still redacted. */
void tokens_drop(struct tokens *, enum token_kind);
/* Appends the message without any of the tokens.  0 or -errno: then nothing of it may be
 * passed on. */
int tokens_redact(struct tokens *, const char *, size_t, struct buf *out);

#endif
