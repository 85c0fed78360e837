/*
 * Any bytes as a record that is asked about: whatever can be taken apart is told
 * and exported, and nothing that comes out is more than plain text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/audit/query/describe.h"
#include "supervisor/audit/query/escape.h"
#include "supervisor/audit/query/options.h"
#include "supervisor/audit/ship/ship.h"
#include "tests/fuzz/fuzz.h"

static char *out;
static size_t out_len;

static FILE *
begin(void)
{
	FILE *f;

	free(out);
	out = NULL;
	f = open_memstream(&out, &out_len);
	if (f == NULL)
		abort();
	return f;
}

static void
plain(FILE *f)
{
	if (fclose(f) != 0)
		abort();
	for (size_t i = 0; i < out_len; i++) {
		unsigned char c = (unsigned char)out[i];

		if ((c < 0x20 && c != '\r') || c > 0x7e)
			abort();
	}
}

static void
tell(const struct log_record *record)
{
	static char story[DESCRIBE_MAX], line[SHIP_LINE_MAX];
	static const char *const format[] = {"csv", "ocsf", "cef"};
	FILE *f = begin();

	escape_text(f, describe_tell(record, story));
	escape_json(f, describe_fields(record, story));
	escape_csv(f, describe_object(record) != NULL ? describe_object(record) : "");
	escape_body(f, record->body, record->len);
	plain(f);
	for (size_t i = 0; i < ARRAY_LEN(format); i++) {
		const struct export_format *x = export_find(format[i]);
		size_t len;

		f = begin();
		x->line(f, record);
		plain(f);
		len = ship_line(record, x, "host", line);
		if (len >= SHIP_LINE_MAX)
			abort();
	}
	f = begin();
	escape_html(f, describe_tell(record, story));
	if (fclose(f) != 0 || memchr(out, '<', out_len) != NULL)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct log_record record;
	uint8_t *copy = calloc(1, len + !len); /* exactly: ASan sees one byte too far */
	char text[64];
	uint64_t ns;

	if (copy == NULL)
		return 0;
	if (len > 0)
		memcpy(copy, data, len);
	if (log_record_make(copy, len, &record) == 0)
		tell(&record);
	if (len < sizeof(text)) {
		memcpy(text, data, len);
		text[len] = '\0';
		(void)options_time(text, &ns);
	}
	free(copy);
	free(out);
	out = NULL;
	return 0;
}
