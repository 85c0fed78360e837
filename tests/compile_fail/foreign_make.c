/* error: storage size|incomplete|undefined */
#include "leash/scrub/foreign.h"

const struct foreign *f(char *text);

const struct foreign *
f(char *text)
{
	static struct foreign made;

	(void)text;
	return &made;
}
