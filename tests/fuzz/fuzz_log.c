/*
 * Any bytes as a log's database: the whole of kennel-verify's judgement, on a file
 * that nobody vouches for.  It ends, within its memory, and says "intact" of
 * nothing but what a recorder of ours can have written.
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "supervisor/audit/judge.h"
#include "tests/fuzz/fuzz.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct answer answer;
	static struct walk walk;
	struct judge_options o = {.path_n = 1, .threads = 1};
	char path[64];
	int fd = memfd_create("log", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, len) != (ssize_t)len)
		abort();
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	o.path[0] = path;
	answer = (struct answer){0};
	walk = (struct walk){0};
	judge(&o, &walk, &answer);
	if (answer.verdict == INTACT && (!walk.begun || walk.cp_n == 0))
		abort();
	free(walk.key);
	free(walk.mark);
	(void)close(fd);
	return 0;
}
