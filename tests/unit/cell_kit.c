/*
 * See cell_kit.h.  The filter made here lets everything pass and holds each
 * exec for the "gate" below, which always says go on.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/loop.h"
#include "tests/unit/cell_kit.h"

#define FILE_MAX (8u << 20)

#if defined(__x86_64__)
#define KIT_ARCH AUDIT_ARCH_X86_64
#else
#define KIT_ARCH AUDIT_ARCH_AARCH64
#endif

static void
fail(const char *what)
{
	fprintf(stderr, "cell_kit: unable to %s: %s\n", what, strerror(errno));
	exit(1);
}

struct sealed_ref
kit_str(struct kit *k, const char *text)
{
	struct sealed_ref r = {
	    .off = (uint32_t)k->policy.strings_len, .len = (uint32_t)strlen(text)};

	if (k->policy.strings_len + r.len + 1 > sizeof(k->pool))
		fail("hold more strings");
	memcpy(k->pool + r.off, text, r.len + 1);
	k->policy.strings_len += r.len + 1;
	return r;
}

struct sealed_mount *
kit_mount(struct kit *k, enum sealed_mount_kind kind, const char *source,
    const char *target, uint32_t right, uint32_t line)
{
	struct sealed_mount *m = &k->mount[k->server.mounts.n++];

	*m = (struct sealed_mount){.source = kit_str(k, source),
	    .target = kit_str(k, target),
	    .at = {0, line},
	    .kind = kind,
	    .right = right,
	    .why = WHY_READ,
	    .size = KIT_TMP_SIZE};
	return m;
}

void
kit_limit(struct kit *k, enum sealed_limit_kind kind, uint64_t value, uint32_t line)
{
	k->limit[k->server.limits.n++] =
	    (struct sealed_limit){.at = {0, line}, .kind = kind, .value = value};
}

void
kit_require(struct kit *k, enum sealed_require_kind kind, uint32_t value, uint32_t line)
{
	k->require[k->server.requires.n++] =
	    (struct sealed_require){.at = {0, line}, .kind = kind, .value = value};
}

/* ---- what the build made ------------------------------------------------- */

/* build/unit/cell or build/unit-san/cell: the helpers lie beside. */
static char *
read_built(const char *name, size_t *ret_len)
{
	char self[512], path[600], *data = NULL, *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int fd;

	if (n < 0)
		fail("find the build");
	self[n] = '\0';
	for (int up = 0; up < 2; up++)
		if ((slash = strrchr(self, '/')) != NULL)
			*slash = '\0';
	snprintf(path, sizeof(path), "%s/%s", self, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fd_slurp(fd, FILE_MAX, &data, ret_len) != 0)
		fail(path);
	close(fd);
	return data;
}

static void
make_filter(struct kit *k)
{
	const struct sock_filter f[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execve, 2, 0),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_execveat, 1, 0),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
	};

	memcpy(k->insn, f, sizeof(f));
	k->filter = (struct sealed_filter){.insns = {0, ARRAY_LEN(f)}, .arch = KIT_ARCH};
	k->server.filters = (struct sealed_range){0, 1};
}

static void
put_witness(struct kit *k)
{
	size_t len;
	char *data = read_built("unit/cell-witness", &len);
	int fd;

	snprintf(k->witness, sizeof(k->witness), "%s/witness", k->dir);
	fd = open(k->witness, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	if (fd < 0 || fd_write_all(fd, data, len) != 0)
		fail("write the witness");
	close(fd);
	free(data);
	data = read_built("libexec/kennel/kennel-shim", &len);
	if (fd_sealed("kennel-shim", data, len, true, &k->shim_fd) != 0)
		fail("seal the shim");
	free(data);
}

void
kit_open(struct kit *k)
{
	struct policy *p = &k->policy;

	memset(k, 0, sizeof(*k));
	p->strings = k->pool;
	p->file = &k->file;
	p->server = &k->server;
	p->mount = k->mount;
	p->image = k->image;
	p->limit = k->limit;
	p->require = k->require;
	p->filter = &k->filter;
	p->insn = k->insn;
	p->row_n[SEALED_FILES] = 1;
	kit_str(k, "");
	k->file = kit_str(k, "policy.kennel");
	k->server.name = kit_str(k, "unit");
	k->server.cwd = kit_str(k, "/tmp");
	k->server.at = (struct sealed_at){0, 1};
	strcpy(k->dir, "/tmp/kennel-cell-XXXXXX");
	if (mkdtemp(k->dir) == NULL || chmod(k->dir, 0755) < 0)
		fail("make a folder");
	put_witness(k);
	make_filter(k);
	kit_mount(k, MOUNT_DIR, "", "/", RIGHT_NONE, 2);
	kit_mount(k, MOUNT_DIR, "", "/bin", RIGHT_READ, 2);
	kit_mount(k, MOUNT_FILE, k->witness, "/bin/witness", RIGHT_READ | RIGHT_START, 3);
	kit_mount(k, MOUNT_TMPFS, "", "/tmp", RIGHT_READ | RIGHT_WRITE, 4);
	kit_mount(k, MOUNT_DEV, "", "/dev", RIGHT_READ, 5);
	kit_mount(k, MOUNT_SHM, "", "/dev/shm", RIGHT_READ | RIGHT_WRITE, 5);
	kit_mount(k, MOUNT_PROC, "", "/proc", RIGHT_READ, 6);
	kit_mount(k, MOUNT_ETC, "", "/etc", RIGHT_READ, 7);
	k->image[k->server.images.n++] =
	    (struct sealed_image){.path = kit_str(k, "/bin/witness"),
		.real = kit_str(k, "/bin/witness"),
		.at = {0, 3}};
}

void
kit_close(struct kit *k)
{
	char command[128];

	fd_close(&k->shim_fd);
	snprintf(command, sizeof(command), "rm -rf -- '%s'", k->dir);
	if (system(command) != 0)
		fail("remove the folder");
}

/* ---- a small leash ------------------------------------------------------- */

int
kit_start(struct kit *k, struct run *ret)
{
	int in[2], out[2], err[2], r;
	uint64_t from;

	memset(ret, 0, sizeof(*ret));
	ret->notify = -1;
	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 ||
	    pipe2(err, O_CLOEXEC) < 0)
		fail("make pipes");
	ret->order = (struct cell_order){.policy = &k->policy,
	    .server = &k->server,
	    .stdin_fd = in[0],
	    .stdout_fd = out[1],
	    .stderr_fd = err[1],
	    .shim_fd = k->shim_fd,
	    .log_dir = -1};
	from = loop_now();
	r = cell_start(&ret->order, &ret->cell, ret->why);
	ret->ready_ns = loop_now() - from;
	close(in[0]);
	close(out[1]);
	close(err[1]);
	ret->in = in[1];
	ret->out = out[0];
	ret->err = err[0];
	if (r != 0) {
		ret->cell.pidfd = ret->cell.channel = -1;
		kit_end(ret);
	}
	return r;
}

void
kit_end(struct run *run)
{
	if (run->cell.pidfd >= 0)
		cell_free(&run->cell);
	fd_close(&run->notify);
	fd_close(&run->in);
	fd_close(&run->out);
	fd_close(&run->err);
}

int
kit_tell(struct run *run, enum shim_message what, uint32_t value, bool has_value)
{
	uint8_t memory[8];
	struct wire_out out;

	wire_out_init(&out, memory, sizeof(memory));
	wire_put_u32(&out, what);
	if (has_value)
		wire_put_u32(&out, value);
	return wire_send(run->cell.channel, &out, NULL, 0);
}

static int
hear(struct run *run, uint32_t *ret_what, uint32_t *ret_value)
{
	uint8_t memory[8192];
	struct wire_in in;
	size_t len;
	int r;

	r = wire_recv(run->cell.channel, memory, sizeof(memory), &len, NULL, 0, NULL);
	if (r != 0)
		return r;
	wire_in_init(&in, memory, len);
	*ret_what = wire_get_u32(&in);
	*ret_value = wire_get_u32(&in);
	if (*ret_what == SHIM_FAILED) {
		run->failed = true;
		run->step = *ret_value;
		run->error = wire_get_u32(&in);
		snprintf(run->why, sizeof(run->why), "%s", wire_get_str(&in, 4096));
	} else if (*ret_what == SHIM_EXITED) {
		run->exited = true;
		run->status = (int)*ret_value;
	}
	return in.error;
}

int
kit_go(struct kit *k, struct run *run, const char *path, const char *const *argv,
    const char *const *env)
{
	static uint8_t memory[SHIM_PLAN_MAX];
	uint32_t n = 0, what = 0, value = 0;
	struct wire_out plan;
	size_t argc = 0;
	int r;

	while (argv[argc] != NULL)
		argc++;
	while (env[n] != NULL)
		n++;
	wire_out_init(&plan, memory, sizeof(memory));
	r = cell_plan(&run->order, path, argv, argc, &plan);
	if (r != 0)
		return r;
	wire_put_u32(&plan, n);
	for (uint32_t i = 0; i < n; i++)
		wire_put_str(&plan, env[i]);
	r = cell_send_plan(&run->cell, &plan, NULL, 0);
	if (r == 0)
		r = hear(run, &what, &value);
	if (r == 0 && what != SHIM_SHUT)
		return -EPROTO;
	if (r == 0)
		r = cell_notify_fd(&run->cell, value, &run->notify);
	return r != 0 ? r : kit_tell(run, SHIM_GO, 0, false);
}

static void
let_pass(int notify)
{
	struct seccomp_notif call;
	struct seccomp_notif_resp answer = {.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};

	memset(&call, 0, sizeof(call));
	if (ioctl(notify, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0)
		return;
	answer.id = call.id;
	(void)ioctl(notify, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

void
kit_pass(struct run *run)
{
	let_pass(run->notify);
}

void
kit_wait(struct run *run, char *out, size_t cap, int wait_ms)
{
	uint64_t until = loop_now() + (uint64_t)wait_ms * 1000000;
	bool told = true, open = true;
	size_t len = 0;

	while ((told || open) && loop_now() < until) {
		struct pollfd p[] = {
		    {.fd = told ? run->cell.channel : -1, .events = POLLIN},
		    {.fd = run->notify, .events = POLLIN},
		    {.fd = open ? run->out : -1, .events = POLLIN},
		};
		uint32_t what, value;
		ssize_t n;

		if (poll(p, 3, 20) < 0)
			break;
		if ((p[1].revents & POLLIN) != 0)
			let_pass(run->notify);
		else if (p[1].revents != 0)
			fd_close(&run->notify);
		if (p[0].revents != 0 && hear(run, &what, &value) != 0)
			told = false;
		if (p[2].revents == 0)
			continue;
		n = read(run->out, out + len, cap - 1 - len);
		if (n <= 0)
			open = false;
		else
			len += (size_t)n;
	}
	out[len] = '\0';
}

int
kit_run(struct kit *k, struct run *run, const char *const *argv, const char *const *env,
    char *out, size_t cap)
{
	int r = kit_start(k, run);

	out[0] = '\0';
	if (r != 0)
		return r;
	r = kit_go(k, run, "/bin/witness", argv, env);
	if (r == 0)
		kit_wait(run, out, cap, 10000);
	kit_end(run);
	return r;
}
