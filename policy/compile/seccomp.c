/*
 * The seccomp filter of a cell, made when a policy is compiled.  The only file
 * that knows libseccomp.
 *
 * What is not in a table below does not exist inside: ENOSYS, so that programs
 * fall back as on an older kernel.  A foreign architecture or an x32 number
 * kills.  execve and execveat are asked of the leash.
 *
 * libseccomp makes the body.  It cannot say "everything but these two values of
 * the low 32 bits" (ioctl), nor numbers younger than itself, so a prologue of
 * our own stands in front:
 *
 *	ld arch;  jeq ARCH else kill
 *	ld nr;    x86-64: jge 0x40000000 and not -1: kill
 *	jeq younger number: allow		(one each)
 *	jeq chmod, open and their like: body, but set-user-id: EPERM
 *	jeq fcntl: body, but a lease: EPERM;  socket: body, but DCCP: EPERM
 *	jeq ioctl else body
 *	ld args[1], low;  jeq TIOCSTI: EPERM;  jeq TIOCLINUX: EPERM
 *	jeq FICLONE...: body;  type of btrfs: EPERM
 *	body: what libseccomp made
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>

#include <seccomp.h>

#include "policy/compile/syscall_list.h"
#include "policy/compile/seccomp.h"
#include "policy/lang/lex.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define API_LEVEL    6 /* knows SCMP_ACT_NOTIFY, whatever kernel compiles this */
#define MEMFD_EXEC   0x10u
#define NAME_MAX_    64 /* of a system call */

static int body_rules(struct making *);
static int body_read(scmp_filter_ctx, struct program *);

int
filter_said(const struct making *m, const char *name)
{
	const struct sealed_call *c;
	uint32_t i;

	for (i = 0; i < m->calls.n; i++) {
		c = sealer_at(m->s, SEALED_CALLS, m->calls.first + i);
		if (c != NULL && strcmp(sealer_text(m->s, c->name), name) == 0)
			return (int)c->verdict;
	}
	return -1;
}

static int
filter_make(struct making *m, struct sealed_range *ret)
{
	struct sealed_filter row = {.arch = m->arch};
	uint32_t i;
	int r;

	(void)seccomp_api_set(API_LEVEL); /* checked by the NOTIFY rule */
	if ((m->ctx = seccomp_init(SCMP_ACT_ERRNO(ENOSYS))) == NULL)
		return -ENOMEM;
	if (m->arch != seccomp_arch_native() &&
	    ((r = seccomp_arch_add(m->ctx, m->arch)) < 0 ||
		(r = seccomp_arch_remove(m->ctx, SCMP_ARCH_NATIVE)) < 0))
		return r;
	if ((r = seccomp_attr_set(
		 m->ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS)) < 0 ||
	    (r = seccomp_attr_set(m->ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2)) < 0)
		return r;
	filter_prologue(m); /* its rows stand before the body's */
	if ((r = body_rules(m)) < 0 || (r = body_read(m->ctx, &m->program)) < 0 ||
	    (r = decoded_seal(
		 &m->decoded, m->s, SECCOMP_RET_ERRNO | ENOSYS, &row.syscalls)) < 0)
		return r;
	row.insns.first = sealer_rows(m->s, SEALED_INSNS);
	row.insns.n = m->program.n;
	for (i = 0; i < m->program.n; i++)
		(void)sealer_row(
		    m->s, SEALED_INSNS, &m->program.insn[i], sizeof(m->program.insn[i]));
	ret->first = sealer_row(m->s, SEALED_FILTERS, &row, sizeof(row));
	ret->n = 1;
	return 0;
}

int
filter_build(
    struct sealer *s, uint32_t arch, struct sealed_range calls, struct sealed_range *ret)
{
	struct making *m = calloc(1, sizeof(*m));
	int r;

	if (m == NULL)
		return -ENOMEM;
	m->s = s;
	m->arch = arch;
	m->calls = calls;
	r = filter_make(m, ret);
	if (m->ctx != NULL)
		seccomp_release(m->ctx);
	free(m->decoded.row);
	free(m);
	return r;
}

/* A comparison with argument i; the kernel itself cuts flags to 32 bits. */
#define EQ(i, v) \
	{ \
		i, SCMP_CMP_EQ, v, 0 \
	}
#define NE(i, v) \
	{ \
		i, SCMP_CMP_NE, v, 0 \
	}
#define GT(i, v) \
	{ \
		i, SCMP_CMP_GT, v, 0 \
	}
#define BITS(i, m, v) \
	{ \
		i, SCMP_CMP_MASKED_EQ, m, v \
	}
#define NONE \
	{ \
		0, _SCMP_CMP_MIN, 0, 0 \
	}

/*
 * Calls of which only some are allowed.  For one call, rows of different action
 * never meet the same arguments; what no row meets is ENOSYS.
 */
static const struct {
	const char *name;
	uint32_t action;
	struct scmp_arg_cmp arg[2];
} rules[] = {
    /* The gate (leash/exec). */
    {"execve", SCMP_ACT_NOTIFY, {NONE, NONE}},
    {"execveat", SCMP_ACT_NOTIFY, {NONE, NONE}},

/* No new namespace; no CLONE_FS between processes, which would move the working
 * directory of one whose exec is being judged. */
#define NEW_ANY \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	    CLONE_NEWPID | CLONE_NEWNET)
#define NEW(flag) \
	{ \
		"clone", SCMP_ACT_ERRNO(EPERM), \
		{ \
			BITS(0, flag, flag), NONE \
		} \
	}
    {"clone", SCMP_ACT_ALLOW, {BITS(0, NEW_ANY | CLONE_FS, 0), NONE}},
    {"clone", SCMP_ACT_ALLOW,
	{BITS(0, NEW_ANY | CLONE_FS | CLONE_THREAD, CLONE_FS | CLONE_THREAD), NONE}},
    {"clone", SCMP_ACT_ERRNO(EPERM), {BITS(0, CLONE_FS | CLONE_THREAD, CLONE_FS), NONE}},
    NEW(CLONE_NEWNS),
    NEW(CLONE_NEWCGROUP),
    NEW(CLONE_NEWUTS),
    NEW(CLONE_NEWIPC),
    NEW(CLONE_NEWUSER),
    NEW(CLONE_NEWPID),
    NEW(CLONE_NEWNET),
    {"unshare", SCMP_ACT_ALLOW, {EQ(0, CLONE_FILES), NONE}},
    {"unshare", SCMP_ACT_ERRNO(EPERM), {NE(0, CLONE_FILES), NONE}},
    {"setns", SCMP_ACT_ERRNO(EPERM), {NONE, NONE}},

    /* Terminal input is refused in the prologue. */
    {"ioctl", SCMP_ACT_ALLOW, {NONE, NONE}},

/* TCP and UDP; to ask for another protocol loads the host's module of it, which
 * needs no right (sctp, l2tp...; dccp, which has no number, in the prologue). */
#define INET(family, protocol) \
	{ \
		"socket", SCMP_ACT_ALLOW, \
		{ \
			EQ(0, family), EQ(2, protocol) \
		} \
	}

/* Families: local, IPv4, IPv6; and the one netlink that lists interfaces, of a
 * namespace that has nothing but its loopback (os.networkInterfaces() throws
 * without it). */
#define NO_FAMILY(n) \
	{ \
		"socket", SCMP_ACT_ERRNO(EAFNOSUPPORT), \
		{ \
			EQ(0, n), NONE \
		} \
	}
    {"socket", SCMP_ACT_ALLOW, {EQ(0, AF_UNIX), NONE}},
    INET(AF_INET, 0),
    INET(AF_INET, IPPROTO_TCP),
    INET(AF_INET, IPPROTO_UDP),
    INET(AF_INET6, 0),
    INET(AF_INET6, IPPROTO_TCP),
    INET(AF_INET6, IPPROTO_UDP),
    {"socket", SCMP_ACT_ERRNO(EPROTONOSUPPORT), {EQ(0, AF_INET), GT(2, IPPROTO_UDP)}},
    {"socket", SCMP_ACT_ERRNO(EPROTONOSUPPORT), {EQ(0, AF_INET6), GT(2, IPPROTO_UDP)}},
    {"socket", SCMP_ACT_ERRNO(EPROTONOSUPPORT), {EQ(0, AF_INET), EQ(2, IPPROTO_ICMP)}},
    {"socket", SCMP_ACT_ALLOW, {EQ(0, AF_NETLINK), EQ(2, NETLINK_ROUTE)}},
    {"socket", SCMP_ACT_ERRNO(EAFNOSUPPORT), {EQ(0, AF_NETLINK), NE(2, NETLINK_ROUTE)}},
    NO_FAMILY(0),
    NO_FAMILY(3),
    NO_FAMILY(4),
    NO_FAMILY(5),
    NO_FAMILY(6),
    NO_FAMILY(7),
    NO_FAMILY(8),
    NO_FAMILY(9),
    NO_FAMILY(11),
    NO_FAMILY(12),
    NO_FAMILY(13),
    NO_FAMILY(14),
    NO_FAMILY(15),
    {"socket", SCMP_ACT_ERRNO(EAFNOSUPPORT), {GT(0, AF_NETLINK), NONE}},
    {"socketpair", SCMP_ACT_ALLOW, {EQ(0, AF_UNIX), NONE}},
    {"socketpair", SCMP_ACT_ERRNO(EAFNOSUPPORT), {NE(0, AF_UNIX), NONE}},

    /* Code without a file cannot be asked for; what is mapped is still judged. */
    {"memfd_create", SCMP_ACT_ALLOW, {BITS(1, MEMFD_EXEC, 0), NONE}},
    {"memfd_create", SCMP_ACT_ERRNO(EPERM), {BITS(1, MEMFD_EXEC, MEMFD_EXEC), NONE}},

/* No device nodes. */
#define NODE(kind) \
	{ \
		"mknod", SCMP_ACT_ALLOW, \
		{ \
			BITS(1, S_IFMT, kind), NONE \
		} \
	}
#define NODEAT(kind) \
	{ \
		"mknodat", SCMP_ACT_ALLOW, \
		{ \
			BITS(2, S_IFMT, kind), NONE \
		} \
	}
    NODE(0),
    NODE(S_IFREG),
    NODE(S_IFIFO),
    NODE(S_IFSOCK),
    {"mknod", SCMP_ACT_ERRNO(EPERM), {BITS(1, S_IFMT, S_IFCHR), NONE}},
    {"mknod", SCMP_ACT_ERRNO(EPERM), {BITS(1, S_IFMT, S_IFBLK), NONE}},
    NODEAT(0),
    NODEAT(S_IFREG),
    NODEAT(S_IFIFO),
    NODEAT(S_IFSOCK),
    {"mknodat", SCMP_ACT_ERRNO(EPERM), {BITS(2, S_IFMT, S_IFCHR), NONE}},
    {"mknodat", SCMP_ACT_ERRNO(EPERM), {BITS(2, S_IFMT, S_IFBLK), NONE}},

    /* The plain personality, and asking for it: no READ_IMPLIES_EXEC. */
    {"personality", SCMP_ACT_ALLOW, {BITS(0, LOW, 0), NONE}},
    {"personality", SCMP_ACT_ALLOW, {BITS(0, LOW, LOW), NONE}},

    /* A further filter, but no listener: its owner could answer for the leash. */
    {"seccomp", SCMP_ACT_ALLOW, {EQ(0, SECCOMP_SET_MODE_STRICT), NONE}},
    {"seccomp", SCMP_ACT_ALLOW, {EQ(0, SECCOMP_GET_ACTION_AVAIL), NONE}},
    {"seccomp", SCMP_ACT_ALLOW,
	{EQ(0, SECCOMP_SET_MODE_FILTER), BITS(1, SECCOMP_FILTER_FLAG_NEW_LISTENER, 0)}},
    {"seccomp", SCMP_ACT_ERRNO(EPERM),
	{EQ(0, SECCOMP_SET_MODE_FILTER),
	    BITS(1, SECCOMP_FILTER_FLAG_NEW_LISTENER, SECCOMP_FILTER_FLAG_NEW_LISTENER)}},
};

/* prctl: about the caller itself.  Not PR_SET_MM, which rewrites the command
 * line and the image that others see; not PR_SET_PTRACER. */
static const uint64_t prctls[] = {
    PR_SET_PDEATHSIG, PR_GET_PDEATHSIG, PR_GET_DUMPABLE, PR_SET_DUMPABLE, PR_GET_KEEPCAPS,
    PR_SET_KEEPCAPS, PR_SET_NAME, PR_GET_NAME, PR_GET_SECCOMP, PR_SET_SECCOMP,
    PR_CAPBSET_READ, PR_CAPBSET_DROP, PR_GET_TSC, PR_GET_SECUREBITS, PR_SET_TIMERSLACK,
    PR_GET_TIMERSLACK, PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER,
    PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS, PR_GET_TID_ADDRESS, PR_SET_THP_DISABLE,
    PR_GET_THP_DISABLE, PR_CAP_AMBIENT, PR_SVE_SET_VL, PR_SVE_GET_VL,
    PR_GET_SPECULATION_CTRL, PR_SET_SPECULATION_CTRL, PR_PAC_RESET_KEYS,
    PR_SET_TAGGED_ADDR_CTRL, PR_GET_TAGGED_ADDR_CTRL, 60, /* PR_PAC_SET_ENABLED_KEYS */
    61,                                                   /* PR_PAC_GET_ENABLED_KEYS */
    65,                                                   /* PR_SET_MDWE */
    66,                                                   /* PR_GET_MDWE */
    0x53564d41, /* PR_SET_VMA: names of mappings */
    0x41555856, /* PR_GET_AUXV */
};

/* The same comparison as a row has it. */
static struct sealed_compare
compare_of(const struct scmp_arg_cmp *c)
{
	struct sealed_compare row = {
	    .arg = c->arg, .op = COMPARE_EQ, .mask = UINT64_MAX, .value = c->datum_a};

	if (c->op == SCMP_CMP_NE)
		row.op = COMPARE_NE;
	else if (c->op == SCMP_CMP_GT)
		row.op = COMPARE_GT;
	else if (c->op == SCMP_CMP_MASKED_EQ) {
		row.mask = c->datum_a;
		row.value = c->datum_b;
	}
	return row;
}

/* A rule, to libseccomp and to the rows.  Not on this architecture: ENOSYS is
 * already the truth. */
static int
rule_add(
    struct making *m, uint32_t action, const char *name, const struct scmp_arg_cmp arg[2])
{
	int there = seccomp_syscall_resolve_name_arch(m->arch, name);
	struct decoded_row row = {
	    .name = sealer_str(m->s, name, strlen(name)), .nr = (uint32_t)there};

	if (there < 0)
		return there == __NR_SCMP_ERROR ? -EINVAL : 0;
	row.action = action; /* libseccomp's are the kernel's */
	for (; arg != NULL && row.compare_n < 2 && arg[row.compare_n].op != _SCMP_CMP_MIN;
	     row.compare_n++)
		row.compare[row.compare_n] = compare_of(&arg[row.compare_n]);
	decoded_put(&m->decoded, &row);
	return seccomp_rule_add_array(
	    m->ctx, action, seccomp_syscall_resolve_name(name), row.compare_n, arg);
}

/* The next of names separated by spaces; false behind the last. */
static bool
name_next(const char **names, char out[NAME_MAX_])
{
	size_t n = strcspn(*names, " ");

	if (n == 0 || n >= NAME_MAX_)
		return false;
	memcpy(out, *names, n);
	out[n] = 0;
	*names += n + ((*names)[n] == ' ');
	return true;
}

static bool
in_base(const char *name)
{
	char one[NAME_MAX_];
	const struct calls *c;
	const char *names;

	for (c = calls_allowed; c->names != NULL; c++)
		for (names = c->names; name_next(&names, one);)
			if (strcmp(one, name) == 0)
				return true;
	return false;
}

/* Of some of these, arguments are looked at: nobody allows them without. */
static bool
in_rules(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(rules); i++)
		if (strcmp(rules[i].name, name) == 0)
			return true;
	return strcmp(name, "prctl") == 0;
}

/* What the policy allows beyond the table. */
static int
rules_of_policy(struct making *m)
{
	const struct sealed_call *c;
	char name[NAME_MAX_];
	uint32_t i;
	int r = 0;

	for (i = 0; i < m->calls.n && r == 0; i++) {
		c = sealer_at(m->s, SEALED_CALLS, m->calls.first + i);
		if (c == NULL || c->verdict != VERDICT_ALLOW || c->name.len >= NAME_MAX_)
			continue;
		memcpy(name, sealer_text(m->s, c->name), c->name.len + 1);
		if (in_rules(name))
			r = -EPERM;
		else if (!in_base(name))
			r = rule_add(m, SCMP_ACT_ALLOW, name, NULL);
	}
	return r;
}

static int
body_rules(struct making *m)
{
	struct scmp_arg_cmp option[2] = {NONE, NONE};
	char name[NAME_MAX_];
	const struct calls *c;
	const char *names;
	size_t i;
	int r = 0;

	for (c = calls_allowed; c->names != NULL && r == 0; c++)
		for (names = c->names; r == 0 && name_next(&names, name);)
			if (filter_said(m, name) != VERDICT_DENY)
				r = rule_add(m, SCMP_ACT_ALLOW, name, NULL);
	for (i = 0; i < ARRAY_LEN(rules) && r == 0; i++)
		if (filter_said(m, rules[i].name) != VERDICT_DENY)
			r = rule_add(m, rules[i].action, rules[i].name, rules[i].arg);
	for (i = 0; i < ARRAY_LEN(prctls) && r == 0; i++) {
		option[0] = (struct scmp_arg_cmp)EQ(0, prctls[i]);
		if (filter_said(m, "prctl") != VERDICT_DENY)
			r = rule_add(m, SCMP_ACT_ALLOW, "prctl", option);
	}
	return r == 0 ? rules_of_policy(m) : r;
}

/* ---- the program ----------------------------------------------------------- */

void
filter_put(struct program *p, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
	if (p->n == SEALED_INSNS_MAX) {
		p->full = true;
		return;
	}
	p->insn[p->n++] = (struct sealed_insn){.code = code, .jt = jt, .jf = jf, .k = k};
}

int
filter_number(uint32_t arch, const char *name)
{
	return seccomp_syscall_resolve_name_arch(arch, name);
}

bool
syscall_is_known(const char *name)
{
	int nr = seccomp_syscall_resolve_name(name);

	/* below zero and no error: of another architecture, as `open` on some */
	return nr != __NR_SCMP_ERROR;
}

/* libseccomp writes programs to descriptors only. */
static int
body_read(scmp_filter_ctx ctx, struct program *p)
{
	struct sealed_insn insn;
	ssize_t n = 0;
	int fd, r;

	/* syscalls: memfd_create lseek read write close */
	if ((fd = memfd_create("kennel-filter", MFD_CLOEXEC)) < 0)
		return -errno;
	if ((r = seccomp_export_bpf(ctx, fd)) < 0)
		goto out;
	if (lseek(fd, 0, SEEK_SET) < 0) {
		r = -errno;
		goto out;
	}
	while ((n = read(fd, &insn, sizeof(insn))) == (ssize_t)sizeof(insn))
		filter_put(p, insn.code, insn.k, insn.jt, insn.jf);
	if (n != 0)
		r = -EIO;
	else if (p->full)
		r = -EFBIG;
out:
	(void)close(fd); /* a memfd */
	return r;
}
