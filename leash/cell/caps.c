/*
 * Drops all capabilities from every set, irrevocably.
 *
 * Process: the cell's first process, which has all capabilities in its own user
 * namespace until here.  The only file that uses libcap-ng.
 */
#include <cap-ng.h>
#include <errno.h>
#include <linux/securebits.h>
#include <sys/prctl.h>

#include "leash/cell/private.h"

#define CAPS_BITS \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | \
	    SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | \
	    SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

int
caps_none(struct cell_child *c)
{
	/* Before the sets are cleared: setting these bits needs a capability. */
	if (prctl(PR_SET_SECUREBITS, CAPS_BITS, 0, 0, 0) < 0)
		return cell_fault(c, -errno, "");
	capng_clear(CAPNG_SELECT_ALL);
	if (capng_apply(CAPNG_SELECT_ALL) != 0)
		return cell_fault(c, -EPERM, "");
	return 0;
}
