/*
 * The prologue before libseccomp's part of a filter (see the diagram in
 * seccomp.c), as instructions and as rows.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "policy/compile/seccomp.h"
#include "policy/base/syscall_list.h"
#include "shim/base/array.h"

#define X32_BIT       0x40000000u
#define CMD_TIOCSTI   0x5412u
#define CMD_TIOCLINUX 0x541cu
#define CMD_SETLEASE  1024u /* F_SETLEASE */
#define OPEN_MAKES    (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))
#define CMD_TYPE      0xff00u
#define TYPE_BITS     0xfu /* of a socket; the other bits are flags */
#define TYPE_DCCP     6u
#define CMD_BTRFS     0x9400u

#define LOAD(field) BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field), 0, 0
#define LOAD_HIGH(field) \
	BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field) + 4, 0, 0
#define JUMP(op) (BPF_JMP | BPF_##op | BPF_K)
#define RETURN   (BPF_RET | BPF_K)

/*
 * Jumps of the prologue go to labels, which are resolved when all offsets are
 * known.
 */
enum label {
	TO_NEXT,
	TO_KILL,
	TO_ALLOW,
	TO_EPERM,
	TO_MODE1,
	TO_MODE2,
	TO_OPEN,
	TO_OPENAT,
	TO_FCNTL,
	TO_SOCKET,
	TO_RLIMIT,
	TO_PRLIMIT,
	TO_BODY,
	LABEL_N
};

static void
labels_resolve(struct program *p, const uint32_t place[LABEL_N])
{
	uint32_t i;

	for (i = 0; i < p->n; i++) {
		if (BPF_CLASS(p->insn[i].code) != BPF_JMP)
			continue;
		if (p->insn[i].jt != TO_NEXT)
			p->insn[i].jt = (uint8_t)(place[p->insn[i].jt] - i - 1);
		if (p->insn[i].jf != TO_NEXT)
			p->insn[i].jf = (uint8_t)(place[p->insn[i].jf] - i - 1);
	}
}

/*
 * The owner of any file in a btrfs subvolume may snapshot all of it into a
 * directory of their own: files that the view omits or hides would appear
 * there.  These three ioctls have the same type letter but only clone open
 * files.
 */
static const uint32_t clones[] = {
    0x40049409u, /* FICLONE */
    0x4020940du, /* FICLONERANGE */
    0xc0189436u, /* FIDEDUPERANGE */
};

/*
 * The server must not leave a set-user-id program in a host directory: any user
 * could start it there, without a sandbox, with the server user's rights.  So
 * the mode argument is checked.  openat2 and fchmodat2 are not available;
 * programs fall back to these calls.
 *
 * No lease on a host file: read access is enough to take one, and every process
 * that opens the file for writing would block for 45 seconds, again and again
 * (tried).
 *
 * No limit on core size: below 1, the kernel runs a core handler that is a pipe
 * (core(5)), and it dumps the program with its secrets.  No limit of another
 * process: one for PID 1 would end the cell with a status of the server's
 * choice.
 */
static const struct {
	const char *name;
	enum label mode;
} modes[] = {
    {"chmod", TO_MODE1},
    {"fchmod", TO_MODE1},
    {"creat", TO_MODE1},
    {"mknod", TO_MODE1},
    {"fchmodat", TO_MODE2},
    {"mknodat", TO_MODE2},
    {"open", TO_OPEN},
    {"openat", TO_OPENAT},
    {"fcntl", TO_FCNTL},
    {"socket", TO_SOCKET},
    {"setrlimit", TO_RLIMIT},
    {"prlimit64", TO_PRLIMIT},
};

/*
 * pid and resource are int and unsigned int in the kernel: only their low
 * halves count.  The new limit is a pointer: both halves count.
 */
static void
prologue_limits(struct program *p, uint32_t place[LABEL_N])
{
	place[TO_RLIMIT] = p->n;
	filter_put(p, LOAD(args[0]));
	filter_put(p, JUMP(JEQ), RLIMIT_CORE, TO_EPERM, TO_BODY);
	place[TO_PRLIMIT] = p->n;
	filter_put(p, LOAD(args[0]));
	filter_put(p, JUMP(JEQ), 0, TO_NEXT, TO_EPERM);
	filter_put(p, LOAD(args[1]));
	filter_put(p, JUMP(JEQ), RLIMIT_CORE, TO_NEXT, TO_BODY);
	filter_put(p, LOAD(args[2]));
	filter_put(p, JUMP(JEQ), 0, TO_NEXT, TO_EPERM);
	filter_put(p, LOAD_HIGH(args[2]));
	filter_put(p, JUMP(JEQ), 0, TO_BODY, TO_EPERM);
}

static void
prologue_modes(struct program *p, uint32_t place[LABEL_N])
{
	/* The mode matters only if the call creates a file. */
	place[TO_OPENAT] = p->n;
	filter_put(p, LOAD(args[2]));
	filter_put(p, JUMP(JSET), OPEN_MAKES, TO_NEXT, TO_BODY);
	filter_put(p, LOAD(args[3]));
	filter_put(p, JUMP(JSET), S_ISUID, TO_EPERM, TO_BODY);
	place[TO_OPEN] = p->n;
	filter_put(p, LOAD(args[1]));
	filter_put(p, JUMP(JSET), OPEN_MAKES, TO_MODE2, TO_BODY);
	place[TO_MODE1] = p->n;
	filter_put(p, LOAD(args[1]));
	filter_put(p, JUMP(JSET), S_ISUID, TO_EPERM, TO_BODY);
	place[TO_MODE2] = p->n;
	filter_put(p, LOAD(args[2]));
	filter_put(p, JUMP(JSET), S_ISUID, TO_EPERM, TO_BODY);
	place[TO_FCNTL] = p->n;
	filter_put(p, LOAD(args[1])); /* an unsigned int in the kernel: the low half */
	filter_put(p, JUMP(JEQ), CMD_SETLEASE, TO_EPERM, TO_BODY);
	place[TO_SOCKET] = p->n;
	filter_put(p, LOAD(args[1]));
	filter_put(p, BPF_ALU | BPF_AND | BPF_K, TYPE_BITS, 0, 0);
	filter_put(p, JUMP(JEQ), TYPE_DCCP, TO_EPERM, TO_BODY);
	prologue_limits(p, place);
}

/* Compares the low half of an argument. */
#define LOW_EQ(i, m, v) \
	{ \
		.arg = i, .op = COMPARE_EQ, .mask = m, .value = v \
	}
#define LOW_SET(i, m) \
	{ \
		.arg = i, .op = COMPARE_NE, .mask = m \
	}

/* The same as rows: the verdicts of the prologue, before the body runs. */
static const struct {
	const char *name;
	uint32_t action;
	struct sealed_compare compare[2];
	uint32_t n;
} early[] = {
#define MODE(name, ...) \
	{ \
		name, SECCOMP_RET_ERRNO | EPERM, {__VA_ARGS__}, 1 \
	}
    MODE("chmod", LOW_SET(1, S_ISUID)),
    MODE("fchmod", LOW_SET(1, S_ISUID)),
    MODE("creat", LOW_SET(1, S_ISUID)),
    MODE("mknod", LOW_SET(1, S_ISUID)),
    MODE("fchmodat", LOW_SET(2, S_ISUID)),
    MODE("mknodat", LOW_SET(2, S_ISUID)),
    {"open", SECCOMP_RET_ERRNO | EPERM, {LOW_SET(1, OPEN_MAKES), LOW_SET(2, S_ISUID)}, 2},
    {"openat", SECCOMP_RET_ERRNO | EPERM, {LOW_SET(2, OPEN_MAKES), LOW_SET(3, S_ISUID)},
	2},
    MODE("fcntl", LOW_EQ(1, LOW, CMD_SETLEASE)),
    MODE("socket", LOW_EQ(1, TYPE_BITS, TYPE_DCCP)),
    MODE("setrlimit", LOW_EQ(0, LOW, RLIMIT_CORE)),
    MODE("prlimit64", LOW_SET(0, LOW)), /* another process */
    {"prlimit64", SECCOMP_RET_ERRNO | EPERM,
	{LOW_EQ(1, LOW, RLIMIT_CORE), {.arg = 2, .op = COMPARE_NE, .mask = UINT64_MAX}},
	2},
    MODE("ioctl", LOW_EQ(1, LOW, CMD_TIOCSTI)),
    MODE("ioctl", LOW_EQ(1, LOW, CMD_TIOCLINUX)),
    {"ioctl", SECCOMP_RET_ALLOW, {LOW_EQ(1, LOW, 0x40049409u)}, 1},
    {"ioctl", SECCOMP_RET_ALLOW, {LOW_EQ(1, LOW, 0x4020940du)}, 1},
    {"ioctl", SECCOMP_RET_ALLOW, {LOW_EQ(1, LOW, 0xc0189436u)}, 1},
    MODE("ioctl", LOW_EQ(1, CMD_TYPE, CMD_BTRFS)),
#undef MODE
};

static void
early_rows(struct making *m)
{
	struct decoded_row row;
	const char *name;
	uint32_t i, k;
	int nr;

	for (i = 0; i < ARRAY_LEN(early); i++) {
		name = early[i].name;
		nr = filter_number(m->arch, name);
		if (nr < 0 || filter_said(m, name) == VERDICT_DENY)
			continue;
		row = (struct decoded_row){.name = sealer_str(m->s, name, strlen(name)),
		    .nr = (uint32_t)nr,
		    .action = early[i].action,
		    .compare_n = early[i].n};
		for (k = 0; k < early[i].n; k++)
			row.compare[k] = early[i].compare[k];
		decoded_put(&m->decoded, &row);
	}
	for (i = 0; i < calls_young_n; i++) {
		name = calls_young[i].name;
		if (filter_said(m, name) == VERDICT_DENY)
			continue;
		row = (struct decoded_row){.name = sealer_str(m->s, name, strlen(name)),
		    .nr = calls_young[i].number,
		    .action = SECCOMP_RET_ALLOW};
		decoded_put(&m->decoded, &row);
	}
}

void
filter_prologue(struct making *m)
{
	int nr_ioctl = filter_number(m->arch, "ioctl"), nr;
	bool ioctls = filter_said(m, "ioctl") != VERDICT_DENY;
	uint32_t place[LABEL_N] = {0}, i;
	struct program *p = &m->program;

	early_rows(m);
	filter_put(p, LOAD(arch));
	filter_put(p, JUMP(JEQ), m->arch, TO_NEXT, TO_KILL);
	filter_put(p, LOAD(nr));
	if (m->arch == AUDIT_ARCH_X86_64) {
		filter_put(p, JUMP(JGE), X32_BIT, TO_NEXT, TO_NEXT); /* jf: see below */
		filter_put(p, JUMP(JEQ), LOW, TO_NEXT, TO_KILL);
	}
	for (i = 0; i < calls_young_n; i++)
		if (filter_said(m, calls_young[i].name) != VERDICT_DENY)
			filter_put(
			    p, JUMP(JEQ), calls_young[i].number, TO_ALLOW, TO_NEXT);
	for (i = 0; i < ARRAY_LEN(modes); i++)
		if ((nr = filter_number(m->arch, modes[i].name)) >= 0 &&
		    filter_said(m, modes[i].name) != VERDICT_DENY)
			filter_put(p, JUMP(JEQ), (uint32_t)nr, modes[i].mode, TO_NEXT);
	/*
	 * if ioctl is refused completely, the body does it: the code below is
	 * then dead
	 */
	filter_put(p, JUMP(JEQ), (uint32_t)nr_ioctl, ioctls ? TO_NEXT : TO_BODY, TO_BODY);
	filter_put(p, LOAD(args[1])); /* the low half: the machine is little-endian */
	filter_put(p, JUMP(JEQ), CMD_TIOCSTI, TO_EPERM, TO_NEXT);
	filter_put(p, JUMP(JEQ), CMD_TIOCLINUX, TO_EPERM, TO_NEXT);
	for (i = 0; i < ARRAY_LEN(clones); i++)
		filter_put(p, JUMP(JEQ), clones[i], TO_BODY, TO_NEXT);
	filter_put(p, BPF_ALU | BPF_AND | BPF_K, CMD_TYPE, 0, 0);
	filter_put(p, JUMP(JEQ), CMD_BTRFS, TO_EPERM, TO_BODY);
	prologue_modes(p, place);
	place[TO_KILL] = p->n;
	filter_put(p, RETURN, SECCOMP_RET_KILL_PROCESS, 0, 0);
	place[TO_ALLOW] = p->n;
	filter_put(p, RETURN, SECCOMP_RET_ALLOW, 0, 0);
	place[TO_EPERM] = p->n;
	filter_put(p, RETURN, SECCOMP_RET_ERRNO | EPERM, 0, 0);
	place[TO_BODY] = p->n;
	labels_resolve(p, place);
	if (m->arch == AUDIT_ARCH_X86_64)
		p->insn[3].jf = 1; /* below the x32 bit: skip the test for -1 */
}
