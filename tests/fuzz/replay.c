/*
 * Gives each file that is named, or stands in a folder that is named, to a fuzz
 * target: the corpus is replayed without a fuzzer.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define INPUT_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static int
replay(const char *path)
{
	FILE *f = fopen(path, "re");
	uint8_t *data;
	size_t len;

	if (f == NULL) {
		perror(path);
		return 1;
	}
	data = malloc(INPUT_MAX);
	if (data == NULL)
		abort();
	len = fread(data, 1, INPUT_MAX, f);
	(void)fclose(f);
	/* Its own size: a read beyond the end is seen by the sanitizer. */
	data = realloc(data, len > 0 ? len : 1);
	if (data == NULL)
		abort();
	(void)LLVMFuzzerTestOneInput(data, len);
	free(data);
	return 0;
}

static int
replay_folder(const char *path, int *n)
{
	DIR *d = opendir(path);
	struct dirent *e;
	char file[4096];
	int bad = 0;

	if (d == NULL) {
		perror(path);
		return 1;
	}
	while ((e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(file, sizeof(file), "%s/%s", path, e->d_name);
		bad |= replay(file);
		(*n)++;
	}
	(void)closedir(d);
	return bad;
}

int
main(int argc, char **argv)
{
	struct stat st;
	int i, n = 0, bad = 0;

	for (i = 1; i < argc; i++) {
		if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode)) {
			bad |= replay_folder(argv[i], &n);
		} else {
			bad |= replay(argv[i]);
			n++;
		}
	}
	printf("%s: %d inputs\n", argv[0], n);
	return bad != 0 || n == 0;
}
