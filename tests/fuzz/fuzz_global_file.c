/*
 * Any bytes as mcp-servers.json: a row is a file's and has no text that looks like a
 * secret; messages are printable.
 */
#include <string.h>

#include "supervisor/json/json.h"
#include "supervisor/registry/global_file.h"
#include "supervisor/registry/row_check.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct global_file file; /* large */
	static const char digest[FILE_DIGEST_LEN + 1] = "0";
	struct json_message m;
	struct buf detail;
	struct reason why;

	memset(&file, 0, sizeof(file));
	buf_init(&file.notes, 1u << 20);
	if (global_file_parse("f", (const char *)data, len, &file, &why) < 0)
		printable(why.text, strlen(why.text));
	printable((const char *)file.notes.data, file.notes.len);
	for (size_t i = 0; i < file.rows.n; i++) {
		struct server_row row = file.rows.row[i];

		if (row.source != FROM_FILE || (row.reason != NULL && row.enabled))
			abort();
		if (row.reason == NULL && row_check(&row, &why) < 0 &&
		    strstr(why.text, "looks like a secret") != NULL)
			abort();
	}
	buf_init(&detail, (size_t)64 << 20);
	if (global_file_detail(&file, digest, len % 2 == 0, &detail) < 0 ||
	    json_scan(detail.data, detail.len, &m) < 0)
		abort(); /* what a person is shown is JSON */
	buf_free(&detail);
	global_file_free(&file);
	return 0;
}
