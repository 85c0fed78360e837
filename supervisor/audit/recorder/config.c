/*
 * Reads audit.conf in the log directory: one keyword and one number a line; "#"
 * begins a comment. Missing settings have the defaults below.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "supervisor/audit/log/segment.h"
#include "supervisor/audit/recorder/config.h"
#include "supervisor/audit/recorder/epochs.h"

#define CONFIG_NAME "audit.conf"
#define CONFIG_MAX  4096

static const struct {
	const char *word;
	size_t at;
	uint64_t least, most;
} row[] = {
    {"epoch", offsetof(struct config, epoch_s), 1, 3600},
    {"heartbeat", offsetof(struct config, heartbeat_s), 1, 86400},
    {"segment", offsetof(struct config, segment_records), SEGMENT_LEAST, INT64_MAX},
};

/* Parses one line; false if it is invalid. */
static bool
take(char *line, struct config *config)
{
	char *save, *word, *number, *end;
	unsigned long long value;

	line[strcspn(line, "#")] = '\0';
	word = strtok_r(line, " \t\r", &save);
	if (word == NULL)
		return true;
	number = strtok_r(NULL, " \t\r", &save);
	if (number == NULL || strtok_r(NULL, " \t\r", &save) != NULL ||
	    strspn(number, "0123456789") != strlen(number))
		return false;
	errno = 0;
	value = strtoull(number, &end, 10);
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		if (strcmp(word, row[i].word) != 0)
			continue;
		if (errno != 0 || value < row[i].least || value > row[i].most)
			return false;
		memcpy((char *)config + row[i].at, &value, sizeof(uint64_t));
		return true;
	}
	return false;
}

int
config_read(int log_dir, struct config *ret, size_t *ret_line)
{
	struct config config = {
	    .epoch_s = 10, .heartbeat_s = 60, .segment_records = 1u << 20};
	char *text = NULL, *at, *line;
	size_t len, n = 0;
	int fd, r;

	/* syscalls: openat fstat read */
	fd = openat(log_dir, CONFIG_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT) {
		*ret = config;
		return 0;
	}
	if (fd < 0)
		return -errno;
	r = fd_slurp(fd, CONFIG_MAX, &text, &len);
	fd_close(&fd);
	at = text;
	while (r == 0 && (line = strsep(&at, "\n")) != NULL) {
		n++;
		r = take(line, &config) ? 0 : -EINVAL;
	}
	free(text);
	*ret_line = n;
	if (r == 0)
		*ret = config;
	return r;
}
