/*
 * Any bytes as a page of a hub to its user's client: what is accepted has only texts that
 * end and values that have a name, and is written again as the same bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "shim/base/wire.h"
#include "supervisor/status/hub_wire.h"
#include "tests/fuzz/fuzz.h"

static void
check(const struct hub_row *s)
{
	const char *reason = server_reason_name(s->reason);

	if (memchr(s->name, '\0', sizeof(s->name)) == NULL ||
	    memchr(s->detail, '\0', sizeof(s->detail)) == NULL ||
	    memchr(s->failed, '\0', sizeof(s->failed)) == NULL ||
	    memchr(s->protocol, '\0', sizeof(s->protocol)) == NULL ||
	    server_live_name(s->live)[0] == '\0' ||
	    discovery_status_name(s->discovery)[0] == '\0' ||
	    (s->reason != REASON_NONE && reason[0] == '\0'))
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static uint8_t again[2 * HUB_PACKET_MAX]; /* room for each row, and then some */
	struct hub_status h;
	struct hub_row s;
	struct wire_out out;
	struct wire_in in;
	uint32_t first;
	int r;

	if (len > HUB_PACKET_MAX)
		return 0;
	wire_in_init(&in, data, len);
	if (hub_page_get(&in, &h, &first) < 0)
		return 0;
	if (memchr(h.client, '\0', sizeof(h.client)) == NULL ||
	    hub_era_name(h.era)[0] == '\0' || first > h.servers)
		abort();
	wire_out_init(&out, again, sizeof(again));
	hub_page_begin(&out, &h, first);
	while ((r = hub_row_get(&in, &s)) > 0) {
		check(&s);
		if (!hub_page_row(&out, &s))
			abort();
	}
	hub_page_end(&out);
	if (r == 0 && (out.len != len || memcmp(again, data, len) != 0))
		abort();
	return 0;
}
