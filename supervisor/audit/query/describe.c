/*
 * Describes a record as a sentence, and names its object, from two tables. A kind
 * without an entry is shown by its fields, so that records of newer versions are
 * never hidden.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "shim/base/array.h"
#include "shim/base/loop.h"
#include "supervisor/audit/query/describe.h"
#include "supervisor/audit/query/record.h"

struct line {
	char *at;
	size_t len;
	bool lacking; /* a field in the pattern is missing */
};

static const struct {
	const char *kind, *pattern;
	const char *outcome; /* of these records; NULL: of all */
} story[] = {
    {"start", "{mode} of {program} is about to start[, by {rule}][, as uid {uid}]"},
    {"mounts", "its view was built[; this kernel lacks {lacks}]"},
    {"secrets", "it receives the secrets {name}[ (in the vault: {path})]"},
    {"exec", "exec {verdict}: {program}[ (mapped {image})][, by {rule}][: {reason}]"},
    {"call", "{direction} {method}[ {name}][ of {client}] {outcome}[, by {rule}][ after "
	     "{duration_us}]"
	     "[, {params_bytes} bytes of arguments][, {result_bytes} bytes of result]"},
    {"refused", "refused[ {direction}][ {method}][ {name}][, by {rule}][: {reason}]"},
    {"dropped", "a line of {bytes} bytes from the {direction} was dropped[: {reason}]"},
    {"scrub", "secret {name}[ (in the vault: {path})] was redacted[ (count {count})]"},
    {"stop", "ended[ with status {status}][ by signal {signal}][: {reason}]"},
    {"egress", "connection {verdict}: {name}[ port {port}][ at {address}][, {bytes_out} "
	       "bytes out][, {bytes_in} bytes in][, by {rule}][: {reason}]"},
    {"approve",
	"{name} may be asked about again: reopened[ by {approver}][ ({user})][ via "
	"{channel}]",
	"reopened"},
    {"approve",
	"approval of {name}: {verdict}[ ({outcome})][ by {approver}][ ({user})][ via "
	"{channel}][ after {duration_us}]"},
    {"vault", "vault: {action}[ {name}][ for {server}][ by {source}][ via {channel}][, "
	      "uid {uid}]"
	      "[, {outcome}][ with status {status}][: {reason}]"},
    {"registry", "registry: {action}[ {name}][ by {source}][ via {channel}] {outcome}[: "
		 "{reason}]"},
    {"catalog", "catalog {name}: {outcome}[, {bytes} bytes][ with status {status}][, "
		"sha256 {sha256}][, pinned {pinned}][: {reason}]"},
    {"console",
	"console: {action}[, {verdict}][ (count {count})][, uid {uid}][, process {pid}]"},
    {"install",
	"package {name}: {verdict}, signatures {outcome}[, uid {uid}][: {reason}]"},
    {"exception", "exception of {rule}[, owned by {owner}][, ticket {ticket}]"},
    {"manifest", "definition[ of {method}][ {name}] seen[, {outcome}][: {reason}]"},
    {"policy.load",
	"policy {policy} was loaded[, {mode}][, from {name}][, version {version}]"
	"[, signed by {signer}][, for user {user}][, by {caller}]"},
    {"genesis", "the log was created[ as {origin}][ on {host}][; {reason}][: {name}]"
		"[, {size} records]"},
    {"open", "a recorder started[ on {host}][; {reason}][: {name}][, {size} records]"},
    {"epoch", "epoch {epoch} begins with a new key"},
    {"heartbeat", "the recorder is alive[, {records} records][, {writers} writers]"},
    {"clock", "the clock was set[ from {before} to {after}]"},
    {"break", "the epoch's key was lost[: {reason}]"},
    {"end", "the recorder ended with nothing open[: {reason}]"},
    {"rotate", "the file with the records from {first} on is to be closed"},
    {"prune", "the records before {first} were removed"},
    {"export", "the first {size} records or some of them were exported[ by {mode}][ as "
	       "{format}][ to {name}][ by uid {uid}][: {reason}][, {outcome}]"},
    {"cosig", "a witness signed {size} records"},
    {"gap", "events are missing[: {count} of writer {name}][ ({reason})]"},
};

const char *
describe_duration(uint64_t us, char out[DESCRIBE_TIME_MAX])
{
	if (us < 10000)
		(void)snprintf(out, DESCRIBE_TIME_MAX, "%" PRIu64 " us", us);
	else if (us < 10000000)
		(void)snprintf(out, DESCRIBE_TIME_MAX, "%" PRIu64 " ms", us / 1000);
	else
		(void)snprintf(out, DESCRIBE_TIME_MAX, "%" PRIu64 " s", us / 1000000);
	return out;
}

/* ---- filling a pattern ----------------------------------------------------------- */

static void
put(struct line *line, const char *text, size_t len)
{
	if (len > DESCRIBE_MAX - 1 - line->len)
		len = DESCRIBE_MAX - 1 - line->len;
	memcpy(line->at + line->len, text, len);
	line->len += len;
	line->at[line->len] = '\0';
}

static void
put_text(struct line *line, const char *text)
{
	put(line, text, strlen(text));
}

static void
put_value(struct line *line, const struct log_record_field *field)
{
	char digits[24];

	if (field->text == NULL) {
		(void)snprintf(digits, sizeof(digits), "%" PRIu64, field->number);
		put_text(line, digits);
		return;
	}
	for (size_t i = 0; i < field->n; i++) {
		put_text(line, i == 0 ? "" : ", ");
		put_text(line, log_record_item(field, i));
	}
}

/* Appends the value of the {key} at *at. */
static void
put_key(struct line *line, const struct log_record *record, const char **at)
{
	const char *end = strchr(*at, '}');
	const struct log_record_field *field;
	char key[32] = "", time[DESCRIBE_TIME_MAX];

	if (end != NULL && (size_t)(end - *at - 1) < sizeof(key))
		memcpy(key, *at + 1, (size_t)(end - *at - 1));
	field = log_record_find(record, key);
	if (field != NULL && field->text == NULL && strcmp(key, "duration_us") == 0)
		put_text(line, describe_duration(field->number, time));
	else if (field != NULL)
		put_value(line, field);
	else
		line->lacking = true;
	*at = end != NULL ? end : *at + strlen(*at) - 1;
}

const char *
describe_fill(
    const struct log_record *record, const char *pattern, char out[DESCRIBE_MAX])
{
	struct line line = {.at = out};
	size_t back = 0;

	out[0] = '\0';
	for (const char *at = pattern; *at != '\0'; at++) {
		if (*at == '[') {
			back = line.len;
			line.lacking = false;
		} else if (*at == ']') {
			if (line.lacking)
				line.len = back;
			out[line.len] = '\0';
			line.lacking = false;
		} else if (*at == '{') {
			put_key(&line, record, &at);
		} else {
			put(&line, at, 1);
		}
	}
	return out;
}

/* ---- describing a record ----------------------------------------------------------- */

static void
put_quoted(struct line *line, const char *text)
{
	bool quote = text[0] == '\0' || strpbrk(text, " =,") != NULL;

	put_text(line, quote ? "\"" : "");
	put_text(line, text);
	put_text(line, quote ? "\"" : "");
}

static bool
is_one(const char *key, const char *const *of, size_t n)
{
	size_t i = 0;

	while (i < n && strcmp(key, of[i]) != 0)
		i++;
	return i < n;
}

/* Every field except those with columns of their own. */
const char *
describe_fields(const struct log_record *record, char out[DESCRIBE_MAX])
{
	static const char *const column[] = {"server", "verdict", "policy"};
	struct line line = {.at = out};

	out[0] = '\0';
	for (size_t i = 0; i < record->field_n; i++) {
		const struct log_record_field *field = &record->field[i];

		if (is_one(field->key, column, ARRAY_LEN(column)))
			continue;
		put_text(&line, line.len > 0 ? " " : "");
		put_text(&line, field->key);
		put_text(&line, "=");
		if (field->text == NULL)
			put_value(&line, field);
		for (size_t k = 0; k < field->n; k++) {
			put_text(&line, k == 0 ? "" : ",");
			put_quoted(&line, log_record_item(field, k));
		}
	}
	return out;
}

const char *
describe_tell(const struct log_record *record, char out[DESCRIBE_MAX])
{
	for (size_t i = 0; i < ARRAY_LEN(story); i++) {
		if (strcmp(story[i].kind, record->kind) == 0 &&
		    (story[i].outcome == NULL ||
			log_record_is(record, "outcome", story[i].outcome)))
			return describe_fill(record, story[i].pattern, out);
	}
	return describe_fields(record, out);
}

const char *
describe_object(const struct log_record *record)
{
	static const struct {
		const char *kind, *key;
	} row[] = {
	    {"exec", "program"},
	    {"start", "program"},
	    {"call", "name"},
	    {"call", "method"},
	    {"egress", "name"},
	    {"refused", "name"},
	    {"refused", "method"},
	    {"refused", "mode"},
	    {"vault", "action"},
	    {"registry", "action"},
	    {"console", "action"},
	};

	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		const char *text;

		if (strcmp(row[i].kind, record->kind) != 0)
			continue;
		text = log_record_text(record, row[i].key);
		if (text != NULL)
			return text;
	}
	return log_record_text(record, "name");
}

const char *
describe_no_approval(const struct log_record *record)
{
	/* the outcomes are those of supervisor/approve/queue.c */
	static const struct {
		const char *outcome, *text;
	} row[] = {
	    {"deny", "a person denied it"},
	    {"nobody", "no answer in time"},
	    {"withdrawn",
		"withdrawn: the call, program or session ended before an answer"},
	};

	for (size_t i = 0; i < ARRAY_LEN(row); i++)
		if (log_record_is(record, "outcome", row[i].outcome) &&
		    log_record_is(record, "verdict", "deny"))
			return row[i].text;
	return NULL;
}

const char *
describe_time(uint64_t ns, int decimals, char out[DESCRIBE_TIME_MAX])
{
	time_t s = (time_t)(ns / NS_PER_S);
	char date[32];
	struct tm tm;

	if (gmtime_r(&s, &tm) == NULL ||
	    strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		(void)snprintf(out, DESCRIBE_TIME_MAX, "%" PRIu64, ns);
	else if (decimals == 3)
		(void)snprintf(out, DESCRIBE_TIME_MAX, "%s.%03uZ", date,
		    (unsigned int)(ns % NS_PER_S / 1000000));
	else
		(void)snprintf(out, DESCRIBE_TIME_MAX, "%s.%09uZ", date,
		    (unsigned int)(ns % NS_PER_S));
	return out;
}
