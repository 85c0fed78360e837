/*
 * Any bytes as a pins file: no crash; what is taken is rows that are whole, and is
 * taken again in the same way.
 *
 *	make build/fuzz/pins && build/fuzz/pins tests/fuzz/corpus/pins
 */
#include <stdlib.h>
#include <string.h>

#include "policy/compile/lower.h"
#include "policy/sealed/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct sealer *s = sealer_new();
	char *text = malloc(len + 1);
	struct sealed_range rows = {0, 0};
	const struct sealed_pin *pin;
	uint32_t line = 0, i;
	uint8_t sum[32];
	const char *why;

	if (s == NULL || text == NULL)
		abort();
	if (len > 0)
		memcpy(text, data, len);
	why = pinfile_read(s, "files", text, len, &rows, &line);
	for (i = 0; why == NULL && i < rows.n; i++) {
		pin = sealer_at(s, SEALED_PINS, rows.first + i);
		if (pin == NULL || pin->kind < PIN_TOOL || pin->kind > PIN_SERVER_INFO ||
		    (pin->name.len > 0) != (pin->kind < PIN_CAPABILITIES))
			abort();
		policy_digest(sealer_text(s, pin->body), pin->body.len, sum);
		if (memcmp(sum, pin->sha256, sizeof(sum)) != 0 ||
		    !policy_is_json(sealer_text(s, pin->body), pin->body.len))
			abort();
	}
	free(text);
	sealer_free(s);
	return 0;
}
