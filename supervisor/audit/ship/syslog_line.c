/*
 * Formats a record as a syslog message (RFC 5424). The header and the structured data
 * are ASCII; untrusted text in them is escaped.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "shim/base/array.h"
#include "supervisor/audit/query/escape.h"
#include "supervisor/audit/query/describe.h"
#include "supervisor/audit/ship/ship.h"

#define FACILITY 13 /* log audit */
#define SD_ID    "kennel@32473"
#define HEAD_MAX 32 /* MSGID */

enum { SEVERITY_ERROR = 3, SEVERITY_WARNING = 4, SEVERITY_NOTICE = 5, SEVERITY_INFO = 6 };

static int
severity(const struct log_record *record)
{
	static const struct {
		const char *kind;
		int severity;
	} row[] = {
	    {"break", SEVERITY_ERROR},
	    {"gap", SEVERITY_ERROR},
	    {"clock", SEVERITY_WARNING},
	    {"dropped", SEVERITY_NOTICE},
	    {"scrub", SEVERITY_NOTICE},
	};
	const char *verdict = log_record_text(record, "verdict");

	if (verdict != NULL && strcmp(verdict, "allow") != 0)
		return SEVERITY_WARNING;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		if (strcmp(row[i].kind, record->kind) == 0)
			return row[i].severity;
	}
	return SEVERITY_INFO;
}

/* A header field: printable, no space, not empty. */
static void
put_name(FILE *out, const char *text, size_t most)
{
	size_t n = 0;

	for (; *text != '\0' && n < most; text++, n++)
		(void)fputc(*text > 0x20 && *text < 0x7f ? *text : '?', out);
	if (n == 0)
		(void)fputc('-', out);
}

/* Escapes ", \ and ] with a backslash; other special bytes become \xNN, itself
 * escaped. */
static void
put_param(FILE *out, const char *key, const char *text)
{
	if (text == NULL)
		return;
	fprintf(out, " %s=\"", key);
	for (; *text != '\0'; text++) {
		uint8_t c = (uint8_t)*text;

		if (c == '"' || c == '\\' || c == ']')
			fprintf(out, "\\%c", c);
		else if (c >= 0x20 && c < 0x7f)
			(void)fputc(c, out);
		else
			fprintf(out, "\\\\x%02x", c);
	}
	fprintf(out, "\"");
}

/* Microseconds: syslog times allow no finer resolution. */
static void
put_time(FILE *out, uint64_t ns)
{
	char time[DESCRIBE_TIME_MAX];

	(void)describe_time(ns, 9, time);
	fprintf(out, "%.26sZ", time);
}

static void
put_line(FILE *out, const struct log_record *record, const struct export_format *format,
    const char *host)
{
	static const char *const key[] = {"server", "verdict", "rule", "policy"};

	fprintf(out, "<%d>1 ", FACILITY * 8 + severity(record));
	put_time(out, record->ts);
	(void)fputc(' ', out);
	put_name(out, host, 255);
	fprintf(out, " kennel %" PRIu64 " ", record->pid);
	put_name(out, record->kind, HEAD_MAX);
	fprintf(out, " [" SD_ID " idx=\"%" PRIu64 "\"", record->idx);
	put_param(out, "session", record->session);
	for (size_t i = 0; i < ARRAY_LEN(key); i++)
		put_param(out, key[i], log_record_text(record, key[i]));
	fprintf(out, "] ");
	if (strcmp(format->name, "jsonl") == 0)
		escape_body(
		    out, record->body, record->len); /* a collector may display it */
	else
		format->line(out, record);
}

/* Returns the length written, or 0 if it did not fit. */
static size_t
close_line(FILE *out)
{
	bool whole = fflush(out) == 0 && !ferror(out);
	long len = ftell(out);

	return fclose(out) == 0 && whole && len > 0 && len < (long)SHIP_LINE_MAX - 1
		   ? (size_t)len
		   : 0;
}

size_t
ship_line(const struct log_record *record, const struct export_format *format,
    const char *host, char out[SHIP_LINE_MAX])
{
	FILE *f = fmemopen(out, SHIP_LINE_MAX, "w");

	if (f == NULL)
		return 0;
	put_line(f, record, format, host);
	return close_line(f);
}

size_t
ship_notice(const char *host, uint64_t now_ns, const char *text, char out[SHIP_LINE_MAX])
{
	FILE *f = fmemopen(out, SHIP_LINE_MAX, "w");

	if (f == NULL)
		return 0;
	fprintf(f, "<%d>1 ", FACILITY * 8 + SEVERITY_WARNING);
	put_time(f, now_ns);
	(void)fputc(' ', f);
	put_name(f, host, 255);
	fprintf(f, " kennel-ship - notice - %s", text);
	return close_line(f);
}
