/*
 * Any bytes as a kept checkpoint and its name, and as the position of a shipment: files
 * that another process of the user may have written. What is taken says the same when it
 * is written down again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/hex.h"
#include "supervisor/audit/kept/kept_checkpoint.h"
#include "supervisor/audit/ship/ship.h"
#include "tests/fuzz/fuzz.h"

#define LOG_NAME "0123456789abcdef0123456789abcdef"

static void
take_note(const char *data, size_t len)
{
	struct checkpoint cp, again;
	char text[NOTE_MAX];
	size_t text_len;

	if (kept_parse(data, len, &cp) < 0)
		return;
	text_len = checkpoint_put(&cp, text, sizeof(text));
	if (checkpoint_parse((struct span){(uint8_t *)text, text_len}, &again) < 0 ||
	    again.size != cp.size || strcmp(again.origin, cp.origin) != 0 ||
	    memcmp(again.root, cp.root, sizeof(cp.root)) != 0)
		abort();
}

static void
name(const char *data, size_t len)
{
	char text[2 * KEPT_NAME_MAX];

	if (len >= sizeof(text))
		return;
	memcpy(text, data, len);
	text[len] = '\0';
	if (kept_is_name(text) && (strlen(text) >= KEPT_NAME_MAX ||
				      strchr(text, '/') != NULL || text[0] == '.'))
		abort();
}

/* Both versions; a position of another log is never taken. */
static void
position(const char *data, size_t len)
{
	static const char other[] = "fedcba9876543210fedcba9876543210";
	struct ship_place p, q;
	char line[SHIP_PLACE_LEN], hex[2 * MERKLE_HASH_LEN + 1];
	int n;

	if (ship_place_read(data, len, LOG_NAME, &p) < 0)
		return;
	if (ship_place_read(data, len, other, &q) == 0 || data[len - 1] != '\n')
		abort();
	n = snprintf(line, sizeof(line),
	    "kennel-ship 2 " LOG_NAME " %020llu %020llu %s\n", (unsigned long long)p.next,
	    (unsigned long long)p.size, hex_put(hex, p.root, sizeof(p.root)));
	if (p.size > 0 && ((size_t)n != len || memcmp(line, data, len) != 0 ||
			      ship_place_read(line, (size_t)n, LOG_NAME, &q) < 0 ||
			      q.next != p.next || q.size != p.size))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char *copy = calloc(1, len + !len); /* exactly: ASan sees one byte too far */

	if (copy == NULL)
		return 0;
	if (len > 0)
		memcpy(copy, data, len);
	take_note(copy, len);
	name(copy, len);
	position(copy, len);
	free(copy);
	return 0;
}
