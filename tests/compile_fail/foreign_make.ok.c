#include "leash/scrub/foreign.h"

const struct foreign *f(char *text);

const struct foreign *
f(char *text)
{
	(void)text;
	return NULL;
}
