/*
 * Lowering: text in, rows out, on programs and libraries made here.
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "policy/base/arena.h"
#include "policy/compile/compile.h"
#include "policy/compile/lower.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "tests/unit/ask.h"

static char top[64]; /* a folder of our own, without links on the way */

/* ---- making things ------------------------------------------------------------ */

static const char *
in_top(const char *name)
{
	static char path[4][256];
	static int i;

	i = (i + 1) % 4;
	(void)snprintf(path[i], sizeof(path[i]), "%s/%s", top, name);
	return path[i];
}

static void
make_file(const char *name, const void *bytes, size_t len, int mode)
{
	FILE *f = fopen(in_top(name), "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(in_top(name), (mode_t)mode), 0);
}

static void
make_text(const char *name, const char *text)
{
	char filled[512], *at;
	size_t n;

	/* TOP stands for the folder */
	at = strstr(text, "TOP");
	n = at == NULL ? strlen(text) : (size_t)(at - text);
	(void)snprintf(filled, sizeof(filled), "%.*s%s%s", (int)n, text,
	    at != NULL ? top : "", at != NULL ? at + 3 : "");
	make_file(name, filled, strlen(filled), 0755);
}

/* A 64-bit ELF file of this machine with nothing but what a loader reads. */
struct image {
	Elf64_Ehdr h;
	Elf64_Phdr ph[3];
	Elf64_Dyn dyn[8];
	char str[512];
};

static uint64_t
image_text(struct image *m, size_t *len, const char *text)
{
	uint64_t at = *len;

	memcpy(m->str + at, text, strlen(text) + 1);
	*len += strlen(text) + 1;
	return at;
}

static void
image_make(struct image *m, const char *interp, const char *const needed[],
    int64_t path_tag, const char *path)
{
	size_t len = 1, d = 0;

	memset(m, 0, sizeof(*m));
	memcpy(m->h.e_ident, ELFMAG, SELFMAG);
	m->h.e_ident[EI_CLASS] = ELFCLASS64;
	m->h.e_ident[EI_DATA] = ELFDATA2LSB;
	m->h.e_ident[EI_VERSION] = EV_CURRENT;
	m->h.e_type = ET_DYN;
#if defined(__aarch64__)
	m->h.e_machine = EM_AARCH64;
#else
	m->h.e_machine = EM_X86_64;
#endif
	m->h.e_phoff = offsetof(struct image, ph);
	m->h.e_phentsize = sizeof(Elf64_Phdr);
	m->h.e_phnum = 3;
	m->ph[0] = (Elf64_Phdr){.p_type = PT_LOAD,
	    .p_filesz = sizeof(*m),
	    .p_memsz = sizeof(*m),
	    .p_vaddr = 0x1000};
	m->ph[1] = (Elf64_Phdr){.p_type = PT_DYNAMIC,
	    .p_offset = offsetof(struct image, dyn),
	    .p_filesz = sizeof(m->dyn)};
	if (interp != NULL)
		m->ph[2] = (Elf64_Phdr){.p_type = PT_INTERP,
		    .p_offset = offsetof(struct image, str) + image_text(m, &len, interp),
		    .p_filesz = strlen(interp) + 1};
	for (; needed != NULL && *needed != NULL; needed++)
		m->dyn[d++] = (Elf64_Dyn){DT_NEEDED, {image_text(m, &len, *needed)}};
	if (path != NULL)
		m->dyn[d++] = (Elf64_Dyn){path_tag, {image_text(m, &len, path)}};
	m->dyn[d++] = (Elf64_Dyn){DT_STRTAB, {0x1000 + offsetof(struct image, str)}};
	m->dyn[d++] = (Elf64_Dyn){DT_STRSZ, {len}};
}

static void
make_image(const char *name, const char *interp, const char *const needed[],
    int64_t path_tag, const char *path)
{
	struct image m;

	image_make(&m, interp, needed, path_tag, path);
	make_file(name, &m, sizeof(m), 0755);
}

static void
make_link(const char *text, const char *name)
{
	assert_int_equal(symlink(text, in_top(name)), 0);
}

static int
group_setup(void **state)
{
	static const char *const a[] = {"liba.so", NULL}, *const b[] = {"libb.so", NULL};
	static const char *const c[] = {"libc1.so", NULL};
	static const char *const linked[] = {"liblink.so", NULL};
	static const char *const none[] = {"libnowhere.so", NULL};
	static const char *const dirs[] = {
	    "bin", "lib", "data", "data/in", "work", "real"};
	char *real;
	size_t i;

	(void)snprintf(top, sizeof(top), "/var/tmp/kennel-test-XXXXXX");
	if (mkdtemp(top) == NULL || (real = realpath(top, NULL)) == NULL)
		return -1;
	(void)snprintf(top, sizeof(top), "%s", real);
	free(real);
	for (i = 0; i < ARRAY_LEN(dirs); i++)
		assert_int_equal(mkdir(in_top(dirs[i]), 0755), 0);
	make_image("lib/ld-test.so", NULL, NULL, 0, NULL);
	make_image("bin/plain", NULL, NULL, 0, NULL);
	make_image("bin/node", NULL, NULL, 0, NULL);
	make_image("bin/tool", in_top("lib/ld-test.so"), c, DT_RUNPATH, "$ORIGIN/../lib");
	make_image("bin/half", in_top("lib/ld-test.so"), a, DT_RUNPATH, "$ORIGIN/../lib");
	make_image("lib/libc1.so", NULL, NULL, 0, NULL);
	make_image("bin/old", in_top("lib/ld-test.so"), a, DT_RPATH,
	    "/nowhere:${ORIGIN}/../lib");
	make_image("bin/lost", NULL, none, 0, NULL);
	make_image("lib/liba.so", NULL, b, 0, NULL);
	make_image("lib/libb.so", NULL, NULL, 0, NULL);
	make_image("lib/liblink.so.1", NULL, NULL, 0, NULL);
	make_link("liblink.so.1", "lib/liblink.so");
	make_image(
	    "bin/linked", in_top("lib/ld-test.so"), linked, DT_RUNPATH, "$ORIGIN/../lib");
	make_link("tool", "bin/alias");
	make_link("real", "link");
	make_text("real/file", "x");
	make_text("bin/script", "#! TOP/bin/plain  -x y \n");
	make_text("bin/nested", "#!TOP/bin/script\n");
	make_text("bin/relative", "#!plain\n");
	make_text("bin/empty", "");
	make_text("bin/envmany", "#!/usr/bin/env -S sh -e\n");
	make_text("bin/envnone", "#!/usr/bin/env kennel-no-such-program\n");
	make_text("bin/envsh", "#!/usr/bin/env sh\n");
	make_text("data/in/secret", "x");
	make_file("bin/noexec", "x", 1, 0644);
	return 0;
}

static int
remove_all(const char *path)
{
	char below[512];
	struct dirent *e;
	DIR *d = opendir(path);

	while (d != NULL && (e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		(void)snprintf(below, sizeof(below), "%s/%s", path, e->d_name);
		if (unlink(below) < 0)
			(void)remove_all(below);
	}
	if (d != NULL)
		(void)closedir(d);
	return rmdir(path);
}

static int
group_teardown(void **state)
{
	return remove_all(top);
}

/* ---- compiling ------------------------------------------------------------------- */

static struct buf bytes;
static struct policy p;
static char *said;

/* body: statements, with %s for the folder (as often as 8 times). */
static int
compile(const char *body)
{
	char text[4096], filled[4096], why[200];
	struct policy_source source = {.path = "t.kennel", .text = filled};
	size_t said_len;
	FILE *f;
	int r;

	(void)snprintf(text, sizeof(text), "server t {\n%s\n}\n", body);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	(void)snprintf(
	    filled, sizeof(filled), text, top, top, top, top, top, top, top, top);
#pragma GCC diagnostic pop
	source.len = strlen(filled);
	buf_free(&bytes);
	buf_init(&bytes, SEALED_LEN_MAX);
	free(said);
	f = open_memstream(&said, &said_len);
	r = policy_compile(&source, 1, NULL, &bytes, f);
	assert_int_equal(fclose(f), 0);
	if (r == 0)
		assert_int_equal(
		    policy_load_bytes(bytes.data, bytes.len, &p, why, sizeof(why)), 0);
	return r;
}

static void
good(const char *body)
{
	int r = compile(body);

	if (r != 0)
		fail_msg("%d: %s", r, said);
}

static void
refused(const char *body, const char *why)
{
	int r = compile(body);

	if (r != -EINVAL || strstr(said, why) == NULL ||
	    strstr(said, "t.kennel:") == NULL)
		fail_msg("%d, not \"%s\": %s", r, why, said);
	assert_int_equal(bytes.len, 0);
}

static const struct sealed_mount *
row_at(const char *target, uint32_t kind)
{
	uint32_t i;

	for (i = 0; i < p.row_n[SEALED_MOUNTS]; i++)
		if (p.mount[i].kind == kind &&
		    strcmp(policy_str(&p, p.mount[i].target), target) == 0)
			return &p.mount[i];
	return NULL;
}

static void
has(const char *name, uint32_t kind, uint32_t right, uint32_t why)
{
	const char *target = name[0] == '/' ? name : in_top(name);
	const struct sealed_mount *m = row_at(target, kind);

	if (m == NULL)
		fail_msg("no row %s of kind %u", target, kind);
	if (m->right != right || m->why != why)
		fail_msg("%s: right %u why %u", target, m->right, m->why);
	if (kind == MOUNT_FILE || kind == MOUNT_TREE)
		assert_string_equal(policy_str(&p, m->source), target);
}

static void
lacks(const char *name)
{
	const char *target = name[0] == '/' ? name : in_top(name);
	uint32_t k;

	for (k = MOUNT_DIR; k <= MOUNT_HIDE; k++)
		if (row_at(target, k) != NULL)
			fail_msg("a row %s of kind %u", target, k);
}

/* ---- tests -------------------------------------------------------------------------- */

#define RS (RIGHT_READ | RIGHT_START)
#define RW (RIGHT_READ | RIGHT_WRITE)

/* S4-22: run is the declared default grant; what it needs is found and bound */
static void
program_and_libraries(void **state)
{
	good("run %s/bin/tool -v **\nread %s/lib/ld-test.so %s/lib/libc1.so");
	has("bin/tool", MOUNT_FILE, RS, WHY_PROGRAM);
	has("lib/ld-test.so", MOUNT_FILE, RS, WHY_LOADER);
	has("lib/libc1.so", MOUNT_FILE, RIGHT_READ, WHY_READ);
	/* liba has no RUNPATH of its own and half's is not inherited ... */
	refused("run %s/bin/half\nread %s/lib", "library libb.so of");
}

/* ... but DT_RPATH is. */
static void
rpath_is_inherited(void **state)
{
	good("run %s/bin/old\nread %s/lib");
	refused("run %s/bin/old\nread %s/lib/ld-test.so %s/lib/liba.so",
	    "lib/libb.so is not");
}

/* What prebuilt add-ons of Node name and Node does not; nobody else gets it. */
static void
node_and_its_addons(void **state)
{
	char real[PATH_MAX];

	if (realpath("/lib/x86_64-linux-gnu/librt.so.1", real) == NULL &&
	    realpath("/lib/aarch64-linux-gnu/librt.so.1", real) == NULL) {
		print_message("this system keeps its C library elsewhere\n");
		skip();
	}
	good("run %s/bin/node");
	has(real, MOUNT_FILE, RIGHT_READ, WHY_PRESET);
	good("run %s/bin/plain");
	lacks(real);
}

/* S2-04: a server at a URL is kennel-remote, its host and the certificates. */
static void
remote_is_its_program_and_host(void **state)
{
	static const char *const args[] = {"--ca", "/etc/ssl/certs/ca-certificates.crt",
	    "--api-key", "X-Key", "KEY", "--header", "X-Team", "a b",
	    "https://h.example/mcp"};
	const struct sealed_server *s;
	const struct sealed_exec *run;

	if (access(args[1], R_OK) != 0) {
		print_message("this system keeps its certificates elsewhere\n");
		skip();
	}
	good("remote https://h.example/mcp\nsecret KEY from env KEY\n"
	     "auth api-key X-Key KEY\nheader X-Team \"a b\"");
	has(args[1], MOUNT_FILE, RIGHT_READ, WHY_READ);
	s = policy_server(&p, "t");
	assert_int_equal(s->flags, SERVER_REMOTE);
	assert_string_equal(policy_remote_url(&p, s), "https://h.example/mcp");
	run = &p.exec[s->run];
	assert_int_equal(run->args.n, ARRAY_LEN(args));
	for (size_t i = 0; i < ARRAY_LEN(args); i++)
		assert_string_equal(
		    policy_str(&p, p.arg[run->args.first + i].text), args[i]);
	assert_int_equal(s->execs.n, 1);
	assert_int_equal(s->nets.n, 1);
	assert_string_equal(policy_str(&p, p.net[s->nets.first].host), "h.example");
	assert_int_equal(p.net[s->nets.first].port_first, 443);
	assert_int_equal(p.net[s->nets.first].port_last, 443);
	assert_int_equal(p.net[s->nets.first].scope, NET_PUBLIC);
	assert_int_equal(p.net[s->nets.first].proto, 0);
	good("remote http://localhost:81/ to loopback");
	s = policy_server(&p, "t");
	assert_int_equal(p.net[s->nets.first].scope, NET_LOOPBACK);
	assert_int_equal(p.net[s->nets.first].proto, NET_PLAIN);
	assert_int_equal(p.exec[s->run].args.n, 1);
	good("run %s/bin/plain");
	assert_null(policy_remote_url(&p, policy_server(&p, "t")));
}

static void
base_of_every_cell(void **state)
{
	const struct sealed_server *s;

	good("run %s/bin/plain");
	has("/tmp", MOUNT_TMPFS, RW, WHY_BASE);
	assert_int_equal(row_at("/tmp", MOUNT_TMPFS)->size, 64 << 20);
	has("/dev", MOUNT_DEV, RIGHT_READ | RIGHT_DEVICE, WHY_BASE);
	has("/dev/shm", MOUNT_SHM, RW, WHY_BASE);
	has("/proc", MOUNT_PROC, RIGHT_READ, WHY_BASE);
	has("/etc", MOUNT_ETC, RIGHT_READ, WHY_BASE);
	s = policy_server(&p, "t");
	assert_int_equal(s->filters.n, 2);
	assert_string_equal(policy_str(&p, s->cwd), "/tmp");
	assert_int_equal(s->envs.n, 6);
	assert_int_equal(s->flags, 0);
	has(POLICY_RUNTIME_DIR, MOUNT_TMPFS, RW, WHY_BASE);
	good(
	    "run %s/bin/plain\nno-proc\ntmp 1M\nenv HOME = /data\nenv X\nsampling allow\n"
	    "oneshot\ntty");
	lacks("/proc");
	assert_int_equal(row_at("/tmp", MOUNT_TMPFS)->size, 1 << 20);
	s = policy_server(&p, "t");
	assert_int_equal(
	    s->flags, SERVER_NO_PROC | SERVER_MCP_SAMPLING | SERVER_ONESHOT | SERVER_TTY);
	assert_int_equal(s->envs.n, 7);
	assert_string_equal(policy_str(&p, p.env[0].name), "HOME");
	assert_string_equal(policy_str(&p, p.env[0].value), "/data");
	assert_int_equal(p.env[0].fixed, 0);
}

static void
paths(void **state)
{
	good("run %s/bin/plain\nread %s/data %s/real/file\nwrite %s/data/in %s/work\n"
	     "read %s/missing { optional }\ncwd %s/work");
	has("data", MOUNT_TREE, RIGHT_READ, WHY_READ);
	has("data/in", MOUNT_TREE, RW, WHY_WRITE);
	has("work", MOUNT_TREE, RW, WHY_WRITE);
	has("real/file", MOUNT_FILE, RIGHT_READ, WHY_READ);
	has("missing", MOUNT_TREE, RIGHT_READ, WHY_READ);
	assert_int_equal(row_at(in_top("missing"), MOUNT_TREE)->optional, 1);
}

static void
trees_cover(void **state)
{
	good("run %s/bin/tool\nread %s/bin %s/lib");
	has("bin", MOUNT_TREE, RIGHT_READ, WHY_READ);
	has("bin/tool", MOUNT_FILE, RS, WHY_PROGRAM);
	has("lib/ld-test.so", MOUNT_FILE, RS, WHY_LOADER);
	lacks("lib/libc1.so");
	/* reading in what may be written adds nothing */
	good("run %s/bin/plain\nwrite %s/data\nread %s/data/in");
	lacks("data/in");
}

static void
hidden(void **state)
{
	const struct sealed_mount *last;

	good("run %s/bin/plain\nread %s/data\nhide %s/data/in/secret %s/data/later "
	     "%s/nowhere");
	has("data/in/secret", MOUNT_HIDE, 0, WHY_HIDE);
	has("data/later", MOUNT_HIDE, 0, WHY_HIDE);
	lacks("nowhere"); /* is absent anyway */
	last = &p.mount[p.row_n[SEALED_MOUNTS] - 1];
	assert_int_equal(last->kind, MOUNT_HIDE);
	good("run %s/bin/plain\nread %s/data\nhide %s/data/in %s/data/in/secret");
	has("data/in", MOUNT_HIDE, 0, WHY_HIDE);
	lacks("data/in/secret");
	refused("run %s/bin/plain\nread %s/data\nhide %s/bin", "hide");
}

static void
arg_is(const struct sealed_range range, uint32_t i, const char *text)
{
	assert_true(i < range.n);
	assert_string_equal(policy_str(&p, p.arg[range.first + i].text), text);
}

/* ESCAPES 71: a script is its interpreter and itself, env is looked through */
static void
scripts(void **state)
{
	const struct sealed_server *s;
	const struct sealed_exec *e;

	good("run %s/bin/plain\nexec allow %s/bin/script go **\n"
	     "exec allow %s/bin/plain \"-x y\" %s/bin/script go **");
	s = policy_server(&p, "t");
	assert_int_equal(s->execs.n, 3);
	e = &p.exec[1];
	assert_string_equal(policy_str(&p, p.image[e->asked].path), in_top("bin/script"));
	assert_string_equal(policy_str(&p, p.image[e->mapped].real), in_top("bin/plain"));
	assert_int_equal(e->prefix.n, 3);
	arg_is(e->prefix, 0, in_top("bin/plain"));
	arg_is(e->prefix, 1, "-x y"); /* one word, as the kernel has it */
	arg_is(e->prefix, 2, in_top("bin/script"));
	arg_is(e->args, 0, "go");
	has("bin/script", MOUNT_FILE, RS, WHY_PROGRAM);
	has("bin/plain", MOUNT_FILE, RS, WHY_PROGRAM);
	good("run %s/bin/envsh **");
	s = policy_server(&p, "t");
	assert_int_equal(s->execs.n, 2);
	e = &p.exec[s->run];
	assert_string_equal(policy_str(&p, p.image[e->asked].path), in_top("bin/envsh"));
	arg_is(e->prefix, 0, "/usr/bin/env");
	arg_is(e->prefix, 1, "sh");
	e = &p.exec[1];
	assert_int_equal(e->prefix.n, 0);
	assert_int_equal(e->flags, 0);
	arg_is(e->args, 0, in_top("bin/envsh"));
	assert_int_equal(p.arg[e->args.first + 1].kind, ARG_REST);
}

static void
what_cannot_start(void **state)
{
	refused("run %s/bin/nonesuch", "does not exist");
	refused("run %s/bin", "not a program");
	refused("run %s/bin/noexec", "not a program");
	refused("run %s/bin/empty", "expected an ELF file, or a script");
	refused("run %s/bin/relative", "expected an ELF file, or a script");
	refused("run %s/bin/nested\nexec allow %s/bin/script\n"
		"exec allow %s/bin/plain \"-x y\" %s/bin/script",
	    "is itself a script");
	refused("run %s/bin/envmany", "more than a program name");
	refused("run %s/bin/envnone", "not in /usr/local/bin");
	refused("run %s/bin/lost", "libnowhere.so");
	refused("exec allow %s/bin/plain", "run");
	/* C23: the same file is never writable and startable, by any path */
	refused("run %s/link/../bin/plain", "t.kennel:");
	refused("run %s/bin/plain\nwrite %s/bin", "writ");
	assert_int_equal(chmod(in_top("bin/plain"), 0777), 0);
	refused("run %s/bin/plain", "world-writable");
	assert_int_equal(chmod(in_top("bin/plain"), 0755), 0);
	refused("run %s/bin/plain\ncwd %s/data", "not in the view");
	refused("run %s/bin/plain\nread /var/../etc", "t.kennel:");
}

/* Every path: a link that others than root can change is not followed. */
static void
links_of_others(void **state)
{
	static const char *const lines[] = {"run %s/bin/alias",
	    "run %s/bin/plain\nexec allow %s/bin/alias", "run %s/way/plain",
	    ("run %s/bin/plain\nread %s/lib\nexec allow %s/bin/tool **\n"
	     "exec deny %s/bin/alias **"),
	    "run %s/bin/plain\ndigest %s/bin/alias",
	    "run %s/bin/plain\nread %s/link/file", "run %s/bin/plain\nread %s/link",
	    "run %s/bin/plain\nwrite %s/link",
	    "run %s/bin/plain\nread %s\nhide %s/link/file",
	    "run %s/bin/plain\nread %s/real\ncwd %s/link",
	    "run %s/bin/plain\nread %s/lib\nexec allow %s/bin/tool in %s/link",
	    "run %s/bin/byway", "run %s/bin/plain\nread %s/loop",
	    "run %s/bin/plain\nread %s/etc"};
	char wanted[200];
	size_t i;

	make_link("bin", "way");
	make_link("in", "data/turn");
	make_link("loop", "loop");
	make_link("/etc", "etc");
	make_text("bin/byway", "#!TOP/way/plain\n");
	for (i = 0; i < ARRAY_LEN(lines); i++)
		refused(lines[i], "is not followed: others than root can change it");
	refused("run %s/bin/plain\nread %s/link/missing", "is not followed");
	/* what is hidden is no link at all, root's neither */
	refused("run %s/bin/plain\nread %s/data\nhide %s/data/turn",
	    "data/turn` is a symbolic link to `in`: hide `");
	(void)snprintf(
	    wanted, sizeof(wanted), "write %s/real/file, where it leads now", top);
	refused("run %s/bin/plain\nread %s/link/file", wanted);
	/* the control: the same without the link */
	good("run %s/bin/plain\nread %s/real/file");
}

/* A library that is found by such a link, and one inside what may be read anyway. */
static void
library_links(void **state)
{
	refused("run %s/bin/linked\nread %s/lib/ld-test.so",
	    "lib/liblink.so is not followed");
	refused("run %s/bin/linked\nread %s/lib/liblink.so.1 %s/lib/ld-test.so",
	    "is not followed");
	refused("run %s/bin/linked\nwrite %s/lib", "t.kennel:");
	good("run %s/bin/linked\nread %s/lib");
	lacks("lib/liblink.so");
}

static void
links_of_proc(void **state)
{
	refused("run /proc/self/exe", "one of /proc");
	make_link("/proc/self", "self");
	refused("run %s/bin/tool\nread %s/self/environ", "is not followed");
}

/* The control: links that only root can change are followed, and made again. */
static void
links_of_root(void **state)
{
	char real[PATH_MAX], text[PATH_MAX];
	ssize_t n = readlink("/bin", text, sizeof(text) - 1);
	const struct sealed_mount *m;

	if (n <= 0 || realpath("/bin/sh", real) == NULL) {
		print_message("no link of root's at /bin\n");
		skip();
	}
	text[n] = '\0';
	good("run %s/bin/plain\nexec allow /bin/sh");
	has(real, MOUNT_FILE, RS, WHY_PROGRAM);
	m = row_at("/bin", MOUNT_SYMLINK);
	assert_non_null(m);
	assert_string_equal(policy_str(&p, m->source), text);
}

/* What decides what an environment starts is read-only, and its image is the file. */
static void
virtual_environments(void **state)
{
	const struct sealed_server *s;

	assert_int_equal(mkdir(in_top("venv"), 0755), 0);
	assert_int_equal(mkdir(in_top("venv/bin"), 0755), 0);
	make_image("bin/python3.99", NULL, NULL, 0, NULL);
	make_link("python3", "venv/bin/python");
	make_link(in_top("bin/python3.99"), "venv/bin/python3");
	make_link(in_top("bin/plain"), "venv/bin/tool");
	make_text("venv/bin/script", "#!TOP/venv/bin/python3\n");
	refused("run %s/venv/bin/python **", "is not followed"); /* no pyvenv.cfg */
	make_text("venv/pyvenv.cfg", "home = x\n");
	/* what the environment names is granted by lines */
	refused("run %s/venv/bin/python **\nexec allow %s/bin/python3.99",
	    "venv/pyvenv.cfg is not granted: add `read");
	refused("run %s/venv/bin/python **\nread %s/venv/pyvenv.cfg\n"
		"exec allow %s/bin/python3.99",
	    "venv/bin is not granted: add `read");
	refused("run %s/venv/bin/python **\nread %s/venv", "bin/python3.99 of ");
	refused("run %s/venv/bin/python **\nread %s/venv %s/bin\n"
		"exec ask %s/bin/python3.99",
	    "is not granted: add `exec allow ");
	good("run %s/venv/bin/python **\nread %s/venv/pyvenv.cfg %s/venv/bin\n"
	     "exec allow %s/bin/python3.99");
	s = policy_server(&p, "t");
	assert_string_equal(policy_str(&p, p.image[p.exec[s->run].asked].path),
	    in_top("venv/bin/python"));
	assert_string_equal(
	    policy_str(&p, p.image[p.exec[s->run].asked].real), in_top("bin/python3.99"));
	has("venv/bin", MOUNT_TREE, RIGHT_READ, WHY_READ);
	has("venv/pyvenv.cfg", MOUNT_FILE, RIGHT_READ, WHY_READ);
	has("bin/python3.99", MOUNT_FILE, RS, WHY_PROGRAM);
	refused("run %s/venv/bin/script **\nread %s/venv", "bin/python3.99 of ");
	good("run %s/venv/bin/script **\nread %s/venv\nexec allow %s/bin/python3.99");
	/* only the interpreter, and only where nobody writes */
	refused("run %s/venv/bin/tool", "is not followed");
	refused("run %s/bin/plain\nread %s/venv/bin/python", "is not followed");
	refused("run %s/venv/bin/python\nwrite %s/venv", "lets server `t` replace");
	refused("run %s/venv/bin/script\nwrite %s/venv/bin", "t.kennel:");
	refused("run %s/venv/bin/python\nwrite %s/venv/pyvenv.cfg\nread %s/venv/bin\n"
		"exec allow %s/bin/python3.99",
	    "lets server `t` replace");
	refused("run %s/venv/bin/python\nread %s/venv\nexec allow %s/bin/python3.99\n}\n"
		"server u {\nrun %s/bin/plain\nwrite %s/venv",
	    "lets server `u` replace");
	/* the control: what it does not need may be written */
	good("run %s/venv/bin/python\nwrite %s/work\nread %s/venv\n"
	     "exec allow %s/bin/python3.99");
	/* a link of the environment that leads through one of others */
	make_link("bin", "pythons");
	make_link(in_top("pythons/python3.99"), "venv/bin/python3.9");
	refused("run %s/venv/bin/python3.9\nread %s/venv", "is not followed");
}

static void
denials(void **state)
{
	const struct sealed_server *s;
	static const char *const push[] = {"tool", "push"}, *const pull[] = {
								"tool", "pull"};
	struct policy_argv a = {push, 2}, b = {pull, 2};

	good("run %s/bin/plain\nread %s/lib\nexec allow %s/bin/tool **\n"
	     "exec deny %s/bin/tool push **\n"
	     "exec deny %s/bin/old **");
	s = policy_server(&p, "t");
	assert_int_equal(s->execs.n, 3);
	assert_int_equal(s->images.n, 2);
	lacks("bin/old");
	lacks("bin/alias");
	assert_int_equal(ask_exec(&p, s, 1, a).verdict, VERDICT_DENY);
	assert_non_null(ask_exec(&p, s, 1, a).exec);
	assert_int_equal(ask_exec(&p, s, 1, b).verdict, VERDICT_ALLOW);
}

static void
tables(void **state)
{
	const struct sealed_server *s;

	good("run %s/bin/plain\nlimit memory 1M processes 9\ntimeout call 2s\n"
	     "require landlock 4\ntool allow a_* b\ntool deny c\nprompt allow *\n"
	     "secret A from env B\nsecret C from cmd /bin/x y\nuser nobody\nabout \"x\"");
	s = policy_server(&p, "t");
	assert_int_equal(policy_limit(&p, s, LIMIT_MEMORY), 1 << 20);
	assert_int_equal(policy_limit(&p, s, LIMIT_PROCESSES), 9);
	assert_int_equal(policy_limit(&p, s, TIMEOUT_CALL), 2000);
	assert_int_equal(p.require[s->requires.first].value, 4);
	assert_int_equal(s->gates.n, 4);
	assert_int_equal(ask_gate(&p, s, GATE_TOOL, "a_x", 3).verdict, VERDICT_ALLOW);
	assert_int_equal(ask_gate(&p, s, GATE_TOOL, "c", 1).verdict, VERDICT_DENY);
	assert_int_equal(ask_gate(&p, s, GATE_TOOL, "d", 1).verdict, VERDICT_DENY);
	assert_int_equal(s->secrets.n, 2);
	assert_int_equal(p.secret[0].source, SOURCE_ENV);
	assert_string_equal(policy_str(&p, p.secret[0].ref), "B");
	arg_is(p.secret[1].args, 0, "/bin/x");
	arg_is(p.secret[1].args, 1, "y");
	assert_string_equal(policy_str(&p, s->user), "nobody");
}

static void
seen_limit(const struct policy *q, uint32_t row, void *arg)
{
	*(uint32_t *)arg |= 1u << q->gate[row].at.line;
}

/* rate and quota: every line that matches a call limits it, not the deciding one alone;
 * what is unknown about a line limits too. */
static void
limits(void **state)
{
	static const struct {
		const char *name, *args;
		uint32_t lines; /* a bit for each */
	} calls[] = {
	    {"b", "{}", 0},
	    {"a_y", "{}", 1u << 3},
	    {"a_x", "{\"n\":1}", 1u << 3},
	    {"a_x", "{\"n\":2}", 1u << 3 | 1u << 4},
	    {"a_x", "{}", 1u << 3 | 1u << 4},
	    {"a_x", "{\"n\":1,\"n\":1}", 1u << 3 | 1u << 4},
	    {"a_z", "{}", 0},
	    {"old", "{}", 0},
	    {"c", "{}", 1u << 7},
	};
	const struct sealed_server *s;
	const struct sealed_gate *g;
	uint32_t lines;

	good("run %s/bin/plain\n"
	     "tool allow a_* except a_z rate 30/90s\n"
	     "tool allow a_x when args.n > 1 quota 2\n"
	     "tool allow *\n"
	     "tool allow old quota 1 owner x ticket y until 2020-01-01\n"
	     "tool ask c rate 1/1s quota 1000000000");
	s = policy_server(&p, "t");
	assert_int_equal(policy_oneshot(&p, s), ONESHOT_NO);
	for (size_t i = 0; i < ARRAY_LEN(calls); i++) {
		struct policy_gate_ask ask = {.kind = GATE_TOOL,
		    .name = calls[i].name,
		    .name_len = strlen(calls[i].name),
		    .args = calls[i].args,
		    .args_len = strlen(calls[i].args)};

		lines = 0;
		policy_gate_limits(&p, s, &ask, seen_limit, &lines);
		if (lines != calls[i].lines)
			fail_msg("%s %s: %x", calls[i].name, calls[i].args, lines);
	}
	g = ask_gate(&p, s, GATE_TOOL, "c", 1).gate;
	assert_int_equal(g->rate, 1);
	assert_int_equal(g->rate_ms, 1000);
	assert_int_equal(g->quota, 1000000000);
	g = ask_gate(&p, s, GATE_TOOL, "a_y", 3).gate;
	assert_int_equal(g->rate, 30);
	assert_int_equal(g->rate_ms, 90000);
	assert_int_equal(g->quota, 0);
}

/* C32: a secret that needs approval per call implies `oneshot`; per session does not. */
static void
oneshot(void **state)
{
	good("run %s/bin/plain\nsecret A from env A { approve session }");
	assert_int_equal(policy_oneshot(&p, policy_server(&p, "t")), ONESHOT_NO);
	good("run %s/bin/plain\nsecret A from env A { approve per-call }");
	assert_int_equal(policy_oneshot(&p, policy_server(&p, "t")), ONESHOT_IMPLIED);
	good("run %s/bin/plain\noneshot\nsecret A from env A { approve per-call }");
	assert_int_equal(policy_oneshot(&p, policy_server(&p, "t")), ONESHOT_STATED);
}

/* The same text gives the same bytes. */
static void
same_text_same_bytes(void **state)
{
	static const char body[] =
	    "run %s/bin/old **\nread %s/data %s/lib\nexec allow %s/bin/script\n"
	    "exec allow %s/bin/plain \"-x y\" %s/bin/script";
	struct policy first;

	good(body);
	first = p;
	good(body);
	assert_memory_equal(first.id, p.id, sizeof(p.id));
}

/* Every byte of an ELF file changed, every length of it: never a fault. */
static void
hostile_images(void **state)
{
	static const char *const need[] = {"liba.so", NULL};
	struct arena *arena = arena_new();
	struct image m;
	struct elf e;
	const char *why;
	size_t i, k;

	for (i = 0; i < offsetof(struct image, str) + 64; i++)
		for (k = 0; k < 3; k++) {
			image_make(&m, "/lib/ld.so", need, DT_RPATH, "/x");
			((uint8_t *)&m)[i] = (uint8_t)(k == 0   ? 0xff
						       : k == 1 ? 0x7f
								: 0x80);
			make_file("bin/hostile", &m, sizeof(m), 0755);
			(void)elf_read(arena, in_top("bin/hostile"), &e, &why);
		}
	image_make(&m, "/lib/ld.so", need, DT_RPATH, "/x");
	for (i = 0; i < sizeof(m); i += 3) {
		make_file("bin/hostile", &m, i, 0755);
		assert_int_not_equal(elf_read(arena, in_top("bin/hostile"), &e, &why), 0);
	}
	m.h.e_ident[EI_CLASS] = ELFCLASS32;
	make_file("bin/hostile", &m, sizeof(m), 0755);
	assert_int_equal(elf_read(arena, in_top("bin/hostile"), &e, &why), -ELIBBAD);
	assert_non_null(strstr(why, "32-bit"));
	arena_free(arena);
	refused("run %s/bin/hostile", "32-bit");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(program_and_libraries),
	    cmocka_unit_test(rpath_is_inherited),
	    cmocka_unit_test(node_and_its_addons),
	    cmocka_unit_test(remote_is_its_program_and_host),
	    cmocka_unit_test(base_of_every_cell),
	    cmocka_unit_test(paths),
	    cmocka_unit_test(trees_cover),
	    cmocka_unit_test(hidden),
	    cmocka_unit_test(scripts),
	    cmocka_unit_test(what_cannot_start),
	    cmocka_unit_test(links_of_others),
	    cmocka_unit_test(library_links),
	    cmocka_unit_test(links_of_proc),
	    cmocka_unit_test(links_of_root),
	    cmocka_unit_test(virtual_environments),
	    cmocka_unit_test(denials),
	    cmocka_unit_test(tables),
	    cmocka_unit_test(limits),
	    cmocka_unit_test(oneshot),
	    cmocka_unit_test(same_text_same_bytes),
	    cmocka_unit_test(hostile_images),
	};
	int failed = cmocka_run_group_tests(tests, group_setup, group_teardown);

	buf_free(&bytes);
	free(said);
	return failed;
}
