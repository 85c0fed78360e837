/*
 * A vault of its own for each test: cmocka's setup and teardown.
 */
#ifndef KENNEL_TESTS_UNIT_VAULT_FIXTURE_H
#define KENNEL_TESTS_UNIT_VAULT_FIXTURE_H

#include "leash/vault/vault.h"

static inline int
setup(void **state)
{
	struct vault *v = NULL;
	int r = vault_new(1u << 20, &v);

	if (r < 0)
		return r;
	*state = v;
	return 0;
}

static inline int
teardown(void **state)
{
	vault_free(*state);
	return 0;
}

#endif
