/*
 * The approved uses of LAUNCHER_START (start_order.h). Process: the launcher, which trusts
 * the hub for what a person has approved (docs/TRUST.md).
 */
#include "supervisor/serve/launcher/start_order.h"

#include <stdio.h>

#include "supervisor/secrets/secrets.h"

void
approved_uses_read(struct wire_in *in, struct approved_uses *ret)
{
	uint32_t n = wire_get_u32(in);

	ret->n = 0;
	for (uint32_t i = 0; i < n && i < APPROVED_USES_MAX; i++) {
		struct approved_use *u = &ret->use[ret->n];
		const char *path = wire_get_str(in, sizeof(u->path) - 1);
		const char *request = wire_get_str(in, sizeof(u->request) - 1);
		uint64_t epoch;

		(void)snprintf(u->path, sizeof(u->path), "%s", path);          /* fits */
		(void)snprintf(u->request, sizeof(u->request), "%s", request); /* fits */
		u->session = wire_get_u32(in) != 0;
		epoch = wire_get_u64(in);
		if (!u->session || epoch == secrets_vault_epoch())
			ret->n++;
	}
}
