/*
 * The sources of secrets, one row each.
 *
 * Each preset calls its program as that program's documentation describes:
 * `pass show` prints an entry, whose first line is the password; `secret-tool
 * lookup` asks the desktop's keyring; `op read` and `vault kv get` ask a
 * service over the network.
 */
#include "policy/lang/secret_source.h"
#include "shim/base/array.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MANY 16

static const struct source_row rows[] = {
    {"env", SOURCE_ENV, .word_min = 1, .word_max = 1, .takes = "one variable"},
    {"file", SOURCE_FILE, .word_min = 1, .word_max = 1, .takes = "one path"},
    {"cmd", SOURCE_CMD, .word_min = 1, .word_max = SIZE_MAX, .takes = "a program"},
    {"source", SOURCE_ROUTED, .word_min = 1, .word_max = 1, .takes = "one path"},
    {"vault", SOURCE_VAULT, .word_min = 1, .word_max = 1, .takes = "one path"},
    {"pass", SOURCE_CMD, "pass", {"show", "%1"}, 1, 1, SECRET_FIRST_LINE,
	"the name of one entry"},
    {"secret-tool", SOURCE_CMD, "secret-tool", {"lookup", "%*"}, 2, MANY, 0,
	"attributes and their values"},
    {"op", SOURCE_CMD, "op", {"read", "--no-newline", "%1"}, 1, 1, SECRET_MAY_NETWORK,
	"one reference, as in op://vault/item/field"},
    {"hashicorp-vault", SOURCE_CMD, "vault",
	{"kv", "get", "-address=%1", "-field=%3", "%2"}, 3, 3, SECRET_MAY_NETWORK,
	"the service's https:// address, a path and a field"},
};
#define ROWS (ARRAY_LEN(rows))

const struct source_row *
source_find(const char *word)
{
	size_t i;

	for (i = 0; i < ROWS; i++)
		if (strcmp(rows[i].word, word) == 0)
			return &rows[i];
	return NULL;
}

bool
source_is_program(const char *word)
{
	const struct source_row *row = source_find(word);

	return row != NULL && row->source == SOURCE_CMD;
}

const char *
source_program(const struct source_row *row)
{
	static const char *const folders[] = {"/usr/local/bin", "/usr/bin", "/bin"};
	static char path[64];
	size_t i;

	for (i = 0; i < ARRAY_LEN(folders); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folders[i], row->program);
		/* syscalls: access faccessat faccessat2 */
		if (access(path, X_OK) == 0)
			return path;
	}
	(void)snprintf(path, sizeof(path), "/usr/bin/%s", row->program);
	return path;
}

const char *
source_list(void)
{
	return "env NAME, file PATH, cmd PROGRAM..., vault PATH, source PATH, or a "
	       "preset: pass, secret-tool, op, hashicorp-vault";
}
