/*
 * One record for queries: its values as text, read only from its body. Runs on
 * untrusted bytes.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shim/base/hex.h"
#include "supervisor/audit/log/record.h"
#include "supervisor/audit/query/record.h"

struct room {
	char *at;
	size_t left;
};

/* Stores a raw string or number as text with a NUL. */
static const char *
keep(struct room *room, struct span raw)
{
	char *text = room->at;
	long len;

	if (raw.len == 0 || room->left < raw.len + 1)
		return NULL;
	if (raw.data[0] == '"') {
		len = scan_string(raw, text, room->left - 1);
		if (len < 0)
			return NULL;
	} else {
		len = (long)raw.len;
		memcpy(text, raw.data, raw.len);
	}
	/* our writer stores no NUL; show text after one instead of hiding it */
	for (long i = 0; i < len; i++) {
		if (text[i] == '\0')
			text[i] = '?';
	}
	text[len] = '\0';
	room->at += len + 1;
	room->left -= (size_t)len + 1;
	return text;
}

/* ---- texts that were cut ----------------------------------------------------------- */

#define CUT_MARK     " ...(cut; SHA-256 of all: "
#define CUT_MARK_LEN (sizeof(CUT_MARK) - 1 + (size_t)2 * REPORT_DIGEST_LEN + 1)

/* The digest of the value n of a field, if its text is only the head of that: cuts has
 * "KEY N DIGEST". */
static const char *
digest_of(const struct log_record_field *cuts, const char *key, size_t n)
{
	char head[64];
	int len = snprintf(head, sizeof(head), "%s %zu ", key, n);

	for (size_t i = 0; cuts != NULL && i < cuts->n; i++) {
		const char *item = log_record_item(cuts, i);

		if (strncmp(item, head, (size_t)len) == 0 &&
		    hex_is(item + len, strlen(item + len), (size_t)2 * REPORT_DIGEST_LEN))
			return item + len;
	}
	return NULL;
}

/* Shows after the head of a text, which was stored last, that it was cut. */
static bool
mark_cut(struct room *room, const char *digest)
{
	int n;

	if (digest == NULL)
		return true;
	if (room->left < CUT_MARK_LEN)
		return false;
	n = snprintf(room->at - 1, room->left + 1, CUT_MARK "%s)", digest);
	room->at += n;
	room->left -= (size_t)n;
	return true;
}

/* Is this what a record shows of a longer word: its head, and the mark? */
static bool
is_whole_of(const char *shown, const char *word)
{
	struct event_name name;
	char hex[2 * REPORT_DIGEST_LEN + 1], mark[CUT_MARK_LEN + 1];
	size_t len = strlen(word);

	if (len <= REPORT_TEXT_MAX)
		return false;
	event_name_keep(&name, word, len);
	if (strncmp(shown, name.head, name.len) != 0)
		return false;
	(void)snprintf(mark, sizeof(mark), CUT_MARK "%s)",
	    hex_put(hex, name.sha256, REPORT_DIGEST_LEN)); /* fits */
	return strcmp(shown + name.len, mark) == 0;
}

size_t
log_record_head(const char *word)
{
	size_t len = strlen(word);
	struct event_name name;

	if (len <= REPORT_TEXT_MAX)
		return len;
	event_name_keep(&name, word, len);
	/* as a table shows it: its end is the mark */
	if (len >= CUT_MARK_LEN &&
	    strncmp(word + len - CUT_MARK_LEN, CUT_MARK, strlen(CUT_MARK)) == 0)
		return len - CUT_MARK_LEN;
	return name.len;
}

/* ---- fields ------------------------------------------------------------------------ */

static int
make_field(const struct scan_field *from, const struct log_record_field *cuts,
    struct room *room, struct log_record_field *ret)
{
	struct span item;
	size_t at = 0;

	if (from->key.len >= sizeof(ret->key))
		return -EBADMSG;
	memcpy(ret->key, from->key.data, from->key.len);
	ret->key[from->key.len] = '\0';
	ret->text = NULL;
	ret->n = 0;
	ret->number = 0;
	if (from->value.data[0] != '"' && from->value.data[0] != '[')
		return scan_number(from->value, &ret->number) ? 0 : -EBADMSG;
	while (scan_next(from->value, &at, &item) == 1) {
		const char *text = keep(room, item);

		if (text == NULL || !mark_cut(room, digest_of(cuts, ret->key, ret->n)))
			return -EBADMSG;
		if (ret->n++ == 0)
			ret->text = text;
	}
	return 0;
}

int
log_record_make(const void *body, size_t len, struct log_record *ret)
{
	struct room room = {ret->memory, sizeof(ret->memory)};
	const struct scan *scan = &ret->scan;
	const struct scan_field *cut;
	struct log_record_field cuts = {.n = 0};

	if (len > AUDIT_BODY_MAX || scan_body(body, len, &ret->scan) < 0)
		return -EBADMSG;
	ret->body = body;
	ret->len = len;
	if (!scan_number(scan->head[SCAN_IDX], &ret->idx) ||
	    !scan_number(scan->head[SCAN_TS], &ret->ts) ||
	    !scan_number(scan->head[SCAN_BOOT], &ret->boot) ||
	    !scan_number(scan->head[SCAN_PID], &ret->pid) ||
	    !scan_number(scan->head[SCAN_SEQ], &ret->seq))
		return -EBADMSG;
	ret->role = keep(&room, scan->head[SCAN_ROLE]);
	ret->writer = keep(&room, scan->head[SCAN_INSTANCE]);
	ret->session = keep(&room, scan->head[SCAN_SESSION]);
	ret->kind = keep(&room, scan->head[SCAN_KIND]);
	if (ret->role == NULL || ret->writer == NULL || ret->session == NULL ||
	    ret->kind == NULL)
		return -EBADMSG;
	cut = scan_find(scan, event_key_name(KEY_CUT_SHA256));
	if (cut != NULL && make_field(cut, NULL, &room, &cuts) < 0)
		return -EBADMSG;
	ret->field_n = scan->field_n;
	for (size_t i = 0; i < scan->field_n; i++) {
		if (make_field(&scan->field[i], &cuts, &room, &ret->field[i]) < 0)
			return -EBADMSG;
	}
	return 0;
}

const struct log_record_field *
log_record_find(const struct log_record *record, const char *key)
{
	for (size_t i = 0; i < record->field_n; i++) {
		if (strcmp(record->field[i].key, key) == 0)
			return &record->field[i];
	}
	return NULL;
}

const char *
log_record_text(const struct log_record *record, const char *key)
{
	const struct log_record_field *field = log_record_find(record, key);

	return field != NULL ? field->text : NULL;
}

bool
log_record_number(const struct log_record *record, const char *key, uint64_t *ret)
{
	const struct log_record_field *field = log_record_find(record, key);

	if (field == NULL || field->text != NULL)
		return false;
	*ret = field->number;
	return true;
}

const char *
log_record_item(const struct log_record_field *field, size_t i)
{
	const char *at = field->text;

	if (at == NULL || i >= field->n)
		return NULL;
	for (; i > 0; i--)
		at += strlen(at) + 1;
	return at;
}

bool
log_record_is(const struct log_record *record, const char *key, const char *text)
{
	const char *is = log_record_text(record, key);

	return is != NULL && (strcmp(is, text) == 0 || is_whole_of(is, text));
}

bool
log_record_has(const struct log_record *record, const char *key, const char *text)
{
	const struct log_record_field *field = log_record_find(record, key);

	for (size_t i = 0; field != NULL && i < field->n; i++) {
		const char *item = log_record_item(field, i);

		if (item != NULL && (strcmp(item, text) == 0 || is_whole_of(item, text)))
			return true;
	}
	return false;
}

bool
log_record_absent(const struct log_record *record)
{
	return log_record_is(record, "verdict", VERDICT_ABSENT);
}

bool
log_record_denied(const struct log_record *record)
{
	const char *verdict = log_record_text(record, "verdict");

	return verdict != NULL && strcmp(verdict, "allow") != 0 &&
	       strcmp(verdict, "ask") != 0 && !log_record_absent(record);
}
