/*
 * A program that leaves a mark when it runs: one line on descriptor 9 with the
 * file it was started from and its arguments.  The gate's tests start copies of
 * it, granted and not granted, and read who ran.
 */
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MARK_FD 9

int
main(int argc, char **argv, char **envp)
{
	char line[1024], exe[256], cwd[256];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	size_t len;

	if (argc > 1 && strcmp(argv[1], "quiet") == 0)
		return 0;
	exe[n > 0 ? n : 0] = '\0';
	len = (size_t)snprintf(line, sizeof(line), "ran %s", basename(exe));
	for (int i = 1; i < argc && len < 400; i++)
		len +=
		    (size_t)snprintf(line + len, sizeof(line) - len, " %.60s", argv[i]);
	if (argc > 1 && strcmp(argv[argc - 1], "placed") == 0 && getcwd(cwd, sizeof(cwd)))
		len += (size_t)snprintf(
		    line + len, sizeof(line) - len, " at %s", basename(cwd));
	for (int i = 0; envp[i] && len < 400; i++) {
		if (strncmp(envp[i], "EZ=", 3) == 0)
			len += (size_t)snprintf(
			    line + len, sizeof(line) - len, " %.20s", envp[i]);
	}
	line[len++] = '\n';
	return write(MARK_FD, line, len) == (ssize_t)len ? 0 : 1;
}
