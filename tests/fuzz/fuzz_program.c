/*
 * Any bytes as a program of a policy: no crash; and the view has nothing that the bytes name,
 * but what root has in the directories of the system.
 *
 *	make build/fuzz/program && build/fuzz/program tests/fuzz/corpus/program
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/compile/compile.h"
#include "policy/sealed/lib_dirs.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static char dir[] = "/var/tmp/kennel-fuzz-XXXXXX", file[64];

static void
clean(void)
{
	(void)unlink(file);
	(void)rmdir(dir);
}

/* The program: one file, whose contents change. */
static void
put_file(const uint8_t *data, size_t len)
{
	FILE *f;

	if (file[0] == '\0') {
		if (mkdtemp(dir) == NULL)
			abort();
		(void)snprintf(file, sizeof(file), "%s/program", dir);
		(void)atexit(clean); /* cannot fail here: one function */
	}
	f = fopen(file, "w");
	if (f == NULL || (len > 0 && fwrite(data, 1, len, f) != len) || fclose(f) != 0 ||
	    chmod(file, 0755) < 0)
		abort();
}

static bool
is_system(const char *path)
{
	static const char *const dirs[] = {SYSTEM_DIRS};
	struct stat st;

	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		if (strncmp(path, dirs[i], strlen(dirs[i])) == 0 &&
		    strchr("/", path[strlen(dirs[i])]) != NULL)
			return lstat(path, &st) == 0 && st.st_uid == 0;
	return false;
}

static void
look(const struct buf *bytes)
{
	const struct sealed_mount *m;
	const char *target;
	struct policy p;
	char why[200];

	if (policy_load_bytes(bytes->data, bytes->len, &p, why, sizeof(why)) != 0)
		abort();
	for (uint32_t i = 0; i < p.row_n[SEALED_MOUNTS]; i++) {
		m = &p.mount[i];
		target = policy_str(&p, m->target);
		/* every cell has these; what they lead to is a row too */
		if (m->why == WHY_LINK && (strcmp(target, "/etc/localtime") == 0 ||
					      strcmp(target, "/etc/os-release") == 0))
			continue;
		if (m->why != WHY_BASE && strcmp(target, file) != 0 && !is_system(target))
			abort();
	}
	policy_unload(&p);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct policy_source source = {.path = "f.kennel"};
	char text[256], *said = NULL;
	struct buf bytes;
	size_t said_len;
	FILE *diag;

	put_file(data, len);
	(void)snprintf(text, sizeof(text), "server t {\nrun %s **\n}\n", file);
	source.text = text;
	source.len = strlen(text);
	buf_init(&bytes, SEALED_LEN_MAX);
	diag = open_memstream(&said, &said_len);
	if (diag == NULL)
		abort();
	if (policy_compile(&source, 1, NULL, &bytes, diag) == 0)
		look(&bytes);
	(void)fclose(diag);
	free(said);
	buf_free(&bytes);
	return 0;
}
