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
BASE = \
	$(BASE_SMALL) \
	shim/base/buf.o \
	shim/base/cause.o \
	shim/base/confine.o \
	shim/base/hex.o \
	shim/base/log.o \
	shim/base/loop.o \
	shim/base/make_dirs.o \
	shim/base/slurp.o \
	shim/base/sort.o

# Which links of a path may be followed: where policies are read, and where a start opens.
PATHS = \
	shim/host/path_open.o \
	shim/host/path_resolve.o \
	shim/host/program_paths.o

# Tables of verbs, and what is printed from them.
HELP = \
	shim/help/help.o \
	shim/help/near_word.o

# PID 1 of a cell.
SHIM = \
	$(BASE_SMALL) \
	shim/main.o \
	shim/nolibc.o \
	shim/reap.o \
	shim/restrict.o

# Sealed bytes to answers: what a leash may know of policies.
POLICY_READ = \
	policy/address/address.o \
	policy/sealed/accessors.o \
	policy/sealed/arg_slot.o \
	policy/sealed/check_bpf.o \
	policy/sealed/check_mounts.o \
	policy/sealed/check_rows.o \
	policy/sealed/check_rules.o \
	policy/sealed/condition.o \
	policy/sealed/fields.o \
	policy/sealed/filters/default_filters.o \
	policy/sealed/json_reader.o \
	policy/sealed/load.o \
	policy/sealed/match.o \
	policy/sealed/match_mcp.o \
	policy/sealed/match_net_paths.o \
	policy/sealed/net_hint.o \
	policy/sealed/row_index.o \
	policy/sealed/signature_check.o \
	policy/sealed/signature_rows.o \
	policy/sealed/simulate_bpf.o \
	policy/sealed/trusted_keys.o \
	policy/sealed/values/method_name.o \
	policy/sealed/values/number.o \
	policy/sealed/values/uri.o \
	shim/base/hex.o \
	shim/base/sha256.o
# Text to sealed bytes: the supervisor only.
POLICY_TEXT = \
	$(PATHS) \
	shim/help/near_word.o \
	policy/base/arena.o \
	policy/base/diag.o \
	policy/base/fs_cache.o \
	policy/base/path_index.o \
	policy/base/output.o \
	policy/check/agent_files.o \
	policy/check/check.o \
	policy/check/conflict.o \
	policy/check/expect.o \
	policy/check/lint.o \
	policy/check/path_holders.o \
	policy/check/mcp.o \
	policy/check/net.o \
	policy/check/never.o \
	policy/check/never_paths.o \
	policy/check/oauth_words.o \
	policy/check/remote.o \
	policy/check/settings.o \
	policy/check/trusted.o \
	policy/check/trusted_command.o \
	policy/check/trusted_text.o \
	policy/clients/clients.o \
	policy/lang/check_word.o \
	policy/lang/expand.o \
	policy/lang/host.o \
	policy/lang/include.o \
	policy/lang/keyword.o \
	policy/lang/lex.o \
	policy/lang/manifest.o \
	policy/lang/parse.o \
	policy/lang/parse_condition.o \
	policy/lang/parse_file.o \
	policy/lang/parse_grant.o \
	policy/lang/parse_manifest.o \
	policy/lang/remote_url.o \
	policy/lang/scalar.o \
	policy/lang/secret_path.o \
	policy/lang/secret_source.o \
	policy/sources/check_source.o \
	policy/sources/parse_sources.o \
	policy/sources/route.o \
	policy/sources/sidecar.o \
	policy/sources/sources.o \
	policy/tokens/secret_name.o \
	policy/tokens/secret_shaped.o \
	policy/tokens/token_format.o \
	policy/tokens/value_reference.o \
	policy/tokens/weak_value.o \
	shim/base/token_checksum.o \
	shim/host/install_path.o
# What is known about secrets, and never a value (also kennel-secret's).
SECRETMETA = \
	policy/manifests/catalog.o \
	policy/manifests/catalog_source.o \
	policy/manifests/manifest_change.o \
	policy/manifests/merge.o \
	policy/manifests/meta_change.o \
	policy/manifests/print_manifests.o \
	policy/manifests/read_manifests.o
ALGEBRA = \
	policy/algebra/decimals.o \
	policy/algebra/intervals.o \
	policy/algebra/sets.o \
	policy/algebra/slot_sets.o
POLICY_MAKE = \
	$(POLICY_TEXT) $(ALGEBRA) \
	policy/check/request.o \
	policy/cli/help.o \
	policy/cli/advice.o \
	policy/cli/main.o \
	policy/cli/near_miss.o \
	policy/cli/near_file.o \
	policy/cli/same_server.o \
	policy/cli/verb.o \
	policy/cli/verb_check.o \
	policy/cli/verb_compile.o \
	policy/cli/git_text.o \
	policy/cli/verb_diff.o \
	policy/cli/verb_doc.o \
	policy/cli/verb_explain.o \
	policy/cli/verb_fmt.o \
	policy/cli/verb_query.o \
	policy/cli/verb_score.o \
	policy/cli/verb_show.o \
	policy/cli/verb_sign.o \
	policy/cli/verb_test.o \
	policy/compile/compile.o \
	policy/compile/content_path.o \
	policy/compile/elf.o \
	policy/compile/lower.o \
	policy/compile/lower_digest.o \
	policy/compile/lower_exec.o \
	policy/compile/lower_mcp.o \
	policy/compile/lower_pins.o \
	policy/compile/lower_tables.o \
	policy/compile/module_libs.o \
	policy/compile/mount_plan.o \
	policy/compile/peek.o \
	policy/compile/read_file.o \
	policy/compile/runtime_files.o \
	policy/compile/script.o \
	policy/compile/seccomp.o \
	policy/compile/seccomp_prologue.o \
	policy/compile/seccomp_rows.o \
	policy/compile/shared_libs.o \
	policy/compile/source_list.o \
	policy/base/syscall_list.o \
	policy/compile/trusted_rows.o \
	policy/compile/venv.o \
	policy/compile/write_index.o \
	policy/compile/write_sealed.o \
	policy/diff/diff.o \
	policy/diff/diff_arguments.o \
	policy/diff/diff_columns.o \
	policy/diff/diff_dates.o \
	policy/diff/diff_exec.o \
	policy/diff/diff_limits.o \
	policy/diff/diff_mcp.o \
	policy/diff/diff_net_paths.o \
	policy/diff/diff_settings.o \
	policy/diff/settings_filters.o \
	policy/diff/settings_mounts.o \
	policy/diff/settings_rows.o \
	policy/diff/summarize.o \
	policy/lang/fmt.o \
	policy/print/review.o \
	policy/print/score.o \
	policy/print/show.o \
	policy/print/show_json.o \
	policy/print/statement.o

CELL = \
	leash/cell/caps.o \
	leash/cell/cell.o \
	leash/cell/etc_dev.o \
	leash/cell/filesystem.o \
	leash/cell/hide.o \
	leash/cell/images.o \
	leash/cell/landlock.o \
	leash/cell/libcache.o \
	leash/cell/limits.o \
	leash/cell/mount.o \
	leash/cell/mount_watch.o \
	leash/cell/mountinfo.o \
	leash/cell/net.o \
	leash/cell/ns.o \
	leash/cell/place.o \
	leash/cell/shim_plan.o \
	leash/cell/sockets.o \
	leash/cell/watched_calls.o \
	leash/egress/plan.o \
	shim/host/passwd_line.o \
	shim/host/subid.o
# Redaction: of what a server writes (the leash), of an issuer's tokens (kennel-remote).
SCRUB_ROOM = \
	leash/scrub/credentials.o \
	leash/scrub/decode.o \
	leash/scrub/decoded.o \
	leash/scrub/encodings.o \
	leash/scrub/foreign.o \
	leash/scrub/html_entities.o \
	leash/scrub/pattern_match.o \
	leash/scrub/pem.o \
	leash/scrub/prefilter.o \
	leash/scrub/prefilter_simd.o \
	leash/scrub/scan_block.o \
	leash/scrub/stream.o \
	leash/scrub/structured.o \
	leash/scrub/white_space.o \
	policy/tokens/weak_value.o

# Placeholders: bytes to bytes, for whatever process has the value.
PLACEHOLDER = \
	leash/placeholder/draw.o \
	leash/placeholder/leaf.o \
	leash/placeholder/structure.o \
	policy/tokens/token_format.o

# Secrets, the cell, the gate.  No socket to the world, no MCP, no parser.
LEASH = \
	$(CELL) $(POLICY_READ) $(BASE) $(PATHS) \
	leash/audit/event.o \
	leash/audit/writer.o \
	leash/channel.o \
	leash/channel_reports.o \
	leash/cover.o \
	leash/drain.o \
	leash/egress/dial_wire.o \
	leash/egress/egress_wire.o \
	leash/exec/ancestry.o \
	leash/exec/approval.o \
	leash/exec/caller.o \
	leash/exec/copy_args.o \
	leash/exec/decide.o \
	leash/exec/digest_pin.o \
	leash/exec/exec_state.o \
	leash/exec/explain.o \
	leash/exec/image.o \
	leash/exec/named.o \
	leash/exec/notify.o \
	leash/exec/stop.o \
	leash/keeper/connect.o \
	leash/launch.o \
	leash/launch_approval.o \
	leash/launch_fingerprint.o \
	leash/launch_helper.o \
	leash/launch_inject.o \
	leash/launch_network.o \
	leash/launch_program.o \
	leash/launch_secret.o \
	leash/launch_source.o \
	leash/launch_vault.o \
	leash/live.o \
	leash/main.o \
	leash/network.o \
	leash/network_ask.o \
	leash/network_ping.o \
	leash/output.o \
	leash/recorder_link.o \
	leash/refresh.o \
	$(SCRUB_ROOM) \
	leash/vault/fingerprint.o \
	leash/vault/fingerprint_secret.o \
	leash/vault/helper.o \
	leash/vault/helper_sandbox.o \
	leash/vault/keeper_value.o \
	leash/vault/locked_pages.o \
	leash/vault/open_checked.o \
	leash/vault/placeholder_value.o \
	leash/vault/plugin.o \
	leash/vault/plugin_failures.o \
	leash/vault/plugin_reply.o \
	leash/vault/plugin_request.o \
	leash/vault/read_value.o \
	leash/vault/secret_path.o \
	leash/vault/server_env.o \
	leash/vault/vault.o \
	leash/write_grants.o \
	policy/tokens/secret_name.o \
	policy/tokens/secret_shaped.o \
	policy/tokens/value_reference.o \
	$(PLACEHOLDER) \
	shim/base/token_checksum.o

# What the server sends to the network, and its resolver.  No socket, no file.
EGRESS = \
	$(POLICY_READ) $(BASE) \
	leash/egress/client_hello.o \
	leash/egress/connection.o \
	leash/egress/dial_wire.o \
	leash/egress/dns.o \
	leash/egress/egress_wire.o \
	leash/egress/events.o \
	leash/egress/greeting.o \
	leash/egress/kernel_refusals.o \
	leash/egress/listeners.o \
	leash/egress/name_addresses.o \
	leash/egress/plan.o \
	leash/egress/relay.o \
	leash/egress/resolver.o \
	leash/egress/splice.o
# The network and the host's resolver.  No byte of the server's.
DIAL = \
	$(POLICY_READ) $(BASE) \
	leash/egress/attempt.o \
	leash/egress/dial_wire.o \
	leash/egress/dialer.o \
	leash/egress/host_facts.o \
	leash/egress/lookup.o \
	shim/host/nsswitch.o

# An MCP server at a URL, in place of a local one: libcurl, and of the leash what redacts
# tokens.
REMOTE = \
	$(BASE_SMALL) \
	$(SCRUB_ROOM) \
	leash/remote/answers.o \
	leash/remote/challenge.o \
	leash/remote/exchange.o \
	leash/remote/fetch.o \
	leash/remote/http.o \
	leash/remote/login.o \
	leash/remote/main.o \
	leash/remote/message.o \
	leash/remote/oauth.o \
	leash/remote/oauth_discovery.o \
	leash/remote/oauth_fetch.o \
	leash/remote/oauth_reply.o \
	leash/remote/oauth_text.o \
	leash/remote/oauth_token.o \
	leash/remote/refresh_client.o \
	leash/remote/request_headers.o \
	leash/remote/response_head.o \
	leash/remote/session.o \
	leash/remote/sse.o \
	leash/remote/tokens.o \
	leash/remote/tool_headers.o \
	leash/vault/copied_value.o \
	leash/vault/locked_pages.o \
	leash/vault/vault.o \
	shim/base/buf.o \
	shim/base/hex.o \
	shim/base/log.o \
	shim/base/loop.o \
	shim/base/sort.o \
	shim/base/token_checksum.o

# What waits for a person, and where it is answered.
APPROVE = \
	supervisor/approve/answerer.o \
	supervisor/approve/detail.o \
	supervisor/approve/queue.o \
	supervisor/approve/refusals.o \
	supervisor/approve/socket.o
# What a session tells its user about itself.
STATUS = \
	supervisor/status/hub_wire.o \
	supervisor/status/latency.o \
	supervisor/status/session_news.o \
	supervisor/status/status_client.o \
	supervisor/status/status_socket.o \
	supervisor/status/status_wire.o
# Messages of the agent and of the server, and who may name what.
MCP = \
	supervisor/hub/argv_authority.o \
	supervisor/hub/call_limits.o \
	supervisor/hub/gate.o \
	supervisor/hub/pins.o \
	supervisor/json/digest.o \
	supervisor/json/json_access.o \
	supervisor/json/json_canonical.o \
	supervisor/json/json_scan.o \
	supervisor/mcp/approvals.o \
	supervisor/mcp/approved_params.o \
	supervisor/mcp/batch.o \
	supervisor/mcp/deadline.o \
	supervisor/mcp/line/after_input.o \
	supervisor/mcp/line/budget.o \
	supervisor/mcp/line/edit.o \
	supervisor/mcp/events.o \
	supervisor/mcp/exec_status.o \
	supervisor/mcp/filter.o \
	supervisor/mcp/line/frame.o \
	supervisor/mcp/line/id.o \
	supervisor/mcp/line/pages.o \
	supervisor/mcp/from_agent.o \
	supervisor/mcp/from_server.o \
	supervisor/mcp/indirect_requests.o \
	supervisor/mcp/keepalive.o \
	supervisor/mcp/malformed.o \
	supervisor/mcp/methods.o \
	supervisor/mcp/outgoing.o \
	supervisor/mcp/oversize_id.o \
	supervisor/mcp/pending_calls.o \
	supervisor/mcp/replay.o \
	supervisor/mcp/requests.o \
	supervisor/mcp/result_meta.o \
	supervisor/mcp/rpc.o \
	supervisor/mcp/session.o \
	supervisor/mcp/spelling.o \
	supervisor/mcp/startup_error.o

# Whether arguments match the schema of a tool.
SCHEMA = \
	supervisor/schema/alternatives.o \
	supervisor/schema/bounds.o \
	supervisor/schema/check.o \
	supervisor/schema/decimal.o \
	supervisor/schema/ecma_pattern.o \
	supervisor/schema/equality.o \
	supervisor/schema/failure.o \
	supervisor/schema/items.o \
	supervisor/schema/members.o \
	supervisor/schema/pattern.o \
	supervisor/schema/reference.o \
	supervisor/schema/schema.o \
	supervisor/schema/tree.o \
	supervisor/schema/unevaluated.o \
	supervisor/schema/values.o

# Which servers are configured, and what was discovered of them.
REGISTRY = \
	supervisor/registry/database.o \
	supervisor/registry/dump.o \
	supervisor/registry/file_detail.o \
	supervisor/registry/global_file.o \
	supervisor/registry/global_places.o \
	supervisor/registry/reference.o \
	supervisor/registry/register_tool.o \
	supervisor/registry/registry.o \
	supervisor/registry/registry_log.o \
	supervisor/registry/row_check.o \
	supervisor/registry/server_list.o \
	supervisor/registry/server_rows.o

# The questions that a log answers.
QUERY = \
	$(HELP) \
	policy/sealed/accessors.o \
	policy/sealed/net_hint.o \
	supervisor/audit/log/kept_payloads.o \
	supervisor/audit/log/kept_policies.o \
	supervisor/audit/audit_help.o \
	supervisor/audit/log/payload_key.o \
	supervisor/audit/query/describe.o \
	supervisor/audit/query/escape.o \
	supervisor/audit/query/grant_hint.o \
	supervisor/audit/query/group.o \
	supervisor/audit/query/log_view.o \
	supervisor/audit/query/options.o \
	supervisor/audit/query/query.o \
	supervisor/audit/query/record.o \
	supervisor/audit/query/scan.o \
	supervisor/audit/query/session_end.o \
	supervisor/audit/query/table.o \
	supervisor/audit/query/verb_anomalies.o \
	supervisor/audit/query/verb_call.o \
	supervisor/audit/query/verb_denials.o \
	supervisor/audit/query/verb_egress.o \
	supervisor/audit/query/verb_gaps.o \
	supervisor/audit/query/verb_log.o \
	supervisor/audit/query/verb_object.o \
	supervisor/audit/query/verb_policy.o \
	supervisor/audit/query/verb_sample.o \
	supervisor/audit/query/verb_session.o \
	supervisor/audit/report/certify.o \
	supervisor/audit/report/chart_data.o \
	supervisor/audit/report/charts.o \
	supervisor/audit/report/disclosure.o \
	supervisor/audit/report/evidence_pack.o \
	supervisor/audit/report/export.o \
	supervisor/audit/report/export_log.o \
	supervisor/audit/report/ocsf.o \
	supervisor/audit/report/report_html.o \
	supervisor/audit/report/verb_export.o \
	supervisor/audit/report/verb_kept.o \
	supervisor/audit/ship/verb_ship.o \
	supervisor/base/layout.o \
	supervisor/base/terminal.o

# A log opened by who does not trust it, and does not write.
READER = \
	supervisor/audit/log/open_log.o \
	supervisor/audit/log/readonly_vfs.o \
	supervisor/audit/log/wal_check.o

# What speaks to the agent.  No vault object may ever stand here.
KENNEL = \
	$(HELP) $(READER) $(APPROVE) $(STATUS) $(MCP) $(SCHEMA) $(MERKLE) $(TREE) $(QUERY) $(REGISTRY) $(SECRETMETA) \
	$(POLICY_READ) $(POLICY_MAKE) $(BASE) \
	leash/audit/event.o \
	leash/audit/writer.o \
	leash/keeper/confirmed.o \
	leash/keeper/connect.o \
	policy/manifests/catalog_stored.o \
	shim/base/close_others.o \
	shim/base/detach.o \
	shim/host/codepoint.o \
	shim/host/nsswitch.o \
	shim/host/passwd_line.o \
	shim/host/subid.o \
	supervisor/accept/accept_proposal.o \
	supervisor/accept/manifest_write.o \
	supervisor/answer/approval_id.o \
	supervisor/answer/detail_lines.o \
	supervisor/answer/here.o \
	supervisor/answer/open_list.o \
	supervisor/answer/session.o \
	supervisor/answer/show.o \
	supervisor/answer/shown.o \
	supervisor/answer/verbs.o \
	supervisor/answer/watch.o \
	supervisor/answer/watch_screen.o \
	supervisor/audit/connect.o \
	supervisor/audit/log/schema.o \
	supervisor/audit/log/segment.o \
	supervisor/audit/log/sqlite_noload.o \
	supervisor/audit/write_test.o \
	supervisor/base/backoff.o \
	supervisor/base/other_verb.o \
	supervisor/base/pager.o \
	shim/host/install_path.o \
	supervisor/base/paths.o \
	supervisor/base/person_socket.o \
	supervisor/catalog/cell.o \
	supervisor/catalog/outcome.o \
	supervisor/catalog/verb_fetch.o \
	supervisor/cli/approve_value.o \
	supervisor/cli/audit.o \
	supervisor/cli/audit_changes.o \
	supervisor/cli/audit_find_secret.o \
	supervisor/cli/audit_unused.o \
	supervisor/cli/check_all.o \
	supervisor/cli/exec.o \
	supervisor/cli/init.o \
	supervisor/cli/init_tools.o \
	supervisor/cli/mcp_client.o \
	supervisor/cli/ps.o \
	supervisor/cli/run.o \
	supervisor/cli/secret.o \
	supervisor/cli/secret_audit.o \
	supervisor/cli/secret_grant.o \
	supervisor/cli/secret_grants.o \
	supervisor/cli/secret_options.o \
	supervisor/cli/secret_set.o \
	supervisor/cli/secret_show.o \
	supervisor/cli/secret_sources.o \
	supervisor/cli/secret_ui.o \
	supervisor/cli/secret_value_grants.o \
	supervisor/cli/serve.o \
	supervisor/cli/server.o \
	supervisor/cli/top.o \
	supervisor/cli/user_report.o \
	supervisor/console/verb_console.o \
	supervisor/doctor/doctor.o \
	supervisor/doctor/doctor_audit.o \
	supervisor/doctor/doctor_network.o \
	supervisor/doctor/doctor_policies.o \
	supervisor/doctor/doctor_settings.o \
	supervisor/doctor/doctor_userns.o \
	supervisor/draft/command.o \
	supervisor/draft/draft.o \
	supervisor/draft/grantable.o \
	supervisor/draft/needs.o \
	supervisor/draft/node.o \
	supervisor/draft/npm_lock.o \
	supervisor/draft/npm_package.o \
	supervisor/draft/options.o \
	supervisor/draft/package_files.o \
	supervisor/draft/preset.o \
	supervisor/draft/project.o \
	supervisor/draft/script.o \
	supervisor/draft/signed_set.o \
	supervisor/import/carried.o \
	supervisor/import/claude_settings.o \
	supervisor/import/client_syntax.o \
	supervisor/import/config/backup.o \
	supervisor/import/config/config_file.o \
	supervisor/import/config/config_tree.o \
	supervisor/import/config/json_file.o \
	supervisor/import/config/toml_file.o \
	supervisor/import/config/yaml_file.o \
	supervisor/import/config/yaml_text.o \
	supervisor/import/edit.o \
	supervisor/import/entries.o \
	supervisor/import/manager.o \
	supervisor/import/names.o \
	supervisor/import/redact.o \
	supervisor/import/remote.o \
	supervisor/import/remote_draft.o \
	supervisor/import/results.o \
	supervisor/import/server.o \
	supervisor/import/settings.o \
	supervisor/import/trial.o \
	supervisor/import/variables.o \
	supervisor/import/verb_import.o \
	supervisor/import/work.o \
	supervisor/import/write.o \
	supervisor/base/ask.o \
	supervisor/install/ask.o \
	supervisor/install/changes.o \
	supervisor/install/definitions.o \
	supervisor/install/file_tree.o \
	supervisor/install/gc.o \
	supervisor/install/installer.o \
	supervisor/install/npm.o \
	supervisor/install/npm_settings.o \
	supervisor/install/package.o \
	supervisor/install/publisher.o \
	supervisor/install/python.o \
	supervisor/install/signature_report.o \
	supervisor/install/signatures.o \
	supervisor/install/signed_check.o \
	supervisor/install/store.o \
	supervisor/install/update.o \
	supervisor/install/verb_install.o \
	supervisor/install/verb_try.o \
	supervisor/launch/find/changed_source.o \
	supervisor/launch/find/duplicate_server.o \
	supervisor/help/command.o \
	supervisor/help/complete.o \
	supervisor/help/kennel_help.o \
	supervisor/help/secret_help.o \
	supervisor/launch/drop_start.o \
	supervisor/launch/end_record.o \
	supervisor/launch/failed_start.o \
	supervisor/launch/find/held_packages.o \
	supervisor/launch/launcher.o \
	supervisor/launch/leash_approvals.o \
	supervisor/launch/leash_client.o \
	supervisor/launch/leash_message.o \
	supervisor/launch/person_sockets.o \
	supervisor/launch/policy_watch.o \
	supervisor/launch/find/policy_files.o \
	supervisor/launch/find/policy_find.o \
	supervisor/launch/find/policy_found.o \
	supervisor/launch/refused_start.o \
	supervisor/launch/regrant.o \
	supervisor/launch/restart.o \
	supervisor/launch/find/rollback.o \
	supervisor/launch/run_session.o \
	supervisor/launch/self_protect.o \
	supervisor/launch/start_approval.o \
	supervisor/launch/start_server.o \
	supervisor/launch/starter.o \
	supervisor/learn/argv_pattern.o \
	supervisor/learn/credentials.o \
	supervisor/learn/exercise.o \
	supervisor/learn/exercise_values.o \
	supervisor/learn/fold.o \
	supervisor/learn/from_log.o \
	supervisor/learn/learn_session.o \
	supervisor/learn/learned_command.o \
	supervisor/learn/learned_policy.o \
	supervisor/learn/policy_text.o \
	supervisor/learn/reach.o \
	supervisor/learn/roots.o \
	supervisor/learn/seen.o \
	supervisor/learn/verb_learn.o \
	supervisor/lint/blobs.o \
	supervisor/lint/first_look.o \
	supervisor/lint/lint.o \
	supervisor/lint/marks.o \
	supervisor/lint/names.o \
	supervisor/lint/phrases.o \
	supervisor/lint/user_names.o \
	supervisor/pin/page.o \
	supervisor/pin/pin_diff.o \
	supervisor/pin/pin_lint.o \
	supervisor/pin/pin_show.o \
	supervisor/pin/pins_file.o \
	supervisor/pin/pins_line.o \
	supervisor/pin/schema_warnings.o \
	supervisor/pin/server_pin.o \
	supervisor/hub/secrets_reply.o \
	supervisor/screen/screen.o \
	supervisor/secrets/arguments.o \
	supervisor/secrets/dialogs.o \
	supervisor/secrets/grants.o \
	supervisor/secrets/inventory.o \
	supervisor/secrets/live_secrets.o \
	supervisor/secrets/manifest_files.o \
	supervisor/secrets/proposal.o \
	supervisor/secrets/question.o \
	supervisor/secrets/requests.o \
	supervisor/secrets/routes.o \
	supervisor/secrets/use_approval.o \
	supervisor/secrets/value_request.o \
	supervisor/serve/agent.o \
	supervisor/serve/approvals/file_question.o \
	supervisor/serve/approvals/refused_calls.o \
	supervisor/serve/asked/asked_text.o \
	supervisor/serve/asked/task_ids.o \
	supervisor/serve/bridge.o \
	supervisor/serve/call.o \
	supervisor/serve/discovery_tools.o \
	supervisor/serve/downstream.o \
	supervisor/serve/from_server.o \
	supervisor/serve/greeting.o \
	supervisor/serve/hub.o \
	supervisor/serve/hub_control.o \
	supervisor/serve/item_index.o \
	supervisor/serve/lists.o \
	supervisor/serve/mcp_register.o \
	supervisor/serve/offers.o \
	supervisor/serve/open_check.o \
	supervisor/serve/parked.o \
	supervisor/serve/query_tool.o \
	supervisor/serve/records.o \
	supervisor/serve/reply.o \
	supervisor/serve/routes.o \
	supervisor/serve/launcher/configured.o \
	supervisor/serve/launcher/named.o \
	supervisor/serve/launcher/startable.o \
	supervisor/serve/launcher/start_order.o \
	supervisor/serve/server_requests.o \
	supervisor/serve/live_state.o \
	supervisor/serve/servers.o \
	supervisor/serve/secrets_tools.o \
	supervisor/serve/launcher/session_launcher.o \
	supervisor/serve/subscriptions.o \
	supervisor/serve/tasks.o \
	supervisor/serve/tools/exposed.o \
	supervisor/serve/tools/facets.o \
	supervisor/serve/tools/own_tools.o \
	supervisor/serve/tools/pin_variants.o \
	supervisor/serve/tools/search.o \
	supervisor/serve/tools/secrets_definitions.o \
	supervisor/serve/tools/settings.o \
	supervisor/serve/tools/tool_name.o \
	supervisor/servers/known_policies.o \
	supervisor/servers/policy_request.o \
	supervisor/servers/policy_scores.o \
	supervisor/servers/server_add.o \
	supervisor/servers/server_change.o \
	supervisor/servers/server_check.o \
	supervisor/servers/server_connect.o \
	supervisor/servers/server_dump.o \
	supervisor/servers/server_list.o \
	supervisor/servers/server_log.o \
	supervisor/servers/server_state.o \
	supervisor/servers/server_trust.o \
	supervisor/servers/server_view.o \
	supervisor/top/process_memory.o \
	supervisor/top/top_table.o \
	supervisor/main.o

# What shows the tree to others.
TREE = \
	supervisor/audit/log/key_store.o \
	supervisor/audit/log/merkle_read.o \
	supervisor/audit/report/export_tiles.o \
	supervisor/audit/report/prove.o \
	supervisor/audit/report/prune.o \
	supervisor/audit/report/witness.o

# The tree, its hashes, its keys and its signatures.
MERKLE = \
	shim/base/hex.o \
	shim/base/sha256.o \
	supervisor/audit/log/base64.o \
	supervisor/audit/kept/kept_checkpoint.o \
	supervisor/audit/log/merkle.o \
	supervisor/audit/log/merkle_proof.o \
	supervisor/audit/log/merkle_tiles.o \
	supervisor/audit/log/record_read.o \
	supervisor/audit/log/sign_key.o \
	supervisor/audit/log/signed_note.o

RECORDER = \
	$(MERKLE) $(BASE) \
	leash/audit/event.o \
	leash/audit/writer.o \
	supervisor/audit/log/key_store.o \
	supervisor/audit/log/record_write.o \
	supervisor/audit/log/schema.o \
	supervisor/audit/log/segment.o \
	supervisor/audit/log/sqlite_noload.o \
	supervisor/audit/recorder/carry.o \
	supervisor/audit/recorder/config.o \
	supervisor/audit/recorder/continues.o \
	supervisor/audit/recorder/epochs.o \
	supervisor/audit/recorder/insert_batch.o \
	supervisor/audit/recorder/main.o \
	supervisor/audit/recorder/own_log.o \
	supervisor/audit/recorder/peers.o \
	supervisor/audit/recorder/recover.o \
	supervisor/audit/recorder/rotate.o \
	supervisor/audit/recorder/startup.o \
	supervisor/audit/recorder/store.o \
	supervisor/audit/recorder/wal_vfs.o

VERIFY = \
	$(HELP) $(READER) $(MERKLE) $(BASE) \
	leash/audit/event.o \
	leash/audit/writer.o \
	supervisor/audit/log/schema.o \
	supervisor/audit/log/segment.o \
	supervisor/audit/log/sqlite_noload.o \
	supervisor/audit/verify/anchors.o \
	supervisor/audit/verify/check_carry.o \
	supervisor/audit/verify/check_file.o \
	supervisor/audit/verify/check_indexes.o \
	supervisor/audit/verify/check_order.o \
	supervisor/audit/verify/check_proof.o \
	supervisor/audit/verify/check_records.o \
	supervisor/audit/verify/check_signatures.o \
	supervisor/audit/verify/main.o \
	supervisor/audit/verify/verify.o \
	supervisor/audit/verify/verify_help.o \
	supervisor/audit/verify/workers.o

# Records to a collector: one socket, opened before it is confined.
SHIP = \
	$(HELP) $(READER) $(MERKLE) $(BASE) \
	leash/audit/event.o \
	leash/audit/writer.o \
	supervisor/audit/audit_help.o \
	supervisor/audit/log/merkle_read.o \
	supervisor/audit/log/schema.o \
	supervisor/audit/log/segment.o \
	supervisor/audit/log/sqlite_noload.o \
	supervisor/audit/query/describe.o \
	supervisor/audit/query/escape.o \
	supervisor/audit/query/log_view.o \
	supervisor/audit/query/options.o \
	supervisor/audit/query/record.o \
	supervisor/audit/query/scan.o \
	supervisor/audit/report/export.o \
	supervisor/audit/report/ocsf.o \
	supervisor/audit/ship/main.o \
	supervisor/audit/ship/paths_stub.o \
	supervisor/audit/ship/progress.o \
	supervisor/audit/ship/send.o \
	supervisor/audit/ship/syslog_line.o

# The file that values are kept in.
CONTAINER = \
	leash/vault/secret_path.o \
	leash/vault_file/edit.o \
	leash/vault_file/key.o \
	leash/vault_file/recovery_phrase.o \
	leash/vault_file/save.o \
	leash/vault_file/vault_file.o
# What keeps values between starts: the vault's key, while it is unlocked.
KEEPER = \
	$(CONTAINER) $(BASE) \
	leash/keeper/answer.o \
	leash/keeper/change.o \
	leash/keeper/confirm.o \
	leash/keeper/fido/fido_wire.o \
	leash/keeper/fido_child.o \
	leash/keeper/key.o \
	leash/keeper/key_list.o \
	leash/keeper/main.o \
	leash/keeper/peers.o \
	leash/keeper/store.o \
	leash/vault/locked_pages.o \
	leash/vault/vault.o \
	shim/base/close_others.o

# One signature of a security key, without the vault's key.
FIDO = \
	$(BASE) \
	leash/keeper/fido/client_data.o \
	leash/keeper/fido/fido_wire.o \
	leash/keeper/fido/main.o \
	leash/keeper/fido/signature.o

# The verbs that a person gives values to.  No container: the keeper alone opens it.
SECRET = \
	$(POLICY_READ) $(BASE) \
	leash/keeper/connect.o \
	leash/secret/dialogs.o \
	leash/secret/fields.o \
	leash/secret/input.o \
	leash/secret/keys.o \
	leash/secret/list.o \
	leash/secret/main.o \
	leash/secret/pinentry.o \
	leash/secret/request.o \
	leash/secret/secret_program.o \
	leash/secret/start_keeper.o \
	leash/secret/verbs.o \
	leash/vault/fingerprint.o \
	leash/vault/locked_pages.o \
	leash/vault/secret_path.o \
	leash/vault/vault.o \
	policy/tokens/token_format.o \
	shim/base/close_others.o \
	shim/base/detach.o \
	shim/base/token_checksum.o

# The page that a value is typed into.  Not part of kennel-secret, which is static.
FORM = \
	$(filter-out leash/secret/dialogs.o leash/secret/pinentry.o leash/secret/secret_program.o,$(SECRET)) \
	leash/secret/form.o \
	leash/secret/form_answer.o \
	leash/secret/form_program.o \
	shim/base/loop.o \
	shim/host/http_heads.o \
	shim/host/loopback.o \
	shim/host/loopback_peers.o

# The page for people.  It speaks HTTP to a browser, and has nothing of a leash.
CONSOLE = \
	$(PATHS) $(BASE) \
	shim/host/http_heads.o \
	shim/host/install_path.o \
	shim/host/loopback.o \
	shim/host/loopback_peers.o \
	supervisor/answer/approval_id.o \
	supervisor/answer/open_list.o \
	supervisor/answer/session.o \
	supervisor/approve/queue.o \
	supervisor/approve/refusals.o \
	supervisor/base/paths.o \
	supervisor/base/person_socket.o \
	supervisor/base/terminal.o \
	supervisor/console/approvals.o \
	supervisor/console/browser.o \
	supervisor/console/command_runs.o \
	supervisor/console/events.o \
	supervisor/console/http.o \
	supervisor/console/keys.o \
	supervisor/console/launcher.o \
	supervisor/console/link_socket.o \
	supervisor/console/logins.o \
	supervisor/console/main.o \
	supervisor/console/pages.o \
	supervisor/console/records.o \
	supervisor/console/request_check.o \
	supervisor/console/routes.o \
	supervisor/console/session_sockets.o \
	supervisor/console/views.o \
	supervisor/json/json_access.o \
	supervisor/json/json_canonical.o \
	supervisor/json/json_scan.o

PROGRAMS = $(BIN)/kennel $(LIBEXEC)/kennel-console $(LIBEXEC)/kennel-dial $(LIBEXEC)/kennel-egress $(LIBEXEC)/kennel-fido $(LIBEXEC)/kennel-form $(LIBEXEC)/kennel-keeper $(LIBEXEC)/kennel-secret $(LIBEXEC)/kennel-ship $(LIBEXEC)/kennel-leash $(LIBEXEC)/kennel-shim \
	   $(LIBEXEC)/kennel-recorder $(LIBEXEC)/kennel-remote $(LIBEXEC)/kennel-verify

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
$(OBJ)/policy/manifests/catalog.o $B/san/policy/manifests/catalog.o: policy/manifests/catalog.kennel

$(OBJ)/leash/secret/form.o $B/san/leash/secret/form.o: $(wildcard leash/secret/pages/*)
$(OBJ)/supervisor/console/pages.o $B/san/supervisor/console/pages.o: $(wildcard supervisor/console/pages/*)

# libnl keeps its headers in a folder of its own.
$(OBJ)/leash/cell/net.o $B/san/leash/cell/net.o: \
	CPPFLAGS += $(shell pkg-config --cflags libnl-3.0)

# All are static: nothing of the host's loader or of its library search reaches
# a process that speaks to an agent, holds secrets or becomes PID 1, and a start
# does not wait for either (docs/DECISIONS.md).
# The shim brings its own few calls (shim/nolibc.c): no start files, no library,
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
LIBRARIES_leash = libcap-ng libnl-3.0 libsodium
$(LIBEXEC)/kennel-leash: $(call obj,$(LEASH))
	$(call link,$(LINKSTATIC),$(call PKG_STATIC,$(LIBRARIES_leash)))
LIBRARIES_egress = libsodium
$(LIBEXEC)/kennel-egress: $(call obj,$(EGRESS))
	$(call link,$(LINKSTATIC),$(call PKG_STATIC,$(LIBRARIES_egress)))
LIBRARIES_dial = libsodium
# The one that is not static: the host's name services are modules of its library.
$(LIBEXEC)/kennel-dial: $(call obj,$(DIAL))
	$(call link,-pie,-Wl$(,)-Bstatic $(call PKG_LIBS,$(LIBRARIES_dial)) -Wl$(,)-Bdynamic)
LIBRARIES_remote = libsodium libcurl
# In a cell, which shows it the shared libraries of the host like those of any server.
$(LIBEXEC)/kennel-remote: $(call obj,$(REMOTE))
	$(call link,-pie,-Wl$(,)-Bstatic $(call PKG_LIBS,libsodium) -Wl$(,)-Bdynamic $(call PKG_LIBS,libcurl))
LIBRARIES_console = libmicrohttpd
LIBRARIES_form = libsodium libmicrohttpd
# libmicrohttpd has no static form without the TLS that it does not use here.
$(LIBEXEC)/kennel-console: $(call obj,$(CONSOLE))
	$(call link,-pie,$(call PKG_LIBS,$(LIBRARIES_console)))
$(LIBEXEC)/kennel-form: $(call obj,$(FORM))
	$(call link,-pie,-Wl$(,)-Bstatic $(call PKG_LIBS,libsodium) -Wl$(,)-Bdynamic $(call PKG_LIBS,libmicrohttpd))
LIBRARIES_recorder = sqlite3 libsodium
$(LIBEXEC)/kennel-recorder: $(call obj,$(RECORDER))
	$(call link,$(LINKSTATIC),$(call PKG_STATIC,$(LIBRARIES_recorder)))
LIBRARIES_verify = sqlite3 libsodium
$(LIBEXEC)/kennel-verify: $(call obj,$(VERIFY))
	$(call link,$(LINKSTATIC),$(call PKG_STATIC,$(LIBRARIES_verify)))
LIBRARIES_keeper = libsodium
$(LIBEXEC)/kennel-keeper: $(call obj,$(KEEPER))
	$(call link,$(LINKSTATIC),$(call PKG_STATIC,$(LIBRARIES_keeper)))
LIBRARIES_fido = libsodium jansson libfido2 libcrypto
# Not static: libfido2 is linked with the host's libudev, which has no static form.
$(LIBEXEC)/kennel-fido: $(call obj,$(FIDO))
	$(call link,-pie,-Wl$(,)-Bstatic $(call PKG_LIBS,libsodium jansson) -Wl$(,)-Bdynamic $(call PKG_LIBS,libfido2 libcrypto))
LIBRARIES_secret = libassuan libsodium
$(LIBEXEC)/kennel-secret: $(call obj,$(SECRET))
	$(call link,$(LINKSTATIC),$(call PKG_STATIC,$(LIBRARIES_secret)))
LIBRARIES_ship = sqlite3 libsodium
$(LIBEXEC)/kennel-ship: $(call obj,$(SHIP))
	$(call link,$(LINKSTATIC),$(call PKG_STATIC,$(LIBRARIES_ship)))
LIBRARIES_kennel = libseccomp jansson ncursesw sqlite3 libsodium libpcre2-8
$(BIN)/kennel: $(call obj,$(KENNEL))
	$(call link,$(LINKSTATIC),$(call PKG_STATIC,$(LIBRARIES_kennel)))

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

CONFINED = leash egress dial kennel console recorder verify ship keeper secret form fido
SOURCES_leash	 = $(LEASH:.o=.c)
SOURCES_egress	 = $(EGRESS:.o=.c)
SOURCES_dial	 = $(DIAL:.o=.c)
SOURCES_kennel	 = $(KENNEL:.o=.c)
SOURCES_console	 = $(CONSOLE:.o=.c)
SOURCES_recorder = $(RECORDER:.o=.c)
SOURCES_verify	 = $(VERIFY:.o=.c)
SOURCES_ship	 = $(SHIP:.o=.c)
SOURCES_keeper	 = $(KEEPER:.o=.c)
SOURCES_secret	 = $(SECRET:.o=.c)
SOURCES_form	 = $(FORM:.o=.c)
SOURCES_fido	 = $(FIDO:.o=.c)
# What shared code could do, and these two never do once they serve.
LESS_keeper	 = -socketpair -memfd_create -landlock_create_ruleset -landlock_add_rule \
	   -landlock_restrict_self -seccomp -setrlimit
# (the keeper is started before)
LESS_fido	 = -socketpair -memfd_create -landlock_create_ruleset -landlock_add_rule \
	   -landlock_restrict_self -seccomp -setrlimit -prctl -mkdir -mkdirat
LESS_secret	 = -socketpair -memfd_create -landlock_create_ruleset -landlock_add_rule \
	   -landlock_restrict_self -seccomp -setrlimit -chdir -clone -close_range -dup2 -dup3 \
	   -execve -fork -pipe2 -setsid -vfork -wait4
# It listens before, and opens nothing.
LESS_form	 = $(LESS_secret) -openat
# It has its sockets; its launcher starts its commands, and connects to its sessions.
LESS_console	 = -socketpair -memfd_create -landlock_create_ruleset -landlock_add_rule \
	   -landlock_restrict_self -seccomp -prctl -setrlimit -prlimit64 -fstatfs -getcwd -lstat \
	   -connect -openat -openat2 -readlink -readlinkat -socket -unlink -unlinkat
# It starts nothing, and has its socket: the rest is for other programs of its files.
LESS_ship	 = -socketpair -execve -clone -clone3 -fork -vfork -wait4 -pipe2 -dup2 -dup3 -mkdir -mkdirat
# It has its sockets handed over, and opens nothing.
LESS_egress	 = -socketpair -memfd_create -landlock_create_ruleset -landlock_add_rule \
	   -landlock_restrict_self -seccomp -setrlimit -prlimit64 -prctl -lstat
LESS_dial	 = -memfd_create -landlock_create_ruleset -landlock_add_rule \
	   -landlock_restrict_self -seccomp -setrlimit
# The leash makes its cell first: it needs no more of these once a server runs.
LESS_leash	 = -memfd_create -socketpair -landlock_create_ruleset -landlock_add_rule \
	   -landlock_restrict_self -seccomp -prctl -setrlimit -prlimit64 -fstatfs -getcwd

$B/gen/stamp: $(CONFINED:%=$B/gen/%_syscalls.h) $B/gen/default_filters.h
	@touch $@
define gen_rule
$B/gen/$(1)_syscalls.h: shim/base/collect.sh $$(wildcard $$(SOURCES_$(1)))
	@mkdir -p $B/gen
	@sh shim/base/collect.sh $(1) $$(LESS_$(1)) $$(wildcard $$(SOURCES_$(1))) > $$@.new
	@cmp -s $$@.new $$@ && rm -f $$@.new && touch $$@ || mv -f $$@.new $$@
endef
$(foreach p,$(CONFINED),$(eval $(call gen_rule,$p)))

# ---- what is generated: the default filters ----------------------------------
# By a program that runs here, whatever the others are compiled for: HOSTCC compiles
# it, and HOSTLIBS are this machine's.

HOSTCC	?= $(CC)
HOSTLIBS ?= $(call PKG_LIBS,libseccomp libsodium)
HOST_FILTERS = \
	$(filter-out %/default_filters.o,$(POLICY_READ)) \
	policy/compile/seccomp.o \
	policy/compile/seccomp_prologue.o \
	policy/compile/seccomp_rows.o \
	policy/compile/source_list.o \
	policy/base/syscall_list.o \
	policy/compile/write_index.o \
	policy/compile/write_sealed.o \
	policy/filters/generate_filters.o \
	shim/base/buf.o \
	shim/base/fd.o \
	shim/base/slurp.o

$B/host/%.o: %.c
	@mkdir -p $(@D)
	$Q$(HOSTCC) -D_GNU_SOURCE -I. -std=gnu11 -O1 $(if $(filter $(CC),$(HOSTCC)),$(WARN)) -MMD -MP -c -o $@ $<
$B/host/generate_filters: $(addprefix $B/host/,$(HOST_FILTERS))
	$Q$(HOSTCC) -o $@ $^ $(HOSTLIBS)
$B/gen/default_filters.h: $B/host/generate_filters
	@mkdir -p $(@D)
	@$(SAY) "  GEN     $@"
	$Q$< > $@.new
	@cmp -s $@.new $@ && rm -f $@.new && touch $@ || mv -f $@.new $@

# ---- unit tests -------------------------------------------------------------
# tests/unit/test_X.c is linked with UNIT_X and nothing else: what a room needs
# is what stands here.  Built twice: as it ships, and with ASan and UBSan.

UNIT_base	= $(BASE) shim/base/close_others.o
UNIT_path_resolve = $(PATHS) $(BASE_SMALL)
UNIT_terminal	= supervisor/base/layout.o supervisor/base/terminal.o
UNIT_libcache	= $(CELL) $(POLICY_READ) $(BASE)
UNIT_cell = \
	$(CELL) $(POLICY_READ) $(BASE) \
	tests/unit/cell_kit.o
UNIT_frame = \
	$(MCP) $(BASE) \
	policy/sealed/accessors.o \
	policy/sealed/arg_slot.o \
	policy/sealed/condition.o \
	policy/sealed/json_reader.o \
	policy/sealed/match.o \
	policy/sealed/match_mcp.o \
	policy/sealed/match_net_paths.o \
	policy/sealed/row_index.o \
	policy/sealed/values/method_name.o \
	policy/sealed/values/number.o \
	policy/sealed/values/uri.o \
	shim/base/sha256.o \
	supervisor/approve/answerer.o \
	supervisor/approve/detail.o \
	supervisor/approve/queue.o \
	supervisor/approve/refusals.o \
	supervisor/audit/log/merkle.o \
	tests/unit/mcp_rig.o
UNIT_json	= tests/fuzz/fuzz_json.o $(UNIT_frame)
UNIT_json_canonical = \
	shim/base/buf.o \
	supervisor/json/json_access.o \
	supervisor/json/json_canonical.o \
	supervisor/json/json_scan.o
UNIT_schema = \
	$(SCHEMA) $(BASE_SMALL) \
	policy/sealed/values/number.o \
	shim/base/buf.o \
	shim/base/hex.o \
	shim/base/log.o \
	shim/base/sort.o \
	supervisor/json/json_access.o \
	supervisor/json/json_scan.o
UNIT_session	= $(UNIT_frame)
UNIT_copy_args	= leash/exec/copy_args.o
UNIT_exec_state	= leash/exec/exec_state.o
UNIT_exec_status	= $(UNIT_frame)
UNIT_indirect_requests	= $(UNIT_frame)
UNIT_approved_params	= $(UNIT_frame)
UNIT_pins	= $(UNIT_frame)
UNIT_call_limits	= $(UNIT_frame)
UNIT_health	= $(UNIT_frame)
UNIT_ids	= $(UNIT_frame)
UNIT_result_meta	= $(UNIT_frame)
UNIT_learn = \
	$(POLICY_READ) $(BASE_SMALL) \
	leash/cell/watched_calls.o \
	policy/lang/keyword.o \
	shim/base/buf.o \
	shim/base/slurp.o \
	shim/help/near_word.o \
	shim/host/codepoint.o \
	supervisor/json/json_access.o \
	supervisor/json/json_canonical.o \
	supervisor/json/json_scan.o \
	supervisor/learn/argv_pattern.o \
	supervisor/learn/credentials.o \
	supervisor/learn/exercise_values.o \
	supervisor/learn/fold.o \
	supervisor/learn/policy_text.o \
	supervisor/learn/seen.o \
	tests/fuzz/fuzz_learn.o
UNIT_backoff	= $(BASE_SMALL) supervisor/base/backoff.o
UNIT_console = \
	$(PATHS) $(BASE) \
	shim/host/install_path.o \
	supervisor/answer/approval_id.o \
	supervisor/answer/session.o \
	supervisor/approve/queue.o \
	supervisor/approve/refusals.o \
	supervisor/base/paths.o \
	supervisor/base/person_socket.o \
	supervisor/console/logins.o \
	supervisor/console/request_check.o \
	supervisor/console/session_sockets.o
UNIT_item_index	= supervisor/serve/item_index.o shim/base/hex.o
UNIT_install = \
	$(MERKLE) $(BASE) \
	policy/lang/host.o \
	policy/lang/remote_url.o \
	supervisor/draft/npm_lock.o \
	supervisor/draft/signed_set.o \
	supervisor/install/file_tree.o \
	supervisor/install/npm_settings.o \
	supervisor/install/signature_report.o \
	supervisor/json/digest.o \
	supervisor/json/json_access.o \
	supervisor/json/json_scan.o \
	tests/fuzz/fuzz_npm.o
UNIT_starter	= supervisor/launch/starter.o $(BASE) shim/base/close_others.o
UNIT_startable	= supervisor/serve/launcher/startable.o $(sort shim/base/close_others.o $(UNIT_registry))
UNIT_open_check	= supervisor/serve/open_check.o $(UNIT_frame)
UNIT_budget	= supervisor/mcp/line/budget.o
UNIT_pages	= $(UNIT_frame)
UNIT_parked	= supervisor/serve/parked.o $(UNIT_frame)
UNIT_hub_wire = \
	$(BASE_SMALL) \
	supervisor/status/hub_wire.o \
	supervisor/status/latency.o \
	supervisor/status/status_wire.o
UNIT_queue = \
	$(BASE_SMALL) \
	leash/audit/event.o \
	shim/base/buf.o \
	shim/base/hex.o \
	shim/base/log.o \
	shim/base/loop.o \
	shim/base/sha256.o \
	supervisor/approve/detail.o \
	supervisor/approve/queue.o \
	supervisor/approve/refusals.o
UNIT_malformed	= $(UNIT_frame)
UNIT_byte_exact	= $(UNIT_frame)
UNIT_session_errors	= tests/fuzz/fuzz_session.o $(UNIT_frame)
UNIT_merkle	= $(MERKLE) $(BASE)
UNIT_audit_writer = \
	$(BASE) \
	leash/audit/event.o \
	leash/audit/writer.o \
	shim/base/sha256.o
UNIT_recorder = \
	$(BASE) \
	leash/audit/event.o \
	leash/audit/writer.o \
	shim/base/detach.o \
	shim/base/sha256.o \
	supervisor/audit/connect.o
UNIT_log_tamper = \
	$(MERKLE) $(BASE) \
	leash/audit/event.o \
	leash/audit/writer.o \
	shim/base/detach.o \
	supervisor/audit/connect.o \
	supervisor/audit/log/schema.o \
	supervisor/audit/log/segment.o
# Long, and needs build/fault: not one of UNITS (audit-kill).
UNIT_recorder_steps	= $(UNIT_log_tamper)
UNIT_log_files	= $(UNIT_log_tamper)
UNIT_verify = \
	$(READER) $(QUERY) $(TREE) $(MERKLE) $(PATHS) $(BASE) \
	leash/audit/event.o \
	leash/audit/writer.o \
	shim/base/detach.o \
	supervisor/audit/connect.o \
	supervisor/audit/log/record_write.o \
	supervisor/audit/log/schema.o \
	supervisor/audit/log/segment.o \
	shim/host/install_path.o \
	supervisor/base/paths.o
UNIT_kept_payloads = \
	$(MERKLE) $(BASE) \
	supervisor/audit/log/kept_payloads.o \
	supervisor/audit/log/payload_key.o \
	supervisor/audit/log/schema.o
UNIT_kept_policies	= supervisor/audit/log/kept_policies.o $(MERKLE) $(BASE)

UNIT_witness	= $(UNIT_verify)
UNIT_query = \
	$(READER) $(QUERY) $(TREE) $(MERKLE) $(PATHS) $(BASE) \
	leash/audit/event.o \
	leash/audit/writer.o \
	shim/base/detach.o \
	supervisor/audit/connect.o \
	supervisor/audit/log/schema.o \
	supervisor/audit/log/segment.o \
	shim/host/install_path.o \
	supervisor/base/paths.o

UNIT_query_altered = $(UNIT_query)

UNIT_own_tools = \
	$(BASE) \
	shim/help/near_word.o \
	supervisor/json/json_access.o \
	supervisor/json/json_canonical.o \
	supervisor/json/json_scan.o \
	supervisor/serve/tools/facets.o \
	supervisor/serve/tools/own_tools.o \
	supervisor/serve/tools/secrets_definitions.o
UNIT_secret_requests = \
	$(BASE) \
	supervisor/secrets/grants.o \
	supervisor/secrets/requests.o
LINT = \
	$(BASE_SMALL) \
	shim/base/buf.o \
	shim/host/codepoint.o \
	supervisor/json/json_access.o \
	supervisor/json/json_scan.o \
	supervisor/lint/blobs.o \
	supervisor/lint/lint.o \
	supervisor/lint/marks.o \
	supervisor/lint/names.o \
	supervisor/lint/phrases.o
UNIT_lint	= $(LINT) shim/base/slurp.o tests/fuzz/fuzz_lint.o
UNIT_search = \
	$(BASE) \
	supervisor/json/json_access.o \
	supervisor/json/json_scan.o \
	supervisor/serve/tools/search.o \
	tests/fuzz/fuzz_search.o
UNIT_settings = \
	$(POLICY_FRONT) \
	shim/base/log.o \
	shim/host/install_path.o \
	supervisor/base/paths.o \
	supervisor/serve/tools/facets.o \
	supervisor/serve/tools/settings.o \
	tests/fuzz/fuzz_settings.o
UNIT_tool_name = \
	$(MERKLE) $(BASE) \
	supervisor/json/digest.o \
	supervisor/serve/tools/tool_name.o
UNIT_registry = \
	$(REGISTRY) $(PATHS) $(BASE) $(MERKLE) \
	leash/audit/event.o \
	leash/audit/writer.o \
	policy/lang/secret_path.o \
	policy/tokens/secret_name.o \
	policy/tokens/secret_shaped.o \
	policy/tokens/token_format.o \
	policy/tokens/value_reference.o \
	shim/base/token_checksum.o \
	supervisor/json/digest.o \
	supervisor/json/json_access.o \
	supervisor/json/json_canonical.o \
	supervisor/json/json_scan.o
UNIT_client_config = \
	$(UNIT_registry) \
	policy/tokens/weak_value.o \
	policy/lang/host.o \
	policy/lang/remote_url.o \
	policy/clients/clients.o \
	supervisor/import/client_syntax.o \
	supervisor/import/config/config_tree.o \
	supervisor/import/config/json_file.o \
	supervisor/import/config/toml_file.o \
	supervisor/import/config/yaml_file.o \
	supervisor/import/config/yaml_text.o \
	supervisor/import/edit.o \
	supervisor/import/entries.o \
	supervisor/import/manager.o \
	supervisor/import/redact.o \
	supervisor/import/remote.o \
	supervisor/import/settings.o \
	supervisor/import/variables.o \
	tests/fuzz/fuzz_client_config.o
UNIT_config_file = \
	$(BASE_SMALL) \
	shim/base/make_dirs.o \
	shim/base/slurp.o \
	supervisor/import/config/config_file.o
UNIT_dump	= tests/fuzz/fuzz_dump.o $(UNIT_registry)
UNIT_global_file	= tests/fuzz/fuzz_global_file.o $(UNIT_registry)
UNIT_register_tool	= $(UNIT_registry)
UNIT_secret_shaped	= $(UNIT_registry)
UNIT_nomem = \
	$(sort $(UNIT_frame) $(SCRUB)) \
	tests/fault/fault_unit.o
UNIT_nomem_policy = tests/fault/fault_unit.o $(POLICY_FRONT)
UNIT_leash	= $(BASE)
UNIT_nsswitch = \
	$(BASE_SMALL) \
	shim/base/slurp.o \
	shim/host/nsswitch.o \
	tests/fuzz/fuzz_nsswitch.o
UNIT_subid = \
	$(BASE_SMALL) \
	shim/base/slurp.o \
	shim/host/passwd_line.o \
	shim/host/subid.o \
	tests/fuzz/fuzz_subid.o
UNIT_shim = \
	$(BASE_SMALL) \
	shim/reap.o \
	shim/restrict.o \
	tests/unit/shim_main.o
UNIT_nolibc	= tests/unit/shim_bare.o

UNIT_vault = \
	$(BASE_SMALL) \
	leash/vault/helper.o \
	leash/vault/helper_sandbox.o \
	leash/vault/locked_pages.o \
	leash/vault/open_checked.o \
	leash/vault/read_value.o \
	leash/vault/server_env.o \
	leash/vault/vault.o \
	shim/base/cause.o \
	shim/base/confine.o \
	shim/host/path_open.o \
	shim/host/path_resolve.o \
	shim/host/program_paths.o
UNIT_egress = \
	$(POLICY_READ) $(BASE) \
	leash/egress/client_hello.o \
	leash/egress/dial_wire.o \
	leash/egress/dns.o \
	leash/egress/egress_wire.o \
	leash/egress/plan.o
UNIT_plugin = \
	$(UNIT_vault) $(POLICY_READ) \
	leash/vault/plugin.o \
	leash/vault/plugin_failures.o \
	leash/vault/plugin_reply.o \
	leash/vault/plugin_request.o \
	shim/base/buf.o \
	shim/base/slurp.o \
	tests/fuzz/fuzz_plugin_reply.o
UNIT_placeholder = \
	$(PLACEHOLDER) $(BASE_SMALL) \
	shim/base/slurp.o \
	shim/base/token_checksum.o \
	tests/fuzz/fuzz_placeholder.o
UNIT_server_env	= $(UNIT_vault)
UNIT_confirm = \
	$(BASE_SMALL) \
	leash/keeper/confirm.o \
	shim/base/hex.o \
	shim/base/log.o
UNIT_fields	= leash/secret/fields.o
UNIT_keeper_request = \
	$(BASE_SMALL) \
	leash/secret/request.o \
	shim/base/hex.o \
	shim/base/log.o
UNIT_vault_file = \
	$(CONTAINER) $(BASE_SMALL) \
	leash/vault/locked_pages.o \
	leash/vault/vault.o \
	shim/base/cause.o \
	shim/base/slurp.o \
	tests/fuzz/fuzz_vault.o
UNIT_locked_pages	= $(UNIT_vault)
UNIT_load = \
	$(POLICY_READ) \
	policy/compile/source_list.o \
	policy/compile/write_index.o \
	policy/compile/write_sealed.o \
	shim/base/buf.o \
	shim/base/fd.o \
	shim/base/slurp.o \
	tests/fuzz/fuzz_load.o
UNIT_write_sealed	= $(UNIT_load)
# Text to a checked tree, and what the checks ask of others.
POLICY_FRONT = \
	$(POLICY_TEXT) $(POLICY_READ) $(ALGEBRA) \
	policy/compile/read_file.o \
	policy/compile/seccomp.o \
	policy/compile/seccomp_prologue.o \
	policy/compile/seccomp_rows.o \
	policy/base/syscall_list.o \
	policy/compile/write_index.o \
	policy/compile/write_sealed.o \
	shim/base/buf.o \
	shim/base/cause.o \
	shim/base/fd.o \
	shim/base/slurp.o
UNIT_parse	= tests/unit/ast_print.o $(POLICY_FRONT)
UNIT_sources	= tests/fuzz/fuzz_sources.o $(POLICY_FRONT)
UNIT_manifests	= $(SECRETMETA) policy/print/statement.o $(POLICY_FRONT)
UNIT_manifest_change	= $(UNIT_manifests) shim/base/buf.o
UNIT_match	= $(UNIT_load)
UNIT_signature = \
	$(UNIT_load) $(PATHS) \
	shim/base/make_dirs.o \
	shim/host/install_path.o \
	supervisor/base/paths.o \
	supervisor/launch/find/rollback.o
UNIT_check_rules	= $(UNIT_load)
UNIT_row_index	= $(UNIT_load)
UNIT_path_holders = policy/check/path_holders.o policy/lang/scalar.o
UNIT_path_index = policy/base/arena.o policy/base/path_index.o
UNIT_condition = \
	policy/sealed/accessors.o \
	policy/sealed/arg_slot.o \
	policy/sealed/condition.o \
	policy/sealed/json_reader.o \
	policy/sealed/match.o \
	policy/sealed/match_mcp.o \
	policy/sealed/match_net_paths.o \
	policy/sealed/row_index.o \
	policy/sealed/values/method_name.o \
	policy/sealed/values/number.o \
	policy/sealed/values/uri.o \
	shim/base/fd.o \
	shim/base/slurp.o \
	tests/fuzz/fuzz_condition.o
UNIT_arg_slot	= $(ALGEBRA) $(UNIT_load)
UNIT_algebra	= $(ALGEBRA) $(UNIT_load)
UNIT_diff	= $(UNIT_lower)
UNIT_diff_columns = $(UNIT_lower)
UNIT_diff_secrets = $(UNIT_lower)
UNIT_lower = \
	$(POLICY_READ) \
	$(filter-out policy/cli/main.o policy/cli/near_file.o policy/cli/same_server.o policy/cli/verb%.o,$(POLICY_MAKE)) \
	shim/base/buf.o \
	shim/base/cause.o \
	shim/base/fd.o \
	shim/base/slurp.o
UNIT_argv_authority	= supervisor/hub/argv_authority.o $(UNIT_lower)
UNIT_seccomp = \
	$(UNIT_write_sealed) \
	policy/compile/seccomp.o \
	policy/compile/seccomp_prologue.o \
	policy/compile/seccomp_rows.o \
	policy/base/syscall_list.o
UNIT_agree	= $(UNIT_seccomp)
UNIT_default_filter	= $(UNIT_seccomp)
SCRUB = \
	$(UNIT_vault) \
	$(SCRUB_ROOM) \
	shim/base/buf.o \
	shim/base/sort.o \
	shim/base/token_checksum.o
UNIT_refresh_client = \
	$(SCRUB) \
	leash/remote/refresh_client.o \
	leash/remote/tokens.o \
	leash/vault/copied_value.o
# The test has its own libcurl and its own clock.
UNIT_remote_exchange = $(filter-out leash/remote/main.o leash/remote/http.o shim/base/loop.o,$(REMOTE))
UNIT_scrub	= tests/unit/scrub_bench.o $(SCRUB)
UNIT_foreign	= $(SCRUB)
UNIT_scrub_encodings = $(SCRUB)
UNIT_scrub_structured = $(SCRUB)
UNIT_scrub_credentials = $(SCRUB)
UNIT_gate = \
	$(POLICY_READ) $(SCRUB) \
	leash/exec/ancestry.o \
	leash/exec/approval.o \
	leash/exec/caller.o \
	leash/exec/copy_args.o \
	leash/exec/decide.o \
	leash/exec/digest_pin.o \
	leash/exec/exec_state.o \
	leash/exec/explain.o \
	leash/exec/image.o \
	leash/exec/named.o \
	leash/exec/notify.o \
	leash/exec/stop.o \
	shim/base/loop.o \
	tests/unit/gate_cell.o
UNITS = \
	agree \
	algebra \
	approved_params \
	arg_slot \
	argv_authority \
	audit_writer \
	backoff \
	base \
	byte_exact \
	budget \
	call_limits \
	cell \
	check_rules \
	client_config \
	condition \
	config_file \
	confirm \
	console \
	copy_args \
	default_filter \
	diff \
	diff_columns \
	diff_secrets \
	dump \
	egress \
	exec_state \
	exec_status \
	fields \
	foreign \
	frame \
	gate \
	global_file \
	health \
	hub_wire \
	ids \
	indirect_requests \
	install \
	item_index \
	json \
	json_canonical \
	keeper_request \
	kept_payloads \
	kept_policies \
	learn \
	leash \
	libcache \
	lint \
	load \
	locked_pages \
	log_files \
	log_tamper \
	lower \
	malformed \
	manifest_change \
	manifests \
	match \
	merkle \
	nolibc \
	nomem \
	nomem_policy \
	nsswitch \
	own_tools \
	open_check \
	pages \
	parked \
	parse \
	path_holders \
	path_index \
	path_resolve \
	pins \
	placeholder \
	plugin \
	query \
	query_altered \
	queue \
	recorder \
	refresh_client \
	register_tool \
	registry \
	remote_exchange \
	result_meta \
	row_index \
	schema \
	scrub \
	scrub_credentials \
	scrub_encodings \
	scrub_structured \
	search \
	seccomp \
	secret_requests \
	secret_shaped \
	server_env \
	session \
	session_errors \
	settings \
	shim \
	signature \
	sources \
	startable \
	starter \
	subid \
	terminal \
	tool_name \
	vault \
	vault_file \
	verify \
	witness \
	write_sealed
UNIT_LIBS = $(COVER) $(call PKG_LIBS,cmocka libseccomp jansson sqlite3 libsodium libpcre2-8 libcap-ng libnl-route-3.0)
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
$(foreach u,$(UNITS) recorder_steps,$(eval $(call unit_rule,$u)))
$B/unit/leash $B/unit-san/leash: | $(BIN)/kennel $(LIBEXEC)/kennel-leash $(LIBEXEC)/kennel-shim
# Allocations that fail on order.
$(OBJ)/tests/fault/fault_unit.o: tests/fault/fault.c
	@mkdir -p $(@D)
	$Q$(CC) $(CPPFLAGS) $(CFLAGS) -DFAULT_UNIT -MMD -MP -c -o $@ $<
$B/san/tests/fault/fault_unit.o: tests/fault/fault.c
	@mkdir -p $(@D)
	$Q$(CC) $(CPPFLAGS) $(filter-out -D_FORTIFY_SOURCE=3,$(CFLAGS)) $(SAN) -DFAULT_UNIT -MMD -MP -c -o $@ $<
$(foreach d,unit unit-san,$B/$d/nomem $B/$d/nomem_policy): UNIT_LIBS += $(call WRAP,$(WRAP_MEMORY))
# Waits that end on order.
$B/unit/refresh_client $B/unit-san/refresh_client: UNIT_LIBS += $(call WRAP,poll)
# Reads of a caller's memory, counted.
$B/unit/copy_args $B/unit-san/copy_args: UNIT_LIBS += $(call WRAP,process_vm_readv)
# Steps of a write that fail, or end the process, on order.
$B/unit/vault_file $B/unit-san/vault_file: UNIT_LIBS += $(call WRAP,openat write fsync renameat unlinkat)
# The shim's main and its own calls beside the library's: under other names.
$(OBJ)/shim/nolibc.o $B/san/shim/nolibc.o: CFLAGS += $(filter-out -mstack%,$(BARE))
$(OBJ)/tests/unit/shim_main.o $B/san/tests/unit/shim_main.o: \
    %/tests/unit/shim_main.o: %/shim/main.o
	@mkdir -p $(@D)
	$Qobjcopy --redefine-sym main=shim_main $< $@
$(OBJ)/tests/unit/shim_bare.o $B/san/tests/unit/shim_bare.o: \
    %/tests/unit/shim_bare.o: %/shim/nolibc.o
	@mkdir -p $(@D)
	$Qobjcopy --redefine-sym main=bare_main \
	    $$(nm -g --defined-only $< | sed -n 's/.* T \(.*\)/--redefine-sym \1=bare_\1/p') $< $@
# Prints the tree or the errors of one policy (tests/policy/run.sh).
$B/tests/policy_text: $(call obj,tests/unit/ast_print.o tests/unit/policy_text.o $(POLICY_FRONT))
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
$(foreach d,unit unit-san,$(foreach u,recorder verify query query_altered tamper beside,$B/$d/$u)): \
    | $(LIBEXEC)/kennel-recorder $(LIBEXEC)/kennel-verify
unit: $(UNITS:%=$B/unit/%) $(UNITS:%=$B/unit-san/%)
.PHONY: all unit clean
.SECONDARY:

clean:
	rm -rf $B

# ---- tests: what they are made of -------------------------------------------

TOY = \
	tests/toy/act.o \
	tests/toy/json.o \
	tests/toy/say.o \
	tests/toy/toy.o
WITNESS = \
	tests/witness/files.o \
	tests/witness/hoard.o \
	tests/witness/kernel.o \
	tests/witness/net.o \
	tests/witness/race.o \
	tests/witness/run.o \
	tests/witness/space.o \
	tests/witness/tasks.o \
	tests/witness/tell.o \
	tests/witness/witness.o
TEST_PROGRAMS = $B/tests/toy $B/tests/witness $B/tests/relay $B/tests/spawn $B/tests/floor $B/tests/net_load $B/tests/execs $B/tests/audit $B/tests/ship_quick $B/tests/egress_next_day \
	   $B/tests/policy_text $B/tests/schema $B/tests/scrub

$B/tests/toy: $(call obj,$(TOY))
	$(call link,$(LINKSTATIC),)
$B/tests/witness: $(call obj,$(WITNESS))
	$(call link,$(LINKSTATIC),-pthread)
# For bench only: a plain relay, a spawn timer and the kernel's part of a start.
$B/tests/relay: $(call obj,tests/bench/relay.o)
	$(call link,$(LINKSTATIC),)
$B/tests/spawn: $(call obj,tests/bench/spawn.o)
	$(call link,$(LINKSTATIC),)
$B/tests/floor: $(call obj,tests/bench/floor.o)
	$(call link,$(LINKSTATIC),)
$B/tests/net_load: $(call obj,tests/bench/net_load.o)
	$(call link,-pie,-pthread)
$B/tests/execs: $(call obj,tests/bench/execs.o)
	$(call link,$(LINKSTATIC),-pthread)
$B/tests/decide: $(call obj,tests/bench/decide.o $(UNIT_load))
	$(call link,-pie,$(call PKG_LIBS,libsodium))
# Beside Hyperscan, where that is there.
HAVE_HS	:= $(shell pkg-config --exists libhs 2>/dev/null && echo 1)
$(OBJ)/tests/bench/scrub.o: CPPFLAGS += $(if $(HAVE_HS),-DHAVE_HS)
$B/tests/scrub: $(call obj,tests/bench/scrub.o $(SCRUB))
	$(call link,-pie,$(call PKG_LIBS,libsodium $(if $(HAVE_HS),libhs)))
# Verdicts on schemas and values (tests/schema/compare.mjs).
$B/tests/schema: $(call obj,tests/schema/judge.o $(UNIT_schema))
	$(call link,-pie,$(call PKG_LIBS,libpcre2-8))
# A writer for the log: for the bench, and for what is long.
$B/tests/audit: $(call obj,tests/bench/audit.o supervisor/audit/connect.o shim/base/detach.o \
    supervisor/audit/log/merkle_read.o supervisor/audit/log/schema.o \
    supervisor/audit/log/segment.o $(READER) $(MERKLE) leash/audit/writer.o leash/audit/event.o $(BASE))
	$(call link,-pie,$(call PKG_LIBS,sqlite3 libsodium))

# kennel-ship whose minute has three seconds.
$B/tests/ship_quick: $(call obj,$(SHIP) tests/clock/quick_clock.o)
	$(call link,$(LINKSTATIC) -Wl$(,)--wrap=loop_now,$(call PKG_STATIC,sqlite3 libsodium))
# kennel-egress whose day ends after four seconds.
$B/tests/egress_next_day: $(call obj,$(EGRESS) tests/clock/next_day.o)
	$(call link,$(LINKSTATIC) -Wl$(,)--wrap=policy_days_now,$(call PKG_STATIC,libsodium))

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
	$(call link,-pie $(call WRAP,$(WRAP_REST) seccomp_export_bpf),$(call PKG_LIBS,libseccomp jansson ncursesw sqlite3 libsodium libpcre2-8))
$B/fault/libexec/kennel/kennel-shim $B/fault/libexec/kennel/kennel-verify: \
    $B/fault/libexec/kennel/%: $(LIBEXEC)/%
	@mkdir -p $(@D)
	@cp $< $@
fault: $(FAULT)
.PHONY: fault

# ---- structural proofs ------------------------------------------------------
# Each plants violations of its own and must find them.

# The files that may call secret_expose(), the one way to a secret's bytes.
SECRET_EXPOSERS = leash/vault/server_env.c leash/vault/fingerprint_secret.c leash/scrub/encodings.c \
	leash/remote/oauth_token.c leash/remote/refresh_client.c leash/remote/tokens.c

check-links: $(PROGRAMS) $(call obj,$(LEASH) $(SHIM))
	@OBJ="$(OBJ)" GEN="$B/gen" BIN="$(BIN)" LIBEXEC="$(LIBEXEC)" CC="$(CC)" \
	    LINKHARD="$(LINKHARD)" LINKSTATIC="$(LINKSTATIC)" \
	    KENNEL="$(sort $(KENNEL))" RECORDER="$(RECORDER)" \
	    CONSOLE="$(CONSOLE)" EGRESS="$(EGRESS)" DIAL="$(DIAL)" REMOTE="$(REMOTE)" VERIFY="$(VERIFY)" FIDO="$(FIDO)" FORM="$(FORM)" SHIP="$(SHIP)" SHIM="$(SHIM)" BASE_SMALL="$(BASE_SMALL)" \
	    LEASH="$(LEASH)" KEEPER="$(KEEPER)" SECRET="$(SECRET)" \
	    KENNEL_LIBS="$(call PKG_STATIC,$(LIBRARIES_kennel))" \
	    sh tests/check/links.sh
check-libc: $(PROGRAMS)
	@OBJ="$(OBJ)" GEN="$B/gen" CC="$(CC)" CONFINED="$(CONFINED)" \
	    $(foreach p,$(CONFINED),OBJECTS_$(p)="$(sort $(SOURCES_$(p):.c=.o))") \
	    sh tests/check/libc.sh
check-accessor: $(call obj,$(sort $(LEASH) $(KENNEL)))
	@OBJ="$(OBJ)" CC="$(CC)" SECRET_EXPOSERS="$(SECRET_EXPOSERS)" \
	    sh tests/check/accessor.sh
# The programs in the order of docs/ARCHITECTURE.md; make programs: writes its table.
MEASURED = kennel leash egress dial shim remote recorder verify ship keeper fido secret form console
OBJECTS_kennel = $(KENNEL)
OBJECTS_leash = $(LEASH)
OBJECTS_egress = $(EGRESS)
OBJECTS_dial = $(DIAL)
OBJECTS_shim = $(SHIM)
OBJECTS_remote = $(REMOTE)
OBJECTS_recorder = $(RECORDER)
OBJECTS_verify = $(VERIFY)
OBJECTS_ship = $(SHIP)
OBJECTS_keeper = $(KEEPER)
OBJECTS_fido = $(FIDO)
OBJECTS_secret = $(SECRET)
OBJECTS_form = $(FORM)
OBJECTS_console = $(CONSOLE)
MEASURE = GEN="$B/gen" PROGRAMS="$(MEASURED)" \
	    $(foreach p,$(MEASURED),OBJECTS_$(p)="$(OBJECTS_$(p))" LIBRARIES_$(p)="$(LIBRARIES_$(p))") \
	    sh tests/check/programs.sh
check-programs: $B/gen/stamp
	@$(MEASURE)
programs: $B/gen/stamp
	@UPDATE=1 $(MEASURE)
.PHONY: check-programs programs
check-includes:
	@sh tests/check/includes.sh
check-compile-fail:
	@CC="$(CC)" FLAGS="$(CPPFLAGS) $(CFLAGS)" sh tests/compile_fail/run.sh
.PHONY: check-links check-libc check-accessor check-includes check-compile-fail

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
FUZZ_vault = \
	$(CONTAINER) $(BASE_SMALL) \
	leash/vault/locked_pages.o \
	leash/vault/vault.o \
	shim/base/cause.o \
	shim/base/slurp.o
FUZZ_placeholder	= $(PLACEHOLDER) shim/base/token_checksum.o
FUZZ_plugin_reply	= leash/vault/plugin_reply.o $(FUZZ_condition)
FUZZ_keeper	= $(filter-out leash/keeper/fido_child.o leash/keeper/main.o leash/keeper/peers.o,$(KEEPER))
FUZZ_fido	= leash/keeper/fido/client_data.o leash/keeper/fido/fido_wire.o \
	leash/keeper/fido/signature.o shim/base/wire.o
FUZZ_fields	= leash/secret/fields.o
FUZZ_load	= policy/compile/source_list.o shim/base/buf.o $(POLICY_READ)
FUZZ_condition = \
	policy/sealed/accessors.o \
	policy/sealed/arg_slot.o \
	policy/sealed/condition.o \
	policy/sealed/json_reader.o \
	policy/sealed/match.o \
	policy/sealed/match_mcp.o \
	policy/sealed/match_net_paths.o \
	policy/sealed/row_index.o \
	policy/sealed/values/method_name.o \
	policy/sealed/values/number.o \
	policy/sealed/values/uri.o
FUZZ_failed_start = \
	$(POLICY_READ) \
	$(BASE_SMALL) \
	shim/base/buf.o \
	shim/base/cause.o \
	shim/base/log.o \
	supervisor/launch/failed_start.o
FUZZ_json = \
	shim/base/buf.o \
	supervisor/json/json_access.o \
	supervisor/json/json_canonical.o \
	supervisor/json/json_scan.o \
	supervisor/mcp/oversize_id.o
FUZZ_schema	= $(UNIT_schema)
FUZZ_session	= $(UNIT_frame)
FUZZ_parse	= tests/unit/ast_print.o $(POLICY_FRONT)
FUZZ_manifest	= $(SECRETMETA) policy/print/statement.o $(POLICY_FRONT)
FUZZ_manifest_change	= $(FUZZ_manifest) shim/base/buf.o
FUZZ_sources	= $(POLICY_FRONT)
FUZZ_program	= $(UNIT_lower)
FUZZ_pins	= $(POLICY_FRONT) policy/compile/lower_pins.o policy/compile/source_list.o
FUZZ_id		= \
	policy/sealed/values/number.o \
	supervisor/mcp/line/id.o \
	$(FUZZ_json)
FUZZ_frame	= supervisor/mcp/line/frame.o $(FUZZ_json)
FUZZ_pages	= supervisor/mcp/line/pages.o $(FUZZ_json)
# kennel serve but what starts it, confines it, starts its servers and asks a person
FUZZ_hub = $(sort \
	$(filter supervisor/serve/%,$(filter-out supervisor/serve/hub.o supervisor/serve/hub_control.o \
	    supervisor/serve/secrets_tools.o supervisor/serve/approvals/% \
	    supervisor/serve/launcher/%,$(KENNEL))) \
	$(filter-out tests/%,$(UNIT_frame) $(UNIT_settings) $(UNIT_lower)) $(SCHEMA) $(UNIT_registry) \
	supervisor/base/backoff.o \
	shim/host/codepoint.o \
	shim/host/install_path.o \
	supervisor/base/paths.o \
	supervisor/launch/refused_start.o \
	supervisor/status/hub_wire.o \
	supervisor/status/latency.o)
FUZZ_hub_page	= $(BASE_SMALL) supervisor/status/hub_wire.o
FUZZ_dump	= $(UNIT_registry)
FUZZ_global_file	= $(UNIT_registry)
FUZZ_client_config	= $(filter-out tests/%,$(UNIT_client_config))
# events.c and what has the launcher's socket have stand-ins.
FUZZ_console	= $(filter-out supervisor/console/main.o supervisor/console/launcher.o supervisor/console/browser.o \
	supervisor/console/link_socket.o supervisor/console/command_runs.o supervisor/console/events.o \
	supervisor/console/session_sockets.o, $(CONSOLE))
FUZZ_http_head = \
	shim/base/fd.o \
	shim/base/close_others.o \
	shim/base/loop.o \
	shim/host/http_heads.o \
	shim/host/loopback_peers.o
FUZZ_status	= $(BASE_SMALL) supervisor/status/status_wire.o
FUZZ_wire = \
	$(filter-out leash/drain.o leash/main.o leash/recorder_link.o,$(LEASH)) \
	shim/reap.o \
	shim/restrict.o \
	supervisor/launch/leash_client.o \
	supervisor/launch/leash_message.o
FUZZ_FLAGS_wire	= $(shell pkg-config --cflags libnl-3.0)
FUZZ_copy_args	= leash/exec/copy_args.o
FUZZ_query = \
	$(HELP) $(READER) $(MERKLE) $(PATHS) $(BASE) \
	leash/audit/event.o \
	leash/audit/writer.o \
	supervisor/audit/audit_help.o \
	supervisor/audit/log/merkle_read.o \
	supervisor/audit/log/schema.o \
	supervisor/audit/log/segment.o \
	supervisor/audit/query/describe.o \
	supervisor/audit/query/escape.o \
	supervisor/audit/query/log_view.o \
	supervisor/audit/query/options.o \
	supervisor/audit/query/record.o \
	supervisor/audit/query/scan.o \
	supervisor/audit/query/table.o \
	supervisor/audit/report/export.o \
	supervisor/audit/report/ocsf.o \
	supervisor/audit/ship/syslog_line.o \
	supervisor/base/layout.o \
	shim/host/install_path.o \
	supervisor/base/paths.o \
	supervisor/base/terminal.o
FUZZ_record_read	= supervisor/audit/log/record_read.o
FUZZ_kept	= supervisor/audit/ship/progress.o $(MERKLE) $(BASE)
FUZZ_signed_note	= $(MERKLE) $(BASE)
FUZZ_lint	= $(LINT)
FUZZ_learn	= $(filter-out leash/% tests/%,$(UNIT_learn))
FUZZ_search	= $(filter-out tests/%,$(UNIT_search))
FUZZ_settings	= $(filter-out tests/%,$(UNIT_settings))
FUZZ_nsswitch = \
	$(BASE_SMALL) \
	shim/base/slurp.o \
	shim/host/nsswitch.o
FUZZ_subid = \
	$(BASE_SMALL) \
	shim/base/slurp.o \
	shim/host/passwd_line.o \
	shim/host/subid.o
FUZZ_current	= policy/sealed/trusted_keys.o shim/base/hex.o
FUZZ_diff	= tests/fuzz/diff_requests.o $(UNIT_lower)
FUZZ_mountinfo	= leash/cell/mountinfo.o
FUZZ_npm	= $(filter-out tests/%,$(UNIT_install))
FUZZ_log	= $(filter-out supervisor/audit/verify/main.o supervisor/audit/verify/check_proof.o \
	   supervisor/audit/log/sqlite_noload.o,$(VERIFY))
FUZZ_dns	= leash/egress/dns.o
FUZZ_client_hello	= leash/egress/client_hello.o
FUZZ_remote_message = \
	leash/remote/message.o \
	shim/base/buf.o
FUZZ_tool_headers = \
	leash/remote/message.o \
	leash/remote/tool_headers.o \
	shim/base/buf.o
FUZZ_response_head = \
	leash/remote/challenge.o \
	leash/remote/response_head.o
FUZZ_challenge	= leash/remote/challenge.o
FUZZ_oauth_reply = \
	leash/remote/message.o \
	leash/remote/oauth_reply.o \
	shim/base/buf.o
FUZZ_oauth_text = \
	leash/remote/oauth_text.o \
	shim/base/buf.o \
	shim/base/hex.o
FUZZ_sse	= leash/remote/sse.o shim/base/buf.o
FUZZ_dial = \
	$(BASE_SMALL) \
	leash/egress/dial_wire.o \
	leash/egress/egress_wire.o
FUZZ = \
	challenge \
	client_config \
	client_hello \
	condition \
	console \
	copy_args \
	current \
	dial \
	diff \
	dns \
	dump \
	failed_start \
	fido \
	fields \
	frame \
	global_file \
	http_head \
	hub \
	hub_page \
	id \
	json \
	keeper \
	kept \
	learn \
	lint \
	load \
	log \
	manifest \
	manifest_change \
	mountinfo \
	npm \
	nsswitch \
	oauth_reply \
	oauth_text \
	pages \
	parse \
	pins \
	placeholder \
	plugin_reply \
	program \
	query \
	record_read \
	remote_message \
	response_head \
	schema \
	scrub \
	search \
	session \
	settings \
	signed_note \
	sources \
	sse \
	status \
	subid \
	tool_headers \
	vault \
	wire

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
	$Qclang -g -O1 -std=gnu11 $(CPPFLAGS) $$(FUZZ_FLAGS_$(1)) \
	    -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -o $$@ $$(filter %.c,$$^) $$(UNIT_LIBS)
endef
$(foreach f,$(FUZZ),$(eval $(call fuzz_rule,$f)))
$(foreach d,fuzz replay valgrind,$B/$d/console): UNIT_LIBS += $(call PKG_LIBS,libmicrohttpd)
$(foreach d,fuzz replay valgrind,$B/$d/fido): UNIT_LIBS += $(call PKG_LIBS,libfido2)
# Each for FUZZ_SECONDS, those of FUZZ_LONG twice as long, two at a time; a finding's
# input stays in build/fuzz/found.
FUZZ_SECONDS ?= 300
FUZZ_LONG = scrub session load
fuzz: deps
	@$(MAKE) --no-print-directory $(FUZZ:%=$B/fuzz/%)
	@FUZZ_SECONDS=$(FUZZ_SECONDS) FUZZ_LONG="$(FUZZ_LONG)" sh tests/fuzz/fuzz.sh $(FUZZ)
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

# Compiles on every processor, unless make was told how.
PARALLEL = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))

deps:
	@sh tests/lib/deps.sh build test
deps-build:
	@sh tests/lib/deps.sh build
test: deps
	@$(MAKE) --no-print-directory $(PARALLEL) tests-built
	@python3 tests/run.py test
check: deps
	@$(MAKE) --no-print-directory $(PARALLEL) all
	@python3 tests/run.py check
demo: deps-build
	@sh tests/lib/deps.sh demo
	+@python3 tests/demo/progress.py $(MAKE) --no-print-directory $(PARALLEL) all
	@python3 tests/demo/demo.py
bench: deps-build
	@sh tests/lib/deps.sh test bench
	@$(MAKE) --no-print-directory $(PARALLEL) tests-built
	@python3 tests/bench/bench.py
# Long: how what a user waits for grows with how much there is of it (12 GB in /var/tmp).
bench-growth: deps-build
	@sh tests/lib/deps.sh test
	@$(MAKE) --no-print-directory $(PARALLEL) tests-built $B/tests/decide
	@python3 tests/bench/growth.py
.PHONY: bench-growth
# Long: two million texts with a value in every encoding, cut everywhere.
scrub-long: deps-build
	@$(MAKE) --no-print-directory $B/unit/scrub $B/unit/scrub_encodings
	@CASES=1000000 $B/unit/scrub
	@CASES=2000000 $B/unit/scrub_encodings
# Long: a million texts of this machine through the confined leash, as root and as
# a user, and every form of every kind of value cut at each place.
scrub-texts: deps
	@$(MAKE) --no-print-directory $(PARALLEL) tests-built
	@KENNEL_TEXTS=1000000 KENNEL_CUTS=100000 KENNEL_JOB_SECONDS=14400 \
	    nice python3 tests/run.py test e2e_scrub
.PHONY: scrub-long scrub-texts
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
	@$(MAKE) --no-print-directory $B/unit/recorder $B/unit/recorder_steps $B/fault/libexec/kennel/kennel-recorder
	@KENNEL_AUDIT_KILLS=500 $B/unit/recorder
	@KENNEL_AUDIT_KILLS=500 $B/unit/recorder_steps
audit-long: deps
	@$(MAKE) --no-print-directory all $B/tests/audit
	@python3 tests/bench/audit.py 10000000
.PHONY: audit-kill audit-long
# Long, and needs npm once: the official suite and clients, bare and through
# kennel.
conformance: deps-build
	@$(MAKE) --no-print-directory $(PARALLEL) all
	@python3 tests/conformance/run.py
# Verdicts on tool arguments, beside those of ajv: VALUES of each kind of schema.
VALUES	?= 10000
SEED	?= 1
test-schema: deps
	@$(MAKE) --no-print-directory $B/tests/schema
	@VALUES=$(VALUES) SEED=$(SEED) sh tests/schema/run.sh
.PHONY: test-schema
# The same for kennel serve in front of three servers.
conformance-serve: deps-build
	@$(MAKE) --no-print-directory $(PARALLEL) all
	@python3 tests/conformance/serve.py
# The same for a server at a URL, over HTTP on both sides.
conformance-remote: deps-build
	@$(MAKE) --no-print-directory $(PARALLEL) all
	@python3 tests/conformance/remote.py
# Long: a thousand sessions with a server at a URL, one after the other.
remote-long: deps
	@$(MAKE) --no-print-directory $(PARALLEL) tests-built
	@KENNEL_REMOTE_SESSIONS=1000 python3 tests/run.py test e2e_remote
.PHONY: conformance-remote remote-long
# The network with real servers and clients (nginx, PostgreSQL, redis, sshd, git, npm) and
# under load: tests/net/README.md.
test-net: deps-build
	@sh tests/lib/deps.sh test net
	@$(MAKE) --no-print-directory $(PARALLEL) tests-built
	@python3 tests/run.py net
# The network with Chromium.
test-browser: deps-build
	@sh tests/lib/deps.sh test browser
	@$(MAKE) --no-print-directory $(PARALLEL) tests-built
	@python3 tests/run.py browser
# Dialogs of the distribution's pinentries, on a terminal and under Xvfb.
test-dialogs: deps-build
	@sh tests/lib/deps.sh test dialogs
	@$(MAKE) --no-print-directory $(PARALLEL) tests-built
	@python3 tests/run.py dialogs
# Pictures of the console for docs/, from a run in Chromium.
screens: deps-build
	@sh tests/lib/deps.sh test browser
	@$(MAKE) --no-print-directory $(PARALLEL) tests-built
	@python3 tests/run.py screens
.PHONY: test-net test-browser test-dialogs screens
# Long, and needs npm once: servers of other people under policy/presets, and
# the runtimes of languages under the allow-list of system calls.
servers: deps-build
	@$(MAKE) --no-print-directory $(PARALLEL) all
	@python3 tests/servers/servers.py
	@python3 tests/servers/serve.py
# The same for the drafts of kennel init: 45 servers, in three ways.
test-drafts: deps-build
	@$(MAKE) --no-print-directory $(PARALLEL) all
	@python3 tests/servers/drafts.py
# Twenty-two servers through kennel install, learn and run.
test-learn: deps-build
	@$(MAKE) --no-print-directory $(PARALLEL) all
	@python3 tests/learn/learn.py
.PHONY: conformance conformance-serve servers test-drafts test-learn
tests-built: all unit $(TEST_PROGRAMS) $(RACE_PROGRAMS)
.PHONY: deps deps-build test check demo bench tests-built

# ---- install ----------------------------------------------------------------

MANPAGES = $(wildcard docs/man/*.[1-8])

# Where install puts each file: below the prefix, directory and file.
SHARE	= $(DESTDIR)$(PREFIX)/share
BASHDIR	= $(SHARE)/bash-completion/completions
ZSHDIR	= $(SHARE)/zsh/site-functions
FISHDIR	= $(SHARE)/fish/vendor_completions.d
HELPERS	= $(notdir $(filter $(LIBEXEC)/%,$(PROGRAMS)))
MANDIR	= $(SHARE)/man/man$(subst .,,$(suffix $(1)))
COMPLETIONS = supervisor/help/completions

install: all
	install -d -m 755 $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/libexec/kennel
	install -m 755 $(BIN)/kennel $(DESTDIR)$(PREFIX)/bin/kennel
	install -m 755 $(HELPERS:%=$(LIBEXEC)/%) $(DESTDIR)$(PREFIX)/libexec/kennel
	@# who cannot read a program cannot take descriptors of it, from its start on
	chmod 711 $(DESTDIR)$(PREFIX)/libexec/kennel/kennel-fido
	install -D -m 644 -t $(SHARE)/kennel/presets $(wildcard policy/presets/*.kennel)
	install -D -m 644 docs/debian/apparmor/kennel $(SHARE)/kennel/apparmor/kennel
	sed -i 's|@PREFIX@|$(PREFIX)|' $(SHARE)/kennel/apparmor/kennel
	$(foreach m,$(MANPAGES),install -D -m 644 -t $(call MANDIR,$m) $m;)
	install -D -m 644 $(COMPLETIONS)/kennel.bash $(BASHDIR)/kennel
	install -D -m 644 $(COMPLETIONS)/_kennel $(ZSHDIR)/_kennel
	install -D -m 644 $(COMPLETIONS)/kennel.fish $(FISHDIR)/kennel.fish
	@$(if $(DESTDIR),:,sh tests/lib/path_hint.sh "$(PREFIX)")

# Removes what install put there.  Directories that other packages use stay, unless
# they are empty and below DESTDIR.
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/kennel \
	    $(HELPERS:%=$(DESTDIR)$(PREFIX)/libexec/kennel/%) \
	    $(patsubst policy/presets/%,$(SHARE)/kennel/presets/%,$(wildcard policy/presets/*.kennel)) \
	    $(SHARE)/kennel/apparmor/kennel \
	    $(foreach m,$(MANPAGES),$(call MANDIR,$m)/$(notdir $m)) \
	    $(BASHDIR)/kennel $(ZSHDIR)/_kennel $(FISHDIR)/kennel.fish
	for d in $(DESTDIR)$(PREFIX)/libexec/kennel $(SHARE)/kennel/presets \
	    $(SHARE)/kennel/apparmor $(SHARE)/kennel; do \
	    [ ! -d "$$d" ] || rmdir --ignore-fail-on-non-empty "$$d"; done
	$(if $(DESTDIR),cd $(DESTDIR) && for d in bin libexec share/kennel \
	    $(sort $(foreach m,$(MANPAGES),$(patsubst $(DESTDIR)$(PREFIX)/%,%,$(call MANDIR,$m)))) \
	    $(patsubst $(DESTDIR)$(PREFIX)/%,%,$(BASHDIR) $(ZSHDIR) $(FISHDIR)); do \
	    [ ! -d .$(PREFIX)/$$d ] || \
	    rmdir -p --ignore-fail-on-non-empty $(PREFIX:/%=%)/$$d; done)
.PHONY: install uninstall

# ---- the Debian package --------------------------------------------------------
# build/deb/kennel_VERSION_ARCH.deb; docs/debian has what it is made with.

deb: deps-build
	@sh tests/lib/deps.sh deb
	@sh docs/debian/build.sh $(CURDIR)/build/deb
	@ls build/deb/*.deb
# Long, and needs Debian's archive: built twice, checked, installed in a fresh root.
test-deb: deb
	@sh tests/lib/deps.sh deb-test
	@bash tests/deb/test_deb.sh
.PHONY: deb test-deb

# Not all of build/: a package from npm may have a .d of another kind.
-include $(shell find $(OBJ) $B/san $B/host -name '*.d' 2>/dev/null)
