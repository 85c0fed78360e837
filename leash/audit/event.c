/*
 * The names of events, and how an event is built field by field.  An event is never
 * too long: a long text is cut, with the digest of all of it beside its head, and
 * fields that do not fit are left out; both are counted.  Runs in kennel, in
 * every leash and in the readers of a log.  There is no field for a secret.
 */
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "leash/audit/writer.h"
#include "shim/base/array.h"
#include "shim/base/hex.h"
#include "shim/base/sha256.h"

/* ---- names ---------------------------------------------------------------- */

static const char *const kind_name[EVENT_KIND_END] = {
    [EVENT_START] = "start",
    [EVENT_MOUNTS] = "mounts",
    [EVENT_SECRETS] = "secrets",
    [EVENT_EXEC] = "exec",
    [EVENT_CALL] = "call",
    [EVENT_REFUSED] = "refused",
    [EVENT_DROPPED] = "dropped",
    [EVENT_SCRUB] = "scrub",
    [EVENT_STOP] = "stop",
    [EVENT_GAP] = "gap",
    [EVENT_POLICY] = "policy.load",
    [EVENT_EXPORT] = "export",
    [EVENT_COSIG] = "cosig",
    [EVENT_PRUNE] = "prune",
    [EVENT_EGRESS] = "egress",
    [EVENT_APPROVE] = "approve",
    [EVENT_VAULT] = "vault",
    [EVENT_EXCEPTION] = "exception",
    [EVENT_MANIFEST] = "manifest",
    [EVENT_ROTATE] = "rotate",
    [EVENT_REGISTRY] = "registry",
    [EVENT_CATALOG] = "catalog",
    [EVENT_CONSOLE] = "console",
    [EVENT_INSTALL] = "install",
    [EVENT_GENESIS] = "genesis",
    [EVENT_OPEN] = "open",
    [EVENT_EPOCH] = "epoch",
    [EVENT_HEARTBEAT] = "heartbeat",
    [EVENT_CLOCK] = "clock",
    [EVENT_BREAK] = "break",
    [EVENT_END] = "end",
};

const char *
event_kind_name(enum event_kind kind)
{
	if ((size_t)kind >= ARRAY_LEN(kind_name) || kind_name[kind] == NULL)
		return "unknown";
	return kind_name[kind];
}

enum { NUMBER = 1, REPEATS = 2 };

static const struct {
	const char *name;
	unsigned int is;
} key_row[KEY_END] = {
    [KEY_SERVER] = {"server", 0},
    [KEY_POLICY] = {"policy", 0},
    [KEY_MODE] = {"mode", 0},
    [KEY_VERDICT] = {"verdict", 0},
    [KEY_RULE] = {"rule", 0},
    [KEY_PROGRAM] = {"program", 0},
    [KEY_IMAGE] = {"image", 0},
    [KEY_ARGV] = {"argv", REPEATS},
    [KEY_ARGV_SHA256] = {"argv_sha256", 0},
    [KEY_PID] = {"pid", NUMBER},
    [KEY_METHOD] = {"method", 0},
    [KEY_NAME] = {"name", REPEATS},
    [KEY_DIRECTION] = {"direction", 0},
    [KEY_REQUEST] = {"request", 0},
    [KEY_PARAMS_SHA256] = {"params_sha256", 0},
    [KEY_RESULT_SHA256] = {"result_sha256", 0},
    [KEY_PARAMS_BYTES] = {"params_bytes", NUMBER},
    [KEY_RESULT_BYTES] = {"result_bytes", NUMBER},
    [KEY_DURATION_US] = {"duration_us", NUMBER},
    [KEY_OUTCOME] = {"outcome", 0},
    [KEY_REASON] = {"reason", 0},
    [KEY_COUNT] = {"count", NUMBER},
    [KEY_STATUS] = {"status", NUMBER},
    [KEY_SIGNAL] = {"signal", NUMBER},
    [KEY_LACKS] = {"lacks", REPEATS},
    [KEY_MOUNT] = {"mount", REPEATS},
    [KEY_BYTES] = {"bytes", NUMBER},
    [KEY_UID] = {"uid", NUMBER},
    [KEY_SOURCE] = {"source", 0},
    [KEY_ACTION] = {"action", 0},
    [KEY_ORIGIN] = {"origin", 0},
    [KEY_VKEY] = {"vkey", REPEATS},
    [KEY_EPOCH] = {"epoch", NUMBER},
    [KEY_PERIOD] = {"period", NUMBER},
    [KEY_HOST] = {"host", 0},
    [KEY_BOOT_ID] = {"boot_id", 0},
    [KEY_SIZE] = {"size", NUMBER},
    [KEY_ROOT] = {"root", 0},
    [KEY_NOTE] = {"note", 0},
    [KEY_FIRST] = {"first", NUMBER},
    [KEY_BEFORE] = {"before", NUMBER},
    [KEY_AFTER] = {"after", NUMBER},
    [KEY_SIGNER] = {"signer", 0},
    [KEY_VERSION] = {"version", NUMBER},
    [KEY_FORMAT] = {"format", 0},
    [KEY_RECORDS] = {"records", NUMBER},
    [KEY_WRITERS] = {"writers", NUMBER},
    [KEY_ADDRESS] = {"address", 0},
    [KEY_PORT] = {"port", NUMBER},
    [KEY_BYTES_OUT] = {"bytes_out", NUMBER},
    [KEY_BYTES_IN] = {"bytes_in", NUMBER},
    [KEY_APPROVER] = {"approver", 0},
    [KEY_OWNER] = {"owner", 0},
    [KEY_TICKET] = {"ticket", 0},
    [KEY_UNTIL] = {"until", NUMBER},
    [KEY_SHA256] = {"sha256", 0},
    [KEY_PINNED] = {"pinned", 0},
    [KEY_CALLER] = {"caller", 0},
    [KEY_TRACE] = {"trace", REPEATS},
    [KEY_CHAIN] = {"chain", REPEATS},
    [KEY_CHECKPOINTS] = {"checkpoints", NUMBER},
    [KEY_ALPN] = {"alpn", 0},
    [KEY_ECH] = {"ech", NUMBER},
    [KEY_USER] = {"user", 0},
    [KEY_CLIENT] = {"client", REPEATS},
    [KEY_PATH] = {"path", REPEATS},
    [KEY_PURPOSE] = {"purpose", 0},
    [KEY_CHANNEL] = {"channel", 0},
    [KEY_CUT_SHA256] = {"cut_sha256", REPEATS},
    [KEY_CUT] = {"cut", NUMBER},
};

static bool
key_known(enum event_key key)
{
	/* cppcheck-suppress arrayIndexOutOfBoundsCond ; it does not see ARRAY_LEN */
	return key > 0 && (size_t)key < ARRAY_LEN(key_row) && key_row[key].name != NULL;
}

const char *
event_key_name(enum event_key key)
{
	return key_known(key) ? key_row[key].name : "unknown";
}

bool
event_key_is_number(enum event_key key)
{
	return key_known(key) && (key_row[key].is & NUMBER) != 0;
}

bool
event_key_repeats(enum event_key key)
{
	return key_known(key) && (key_row[key].is & REPEATS) != 0;
}

const char *
report_role_name(enum report_role role)
{
	static const char *const name[] = {[REPORT_SUPERVISOR] = "supervisor",
	    [REPORT_LEASH] = "leash",
	    [REPORT_AUDITOR] = "auditor"};

	if ((size_t)role >= ARRAY_LEN(name) || name[role] == NULL)
		return "unknown";
	return name[role];
}

/* ---- events --------------------------------------------------------------- */

void
event_begin(struct event *event, enum event_kind kind)
{
	/* Room for the head in front, and for the KEY_CUT mark at the end. */
	wire_out_init(&event->out, event->memory + EVENT_HEAD_LEN,
	    sizeof(event->memory) - EVENT_HEAD_LEN - REPORT_CUT_ROOM);
	event->kind = kind;
	event->cut_n = 0;
	memset(event->nth, 0, sizeof(event->nth));
}

/* A field is added whole or not at all: an event never fails for its length. */
static bool
room_for(struct event *event, size_t len)
{
	if (len <= event->out.cap - event->out.len)
		return true;
	event->cut_n++;
	return false;
}

void
event_sha256(const void *bytes, size_t len, uint8_t ret[REPORT_DIGEST_LEN])
{
	if (sha_fits())
		sha_digest(-1, bytes, len, ret);
	else
		(void)crypto_hash_sha256(ret, bytes, len); /* always 0 (libsodium) */
}

/* How much of a text a record has: no more than its limit, and whole characters. */
static size_t
head_len(const uint8_t *at, size_t len)
{
	if (len <= REPORT_TEXT_MAX)
		return len;
	len = REPORT_TEXT_MAX;
	for (int i = 0; i < 3 && len > 0 && (at[len] & 0xc0) == 0x80; i++)
		len--;
	return len;
}

static void
put_value(struct event *event, enum event_key key, const void *bytes, size_t len)
{
	if (!room_for(event, 1 + 4 + len + 1))
		return;
	wire_put_u8(&event->out, (uint8_t)key);
	wire_put_bytes(&event->out, bytes, len);
}

/* sha256: of the whole text, if this is only its head; else NULL.  The digest comes
 * first: where there is room for one of them alone, it says more. */
static void
put_head(struct event *event, enum event_key key, const void *head, size_t len,
    const uint8_t *sha256)
{
	char hex[2 * REPORT_DIGEST_LEN + 1], text[128];
	int n;

	if (sha256 != NULL) {
		event->cut_n++;
		n = snprintf(text, sizeof(text), "%s %u %s", event_key_name(key),
		    event->nth[key], hex_put(hex, sha256, REPORT_DIGEST_LEN));
		put_value(event, KEY_CUT_SHA256, text, (size_t)n); /* fits */
	}
	if (event_key_repeats(key) && event->nth[key] < UINT8_MAX)
		event->nth[key]++;
	put_value(event, key, head, len);
}

void
event_bytes(struct event *event, enum event_key key, const void *bytes, size_t len)
{
	uint8_t whole[REPORT_DIGEST_LEN];
	size_t head = head_len(bytes, len);

	if (head < len)
		event_sha256(bytes, len, whole);
	put_head(event, key, bytes, head, head < len ? whole : NULL);
}

void
event_put_text(struct event *event, enum event_key key, const char *text)
{
	event_bytes(event, key, text, strlen(text));
}

void
event_capped(struct event *event, enum event_key key, const char *text, size_t cap)
{
	size_t len = strlen(text);

	event->cut_n += len + 1 >= cap;
	event_bytes(event, key, text, len);
}

void
event_name_keep(struct event_name *name, const void *bytes, size_t len)
{
	name->len = (uint16_t)head_len(bytes, len);
	name->cut = name->len < len;
	memcpy(name->head, bytes, name->len);
	if (name->cut)
		event_sha256(bytes, len, name->sha256);
}

void
event_name_put(struct event *event, enum event_key key, const struct event_name *name)
{
	put_head(event, key, name->head, name->len, name->cut ? name->sha256 : NULL);
}

void
event_number(struct event *event, enum event_key key, uint64_t number)
{
	if (!room_for(event, 1 + 8))
		return;
	wire_put_u8(&event->out, (uint8_t)key);
	wire_put_u64(&event->out, number);
}

void
event_digest(
    struct event *event, enum event_key key, const uint8_t sha256[REPORT_DIGEST_LEN])
{
	char hex[2 * REPORT_DIGEST_LEN + 1];

	event_short(event, key, hex_put(hex, sha256, REPORT_DIGEST_LEN));
}

void
event_identity(
    struct event *event, const char *server, const uint8_t policy[REPORT_DIGEST_LEN])
{
	event_text(event, KEY_SERVER, server);
	event_digest(event, KEY_POLICY, policy);
}

/* ---- the connection ------------------------------------------------------- */
