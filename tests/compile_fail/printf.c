/* error: format */
#include <stdio.h>
#include "leash/vault/vault.h"

void f(const struct secret *s);

void
f(const struct secret *s)
{
	(void)printf("%s\n", s);
}
