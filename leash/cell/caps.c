/*
 * Capabilities: none, in any set, with no way back.
 *
 * By the kernel's own calls: libcap-ng asks /proc three times what it has just
 * set, and once more at every start of the leash, which together was a tenth of
 * a millisecond.  What it asked is asked of the kernel here.
 *
 * Process: the cell's first process, which is all-powerful in its own user
 * namespace until here.  Must never go on with one that is left.
 */
#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "leash/cell/step.h"

#define CAPS_BITS \
	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | \
	    SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | \
	    SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)
#define CAPS_MAX 64 /* bits of a set; the kernel has fewer and says where they end */

/* Every one that the running kernel knows, older or newer than its headers. */
static int
bounding_none(void)
{
	unsigned long cap = 0;

	while (cap < CAPS_MAX && prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0) {
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			return -errno;
		if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) != 0)
			return -EPERM;
		cap++;
	}
	/* There is no kernel without a single one: then nothing was dropped. */
	return cap == 0 ? -EPERM : 0;
}

static int
sets_none(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct set[_LINUX_CAPABILITY_U32S_3] = {{0}};

	if (syscall(SYS_capset, &head, set) < 0 || syscall(SYS_capget, &head, set) < 0)
		return -errno;
	for (size_t i = 0; i < sizeof(set) / sizeof(set[0]); i++)
		if ((set[i].effective | set[i].permitted | set[i].inheritable) != 0)
			return -EPERM;
	return 0;
}

int
caps_none(struct cell_child *c)
{
	int r;

	/* Before the sets go: setting these bits is itself a capability. */
	if (prctl(PR_SET_SECUREBITS, CAPS_BITS, 0, 0, 0) < 0)
		return cell_fault(c, -errno, "");
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
		return cell_fault(c, -errno, "");
	r = bounding_none();
	if (r == 0)
		r = sets_none();
	return r != 0 ? cell_fault(c, r, "") : 0;
}
