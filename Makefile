# kennel: one Makefile, no configure.  The object lists below are written by
# hand: what a program is linked with is what it can do (docs/ARCHITECTURE.md).

PREFIX	?= /usr/local
DESTDIR	?=
CC	?= cc
V	?= 0
Q	 = $(if $(filter 1,$V),,@)
SAY	 = $(if $(filter 1,$V),:,echo)

B	 = build
OBJ	 = $B/obj
BIN	 = $B/bin
LIBEXEC	 = $B/libexec/kennel

# A callback takes what its type says, used or not; what a table's row leaves out
# at its end is zero; and text for people may be cut where it is printed.
WARN	 = -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	   -Wformat=2 -Wpointer-arith -Wwrite-strings -Wundef -Wvla \
	   -Wno-unused-parameter -Wno-missing-field-initializers \
	   $(if $(findstring clang,$(CC)),,-Wno-format-truncation)
HARDEN	:= -fPIE -fstack-protector-strong -fstack-clash-protection \
	   -fcf-protection=full -D_FORTIFY_SOURCE=3 -fno-strict-overflow \
	   -fno-delete-null-pointer-checks \
	   -ffunction-sections -fdata-sections
# clang 14 hides this one behind a second flag
HARDEN	+= $(shell $(CC) -ftrivial-auto-var-init=zero -fsyntax-only -x c /dev/null \
	   2>/dev/null && echo -ftrivial-auto-var-init=zero)
# a comma that is no separator: $(,)
,	 := ,
LINKHARD = -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code,--gc-sections
# What the start has to relocate is packed: a tenth of the pages to read.
LINKSTATIC = -static-pie -Wl,-z,pack-relative-relocs
OPT	?= -O2 -g
CPPFLAGS = -D_GNU_SOURCE -I. -I$B/gen $(CONFINE)
CFLAGS	 = -std=gnu11 $(OPT) $(WARN) $(HARDEN) $(COVER)
# make CONFINE_DEBUG=1: a filtered call is named instead of killed silently
CONFINE	 = $(if $(CONFINE_DEBUG),-DCONFINE_DEBUG)

PKG_LIBS   = $(shell pkg-config --libs $(1))
PKG_STATIC = $(shell pkg-config --libs --static $(1))

# ---- what each program is made of -----------------------------------------

# Every program: no allocation, no text, fit for the sandbox.
BASE_SMALL = shim/base/wire.o shim/base/fd.o
# Every program but the shim.
BASE	 = $(BASE_SMALL) shim/base/buf.o shim/base/loop.o shim/base/log.o \
	   shim/base/confine.o shim/base/slurp.o \
	   shim/base/dirs.o

# PID 1 of a cell.
SHIM	 = shim/main.o shim/doors.o shim/reap.o shim/bare.o $(BASE_SMALL)

# Sealed bytes to answers: what a leash may know of policies.
POLICY_READ = policy/load.o policy/rows.o policy/rules.o policy/plan.o policy/bpf.o policy/replay.o \
	   policy/names.o policy/match.o policy/slot.o policy/index.o policy/reach.o policy/fields.o policy/value.o policy/reader.o \
	   policy/sign_verify.o policy/sign_rows.o policy/trust.o shim/base/sha.o
# Text to sealed bytes: the supervisor only.
POLICY_TEXT = policy/arena.o policy/out.o policy/diag_code.o policy/diag.o policy/keyword.o policy/lex.o \
	   policy/expand.o policy/parse.o policy/top.o policy/include.o \
	   policy/grant.o policy/source.o policy/router.o policy/router_parse.o policy/sidecar.o policy/routed.o policy/when.o policy/manifest.o policy/manifest_parse.o policy/secretpath.o policy/unit.o policy/host.o \
	   policy/check.o policy/check_mcp.o policy/check_net.o policy/check_value.o policy/conflict.o \
	   policy/lint.o policy/expect.o policy/never.o policy/never_reach.o policy/format.o
# What is known about secrets, and never a value (also kennel-secret's).
SECRETMETA = policy/secretmeta.o policy/secretmeta_read.o policy/secretmeta_say.o \
	   policy/catalog.o policy/shape.o policy/shape_sum.o
ALGEBRA	 = policy/algebra/sets.o policy/algebra/slots.o policy/algebra/points.o \
	   policy/algebra/numbers.o
POLICY_MAKE = $(POLICY_TEXT) policy/read.o policy/compile.o policy/elf.o policy/lower.o policy/tables.o policy/gates.o policy/pinfile.o policy/memo.o \
	   policy/program.o policy/digest.o policy/libs.o policy/preset.o policy/view.o \
	   policy/filter.o policy/prologue.o policy/decoded.o policy/calls.o policy/seal.o policy/seal_index.o policy/print.o policy/print_json.o policy/sign.o \
	   policy/verb.o policy/verb_check.o policy/verb_compile.o \
	   policy/verb_show.o policy/fmt.o policy/verb_fmt.o $(ALGEBRA) \
	   policy/say.o policy/ask.o policy/near.o policy/verb_explain.o \
	   policy/region.o policy/finding.o policy/diff_exec.o policy/diff_gate.o policy/diff_values.o \
	   policy/diff_reach.o policy/diff_flat.o policy/verb_diff.o \
	   policy/verb_test.o policy/verb_query.o policy/score.o policy/verb_score.o \
	   policy/doc.o policy/verb_doc.o \
	   policy/main.o

CELL	 = leash/cell/cell.o leash/cell/ns.o leash/cell/mount.o leash/cell/hide.o \
	   leash/cell/synthetic.o leash/cell/libcache.o leash/cell/images.o leash/cell/plan.o \
	   leash/cell/net.o leash/cell/landlock.o leash/cell/caps.o \
	   leash/cell/limits.o shim/base/subid.o shim/base/colon.o
# Secrets, the cell, the gate.  No socket to the world, no MCP, no parser.
LEASH	 = leash/main.o leash/dispatch.o leash/launch.o leash/uses.o leash/traces.o leash/resolve.o leash/routed.o leash/vaulted.o leash/give.o leash/stdio.o \
	   leash/keeper/reach.o leash/vault/remote.o \
	   leash/report.o leash/event.o \
	   $(CELL) \
	   leash/exec/notify.o leash/exec/stop.o leash/exec/image.o \
	   leash/exec/grant.o leash/exec/copy.o leash/exec/pin.o leash/exec/caller.o leash/exec/kin.o leash/exec/ask.o leash/exec/explain.o \
	   leash/vault/ring.o leash/vault/mem.o leash/vault/source.o leash/vault/helper.o leash/vault/fence.o \
	   leash/vault/plugin.o leash/vault/request.o leash/vault/reply.o leash/vault/crashes.o \
	   leash/vault/env.o leash/vault/trace.o leash/vault/traced.o \
	   leash/scrub/scrub.o leash/scrub/forms.o \
	   leash/scrub/filter.o leash/scrub/reading.o \
	   leash/scrub/sieve.o leash/scrub/sieve_wide.o leash/scrub/decode.o leash/scrub/shapes.o policy/shape_sum.o \
	   $(POLICY_READ) $(BASE)

# What waits for a person, and where it is answered.
APPROVE	 = supervisor/approve/queue.o supervisor/approve/desk.o
# Messages of the agent and of the server, and who may name what.
MCP	 = supervisor/mcp/frame.o supervisor/mcp/skim.o supervisor/mcp/json.o \
	   supervisor/mcp/walk.o supervisor/mcp/canon.o \
	   supervisor/mcp/rpc.o supervisor/mcp/versions.o \
	   supervisor/mcp/calls.o supervisor/mcp/session.o \
	   supervisor/mcp/deadline.o supervisor/mcp/held.o supervisor/mcp/programs.o \
	   supervisor/mcp/pings.o \
	   supervisor/mcp/agent.o supervisor/mcp/answer.o \
	   supervisor/mcp/unfit.o supervisor/mcp/batch.o \
	   supervisor/mcp/filter.o supervisor/mcp/record.o \
	   supervisor/mcp/refuse.o supervisor/mcp/digest.o \
	   supervisor/hub/gate.o supervisor/hub/pins.o

# The questions that a log answers.
QUERY	 = supervisor/audit/query.o supervisor/audit/options.o \
	   supervisor/audit/book.o supervisor/audit/pass.o supervisor/audit/fact.o \
	   supervisor/audit/sheet.o supervisor/audit/inert.o \
	   supervisor/audit/story.o supervisor/audit/tally.o \
	   supervisor/audit/ask_log.o supervisor/audit/ask_session.o \
	   supervisor/audit/ask_object.o supervisor/audit/ask_call.o \
	   supervisor/audit/ask_count.o supervisor/audit/ask_change.o \
	   supervisor/audit/ask_gap.o supervisor/audit/ask_odd.o \
	   supervisor/audit/ask_sample.o supervisor/audit/export.o \
	   supervisor/audit/export_run.o \
	   supervisor/audit/ocsf.o supervisor/audit/page.o \
	   supervisor/audit/figures.o supervisor/audit/svg.o \
	   supervisor/audit/ship_run.o supervisor/audit/pack.o \
	   supervisor/audit/payload_run.o supervisor/audit/payload.o \
	   supervisor/audit/payload_key.o supervisor/audit/handout.o \
	   supervisor/audit/certify.o \
	   supervisor/audit/policies.o supervisor/audit/policies_run.o

# What speaks to the agent.  No vault object may ever stand here.
KENNEL	 = supervisor/main.o supervisor/child.o supervisor/control.o $(APPROVE) \
	   $(MCP) \
	   supervisor/audit/connect.o shim/base/apart.o $(CHAIN) $(TREE) \
	   $(QUERY) supervisor/audit/reader.o \
	   supervisor/audit/schema.o \
	   supervisor/cli/paths.o supervisor/cli/find.o supervisor/cli/seen.o supervisor/cli/own.o \
	   supervisor/cli/open.o supervisor/cli/asked.o supervisor/cli/run.o supervisor/cli/exec.o \
	   supervisor/cli/grant.o supervisor/cli/doctor.o supervisor/cli/server.o \
	   supervisor/cli/audit.o supervisor/cli/unused.o \
	   supervisor/cli/init.o supervisor/cli/package.o supervisor/cli/preset.o \
	   supervisor/cli/pin.o supervisor/cli/client.o supervisor/cli/approve.o \
	   supervisor/cli/secret.o supervisor/cli/vault_log.o supervisor/cli/put.o supervisor/cli/find_secret.o supervisor/cli/secret_options.o supervisor/cli/secret_show.o supervisor/cli/sources.o \
	   $(SECRETMETA) \
	   leash/report.o leash/event.o supervisor/audit/noload.o shim/base/subid.o shim/base/colon.o \
	   $(POLICY_READ) $(POLICY_MAKE) $(BASE)

# What shows the tree to others.
TREE	 = supervisor/audit/logtree.o supervisor/audit/prove.o \
	   supervisor/audit/tiles.o supervisor/audit/witness.o \
	   supervisor/audit/keep.o supervisor/audit/slot.o

# The tree, its hashes, its keys and its signatures.
CHAIN	 = supervisor/audit/chain.o shim/base/sha.o \
	   supervisor/audit/tree.o supervisor/audit/note.o \
	   supervisor/audit/base64.o supervisor/audit/key.o \
	   supervisor/audit/path.o \
	   supervisor/audit/scan.o

RECORDER = supervisor/audit/recorder.o supervisor/audit/complain.o \
	   supervisor/audit/peers.o \
	   supervisor/audit/given.o supervisor/audit/config.o \
	   supervisor/audit/ledger.o supervisor/audit/slot.o \
	   supervisor/audit/segment.o supervisor/audit/begin.o \
	   supervisor/audit/carry.o \
	   supervisor/audit/store.o supervisor/audit/frames.o \
	   supervisor/audit/pending.o \
	   supervisor/audit/noload.o \
	   supervisor/audit/schema.o supervisor/audit/body.o \
	   $(CHAIN) leash/report.o leash/event.o $(BASE)

VERIFY	 = supervisor/audit/verify.o supervisor/audit/judge.o \
	   supervisor/audit/crew.o supervisor/audit/rows.o \
	   supervisor/audit/indexes.o supervisor/audit/walk.o \
	   supervisor/audit/carried.o supervisor/audit/signs.o \
	   supervisor/audit/anchor.o supervisor/audit/proof.o \
	   supervisor/audit/reader.o \
	   supervisor/audit/noload.o \
	   supervisor/audit/schema.o \
	   $(CHAIN) leash/report.o leash/event.o $(BASE)

# Records to a collector: one socket, opened before it is confined.
SHIP	 = supervisor/audit/ship.o supervisor/audit/ship_send.o \
	   supervisor/audit/ship_line.o supervisor/audit/ship_place.o \
	   supervisor/audit/export.o supervisor/audit/ocsf.o \
	   supervisor/audit/book.o supervisor/audit/pass.o supervisor/audit/fact.o \
	   supervisor/audit/options.o supervisor/audit/inert.o \
	   supervisor/audit/story.o supervisor/audit/sheet.o \
	   supervisor/audit/reader.o supervisor/audit/schema.o \
	   supervisor/audit/noload.o supervisor/audit/logtree.o \
	   supervisor/audit/ship_paths.o leash/report.o leash/event.o \
	   $(CHAIN) $(BASE)

# The file that values are kept in.
CONTAINER = leash/vault/path.o leash/vault/container.o leash/vault/container_key.o \
	   leash/vault/container_edit.o leash/vault/container_file.o leash/vault/phrase.o
# What keeps values between starts: the vault's key, while it is unlocked.
KEEPER	 = leash/keeper/main.o leash/keeper/peers.o leash/keeper/answer.o \
	   leash/keeper/change.o $(CONTAINER) leash/vault/ring.o leash/vault/mem.o $(BASE)

# The verbs that a person gives values to.  No container: the keeper alone opens it.
SECRET	 = leash/keeper/secret.o leash/keeper/verbs.o leash/keeper/shows.o \
	   leash/keeper/type.o leash/keeper/talk.o leash/keeper/start.o shim/base/apart.o leash/keeper/reach.o \
	   leash/vault/ring.o leash/vault/mem.o leash/vault/path.o leash/vault/trace.o policy/shape.o policy/shape_sum.o $(POLICY_READ) $(BASE)

PROGRAMS = $(BIN)/kennel $(LIBEXEC)/kennel-keeper $(LIBEXEC)/kennel-secret $(LIBEXEC)/kennel-ship $(LIBEXEC)/kennel-leash $(LIBEXEC)/kennel-shim \
	   $(LIBEXEC)/kennel-recorder $(LIBEXEC)/kennel-verify

.DEFAULT_GOAL := all
all: $(PROGRAMS)

# ---- how they are built ----------------------------------------------------

obj	 = $(addprefix $(OBJ)/,$(1))

$(OBJ)/%.o: %.c | $B/gen/stamp
	@mkdir -p $(@D)
	@$(SAY) "  CC      $<"
	$Q$(CC) $(CPPFLAGS) $(if $(filter tests/%,$<),$(filter-out $(COVER),$(CFLAGS)),$(CFLAGS)) \
	    -MMD -MP -c -o $@ $<

# Compiled in as it is.
$(OBJ)/policy/catalog.o $B/san/policy/catalog.o: policy/catalog.kennel

# libnl keeps its headers in a folder of its own.
$(OBJ)/leash/cell/net.o $B/san/leash/cell/net.o: \
	CPPFLAGS += $(shell pkg-config --cflags libnl-3.0)

# All are static: nothing of the host's loader or of its library search reaches
# a process that speaks to an agent, holds secrets or becomes PID 1, and a start
# does not wait for either (docs/ARCHITECTURE.md).
# The shim brings its own few calls (shim/bare.c): no start files, no library,
# and nothing to relocate, since nobody would.  What the compiler takes for
# memcpy is not made a call of memcpy inside memcpy.
BARE	 = -mstack-protector-guard=global $(if $(findstring clang,$(CC)),\
	   -fno-builtin,-fno-tree-loop-distribute-patterns)
$B/bare/%.o: %.c | $B/gen/stamp
	@mkdir -p $(@D)
	@$(SAY) "  BARE    $<"
	$Q$(CC) $(CPPFLAGS) $(filter-out $(COVER),$(CFLAGS)) $(BARE) -MMD -MP -c -o $@ $<
$(LIBEXEC)/kennel-shim: $(addprefix $B/bare/,$(SHIM))
	$(call link,-static-pie -nostdlib -Wl$(,)--no-dynamic-linker$(,)-S,)
	@! readelf -rW $@ | grep R_ || { rm -f $@; exit 1; }
$(LIBEXEC)/kennel-leash: $(call obj,$(LEASH))
	$(call link,$(LINKSTATIC),$(call PKG_STATIC,libcap-ng libnl-3.0 libsodium))
$(LIBEXEC)/kennel-recorder: $(call obj,$(RECORDER))
	$(call link,$(LINKSTATIC),$(call PKG_STATIC,sqlite3 libsodium))
$(LIBEXEC)/kennel-verify: $(call obj,$(VERIFY))
	$(call link,$(LINKSTATIC),$(call PKG_STATIC,sqlite3 libsodium))
$(LIBEXEC)/kennel-keeper: $(call obj,$(KEEPER))
	$(call link,$(LINKSTATIC),$(call PKG_STATIC,libsodium))
$(LIBEXEC)/kennel-secret: $(call obj,$(SECRET))
	$(call link,$(LINKSTATIC),$(call PKG_STATIC,libsodium))
$(LIBEXEC)/kennel-ship: $(call obj,$(SHIP))
	$(call link,$(LINKSTATIC),$(call PKG_STATIC,sqlite3 libsodium))
$(BIN)/kennel: $(call obj,$(KENNEL))
	$(call link,$(LINKSTATIC),$(call PKG_STATIC,libseccomp jansson sqlite3 libsodium))

define link
	@mkdir -p $(@D)
	@$(SAY) "  LINK    $@"
	$Q$(CC) $(1) $(LINKHARD) $(if $(findstring -nostdlib,$(1))$(filter-out %/policy_text,$(filter $B/tests/%,$@)),,$(COVER)) -o $@ \
	    $(filter %.o,$^) $(2) 2>$@.said || { cat $@.said >&2; rm -f $@.said; exit 1; }
	@grep -v "$(LINKSAID)" $@.said >&2; rm -f $@.said
endef
# Static libraries mention functions that would need the host's name service at
# run time: the linker's word about each is left out, and no other.
LINKSAID = in statically linked applications requires at runtime\|: in function 

# ---- what is generated: the syscall allow-lists ----------------------------
# Each program's own notes, from its own sources (shim/base/confine.h).

CONFINED = leash kennel recorder verify ship keeper secret
SOURCES_leash	 = $(LEASH:.o=.c)
SOURCES_kennel	 = $(KENNEL:.o=.c)
SOURCES_recorder = $(RECORDER:.o=.c)
SOURCES_verify	 = $(VERIFY:.o=.c)
SOURCES_ship	 = $(SHIP:.o=.c)
SOURCES_keeper	 = $(KEEPER:.o=.c)
SOURCES_secret	 = $(SECRET:.o=.c)
# What shared code could do, and these two never do once they serve.
LESS_keeper	 = -socketpair -memfd_create -landlock_create_ruleset -landlock_add_rule \
	   -landlock_restrict_self -seccomp -setrlimit
# (the keeper is started before)
LESS_secret	 = -socketpair -memfd_create -landlock_create_ruleset -landlock_add_rule \
	   -landlock_restrict_self -seccomp -setrlimit -chdir -clone -close_range -dup2 -dup3 \
	   -execve -fork -pipe2 -setsid -vfork -wait4
# It starts nothing, and has its socket: the rest is for other programs of its files.
LESS_ship	 = -socketpair -execve -clone -clone3 -fork -vfork -wait4 -pipe2 -dup2 -dup3 -mkdir -mkdirat
# The leash makes its cell first: it needs no more of these once a server runs.
LESS_leash	 = -memfd_create -socketpair -landlock_create_ruleset -landlock_add_rule \
	   -landlock_restrict_self -seccomp -prctl -setrlimit -prlimit64

$B/gen/stamp: $(CONFINED:%=$B/gen/%_syscalls.h)
	@touch $@
define gen_rule
$B/gen/$(1)_syscalls.h: shim/base/collect.sh $$(wildcard $$(SOURCES_$(1)))
	@mkdir -p $B/gen
	@sh shim/base/collect.sh $(1) $$(LESS_$(1)) $$(wildcard $$(SOURCES_$(1))) > $$@.new
	@cmp -s $$@.new $$@ && rm -f $$@.new && touch $$@ || mv -f $$@.new $$@
endef
$(foreach p,$(CONFINED),$(eval $(call gen_rule,$p)))

# ---- unit tests -------------------------------------------------------------
# tests/unit/test_X.c is linked with UNIT_X and nothing else: what a room needs
# is what stands here.  Built twice: as it ships, and with ASan and UBSan.

UNIT_base	= $(BASE)
UNIT_libcache	= policy/names.o $(CELL) $(BASE)
UNIT_cell	= tests/unit/cell_kit.o policy/names.o $(CELL) $(BASE)
UNIT_frame	= $(MCP) supervisor/approve/queue.o supervisor/audit/chain.o shim/base/sha.o tests/unit/mcp_rig.o \
	   policy/match.o policy/slot.o policy/index.o policy/reach.o policy/value.o policy/reader.o policy/names.o $(BASE)
UNIT_json	= tests/fuzz/fuzz_json.o $(UNIT_frame)
UNIT_canon	= supervisor/mcp/json.o supervisor/mcp/walk.o supervisor/mcp/canon.o \
	   shim/base/buf.o
UNIT_session	= $(UNIT_frame)
UNIT_programs	= $(UNIT_frame)
UNIT_pins	= $(UNIT_frame)
UNIT_queue	= supervisor/approve/queue.o shim/base/loop.o $(BASE_SMALL)
UNIT_unfit	= $(UNIT_frame)
UNIT_exact	= $(UNIT_frame)
UNIT_stream	= tests/fuzz/fuzz_session.o $(UNIT_frame)
UNIT_chain	= $(CHAIN)
UNIT_report	= leash/report.o leash/event.o $(BASE)
UNIT_recorder	= supervisor/audit/connect.o shim/base/apart.o leash/report.o leash/event.o $(BASE)
UNIT_tamper	= supervisor/audit/connect.o shim/base/apart.o $(CHAIN) leash/report.o leash/event.o $(BASE)
# Long, and needs build/fault: not one of UNITS (audit-kill).
UNIT_steps	= $(UNIT_tamper)
UNIT_verify	= supervisor/audit/connect.o shim/base/apart.o $(QUERY) $(TREE) \
	   supervisor/audit/reader.o supervisor/audit/schema.o \
	   supervisor/audit/body.o \
	   $(CHAIN) supervisor/cli/paths.o leash/report.o leash/event.o $(BASE)
UNIT_payload	= supervisor/audit/payload.o supervisor/audit/payload_key.o \
	   $(CHAIN) $(BASE)
UNIT_policies	= supervisor/audit/policies.o $(CHAIN) $(BASE)

UNIT_witness	= $(UNIT_verify)
UNIT_query	= supervisor/audit/connect.o shim/base/apart.o $(QUERY) $(TREE) \
	   supervisor/audit/reader.o supervisor/audit/schema.o \
	   $(CHAIN) supervisor/cli/paths.o leash/report.o leash/event.o $(BASE)

UNIT_nomem	= tests/fault/fault_unit.o \
	   $(sort $(UNIT_frame) $(SCRUB))
UNIT_nomem_policy = tests/fault/fault_unit.o $(POLICY_FRONT)
UNIT_leash	= $(BASE)
UNIT_subid	= shim/base/subid.o shim/base/colon.o tests/fuzz/fuzz_subid.o $(BASE_SMALL) shim/base/slurp.o
UNIT_shim	= tests/unit/shim_main.o shim/doors.o shim/reap.o $(BASE_SMALL)
UNIT_bare	= tests/unit/shim_bare.o

UNIT_vault	= leash/vault/ring.o leash/vault/mem.o leash/vault/source.o leash/vault/helper.o leash/vault/fence.o \
	   leash/vault/env.o shim/base/confine.o $(BASE_SMALL)
UNIT_plugin	= leash/vault/plugin.o leash/vault/request.o leash/vault/crashes.o leash/vault/reply.o $(UNIT_vault) \
	   $(POLICY_READ) tests/fuzz/fuzz_reply.o shim/base/buf.o shim/base/slurp.o
UNIT_env	= $(UNIT_vault)
UNIT_container	= $(CONTAINER) leash/vault/ring.o leash/vault/mem.o \
	   tests/fuzz/fuzz_vault.o $(BASE_SMALL) shim/base/slurp.o
UNIT_pages	= $(UNIT_vault)
UNIT_load	= $(POLICY_READ) policy/seal.o policy/seal_index.o tests/fuzz/fuzz_load.o shim/base/buf.o shim/base/fd.o shim/base/slurp.o
UNIT_seal	= $(UNIT_load)
# Text to a checked tree, and what the checks ask of others.
POLICY_FRONT = $(POLICY_TEXT) $(POLICY_READ) $(ALGEBRA) policy/read.o policy/filter.o \
	   policy/prologue.o policy/decoded.o \
	   policy/calls.o policy/seal.o policy/seal_index.o shim/base/buf.o shim/base/fd.o \
	   shim/base/slurp.o
UNIT_parse	= $(POLICY_FRONT)
UNIT_router	= tests/fuzz/fuzz_sources.o $(POLICY_FRONT)
UNIT_secretmeta	= $(SECRETMETA) policy/say.o $(POLICY_FRONT)
UNIT_match	= $(UNIT_load)
UNIT_sign	= $(UNIT_load) supervisor/cli/seen.o shim/base/dirs.o
UNIT_rules	= $(UNIT_load)
UNIT_index	= $(UNIT_load)
UNIT_value	= policy/value.o policy/reader.o policy/match.o policy/slot.o policy/index.o policy/reach.o policy/names.o \
	   tests/fuzz/fuzz_value.o shim/base/fd.o shim/base/slurp.o
UNIT_slot	= $(ALGEBRA) $(UNIT_load)
UNIT_algebra	= $(ALGEBRA) $(UNIT_load)
UNIT_diff	= $(UNIT_lower)
UNIT_lower	= $(POLICY_READ) $(filter-out policy/main.o policy/verb%.o policy/sign.o,$(POLICY_MAKE)) \
	   shim/base/buf.o shim/base/fd.o shim/base/slurp.o
UNIT_filter	= $(UNIT_seal) policy/filter.o policy/prologue.o policy/decoded.o policy/calls.o
UNIT_agree	= $(UNIT_filter)
SCRUB	= leash/scrub/scrub.o leash/scrub/forms.o leash/scrub/filter.o \
	   leash/scrub/reading.o leash/scrub/sieve.o leash/scrub/sieve_wide.o leash/scrub/decode.o \
	   leash/scrub/shapes.o policy/shape_sum.o shim/base/buf.o $(UNIT_vault)
UNIT_scrub	= tests/unit/scrub_bench.o $(SCRUB)
UNIT_scrub_forms = $(SCRUB)
UNIT_gate	= tests/unit/gate_cell.o leash/exec/notify.o leash/exec/stop.o \
	   leash/exec/image.o leash/exec/grant.o leash/exec/copy.o leash/exec/ask.o leash/exec/explain.o \
	   leash/exec/pin.o leash/exec/caller.o leash/exec/kin.o \
	   shim/base/loop.o $(POLICY_READ) $(SCRUB)
UNITS	 = base subid leash nomem nomem_policy shim bare vault plugin pages env container scrub scrub_forms load seal secretmeta router match value index rules agree sign algebra slot diff filter lower parse gate frame json canon pins queue session programs exact unfit stream chain report recorder verify query witness payload policies tamper cell libcache
UNIT_LIBS = $(COVER) $(call PKG_LIBS,cmocka libseccomp jansson sqlite3 libsodium libcap-ng libnl-route-3.0)
SAN	 = -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer

$B/san/%.o: %.c | $B/gen/stamp
	@mkdir -p $(@D)
	@$(SAY) "  SAN     $<"
	$Q$(CC) $(CPPFLAGS) $(filter-out -D_FORTIFY_SOURCE=3,$(CFLAGS)) $(SAN) -MMD -MP -c -o $@ $<
define unit_rule
$B/unit/$(1): $(OBJ)/tests/unit/test_$(1).o $$(addprefix $(OBJ)/,$$(UNIT_$(1)))
	@mkdir -p $$(@D)
	$Q$$(CC) -pie -o $$@ $$(filter %.o,$$^) $$(UNIT_LIBS)
$B/unit-san/$(1): $B/san/tests/unit/test_$(1).o $$(addprefix $B/san/,$$(UNIT_$(1)))
	@mkdir -p $$(@D)
	$Q$$(CC) -pie $(SAN) -o $$@ $$(filter %.o,$$^) $$(UNIT_LIBS)
endef
$(foreach u,$(UNITS) steps,$(eval $(call unit_rule,$u)))
$B/unit/leash $B/unit-san/leash: | $(BIN)/kennel $(LIBEXEC)/kennel-leash $(LIBEXEC)/kennel-shim
# Allocations that fail on order.
$(OBJ)/tests/fault/fault_unit.o: tests/fault/fault.c
	@mkdir -p $(@D)
	$Q$(CC) $(CPPFLAGS) $(CFLAGS) -DFAULT_UNIT -MMD -MP -c -o $@ $<
$B/san/tests/fault/fault_unit.o: tests/fault/fault.c
	@mkdir -p $(@D)
	$Q$(CC) $(CPPFLAGS) $(filter-out -D_FORTIFY_SOURCE=3,$(CFLAGS)) $(SAN) -DFAULT_UNIT -MMD -MP -c -o $@ $<
$(foreach d,unit unit-san,$B/$d/nomem $B/$d/nomem_policy): UNIT_LIBS += $(call WRAP,$(WRAP_MEMORY))
# Steps of a write that fail, or end the process, on order.
$B/unit/container $B/unit-san/container: UNIT_LIBS += $(call WRAP,openat write fsync renameat unlinkat)
# The shim's main and its own calls beside the library's: under other names.
$(OBJ)/shim/bare.o $B/san/shim/bare.o: CFLAGS += $(filter-out -mstack%,$(BARE))
$(OBJ)/tests/unit/shim_main.o $B/san/tests/unit/shim_main.o: \
    %/tests/unit/shim_main.o: %/shim/main.o
	@mkdir -p $(@D)
	$Qobjcopy --redefine-sym main=shim_main $< $@
$(OBJ)/tests/unit/shim_bare.o $B/san/tests/unit/shim_bare.o: \
    %/tests/unit/shim_bare.o: %/shim/bare.o
	@mkdir -p $(@D)
	$Qobjcopy --redefine-sym main=bare_main \
	    $$(nm -g --defined-only $< | sed -n 's/.* T \(.*\)/--redefine-sym \1=bare_\1/p') $< $@
# Prints the tree or the errors of one policy (tests/policy/run.sh).
$B/tests/policy_text: $(call obj,tests/unit/policy_text.o $(POLICY_FRONT))
	$(call link,-pie,$(call PKG_LIBS,libseccomp libsodium))
# What the gate's test lets loose: static, so that an exec costs what it costs.
GATE_PROGRAMS = $(addprefix $B/attack/,exec_mark exec_try exec_race exec_many)
$(GATE_PROGRAMS): $B/attack/exec_%: $(OBJ)/tests/attack/exec_%.o
	@mkdir -p $(@D)
	$Q$(CC) -static -pthread -o $@ $^
$B/unit/gate $B/unit-san/gate: | $(GATE_PROGRAMS)
# The races (tests/attack/attack_races.py), and what they are about: two programs
# of one source, without a library.
RACE_PROGRAMS = $(addprefix $B/attack/exec_,swap control crowd goal won)
$B/attack/exec_swap $B/attack/exec_control $B/attack/exec_crowd: $B/attack/exec_%: $(OBJ)/tests/attack/exec_%.o
	@mkdir -p $(@D)
	$Q$(CC) -static -pthread -o $@ $^
$B/attack/exec_goal $B/attack/exec_won: tests/attack/exec_goal.c
	@mkdir -p $(@D)
	$Q$(CC) $(CPPFLAGS) -std=gnu11 $(OPT) $(WARN) -fno-stack-protector -static -nostdlib \
	    $(if $(filter %_won,$@),-DEXEC_WON) -o $@ $<
# What runs inside a cell is static; the tests look for it beside themselves.
$B/unit/cell-witness: $(OBJ)/tests/unit/cell_witness.o
	@mkdir -p $(@D)
	$Q$(CC) -static-pie -o $@ $<
$B/unit/cell $B/unit-san/cell: | $B/unit/cell-witness $(LIBEXEC)/kennel-shim
# These two run the programs as they ship.
$(foreach d,unit unit-san,$(foreach u,recorder verify query tamper,$B/$d/$u)): \
    | $(LIBEXEC)/kennel-recorder $(LIBEXEC)/kennel-verify
unit: $(UNITS:%=$B/unit/%) $(UNITS:%=$B/unit-san/%)
.PHONY: all unit clean
.SECONDARY:

clean:
	rm -rf $B

# ---- tests: what they are made of -------------------------------------------

TOY	 = tests/toy/toy.o tests/toy/say.o tests/toy/act.o tests/toy/json.o
WITNESS	 = tests/witness/witness.o tests/witness/tell.o tests/witness/files.o \
	   tests/witness/kernel.o tests/witness/space.o tests/witness/tasks.o \
	   tests/witness/net.o tests/witness/run.o tests/witness/race.o \
	   tests/witness/hoard.o
TEST_PROGRAMS = $B/tests/toy $B/tests/witness $B/tests/relay $B/tests/spawn $B/tests/execs $B/tests/audit \
	   $B/tests/policy_text $B/tests/scrub

$B/tests/toy: $(call obj,$(TOY))
	$(call link,$(LINKSTATIC),)
$B/tests/witness: $(call obj,$(WITNESS))
	$(call link,$(LINKSTATIC),-pthread)
# For bench only: a plain relay and a spawn timer.
$B/tests/relay: $(call obj,tests/bench/relay.o)
	$(call link,$(LINKSTATIC),)
$B/tests/spawn: $(call obj,tests/bench/spawn.o)
	$(call link,$(LINKSTATIC),)
$B/tests/execs: $(call obj,tests/bench/execs.o)
	$(call link,$(LINKSTATIC),-pthread)
$B/tests/decide: $(call obj,tests/bench/decide.o $(UNIT_load))
	$(call link,-pie,$(call PKG_LIBS,libsodium))
# Beside Hyperscan, where that is there.
HAVE_HS	:= $(shell pkg-config --exists libhs 2>/dev/null && echo 1)
$(OBJ)/tests/bench/scrub.o: CPPFLAGS += $(if $(HAVE_HS),-DHAVE_HS)
$B/tests/scrub: $(call obj,tests/bench/scrub.o $(SCRUB))
	$(call link,-pie,$(call PKG_LIBS,libsodium $(if $(HAVE_HS),libhs)))
# A writer for the log: for the bench, and for what is long.
$B/tests/audit: $(call obj,tests/bench/audit.o supervisor/audit/connect.o shim/base/apart.o \
    supervisor/audit/logtree.o supervisor/audit/reader.o supervisor/audit/schema.o $(CHAIN) leash/report.o leash/event.o $(BASE))
	$(call link,-pie,$(call PKG_LIBS,sqlite3 libsodium))

# ---- faults -------------------------------------------------------------------
# The same objects with calls that fail on order (tests/fault/fault.c): what
# `make soak` runs, and never installed.

FAULT	 = $B/fault/bin/kennel $(addprefix $B/fault/libexec/kennel/kennel-,leash \
	   recorder shim verify)
WRAP	 = $(patsubst %,-Wl$(,)--wrap=%,$(1))
WRAP_MEMORY = malloc calloc realloc reallocarray strdup
WRAP_REST = pwrite64 fsync fdatasync clock_gettime

$(OBJ)/tests/fault/fault_dynamic.o: tests/fault/fault.c
	@mkdir -p $(@D)
	$Q$(CC) $(CPPFLAGS) $(CFLAGS) -DFAULT_DYNAMIC -MMD -MP -c -o $@ $<
$B/fault/libexec/kennel/kennel-leash: $(call obj,$(LEASH) tests/fault/fault.o)
	$(call link,$(LINKSTATIC) $(call WRAP,$(WRAP_MEMORY) $(WRAP_REST)),$(call PKG_STATIC,libcap-ng libnl-3.0 libsodium))
$B/fault/libexec/kennel/kennel-recorder: $(call obj,$(RECORDER) tests/fault/fault.o)
	$(call link,$(LINKSTATIC) $(call WRAP,$(WRAP_MEMORY) $(WRAP_REST)),$(call PKG_STATIC,sqlite3 libsodium))
# (the one program that must find what it stands before)
$B/fault/bin/kennel: $(call obj,$(filter-out %/noload.o,$(KENNEL)) tests/fault/fault_dynamic.o)
	$(call link,-pie $(call WRAP,$(WRAP_REST) seccomp_export_bpf),$(call PKG_LIBS,libseccomp jansson sqlite3 libsodium))
$B/fault/libexec/kennel/kennel-shim $B/fault/libexec/kennel/kennel-verify: \
    $B/fault/libexec/kennel/%: $(LIBEXEC)/%
	@mkdir -p $(@D)
	@cp $< $@
fault: $(FAULT)
.PHONY: fault

# ---- structural proofs ------------------------------------------------------
# Each plants violations of its own and must find them.

# The files that may call secret_expose(), the one way to a secret's bytes.
SECRET_EXPOSERS = leash/vault/env.c leash/vault/traced.c leash/scrub/forms.c

check-links: $(PROGRAMS) $(call obj,$(LEASH) $(SHIM))
	@OBJ="$(OBJ)" GEN="$B/gen" BIN="$(BIN)" LIBEXEC="$(LIBEXEC)" CC="$(CC)" \
	    LINKHARD="$(LINKHARD)" LINKSTATIC="$(LINKSTATIC)" \
	    KENNEL="$(sort $(KENNEL))" RECORDER="$(RECORDER)" \
	    VERIFY="$(VERIFY)" SHIP="$(SHIP)" SHIM="$(SHIM)" BASE_SMALL="$(BASE_SMALL)" \
	    LEASH="$(LEASH)" KEEPER="$(KEEPER)" SECRET="$(SECRET)" \
	    KENNEL_LIBS="$(call PKG_STATIC,libseccomp jansson sqlite3 libsodium)" \
	    sh tests/check/links.sh
check-accessor: $(call obj,$(sort $(LEASH) $(KENNEL)))
	@OBJ="$(OBJ)" CC="$(CC)" SECRET_EXPOSERS="$(SECRET_EXPOSERS)" \
	    sh tests/check/accessor.sh
check-includes:
	@sh tests/check/includes.sh
check-compile-fail:
	@CC="$(CC)" FLAGS="$(CPPFLAGS) $(CFLAGS)" sh tests/compile_fail/run.sh
.PHONY: check-links check-accessor check-includes check-compile-fail

# ---- what the compilers and the analyzers say --------------------------------
# As `make check` runs them, one by one: make check-tidy.

STATIC	 = analyzer clang cppcheck format shape tidy valgrind
$(STATIC:%=check-%): check-%:
	@sh tests/check/$*.sh; case $$? in 0) echo "ok $*";; \
	    77) echo "ok $* # SKIP";; *) echo "not ok $*"; exit 1;; esac
# Everything written in C, once: what check-clang builds.
compiled: all $(TEST_PROGRAMS) $(GATE_PROGRAMS) $(RACE_PROGRAMS) $(UNITS:%=$B/unit/%)
valgrind: check-valgrind
.PHONY: $(STATIC:%=check-%) compiled valgrind

# ---- fuzz targets -----------------------------------------------------------
# build/fuzz/X is a fuzzer (clang's); build/replay/X takes files and folders.

FUZZ_scrub	= $(SCRUB)
FUZZ_vault	= $(CONTAINER) leash/vault/ring.o leash/vault/mem.o $(BASE_SMALL) shim/base/slurp.o
FUZZ_reply	= leash/vault/reply.o $(FUZZ_value)
FUZZ_keeper	= $(filter-out leash/keeper/main.o leash/keeper/peers.o,$(KEEPER))
FUZZ_load	= $(POLICY_READ)
FUZZ_value	= policy/value.o policy/reader.o policy/match.o policy/slot.o policy/index.o policy/reach.o policy/names.o
FUZZ_json	= supervisor/mcp/json.o supervisor/mcp/walk.o supervisor/mcp/skim.o \
	   supervisor/mcp/canon.o shim/base/buf.o
FUZZ_session	= $(UNIT_frame)
FUZZ_parse	= $(POLICY_FRONT)
FUZZ_manifest	= $(SECRETMETA) policy/say.o $(POLICY_FRONT)
FUZZ_sources	= $(POLICY_FRONT)
FUZZ_pins	= $(POLICY_FRONT) policy/pinfile.o
FUZZ_frame	= supervisor/mcp/frame.o $(FUZZ_json)
FUZZ_wire	= supervisor/child.o shim/doors.o shim/reap.o $(filter-out leash/main.o,$(LEASH))
FUZZ_FLAGS_wire	= $(shell pkg-config --cflags libnl-3.0)
FUZZ_copy	= leash/exec/copy.o
FUZZ_query	= supervisor/audit/fact.o supervisor/audit/story.o \
	   supervisor/audit/inert.o supervisor/audit/sheet.o \
	   supervisor/audit/export.o supervisor/audit/ocsf.o \
	   supervisor/audit/options.o supervisor/audit/ship_line.o \
	   supervisor/audit/book.o supervisor/audit/pass.o \
	   supervisor/audit/reader.o supervisor/audit/schema.o \
	   supervisor/audit/logtree.o supervisor/cli/paths.o leash/report.o leash/event.o \
	   $(CHAIN) $(BASE)
FUZZ_body	= supervisor/audit/scan.o
FUZZ_note	= $(CHAIN) $(BASE)
FUZZ_subid	= shim/base/subid.o shim/base/colon.o $(BASE_SMALL) shim/base/slurp.o
FUZZ_log	= $(filter-out supervisor/audit/verify.o supervisor/audit/proof.o \
	   supervisor/audit/noload.o,$(VERIFY))
FUZZ	 = frame json session wire parse manifest sources pins load value copy scrub vault reply keeper body query note log subid

define fuzz_rule
$B/replay/$(1): $B/san/tests/fuzz/fuzz_$(1).o $B/san/tests/fuzz/replay.o \
    $$(addprefix $B/san/,$$(FUZZ_$(1)))
	@mkdir -p $$(@D)
	$Q$$(CC) -pie $(SAN) -o $$@ $$(filter %.o,$$^) $$(UNIT_LIBS)
# without sanitizers: for valgrind (tests/check/valgrind.sh)
$B/valgrind/$(1): $(OBJ)/tests/fuzz/fuzz_$(1).o $(OBJ)/tests/fuzz/replay.o \
    $$(addprefix $(OBJ)/,$$(FUZZ_$(1)))
	@mkdir -p $$(@D)
	$Q$$(CC) -pie -o $$@ $$(filter %.o,$$^) $$(UNIT_LIBS)
$B/fuzz/$(1): $$(patsubst %.o,%.c,tests/fuzz/fuzz_$(1).o $$(FUZZ_$(1))) | $B/gen/stamp
	@mkdir -p $$(@D)
	$Qclang -g -O1 -std=gnu11 $(CPPFLAGS) \
	    -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -o $$@ $$(filter %.c,$$^) $$(UNIT_LIBS)
endef
$(foreach f,$(FUZZ),$(eval $(call fuzz_rule,$f)))
# Each for FUZZ_SECONDS; a finding's input stays in build/fuzz/found.
FUZZ_SECONDS ?= 600
fuzz: deps
	@$(MAKE) --no-print-directory $(FUZZ:%=$B/fuzz/%)
	@FUZZ_SECONDS=$(FUZZ_SECONDS) sh tests/fuzz/fuzz.sh $(FUZZ)
.PHONY: fuzz

# ---- coverage ------------------------------------------------------------------
# Lines run by `make test`'s groups, from a tree of its own (docs/COVERAGE.md).
# clang's counters, not gcc's: they live in a shared mapping, so that a process
# counts that is killed, confined, or in another root by the time it ends.

COVER_FLAGS = -fprofile-instr-generate=$(CURDIR)/build/cov/raw/%m%c.profraw \
	   -fcoverage-mapping -mllvm -runtime-counter-relocation -Qunused-arguments
coverage: deps
	@$(MAKE) --no-print-directory B=build/cov CC=clang COVER="$(COVER_FLAGS)" compiled
	@python3 tests/coverage/coverage.py
.PHONY: coverage

# ---- tests: how they are run ------------------------------------------------
# Each target first finds what it needs (tests/lib/deps.sh: installs as root or
# with sudo -n, else prints the one line to run and exits 69).

deps:
	@sh tests/lib/deps.sh build test
deps-build:
	@sh tests/lib/deps.sh build
test: deps
	@$(MAKE) --no-print-directory tests-built
	@python3 tests/run.py test
check: deps
	@$(MAKE) --no-print-directory all
	@python3 tests/run.py check
demo: deps-build
	@sh tests/lib/deps.sh demo
	@$(MAKE) --no-print-directory all
	@python3 tests/demo/demo.py
bench: deps
	@$(MAKE) --no-print-directory tests-built
	@python3 tests/bench/bench.py
# Long: two million texts with a value in every encoding, cut everywhere.
scrub-long: deps-build
	@$(MAKE) --no-print-directory $B/unit/scrub $B/unit/scrub_forms
	@CASES=1000000 $B/unit/scrub
	@CASES=2000000 $B/unit/scrub_forms
.PHONY: scrub-long
# Long: what holds when anything dies, fills up or runs for hours.
soak: deps
	@$(MAKE) --no-print-directory all fault $B/tests/toy $B/tests/witness
	@python3 tests/soak/soak.py
.PHONY: soak
# Long: a hundred thousand races of each shape against the exec gate, and twenty
# thousand processes of six threads that none of them may hang.
races: deps
	@$(MAKE) --no-print-directory all $(RACE_PROGRAMS) $(GATE_PROGRAMS)
	@python3 tests/soak/races.py
.PHONY: races
# Long: the recorder killed five hundred times under load, twice over, and at each
# step of its commits (more than five hundred again); a log of
# ten million records, written, judged and proved from (8 GB in /var/tmp).
audit-kill: deps
	@$(MAKE) --no-print-directory $B/unit/recorder $B/unit/steps $B/fault/libexec/kennel/kennel-recorder
	@KENNEL_AUDIT_KILLS=500 $B/unit/recorder
	@KENNEL_AUDIT_KILLS=500 $B/unit/steps
audit-long: deps
	@$(MAKE) --no-print-directory all $B/tests/audit
	@python3 tests/bench/audit.py 10000000
.PHONY: audit-kill audit-long
# Long, and needs npm once: the official suite and clients, bare and through
# kennel.
conformance: deps-build
	@$(MAKE) --no-print-directory all
	@python3 tests/conformance/run.py
# Long, and needs npm once: servers of other people under policy/presets, and
# the runtimes of languages under the allow-list of system calls.
servers: deps-build
	@$(MAKE) --no-print-directory all
	@python3 tests/servers/servers.py
.PHONY: conformance servers
tests-built: all unit $(TEST_PROGRAMS) $(RACE_PROGRAMS)
.PHONY: deps deps-build test check demo bench tests-built

# ---- install ----------------------------------------------------------------

MANPAGES = $(wildcard docs/man/*.[1-8])

install: all
	install -d -m 755 $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/libexec/kennel
	install -m 755 $(BIN)/kennel $(DESTDIR)$(PREFIX)/bin/kennel
	install -m 755 $(wildcard $(LIBEXEC)/kennel-*) $(DESTDIR)$(PREFIX)/libexec/kennel
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/kennel/presets \
	    $(wildcard policy/presets/*.kennel)
	$(foreach m,$(MANPAGES),install -D -m 644 $m \
	  $(DESTDIR)$(PREFIX)/share/man/man$(subst .,,$(suffix $m))/$(notdir $m);)
.PHONY: install

# Not all of build/: a package from npm may have a .d of another kind.
-include $(shell find $(OBJ) $B/san -name '*.d' 2>/dev/null)
