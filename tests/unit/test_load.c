/*
 * The loader: one good file, and one broken copy of it per rule.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/corpus.h"
#include "tests/unit/policy_fixture.h"
#include "tests/unit/resealed.h"

static struct buf good;

/* A copy that may be changed, and its tables. */
struct copy {
	uint8_t *bytes;
	size_t len;
	struct sealed_header *header;
	struct sealed_section *section; /* section[0] is STRINGS */
	struct policy p;                /* p.* point into bytes */
};

#define ROW(c, table, i) ((struct sealed_##table *)(uintptr_t) & (c)->p.table[i])
#define POOL(c)          ((char *)(uintptr_t)(c)->p.strings)

static void
copy_make(struct copy *c, size_t more)
{
	char why[200];

	c->len = good.len;
	c->bytes = calloc(1, good.len + more);
	assert_non_null(c->bytes);
	memcpy(c->bytes, good.data, good.len);
	c->header = (void *)c->bytes;
	c->section = (void *)(c->bytes + sizeof(*c->header));
	assert_int_equal(policy_load_bytes(c->bytes, c->len, &c->p, why, sizeof(why)), 0);
}

/* A ref to a string that is in the good file. */
static struct sealed_ref
ref_of(const struct copy *c, const char *text)
{
	size_t len = strlen(text), i;

	for (i = 0; i + len < c->p.strings_len; i++)
		if ((i == 0 || c->p.strings[i - 1] == 0) &&
		    memcmp(c->p.strings + i, text, len + 1) == 0)
			return (struct sealed_ref){(uint32_t)i, (uint32_t)len};
	fail_msg("no %s in the fixture", text);
	return (struct sealed_ref){0, 0};
}

/* Change a string of the pool for another of the same length. */
static void
rewrite(struct copy *c, const char *from, const char *to)
{
	struct sealed_ref ref = ref_of(c, from);

	assert_int_equal(strlen(to), ref.len);
	memcpy(POOL(c) + ref.off, to, ref.len);
}

#define BREAK(name, ...) \
	static void name(struct copy *c) \
	{ \
		__VA_ARGS__; \
	}

/* ---- layout ---- */
BREAK(b_magic, c->bytes[0] ^= 1)
BREAK(b_version, c->header->version++)
BREAK(b_version0, c->header->version = 0)
BREAK(b_section_n, c->header->section_n--)
BREAK(b_reserved, c->header->reserved = 1)
BREAK(b_body_short, c->header->body_len -= 8)
BREAK(b_no_digest, c->header->body_len = sizeof(*c->header) +
					 (SEALED_KIND_END - 1) * sizeof(*c->section))
BREAK(b_body_huge, c->header->body_len = UINT64_MAX)
BREAK(b_trailing, c->len += 8)
BREAK(b_trailing_said, c->len += 8; c->header->body_len += 8)
BREAK(b_cut, c->len -= 8)
BREAK(b_cut_said, c->len -= 8; c->header->body_len -= 8)
BREAK(b_kind, c->section[3].kind = 99)
BREAK(b_kind_twice, c->section[3].kind = c->section[2].kind)
BREAK(b_disorder, struct sealed_section s = c->section[4]; c->section[4] = c->section[5];
      c->section[5] = s)
BREAK(b_overlap, c->section[5].off -= 8)
BREAK(b_gap, c->section[5].off += 8)
BREAK(b_off_wrap, c->section[5].off = UINT64_MAX - 7)
BREAK(b_len_wrap, c->section[5].len = UINT64_MAX)
BREAK(b_rows, c->section[5].row_n++)
BREAK(b_rows_huge, c->section[5].row_n = UINT32_MAX;
      c->section[5].len = (uint64_t)UINT32_MAX * 48)
BREAK(b_padding, c->bytes[c->section[0].off + c->section[0].len] = 1)

/* ---- strings ---- */
BREAK(b_pool_end, POOL(c)[c->p.strings_len - 1] = 'x')
BREAK(b_pool_start, POOL(c)[0] = 'x')
BREAK(b_utf8_lone, rewrite(c, "for tests",
		       "for \x80"
		       "ests"))
BREAK(b_utf8_long, rewrite(c, "for tests",
		       "for \xc0\x80"
		       "sts"))
BREAK(b_utf8_surrogate, rewrite(c, "for tests",
			    "fo\xed\xa0\x80"
			    "ests"))
BREAK(b_utf8_beyond, rewrite(c, "for tests",
			 "f\xf4\x90\x80\x80"
			 "ests"))
BREAK(b_utf8_cut, rewrite(c, "for tests", "for test\xe2"))
BREAK(b_str_beyond, ROW(c, server, 0)->about.off = (uint32_t)c->p.strings_len)
BREAK(b_str_wrap, ROW(c, server, 0)->about.len = UINT32_MAX)
BREAK(b_str_inside, ROW(c, server, 0)->about.off++; ROW(c, server, 0)->about.len--)
BREAK(b_str_short, ROW(c, server, 0)->about.len--)
BREAK(b_str_nul, struct sealed_ref r = ref_of(c, "for tests");
      ROW(c, server, 0)->about.len += 1 + (uint32_t)strlen(POOL(c) + r.off + r.len + 1))
BREAK(b_str_empty, ROW(c, server, 0)->user = (struct sealed_ref){ref_of(c, "a").off, 0})

/* ---- servers ---- */
BREAK(b_server_order, struct sealed_ref n = c->p.server[0].name;
      ROW(c, server, 0)->name = c->p.server[1].name; ROW(c, server, 1)->name = n)
BREAK(b_server_twice, ROW(c, server, 1)->name = c->p.server[0].name)
BREAK(b_server_noname, ROW(c, server, 0)->name = (struct sealed_ref){0, 0})
BREAK(b_server_name, ROW(c, server, 0)->name = ref_of(c, "/tmp"))
BREAK(b_server_cwd, ROW(c, server, 0)->cwd = ref_of(c, "a"))
BREAK(b_server_flag, ROW(c, server, 0)->flags = 2 * SERVER_TTY)
BREAK(b_server_url, ROW(c, server, 0)->flags = SERVER_REMOTE)
BREAK(b_server_run, ROW(c, server, 0)->run = 2)
BREAK(b_server_run_huge, ROW(c, server, 0)->run = UINT32_MAX)
BREAK(b_server_run_other, ROW(c, server, 0)->run = 1)
BREAK(b_server_run_deny, ROW(c, exec, 0)->verdict = VERDICT_DENY)
BREAK(b_range_beyond, ROW(c, server, 1)->gates.n = 2)
BREAK(b_range_wrap, ROW(c, server, 1)->gates.n = UINT32_MAX)
BREAK(b_range_overlap, ROW(c, server, 1)->gates.first = 0)
BREAK(b_range_hole, ROW(c, server, 0)->gates.n = 0; ROW(c, server, 1)->gates.n = 1)
BREAK(b_range_orphan, ROW(c, server, 1)->gates.n = 0)
BREAK(b_at_file, ROW(c, server, 0)->at.file = 1)
BREAK(b_at_line, ROW(c, server, 0)->at.line = 0)

/* ---- env, secrets ---- */
BREAK(b_env_name, ROW(c, env, 0)->name = ref_of(c, "/tmp"))
BREAK(b_env_order, struct sealed_env e = c->p.env[0]; *ROW(c, env, 0) = c->p.env[1];
      *ROW(c, env, 1) = e)
BREAK(b_env_passed, ROW(c, env, 1)->passed = 1; ROW(c, env, 1)->fixed = 0)
BREAK(b_env_bool, ROW(c, env, 0)->passed = 2)
BREAK(b_env_fixed, ROW(c, env, 1)->fixed = 7)
BREAK(b_secret_source, ROW(c, secret, 0)->source = 9)
BREAK(b_secret_unasked, ROW(c, secret, 0)->factor = FACTOR_KEY;
      ROW(c, secret, 0)->approve = APPROVE_NONE)
BREAK(b_secret_factor, ROW(c, secret, 0)->factor = FACTOR_KEY + 1)
BREAK(b_secret_order, struct sealed_ref n = c->p.secret[0].name;
      ROW(c, secret, 0)->name = c->p.secret[1].name; ROW(c, secret, 1)->name = n)
BREAK(b_secret_path, ROW(c, secret, 1)->ref = ref_of(c, "TOKEN"))
BREAK(b_secret_cmd, ROW(c, secret, 0)->source = SOURCE_VAULT)
BREAK(b_secret_ref, ROW(c, secret, 0)->ref = ref_of(c, "TOKEN"))
BREAK(b_secret_plugin, ROW(c, secret, 0)->source = SOURCE_PLUGIN;
      ROW(c, secret, 0)->ref = ref_of(c, "a"))
BREAK(b_secret_plugin_name, ROW(c, secret, 0)->source = SOURCE_PLUGIN)
BREAK(b_secret_credential, ROW(c, secret, 0)->flags = SECRET_CREDENTIAL | SECRET_AS_FILE)
BREAK(b_secret_env, ROW(c, secret, 1)->source = SOURCE_ENV)
BREAK(b_secret_pattern, ROW(c, arg, c->p.secret[0].args.first)->kind = ARG_GLOB)

/* ---- mounts ---- */
enum { M_USR, M_USRBIN, M_BIN, M_TMP, M_DASH, M_SRV, M_HIDE };
BREAK(b_mount_kind, ROW(c, mount, M_USR)->kind = 0)
BREAK(b_mount_kind_hi, ROW(c, mount, M_USR)->kind = 11)
BREAK(b_mount_why, ROW(c, mount, M_USR)->why = 13)
BREAK(b_mount_optional, ROW(c, mount, M_USR)->optional = 2)
BREAK(b_mount_relative, ROW(c, mount, M_SRV)->target = ref_of(c, "a"))
BREAK(b_mount_double, rewrite(c, "/usr/bin", "/usr//in"))
BREAK(b_mount_dot, rewrite(c, "/usr/bin/dash", "/usr/bin/./sh"))
BREAK(b_mount_dotdot, rewrite(c, "/usr/bin/dash", "/usr/bin/../h"))
BREAK(b_mount_dots_last, rewrite(c, "/srv", "/s/."))
BREAK(b_mount_slash, rewrite(c, "/srv", "/sr/"))
BREAK(b_mount_parent, ROW(c, mount, M_USR)->target = ref_of(c, "/srv/x/secret"))
BREAK(b_mount_parent_late, struct sealed_mount m = c->p.mount[M_USR];
      *ROW(c, mount, M_USR) = c->p.mount[M_USRBIN]; *ROW(c, mount, M_USRBIN) = m)
BREAK(b_mount_below_link, ROW(c, mount, M_USRBIN)->kind = MOUNT_SYMLINK;
      ROW(c, mount, M_USRBIN)->source = ref_of(c, "usr/bin"))
BREAK(b_mount_below_file, ROW(c, mount, M_USRBIN)->kind = MOUNT_FILE;
      ROW(c, mount, M_USRBIN)->source = ref_of(c, "/tmp"))
BREAK(b_mount_twice, ROW(c, mount, M_SRV)->target = ref_of(c, "/tmp"))
BREAK(b_mount_hide, ROW(c, mount, M_SRV)->kind = MOUNT_HIDE;
      ROW(c, mount, M_SRV)->source = (struct sealed_ref){0, 0};
      ROW(c, mount, M_SRV)->right = 0; ROW(c, mount, M_DASH)->kind = MOUNT_HIDE;
      ROW(c, mount, M_DASH)->source = (struct sealed_ref){0, 0};
      ROW(c, mount, M_DASH)->right = 0; ROW(c, mount, M_SRV)->kind = MOUNT_DIR)
BREAK(b_mount_size, ROW(c, mount, M_TMP)->size = 0)
BREAK(b_mount_size_tree, ROW(c, mount, M_SRV)->size = 1)
BREAK(b_mount_right, ROW(c, mount, M_SRV)->right = 16)
BREAK(b_mount_right_kind, ROW(c, mount, M_SRV)->right = RIGHT_START)
BREAK(b_mount_wx, ROW(c, mount, M_DASH)->right = RIGHT_WRITE | RIGHT_START)
BREAK(b_mount_source, ROW(c, mount, M_SRV)->source = (struct sealed_ref){0, 0})
BREAK(b_mount_source_dir, ROW(c, mount, M_USR)->source = ref_of(c, "/tmp"))
BREAK(b_mount_source_link, ROW(c, mount, M_BIN)->source = (struct sealed_ref){0, 0})

/* ---- images, execs, args ---- */
BREAK(b_image_real, ROW(c, image, 0)->real = ref_of(c, "usr/bin"))
BREAK(b_exec_asked, ROW(c, exec, 0)->asked = ROW(c, exec, 0)->mapped = 4)
BREAK(b_exec_asked_huge, ROW(c, exec, 0)->asked = UINT32_MAX)
BREAK(b_exec_other, ROW(c, exec, 0)->asked = ROW(c, exec, 0)->mapped = 2)
BREAK(b_exec_mapped, ROW(c, exec, 0)->mapped = 1)
BREAK(b_exec_verdict, ROW(c, exec, 0)->verdict = 3)
BREAK(b_exec_flag, ROW(c, exec, 0)->flags = 3)
BREAK(b_exec_args, ROW(c, exec, 1)->args.n++)
BREAK(b_exec_args_huge, ROW(c, exec, 3)->prefix.n = UINT32_MAX)
BREAK(b_exec_args_share, ROW(c, exec, 1)->args.first--)
BREAK(b_exec_prefix, ROW(c, arg, c->p.exec[1].prefix.first)->kind = ARG_GLOB)
BREAK(b_arg_rest, ROW(c, arg, c->p.exec[0].args.first)->kind = ARG_REST;
      ROW(c, arg, c->p.exec[0].args.first)->text = (struct sealed_ref){0, 0})
BREAK(b_arg_kind, ROW(c, arg, 0)->kind = 8)
BREAK(b_arg_slot, ROW(c, arg, c->p.exec[0].args.first)->kind = ARG_SLOT)
BREAK(b_arg_options, ROW(c, arg, c->p.exec[0].args.first)->kind = ARG_OPTIONS)
BREAK(b_arg_reserved, ROW(c, arg, 0)->reserved = 1)
BREAK(b_arg_text, ROW(c, arg, c->p.exec[1].args.first)->text = ref_of(c, "a"))

/* ---- gates, limits, requires ---- */
BREAK(b_gate_kind, ROW(c, gate, 0)->kind = 8)
BREAK(b_gate_verdict, ROW(c, gate, 0)->verdict = 3)
BREAK(b_gate_name, ROW(c, gate, 0)->name = (struct sealed_ref){0, 0})
BREAK(b_limit_kind, ROW(c, limit, 0)->kind = 0)
BREAK(b_limit_zero, ROW(c, limit, 0)->value = 0)
BREAK(b_limit_reserved, ROW(c, limit, 0)->reserved = 1)
BREAK(b_limit_twice, ROW(c, limit, 1)->kind = ROW(c, limit, 0)->kind)
BREAK(b_require_kind, ROW(c, require, 0)->kind = 4)
BREAK(b_require_value, ROW(c, require, 0)->kind = REQUIRE_CGROUP)

/* ---- filters ---- */
BREAK(b_filter_arch, ROW(c, filter, 0)->arch = AUDIT_ARCH_I386)
BREAK(b_filter_reserved, ROW(c, filter, 0)->reserved = 1)
BREAK(b_filter_none, ROW(c, server, 0)->filters.n = 0)
BREAK(b_filter_beyond, ROW(c, server, 0)->filters.first = 1)
BREAK(b_filter_wrap, ROW(c, server, 0)->filters.n = UINT32_MAX)
BREAK(b_filter_empty, ROW(c, filter, 0)->insns.n = 0)
BREAK(b_filter_insns, ROW(c, filter, 0)->insns.n++)
BREAK(b_bpf_arch_load, ROW(c, insn, 0)->k = 0)
BREAK(b_bpf_arch_jump, ROW(c, insn, 1)->k = AUDIT_ARCH_AARCH64)
BREAK(b_bpf_arch_taken, ROW(c, insn, 1)->jt = 1)
BREAK(b_bpf_arch_kill, ROW(c, insn, 1)->jf = 3)
BREAK(b_bpf_x32, ROW(c, insn, 3)->k = 0x80000000)
BREAK(b_bpf_x32_kill, ROW(c, insn, 4)->jf = 0)
BREAK(b_bpf_opcode, ROW(c, insn, 4)->code = BPF_ST)
BREAK(b_bpf_load_x, ROW(c, insn, 4)->code = BPF_LD | BPF_W | BPF_IND)
BREAK(b_bpf_load_align, ROW(c, insn, 2)->k = 2)
BREAK(b_bpf_load_beyond, ROW(c, insn, 2)->k = 64)
BREAK(b_bpf_load_jt, ROW(c, insn, 2)->jt = 1)
BREAK(b_bpf_jt, ROW(c, insn, 4)->jt = 7)
BREAK(b_bpf_jf, ROW(c, insn, 4)->jf = 7)
BREAK(b_bpf_ja, ROW(c, insn, 4)->code = BPF_JMP | BPF_JA; ROW(c, insn, 4)->jt = 0;
      ROW(c, insn, 4)->jf = 0; ROW(c, insn, 4)->k = UINT32_MAX)
BREAK(b_bpf_end, ROW(c, insn, 11)->code = BPF_LD | BPF_W | BPF_ABS;
      ROW(c, insn, 11)->k = 0)
BREAK(b_bpf_ret_log, ROW(c, insn, 9)->k = SECCOMP_RET_LOG)
BREAK(b_bpf_ret_trace, ROW(c, insn, 9)->k = SECCOMP_RET_TRACE)
BREAK(b_bpf_ret_allow_data, ROW(c, insn, 9)->k = SECCOMP_RET_ALLOW | 1)
BREAK(b_bpf_ret_errno0, ROW(c, insn, 9)->k = SECCOMP_RET_ERRNO)
BREAK(b_bpf_ret_errno_big, ROW(c, insn, 9)->k = SECCOMP_RET_ERRNO | 4096)
BREAK(b_bpf_ret_a, ROW(c, insn, 9)->code = BPF_RET | BPF_A)

/* ---- what the filter answers ---- */
BREAK(b_replay_allow, ROW(c, insn, 8)->k = SECCOMP_RET_ALLOW)
BREAK(b_replay_more, ROW(c, insn, 5)->k = 1)
BREAK(b_replay_row, ROW(c, syscall, 0)->action = SECCOMP_RET_ERRNO | 1)
BREAK(b_replay_nr, ROW(c, syscall, 0)->nr = 1)
BREAK(b_replay_order, ROW(c, syscall, 0)->nr = 60)
BREAK(b_replay_twice, ROW(c, syscall, 0)->nr = 59)
BREAK(b_replay_nr_huge, ROW(c, syscall, 2)->nr = 0x40000000)
BREAK(b_replay_exec, ROW(c, syscall, 1)->action = SECCOMP_RET_ALLOW;
      ROW(c, insn, 6)->jt = 2)
BREAK(b_replay_execveat, ROW(c, syscall, 2)->nr = 323; ROW(c, insn, 7)->k = 323)
BREAK(b_replay_x32, ROW(c, insn, 4)->k = 0x40000001)
BREAK(b_replay_arg, ROW(c, insn, 5)->code = BPF_LD | BPF_W | BPF_ABS;
      ROW(c, insn, 5)->jt = 0; ROW(c, insn, 5)->k = 16)
BREAK(b_replay_ip, ROW(c, insn, 5)->code = BPF_LD | BPF_W | BPF_ABS;
      ROW(c, insn, 5)->jt = 0; ROW(c, insn, 5)->k = 8)

static const struct {
	const char *name;
	void (*apply)(struct copy *);
	const char *why; /* part of the message */
} breaks[] = {
    {"magic", b_magic, "not a sealed policy"},
    {"version from the future", b_version, "version"},
    {"version 0", b_version0, "version"},
    {"section count", b_section_n, "sections"},
    {"header reserved", b_reserved, "reserved"},
    {"no room for a digest", b_no_digest, "body of"},
    {"body too short", b_body_short, "body"},
    {"body too long", b_body_huge, "body"},
    {"trailing bytes", b_trailing, "body"},
    {"trailing bytes, body says so", b_trailing_said, "trailing bytes after"},
    {"cut", b_cut, "body"},
    {"cut, body says so", b_cut_said, "outside the file"},
    {"unknown section", b_kind, "kind 99"},
    {"section twice", b_kind_twice, "has kind"},
    {"sections out of order", b_disorder, "has kind"},
    {"sections overlap", b_overlap, "at the wrong offset"},
    {"gap between sections", b_gap, "at the wrong offset"},
    {"section offset wraps", b_off_wrap, "at the wrong offset"},
    {"section length wraps", b_len_wrap, "outside the file"},
    {"row count", b_rows, "size and row count"},
    {"row count times size", b_rows_huge, "outside the file"},
    {"padding", b_padding, "padding"},
    {"pool end", b_pool_end, "NUL-terminated"},
    {"pool start", b_pool_start, "NUL-terminated"},
    {"utf-8: lone continuation", b_utf8_lone, "UTF-8"},
    {"utf-8: overlong", b_utf8_long, "UTF-8"},
    {"utf-8: surrogate", b_utf8_surrogate, "UTF-8"},
    {"utf-8: beyond U+10FFFF", b_utf8_beyond, "UTF-8"},
    {"utf-8: cut by NUL", b_utf8_cut, "UTF-8"},
    {"string beyond the pool", b_str_beyond, "outside the pool"},
    {"string length wraps", b_str_wrap, "outside the pool"},
    {"string begins inside", b_str_inside, "inside another"},
    {"string ends early", b_str_short, "at its length"},
    {"NUL in a string", b_str_nul, "at its length"},
    {"empty string elsewhere", b_str_empty, "empty string at"},
    {"servers out of order", b_server_order, "out of order"},
    {"server twice", b_server_twice, "out of order"},
    {"server without a name", b_server_noname, "invalid name"},
    {"server name is a path", b_server_name, "invalid name"},
    {"cwd relative", b_server_cwd, "absolute"},
    {"unknown server flag", b_server_flag, "unknown flag"},
    {"remote server without a URL", b_server_url, "without a URL"},
    {"run is another server's", b_server_run, "of the server's"},
    {"run out of the table", b_server_run_huge, "of the server's"},
    {"run is no run", b_server_run_other, "is not granted"},
    {"run is denied", b_server_run_deny, "is not granted"},
    {"range beyond", b_range_beyond, "out of sequence"},
    {"range wraps", b_range_wrap, "out of sequence"},
    {"ranges overlap", b_range_overlap, "out of sequence"},
    {"hole between ranges", b_range_hole, "out of sequence"},
    {"rows of nobody", b_range_orphan, "without an owner"},
    {"policy file out of the table", b_at_file, "policy line"},
    {"line 0", b_at_line, "policy line"},
    {"env name", b_env_name, "invalid variable name"},
    {"env order", b_env_order, "out of order"},
    {"env passed with a value", b_env_passed, "both passed"},
    {"env passed 2", b_env_bool, "kind 2"},
    {"env fixed 7", b_env_fixed, "kind 7"},
    {"secret source", b_secret_source, "kind 9"},
    {"secret factor, no approval", b_secret_unasked, "without an approval"},
    {"secret factor", b_secret_factor, "unknown kind 3"},
    {"secret order", b_secret_order, "out of order"},
    {"secret file relative", b_secret_path, "for its source"},
    {"secret with a command", b_secret_cmd, "command"},
    {"secret with a reference", b_secret_ref, "for its source"},
    {"secret of no plugin", b_secret_plugin, "plugin"},
    {"secret of a plugin without a source", b_secret_plugin_name, "for its source"},
    {"secret for a source and a server", b_secret_credential, "credential"},
    {"secret from no variable", b_secret_env, "for its source"},
    {"secret command pattern", b_secret_pattern, "not literal"},
    {"mount kind 0", b_mount_kind, "kind 0"},
    {"mount kind 11", b_mount_kind_hi, "kind 11"},
    {"mount why", b_mount_why, "kind 13"},
    {"mount optional", b_mount_optional, "kind 2"},
    {"target relative", b_mount_relative, "absolute"},
    {"target //", b_mount_double, "normal"},
    {"target /./", b_mount_dot, "normal"},
    {"target /../", b_mount_dotdot, "normal"},
    {"target /.", b_mount_dots_last, "normal"},
    {"target ends in /", b_mount_slash, "normal"},
    {"target without parent", b_mount_parent, "no parent"},
    {"parent comes later", b_mount_parent_late, "no parent"},
    {"target below a link", b_mount_below_link, "no parent"},
    {"target below a file", b_mount_below_file, "no parent"},
    {"target twice", b_mount_twice, "duplicate mount"},
    {"mount after a hide", b_mount_hide, "after a hide"},
    {"tmpfs without size", b_mount_size, "missing size"},
    {"tree with size", b_mount_size_tree, "missing size"},
    {"unknown right", b_mount_right, "unknown flag"},
    {"a tree to start", b_mount_right_kind, "invalid right"},
    {"writable and startable", b_mount_wx, "both"},
    {"tree without source", b_mount_source, "missing source"},
    {"folder with source", b_mount_source_dir, "missing source"},
    {"link without text", b_mount_source_link, "missing source"},
    {"image path relative", b_image_real, "absolute"},
    {"exec image beyond", b_exec_asked, "of the server's"},
    {"exec image far beyond", b_exec_asked_huge, "of the server's"},
    {"exec image of another", b_exec_other, "of the server's"},
    {"exec maps another image", b_exec_mapped, "without a prefix"},
    {"exec verdict", b_exec_verdict, "kind 3"},
    {"exec flag", b_exec_flag, "unknown flag"},
    {"exec args overlap", b_exec_args, "out of sequence"},
    {"exec prefix wraps", b_exec_args_huge, "out of sequence"},
    {"exec args shared", b_exec_args_share, "out of sequence"},
    {"prefix pattern", b_exec_prefix, "not literal"},
    {"** not last", b_arg_rest, "not the last"},
    {"arg kind", b_arg_kind, "kind 8"},
    {"slot", b_arg_slot, "invalid slot"},
    {"options", b_arg_options, "invalid options"},
    {"arg reserved", b_arg_reserved, "reserved field"},
    {"* with text", b_arg_text, "unexpected text"},
    {"gate kind", b_gate_kind, "kind 8"},
    {"gate verdict", b_gate_verdict, "kind 3"},
    {"gate name", b_gate_name, "missing name"},
    {"limit kind", b_limit_kind, "kind 0"},
    {"limit zero", b_limit_zero, "zero"},
    {"limit reserved", b_limit_reserved, "reserved field"},
    {"limit twice", b_limit_twice, "out of order"},
    {"require kind", b_require_kind, "kind 4"},
    {"require value", b_require_value, "unexpected value"},
    {"filter architecture", b_filter_arch, "architecture"},
    {"filter reserved", b_filter_reserved, "reserved field"},
    {"no filter", b_filter_none, "outside its table"},
    {"filter beyond", b_filter_beyond, "outside its table"},
    {"filter range wraps", b_filter_wrap, "outside its table"},
    {"filter empty", b_filter_empty, "0 instructions"},
    {"filter insns beyond", b_filter_insns, "out of sequence"},
    {"bpf: arch not loaded", b_bpf_arch_load, "architecture first"},
    {"bpf: other arch", b_bpf_arch_jump, "architecture first"},
    {"bpf: arch check jumps", b_bpf_arch_taken, "architecture first"},
    {"bpf: wrong arch lives", b_bpf_arch_kill, "architecture first"},
    {"bpf: no x32 check", b_bpf_x32, "architecture first"},
    {"bpf: x32 lives", b_bpf_x32_kill, "architecture first"},
    {"bpf: opcode", b_bpf_opcode, "not allowed"},
    {"bpf: indirect load", b_bpf_load_x, "not allowed"},
    {"bpf: unaligned load", b_bpf_load_align, "not allowed"},
    {"bpf: load beyond", b_bpf_load_beyond, "not allowed"},
    {"bpf: load with jt", b_bpf_load_jt, "not allowed"},
    {"bpf: jt leaves", b_bpf_jt, "jumps out"},
    {"bpf: jf leaves", b_bpf_jf, "jumps out"},
    {"bpf: ja wraps", b_bpf_ja, "jumps out"},
    {"bpf: no ret at the end", b_bpf_end, "jumps out"},
    {"bpf: ret log", b_bpf_ret_log, "not allowed"},
    {"bpf: ret trace", b_bpf_ret_trace, "not allowed"},
    {"bpf: allow with data", b_bpf_ret_allow_data, "not allowed"},
    {"bpf: errno 0", b_bpf_ret_errno0, "not allowed"},
    {"bpf: errno 4096", b_bpf_ret_errno_big, "not allowed"},
    {"bpf: ret A", b_bpf_ret_a, "not allowed"},
    {"replay: what is unnamed is allowed", b_replay_allow, "match its rows"},
    {"replay: another number is allowed", b_replay_more, "match its rows"},
    {"replay: another action in the row", b_replay_row, "match its rows"},
    {"replay: another number in the row", b_replay_nr, "match its rows"},
    {"replay: rows out of order", b_replay_order, "out of order"},
    {"replay: a row twice", b_replay_twice, "out of order"},
    {"replay: a row for an x32 number", b_replay_nr_huge, "unknown kind"},
    {"replay: execve without asking", b_replay_exec, "does not go to the exec gate"},
    {"replay: execveat without asking", b_replay_execveat,
	"does not go to the exec gate"},
    {"replay: one x32 number lives", b_replay_x32, "architecture first"},
    {"replay: arguments of every call", b_replay_arg, "filter"},
    {"replay: where the call comes from", b_replay_ip, "must not"},
};

/* K-07: the good file loads; each broken copy is refused for its own reason */
static void
every_rule_refuses(void **state)
{
	struct policy p, untouched;
	struct copy c;
	char why[200];
	size_t i, bad = 0;

	memset(&untouched, 0x5a, sizeof(untouched));
	for (i = 0; i < ARRAY_LEN(breaks); i++) {
		copy_make(&c, 64);
		breaks[i].apply(&c);
		digest_again(c.bytes, c.len);
		memset(&p, 0x5a, sizeof(p));
		why[0] = 0;
		if (policy_load_bytes(c.bytes, c.len, &p, why, sizeof(why)) != -EBADMSG ||
		    strstr(why, breaks[i].why) == NULL ||
		    memcmp(&p, &untouched, sizeof(p)) != 0) {
			print_error("%s: \"%s\"\n", breaks[i].name, why);
			bad++;
		}
		corpus_keep(breaks[i].name, c.bytes, c.len);
		free(c.bytes);
	}
	assert_int_equal(bad, 0);
}

/* Every prefix of a good file, and every bit flipped, is refused; so is every bit
 * flipped by somebody who knows the digest, or it is safe to look at. */
static void
cuts_and_flips(void **state)
{
	struct policy p;
	struct copy c;
	char why[200];
	uint8_t *part;
	size_t i;

	for (i = 0; i < good.len; i++) {
		part = malloc(i > 0 ? i : 1); /* exact: ASan sees a read beyond */
		assert_non_null(part);
		memcpy(part, good.data, i);
		assert_int_equal(
		    policy_load_bytes(part, i, &p, why, sizeof(why)), -EBADMSG);
		free(part);
	}
	copy_make(&c, 0);
	for (i = 0; i < 8 * c.len; i++) {
		c.bytes[i / 8] ^= (uint8_t)(1u << i % 8);
		if (policy_load_bytes(c.bytes, c.len, &p, why, sizeof(why)) != -EBADMSG)
			fail_msg("bit %zu of byte %zu is not missed", i % 8, i / 8);
		digest_again(c.bytes, c.len);
		(void)policy_load_bytes(c.bytes, c.len, &p, why, sizeof(why));
		memcpy(c.bytes, good.data, c.len);
	}
	assert_int_equal(policy_load_bytes(c.bytes, c.len, &p, why, sizeof(why)), 0);
	free(c.bytes);
}

static int
memfd_of(const uint8_t *bytes, size_t len, int seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

/* Only a descriptor that cannot change any more is read. */
static void
seals_are_required(void **state)
{
	static const int missing[] = {F_SEAL_WRITE, F_SEAL_GROW, F_SEAL_SHRINK};
	const int all = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK;
	struct policy p;
	char why[200];
	size_t i;
	int fd;

	for (i = 0; i < 3; i++) {
		fd = memfd_of(good.data, good.len, all & ~missing[i]);
		assert_int_equal(policy_load(fd, &p, why, sizeof(why)), -EPERM);
		close(fd);
	}
	fd = memfd_of(good.data, good.len, all);
	assert_int_equal(policy_load(fd, &p, why, sizeof(why)), 0);
	assert_non_null(policy_server(&p, "a"));
	close(fd);
	/* the mapping stands without the descriptor */
	assert_string_equal(policy_str(&p, p.server[0].name), "a");
	policy_unload(&p);
	policy_unload(NULL);
	fd = memfd_of(good.data, 10, all);
	assert_int_equal(policy_load(fd, &p, why, sizeof(why)), -EBADMSG);
	close(fd);
	assert_int_equal(policy_load(-1, &p, why, sizeof(why)), -EPERM);
}

static void
seal_fd_copies(void **state)
{
	char path[] = "/tmp/kennel-test-XXXXXX", why[200];
	struct policy p;
	int fd = mkstemp(path), m = -1;

	assert_true(fd >= 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(write(fd, good.data, good.len), good.len);
	assert_int_equal(
	    policy_load(fd, &p, why, sizeof(why)), -EPERM); /* a plain file */
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(policy_seal_fd(fd, &m), 0);
	assert_int_equal(policy_load(m, &p, why, sizeof(why)), 0);
	policy_unload(&p);
	assert_int_equal(write(m, "x", 1), -1);
	close(m);
	/* larger than any policy may be: refused before it is read in */
	m = -1;
	assert_int_equal(ftruncate(fd, (off_t)SEALED_LEN_MAX + 1), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(policy_seal_fd(fd, &m), -EFBIG);
	assert_int_equal(m, -1);
	close(fd);
}

/* SHA-256 of the whole file: what the audit log carries. */
static void
id_is_the_digest(void **state)
{
	struct policy p, q;
	struct copy c;
	char why[200];

	copy_make(&c, 0);
	p = c.p;
	ROW(&c, limit, 0)->value++;
	digest_again(c.bytes, c.len);
	assert_int_equal(policy_load_bytes(c.bytes, c.len, &q, why, sizeof(why)), 0);
	assert_memory_not_equal(p.id, q.id, sizeof(p.id));
	ROW(&c, limit, 0)->value--;
	digest_again(c.bytes, c.len);
	assert_int_equal(policy_load_bytes(c.bytes, c.len, &q, why, sizeof(why)), 0);
	assert_memory_equal(p.id, q.id, sizeof(p.id));
	free(c.bytes);
}

/* What the fuzzer found worth keeping; run from the top of the source tree. */
static void
corpus_replays(void **state)
{
	static const char folder[] = "tests/fuzz/corpus/load";
	struct dirent *e;
	uint8_t bytes[65536];
	char path[512];
	size_t seen = 0;
	ssize_t n;
	DIR *d = opendir(folder);
	int fd;

	assert_non_null(d);
	while ((e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		fd = open(path, O_RDONLY);
		assert_true(fd >= 0);
		n = read(fd, bytes, sizeof(bytes));
		assert_true(n >= 0);
		close(fd);
		assert_int_equal(LLVMFuzzerTestOneInput(bytes, (size_t)n), 0);
		seen++;
	}
	closedir(d);
	assert_true(seen >= 150);
}

static int
group_setup(void **state)
{
	buf_init(&good, SEALED_LEN_MAX);
	return fix_policy(&good);
}

static int
group_teardown(void **state)
{
	buf_free(&good);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_rule_refuses),
	    cmocka_unit_test(cuts_and_flips),
	    cmocka_unit_test(seals_are_required),
	    cmocka_unit_test(seal_fd_copies),
	    cmocka_unit_test(id_is_the_digest),
	    cmocka_unit_test(corpus_replays),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
