/*
 * Any bytes as a dump of the registry, and as a person's entry: what is accepted consists of rows that may be
 * stored, what is refused has a reason of one printable line.
 */
#include <string.h>

#include "supervisor/registry/dump.h"
#include "supervisor/registry/row_check.h"
#include "tests/fuzz/fuzz.h"

static void
read_entry(const char *text, size_t len)
{
	struct server_row row = {.own = NULL};
	struct reason why;
	bool enabled;

	if (dump_read_entry(text, len, &row, &enabled, &why) < 0) {
		printable(why.text, strlen(why.text));
		(void)row_member(&why);
	} else if (row_check(&row, &why) < 0 || row.source != FROM_PERSON ||
		   row.created_gen != 0) {
		abort();
	}
	free(row.own);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct server_rows rows = {NULL, 0};
	uint64_t generation = 0;
	struct reason why;
	/* the bytes as they are, with no NUL after them */
	char *text = malloc(len + 1);

	if (text == NULL)
		return 0;
	memcpy(text, data, len);
	read_entry(text, len);
	if (dump_read("dump", text, len, &rows, &generation, &why) < 0) {
		printable(why.text, strlen(why.text));
		if (strncmp(why.text, "dump:", 5) != 0 || strchr(why.text, '\n') != NULL)
			abort();
	}
	for (size_t i = 0; i < rows.n; i++)
		if (row_check(&rows.row[i], &why) < 0 ||
		    rows.row[i].source != FROM_PERSON ||
		    rows.row[i].created_gen > generation)
			abort();
	server_rows_free(&rows);
	free(text);
	return 0;
}
