/*
 * Each allocation fails once, in the rooms that take what comes from outside: no
 * crash and, under the sanitizers, nothing lost; what was said is an error or
 * right.  (make soak does the same to whole programs.)
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "leash/scrub/scrub.h"
#include "leash/vault/vault.h"
#include "shim/base/array.h"
#include "tests/unit/mcp_rig.h"
#include "tests/unit/nomem.h"

/* ---- a session ------------------------------------------------------------------- */

static const struct rig_gate gates[] = {
    {GATE_TOOL, "read_*", VERDICT_ALLOW, NULL, 0},
    {GATE_TOOL, "read_key", VERDICT_DENY, "private", 0},
    {GATE_RESOURCE, "file:///pub/*", VERDICT_ALLOW, NULL, 0},
};

static const struct {
	int from_agent;
	const char *line;
} talk[] = {
    {1, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
	"\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{}}}"},
    {0, "{\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{}},"
	"\"jsonrpc\":\"2.0\",\"id\":0}"},
    {1, "{\"jsonrpc\":\"2.0\",\"method\":\"tools/list\",\"id\":1}"},
    {0, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"read_a\","
	"\"inputSchema\":{}},{\"name\":\"other\",\"inputSchema\":{}}]}}"},
    {1, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"tools/call\",\"params\":{"
	"\"name\":\"read_a\",\"arguments\":{\"b\":[1,2,{\"c\":null}]}}}"},
    {0, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}"},
    {1, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{"
	"\"name\":\"read_key\"}}"},
    {1, "[{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"},{\"jsonrpc\":\"2.0\","
	"\"id\":4,\"method\":\"tools/call\",\"params\":{\"name\":\"no\"}}]"},
    {1, "{\"not\":\"json"},
    {0, "no message"},
    {0, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"sampling/createMessage\","
	"\"params\":{}}"},
    {1, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{"
	"\"name\":\"read_slow\"}}"},
};

/* A tool that is not granted is not called, with or without memory. */
static void
no_denied_call(const struct rig *rig)
{
	if (rig->server_got.len == 0)
		return;
	assert_null(memmem(rig->server_got.data, rig->server_got.len, "read_key", 8));
	assert_null(memmem(rig->server_got.data, rig->server_got.len, "\"no\"", 4));
}

static void
session_once(void)
{
	static struct rig rig;

	rig_policy(&rig, 0, gates, 3, NULL, 0);
	rig_open(&rig, false);
	for (size_t i = 0; rig.session != NULL && i < ARRAY_LEN(talk); i++) {
		int fd = talk[i].from_agent ? rig.from_agent : rig.out;

		rig_bytes(&rig, fd, talk[i].line, strlen(talk[i].line));
		rig_bytes(&rig, fd, "\n", 1);
	}
	if (rig.session != NULL) {
		session_server_gone(rig.session, "the end");
		rig_run(&rig, 0);
	}
	no_denied_call(&rig);
	rig_close(&rig);
}

static void
session(void **state)
{
	(void)state;
	print_message("session: %u points\n", each_fails(session_once));
}

/* ---- secrets and their scrub ------------------------------------------------------- */

#define VALUE "correct-horse-battery-staple"

static void
scrub_once(void)
{
	static const char said[] = "it is " VALUE " and \"" VALUE "\"\n";
	struct scrub_stream *stream = NULL;
	struct secret *secret = NULL;
	struct scrub *scrub = NULL;
	struct vault *vault = NULL;
	struct env *env = NULL;
	struct buf out;
	struct reason why;
	int r;

	buf_init(&out, 1 << 16);
	r = vault_new(1 << 16, &vault);
	if (r == 0 && setenv("KENNEL_NOMEM", VALUE, 1) == 0)
		r = secret_from_env(vault, "KENNEL_NOMEM", &secret, &why);
	if (r == 0)
		r = env_new(&env);
	if (r == 0)
		r = env_plain(env, "A", "b");
	if (r == 0)
		r = env_secret(env, "T", secret);
	if (r == 0)
		r = scrub_new(&scrub);
	if (r == 0)
		r = scrub_learn(scrub, secret, 0);
	if (r == 0)
		r = scrub_stream_new(scrub, &stream);
	for (size_t at = 0; r == 0 && at < sizeof(said) - 1; at += 7) {
		size_t n = sizeof(said) - 1 - at;

		r = scrub_feed(stream, said + at, n < 7 ? n : 7, &out);
	}
	if (r == 0)
		r = scrub_flush(stream, &out);
	if (out.len > 0)
		assert_null(memmem(out.data, out.len, VALUE, strlen(VALUE)));
	if (r == 0)
		assert_non_null(memmem(out.data, out.len, "it is ***", 9));
	scrub_stream_free(stream);
	scrub_free(scrub);
	env_free(env);
	vault_free(vault);
	buf_free(&out);
}

static void
scrub(void **state)
{
	(void)state;
	print_message("scrub: %u points\n", each_fails(scrub_once));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(session),
	    cmocka_unit_test(scrub),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
