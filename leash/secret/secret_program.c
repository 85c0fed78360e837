/*
 * The verbs of kennel-secret.
 */
#include "leash/secret/private.h"
#include "secret_syscalls.h"
#include "shim/base/array.h"

static const struct verb verbs[] = {
    {"init", verb_init, TAKES_INPUT | TAKES_KEY},
    {"unlock", verb_unlock, TAKES_INPUT | TAKES_KEY | TAKES_TIMES},
    {"lock", verb_lock, 0},
    {"set", verb_set, NEEDS_PATH | TAKES_INPUT | TAKES_SHAPE},
    {"rotate", verb_rotate, NEEDS_PATH | TAKES_INPUT | TAKES_SHAPE},
    {"remove", verb_remove, NEEDS_PATH},
    {"versions", show_versions, TAKES_PATH | TAKES_JSON | TAKES_RESTORE},
    {"recover", verb_recover, TAKES_INPUT},
    {"export-recovery", verb_export, TAKES_INPUT | TAKES_KEY},
    {"grant", verb_grant, NEEDS_PATH | TAKES_SERVER | TAKES_POLICY | TAKES_AFTER},
    {"grants", show_grants, TAKES_PATH | TAKES_JSON},
    {"trace", verb_trace, TAKES_INPUT | NO_KEEPER},
    {"revoke", verb_revoke, NEEDS_PATH | TAKES_SERVER | TAKES_ID},
    {"confirm", verb_confirm, NEEDS_DIGEST | TAKES_INPUT},
    {"key list", show_keys, TAKES_JSON},
    {"key challenge", verb_key_challenge, NEEDS_DIGEST},
    {"key confirm", verb_key_confirm, NEEDS_DIGEST | TAKES_INPUT},
    {"key remove", verb_key_remove, NEEDS_KEY | TAKES_INPUT},
    {"key", NULL, TAKES_JSON | TAKES_INPUT}, /* without its second word */
    {"dialogs", verb_dialogs, TAKES_PATH | TAKES_SHAPE | TAKES_DIALOG | TAKES_GRANTS,
	dialogs_start},
    {"notify", verb_dialogs, TAKES_DIALOG | NO_KEEPER, notify_start},
};

const struct program this_program = {.verb = verbs,
    .verb_n = ARRAY_LEN(verbs),
    .syscalls = secret_syscalls,
    .syscalls_n = ARRAY_LEN(secret_syscalls)};
