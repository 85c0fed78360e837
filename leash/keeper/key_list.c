#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "leash/keeper/key_list.h"
#include "leash/keeper/private.h"
#include "shim/base/hex.h"

#define FORMAT 1

_Static_assert(3 * KEEPER_KEYS_BYTES + 1 <= KEEPER_PACKET_MAX &&
		   KEEPER_KEYS_MAX * sizeof(struct key_row) <= KEEPER_KEYS_BYTES,
    "room for the list and its text");

static int
row_read(struct wire_in *in, struct key_row *row)
{
	struct span id = wire_get_bytes(in, FIDO_ID_MAX), public_key;

	row->algorithm = wire_get_u32(in);
	public_key = wire_get_bytes(in, FIDO_PUBLIC_MAX);
	row->counter = wire_get_u32(in);
	row->made = wire_get_u64(in);
	(void)snprintf(
	    row->label, sizeof(row->label), "%s", wire_get_str(in, KEEPER_LABEL_MAX));
	memcpy(row->id, id.data, row->id_len = id.len);
	memcpy(row->public_key, public_key.data, row->public_len = public_key.len);
	return in->error;
}

int
key_list_read(struct key_list *list)
{
	struct wire_in in;
	size_t len = 0;
	uint32_t format, n;
	int r = vault_file_get(keeper.file, KEYS_PATH, 0, keeper.out, &len);

	list->n = 0;
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	/* as text, since no value of a vault holds a NUL; each byte is read before it is
	 * written to */
	if (!hex_get((const char *)keeper.out, len, keeper.out, len / 2) || len % 2 != 0)
		return -EUCLEAN;
	wire_in_init(&in, keeper.out, len / 2);
	format = wire_get_u32(&in);
	n = wire_get_u32(&in);
	if (in.error != 0 || format != FORMAT || n > KEEPER_KEYS_MAX)
		return -EUCLEAN;
	while (list->n < n && row_read(&in, &list->row[list->n]) == 0)
		list->n++;
	return wire_end(&in) < 0 ? -EUCLEAN : 0;
}

int
key_list_keep(const struct key_list *list)
{
	char *text = (char *)keeper.out + KEEPER_KEYS_BYTES;
	struct wire_out out;
	uint32_t version;

	wire_out_init(&out, keeper.out, KEEPER_KEYS_BYTES);
	wire_put_u32(&out, FORMAT);
	wire_put_u32(&out, (uint32_t)list->n);
	for (size_t i = 0; i < list->n; i++) {
		const struct key_row *row = &list->row[i];

		wire_put_bytes(&out, row->id, row->id_len);
		wire_put_u32(&out, row->algorithm);
		wire_put_bytes(&out, row->public_key, row->public_len);
		wire_put_u32(&out, row->counter);
		wire_put_u64(&out, row->made);
		wire_put_str(&out, row->label);
	}
	return out.error != 0 ? out.error
			      : vault_file_replace(keeper.file, KEYS_PATH,
				    hex_put(text, out.data, out.len), 2 * out.len,
				    change_now(), &version);
}

struct key_row *
key_list_find(struct key_list *list, struct span id)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->row[i].id_len == id.len &&
		    memcmp(list->row[i].id, id.data, id.len) == 0)
			return &list->row[i];
	return NULL;
}
