/*
 * Exports records as JSON lines, CSV, OCSF and CEF.
 *
 * Runs in kennel and in kennel-ship. JSON lines are the stored bytes, so that the
 * recipient can compute the hashes of the tree; all other formats contain escaped
 * text.
 */
#include <inttypes.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/audit/query/describe.h"
#include "supervisor/audit/query/escape.h"
#include "supervisor/audit/query/table.h"
#include "supervisor/audit/report/export.h"

/* ---- jsonl, csv ---------------------------------------------------------------- */

static void
put_jsonl(FILE *out, const struct log_record *record)
{
	(void)fwrite(
	    record->body, 1, record->len, out); /* ferror is checked at the end */
}

static void
put_csv_text(FILE *out, const char *text)
{
	fprintf(out, ",\"");
	escape_csv(out, text != NULL ? text : "");
	fprintf(out, "\"");
}

static void
put_csv(FILE *out, const struct log_record *record)
{
	static const char *const key[] = {"server", "verdict", "rule", "policy"};
	static char fields[DESCRIBE_MAX];
	char time[DESCRIBE_TIME_MAX];

	fprintf(out, "%" PRIu64 ",%s", record->idx, describe_time(record->ts, 9, time));
	put_csv_text(out, record->kind);
	put_csv_text(out, record->role);
	put_csv_text(out, record->session);
	for (size_t i = 0; i < ARRAY_LEN(key); i++)
		put_csv_text(out, log_record_text(record, key[i]));
	put_csv_text(out, describe_object(record));
	put_csv_text(out, describe_fields(record, fields));
	(void)fputc('\r', out);
}

/* ---- cef ------------------------------------------------------------------------- */

/* Escapes a vertical bar in the header and an equals sign in an extension. Special
 * bytes become \xNN, with the backslash escaped. */
static void
put_cef_text(FILE *out, const char *text, char special)
{
	for (; *text != '\0'; text++) {
		uint8_t c = (uint8_t)*text;

		if (c == (uint8_t)special || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c >= 0x20 && c < 0x7f)
			(void)fputc(c, out);
		else
			fprintf(out, "\\\\x%02x", c);
	}
}

static void
put_cef_field(FILE *out, const char *key, const char *text)
{
	if (text == NULL)
		return;
	fprintf(out, " %s=", key);
	put_cef_text(out, text, '=');
}

static int
severity(const struct log_record *record)
{
	static const struct {
		const char *kind, *verdict; /* NULL: any */
		int severity;
	} row[] = {
	    {NULL, "killed", 8},
	    {NULL, "deny", 5},
	    {NULL, VERDICT_ABSENT, 1},
	    {"break", NULL, 8},
	    {"gap", NULL, 7},
	    {"clock", NULL, 5},
	    {"dropped", NULL, 4},
	    {"scrub", NULL, 4},
	};

	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		if ((row[i].kind == NULL || strcmp(row[i].kind, record->kind) == 0) &&
		    (row[i].verdict == NULL ||
			log_record_is(record, "verdict", row[i].verdict)))
			return row[i].severity;
	}
	return 2;
}

static void
put_cef(FILE *out, const struct log_record *record)
{
	static const struct {
		const char *key, *field, *label;
	} row[] = {
	    {"act", "verdict", NULL},
	    {"outcome", "outcome", NULL},
	    {"reason", "reason", NULL},
	    {"dhost", "name", NULL},
	    {"fname", "program", NULL},
	    {"cs1", "server", "server"},
	    {"cs2", "policy", "policy"},
	    {"cs3", "rule", "rule"},
	    {"cs4", "name", "name"},
	};
	static char story[DESCRIBE_MAX];
	bool egress = strcmp(record->kind, "egress") == 0;

	fprintf(out, "CEF:0|kennel|kennel|0.1|");
	put_cef_text(out, record->kind, '|');
	fprintf(out, "|kennel ");
	put_cef_text(out, record->kind, '|');
	fprintf(out, "|%d|rt=%" PRIu64 " externalId=%" PRIu64, severity(record),
	    record->ts / 1000000, record->idx);
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		const char *text = log_record_text(record, row[i].field);

		if (text == NULL || (strcmp(row[i].key, "dhost") == 0 && !egress))
			continue;
		if (row[i].label != NULL)
			fprintf(out, " %sLabel=%s", row[i].key, row[i].label);
		put_cef_field(out, row[i].key, text);
	}
	fprintf(out, " cs5Label=session");
	put_cef_field(out, "cs5", record->session);
	put_cef_field(out, "msg", describe_tell(record, story));
}

/* ---- table of formats --------------------------------------------------------------- */

static const struct export_format formats[] = {
    {"jsonl", NULL, put_jsonl, false},
    {"csv", "idx,time,kind,role,session,server,verdict,rule,policy,object,fields\r",
	put_csv, false},
    {"ocsf", NULL, export_ocsf, true},
    {"cef", NULL, put_cef, true},
};

const struct export_format *
export_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		if (strcmp(formats[i].name, name) == 0)
			return &formats[i];
	}
	return NULL;
}
