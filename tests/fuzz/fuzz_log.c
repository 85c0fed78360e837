/*
 * Any bytes as a log's database: the whole of kennel-verify's judgement, on a file
 * that nobody vouches for.  It ends, within its memory, and says "intact" of
 * nothing but what a recorder of ours can have written.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "supervisor/audit/verify/verify.h"
#include "tests/fuzz/fuzz.h"

static char path[] = "/tmp/kennel-fuzz-log-XXXXXX";
static int file = -1; /* one for all inputs: SQLite wants a name */

static void
remove_file(void)
{
	(void)unlink(path);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct verify_answer answer;
	static struct order_walk walk;
	const char *only = path;
	struct judge_options o = {.path = &only, .path_n = 1, .threads = 1};

	if (file < 0) {
		file = mkstemp(path);
		(void)atexit(remove_file);
	}
	if (file < 0 || ftruncate(file, 0) < 0 ||
	    pwrite(file, data, len, 0) != (ssize_t)len)
		abort();
	answer = (struct verify_answer){0};
	walk = (struct order_walk){0};
	judge(&o, &walk, &answer);
	if (answer.verdict == INTACT && (!walk.begun || walk.cp_n == 0))
		abort();
	free(walk.key);
	free(walk.mark);
	return 0;
}
