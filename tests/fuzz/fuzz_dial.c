/*
 * Any bytes as a message between kennel-egress, kennel-dial and the leash.  What is
 * read says the same when it is written again.
 */
#include <stdlib.h>
#include <string.h>

#include "leash/egress/dial.h"
#include "leash/egress/egress.h"
#include "tests/fuzz/fuzz.h"

static void
same(const struct wire_out *out, const uint8_t *bytes, size_t len)
{
	if (out->error != 0 || out->len != len || memcmp(out->data, bytes, len) != 0)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static struct egress_report report;
	uint8_t memory[EGRESS_PACKET_MAX], *copy = malloc(len + !len);
	struct dial_request q;
	struct dial_answer a;
	struct wire_out out;

	if (copy == NULL)
		return 0;
	if (len > 0)
		memcpy(copy, data, len);
	wire_out_init(&out, memory, sizeof(memory));
	if (len <= sizeof(memory) && dial_request_read(copy, len, &q) == 0) {
		if (strlen(q.name) > DIAL_NAME_MAX || dial_request_write(&q, &out) < 0)
			abort();
		same(&out, copy, len);
	}
	wire_out_init(&out, memory, sizeof(memory));
	if (len <= sizeof(memory) && dial_answer_read(copy, len, &a) == 0) {
		(void)dial_answer_write(&a, &out);
		same(&out, copy, len);
	}
	wire_out_init(&out, memory, sizeof(memory));
	if (len <= sizeof(memory) && egress_report_read(copy, len, &report) == 0) {
		(void)egress_report_write(&report, &out);
		same(&out, copy, len);
		printable(report.name, strlen(report.name));
		printable(report.sni, strlen(report.sni));
	}
	free(copy);
	return 0;
}
