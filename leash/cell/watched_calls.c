/*
 * The filter of a cell whose server is being learned: the policy's own, except that
 * some of the calls that it allows notify the gate.
 *
 *	each "return ALLOW" of the policy's filter	becomes a jump to the end
 *	the end:	ld nr
 *			jeq watched call: return USER_NOTIF	(one each)
 *			return ALLOW
 *
 * So a call that the policy's filter refuses is refused, whatever is watched, and only
 * what it allows can be continued by the gate.  Process: the leash, after the policy's
 * filter was simulated.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

#include "leash/cell/private.h"

static struct sealed_insn
insn_of(uint16_t code, uint8_t jt, uint8_t jf, uint32_t k)
{
	return (struct sealed_insn){.code = code, .jt = jt, .jf = jf, .k = k};
}

size_t
watched_filter(const struct sealed_insn *insn, size_t n, const uint32_t *call,
    size_t call_n, struct sealed_insn ret[WATCHED_INSNS_MAX])
{
	size_t at = n;

	if (n > WATCHED_INSNS_MAX || call_n > WATCHED_INSNS_MAX ||
	    n + 2 * call_n + 2 > WATCHED_INSNS_MAX)
		return 0;
	for (size_t i = 0; i < n; i++) {
		bool allows =
		    insn[i].code == (BPF_RET | BPF_K) && insn[i].k == SECCOMP_RET_ALLOW;

		ret[i] = allows ? insn_of(BPF_JMP | BPF_JA, 0, 0, (uint32_t)(n - i - 1))
				: insn[i];
	}
	ret[at++] =
	    insn_of(BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < call_n; i++) {
		ret[at++] = insn_of(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, call[i]);
		ret[at++] = insn_of(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_USER_NOTIF);
	}
	ret[at++] = insn_of(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
	return at;
}
