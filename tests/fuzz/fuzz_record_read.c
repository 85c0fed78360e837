/*
 * Any bytes as a stored record: the scan of kennel-verify runs on bytes that
 * nobody vouches for.  What it takes lies inside of the bytes and can be read,
 * field by field, item by item.
 */
#include <stdlib.h>
#include <string.h>

#include "shim/base/wire.h"
#include "supervisor/audit/log/record.h"
#include "tests/fuzz/fuzz.h"

static void
inside(const uint8_t *bytes, size_t len, struct span s)
{
	if (s.data < bytes || s.data + s.len > bytes + len)
		abort();
}

static void
one(struct span raw)
{
	char *out = malloc(raw.len * 2 + 2);
	uint64_t number;

	if (out == NULL)
		abort();
	if (raw.len > 0 && raw.data[0] == '"') {
		if (scan_string(raw, out, raw.len * 2 + 2) < 0)
			abort(); /* scanned, and no string after all */
		(void)scan_string(raw, out, raw.len / 2);
	} else {
		(void)scan_number(raw, &number);
	}
	free(out);
}

static void
value(const struct scan *scan, const struct scan_field *f)
{
	char key[256];
	struct span item;
	size_t at = 0, n = 0;

	while (scan_next(f->value, &at, &item) == 1) {
		inside(f->value.data, f->value.len, item);
		one(item);
		if (++n > f->value.len)
			abort();
	}
	if (n == 0)
		abort(); /* no list is empty */
	if (f->key.len >= sizeof(key))
		return;
	memcpy(key, f->key.data, f->key.len);
	key[f->key.len] = '\0';
	if (scan_find(scan, key) != f)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	uint8_t *copy = malloc(len + !len); /* exactly: ASan sees one byte too far */
	static struct scan scan;

	if (copy == NULL)
		return 0;
	if (len > 0)
		memcpy(copy, data, len);
	if (scan_body(copy, len, &scan) == 0) {
		for (int i = 0; i < SCAN_HEADS; i++) {
			inside(copy, len, scan.head[i]);
			one(scan.head[i]);
		}
		for (size_t i = 0; i < scan.field_n; i++) {
			inside(copy, len, scan.field[i].key);
			inside(copy, len, scan.field[i].value);
			value(&scan, &scan.field[i]);
		}
	}
	free(copy);
	return 0;
}
