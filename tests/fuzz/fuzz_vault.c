/*
 * Any bytes as a vault's file.  What is taken is written again as it was, and asks
 * for no more than is done.
 */
#include <stdlib.h>
#include <string.h>

#include "leash/vault/secret_path.h"
#include "leash/vault_file/private.h"
#include "tests/fuzz/fuzz.h"

/* Room and key are the container's own: one pair for all inputs. */
static struct vault *
pages(void)
{
	static struct vault *v;

	if (v == NULL && vault_new(VAULT_FILE_ROOM, &v) < 0)
		abort();
	return v;
}

static void
look(struct vault_file *c, const uint8_t *data, size_t len)
{
	uint8_t *again, id[VAULT_FILE_ID_LEN] = {0};
	size_t again_len;

	if (vault_file_again(c, &again, &again_len) < 0 || again_len != len ||
	    memcmp(again, data, len) != 0)
		abort();
	free(again);
	if (vault_file_is_open(c))
		abort();
	for (size_t i = 0; i < c->envelope_n; i++)
		if ((uint64_t)c->envelope[i].passes * c->envelope[i].kib >
		    VAULT_FILE_KIB_ALL_MAX)
			abort();
	for (size_t i = 0; i < vault_file_entry_n(c); i++) {
		struct vault_file_entry e = vault_file_entry(c, i);

		if (!secret_path_good(e.path) || e.len > VAULT_VALUE_MAX)
			abort();
	}
	for (size_t i = 0; i < vault_file_grant_n(c); i++) {
		struct vault_file_asker a = {.path = vault_file_grant_at(c, i)->path,
		    .server = vault_file_grant_at(c, i)->server,
		    .id = id};

		if (vault_file_allows(c, &a)) /* nothing is, before it is opened */
			abort();
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len + !len); /* exactly: ASan sees one byte too far */
	struct vault_file *c = NULL;
	struct reason why = {0};

	if (copy == NULL)
		return 0;
	if (len > 0)
		memcpy(copy, data, len);
	if (vault_file_parse(pages(), copy, len, &c, &why) == 0)
		look(c, copy, len);
	else if (why.text[0] == '\0')
		abort();
	vault_file_free(c);
	free(copy);
	return 0;
}
