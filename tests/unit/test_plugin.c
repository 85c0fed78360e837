/*
 * Plugins that answer for secrets: what they may say, what they are told, what is
 * done with one that fails.  S1-124
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "leash/vault/plugin.h"
#include "leash/vault/plugin_reply.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "tests/unit/corpus.h"

#define SENTINEL "sentinel-4kP1x-value"
#define INIT \
	"read -r l\n" \
	"echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocol_version\":1," \
	"\"capabilities_bits\":1}}'\n"
#define AVAILABLE \
	"read -r l\n" \
	"echo '{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"available\":true}}'\n"
#define VALUE(id, v) \
	"read -r l\n" \
	"printf '%s\\n' '{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"result\":{\"value\":\"" v \
	"\"}}'\n"
#define ERROR(id, data) \
	"read -r l\n" \
	"echo '{\"jsonrpc\":\"2.0\",\"id\":" #id \
	",\"error\":{\"code\":1,\"message\":\"" SENTINEL "\"" data "}}'\n"

static char folder[64];
static int run_dir = -1;
static struct vault *vault;
static struct plugins *plugins;

static char *
in_folder(const char *name)
{
	static char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static int
setup(void **state)
{
	/* An answer is waited for long, and a hang as long as a test can bear. */
	static const struct plugin_times times = {
	    .wait = 60000, .stop = 20000, .idle = 60000};

	(void)state;
	(void)strcpy(folder, "/tmp/kennel-test-plugin.XXXXXX");
	if (mkdtemp(folder) == NULL)
		return -1;
	run_dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (vault_new(1u << 20, &vault) < 0)
		return -1;
	return plugins_new(run_dir, &times, &plugins);
}

static int
teardown(void **state)
{
	char command[128];

	(void)state;
	plugins_free(plugins);
	vault_free(vault);
	close(run_dir);
	(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command); /* NOLINT(cert-env33-c): a folder of the test */
}

/* The plugin of this script, and its digest. */
static struct plugin_ask
plugin(const char *name, const char *script)
{
	static char path[8][128], text[1u << 16];
	static size_t next;
	char *to = path[next++ % 8];
	int fd, len;
	struct plugin_ask ask = {.source = name, .reference = "kv/token"};
	static const char *const none[] = {NULL};

	(void)snprintf(to, 128, "%s/%s", folder, name);
	len = snprintf(text, sizeof(text), "%s%s",
	    strncmp(script, "#!", 2) == 0 ? "" : "#!/bin/sh\n", script);
	(void)unlink(to);
	fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, (size_t)len), len);
	assert_int_equal(close(fd), 0);
	policy_digest(text, (size_t)len, ask.digest);
	ask.program = to;
	ask.env = none;
	return ask;
}

static struct reason why;

static int
get(const struct plugin_ask *ask, struct secret **ret)
{
	int r;

	why.text[0] = '\0';
	*ret = NULL;
	r = plugins_get(plugins, vault, ask, ret, &why);
	assert_null(strstr(why.text, "sentinel")); /* whatever went wrong */
	assert_true(r == 0 || why.text[0] != '\0');
	return r;
}

/* Like get(), of a plugin that failed before: as if its time were over. */
static void
forgiven(const char *name)
{
	char path[160];

	(void)snprintf(path, sizeof(path), "plugin.%s.crashes", name);
	(void)unlinkat(run_dir, path, 0);
}

static void
refused(const char *script, int r, const char *word)
{
	struct plugin_ask ask = plugin("bad", script);
	struct secret *s;

	forgiven("bad");
	assert_int_equal(get(&ask, &s), r);
	assert_null(s);
	if (strstr(why.text, word) == NULL)
		fail_msg("%s: no \"%s\"", why.text, word);
	assert_non_null(strstr(why.text, "source bad, plugin /"));
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* none is left */
	assert_int_equal(errno, ECHILD);
}

/* ---- what is answered ---- */

static void
a_value_is_asked_for_by_its_reference(void **state)
{
	struct plugin_ask ask = plugin("good", INIT AVAILABLE
	    "read -r l\ncase $l in *'\"kv/token\"'*) v=" SENTINEL ";; *) v=other;; esac\n"
	    "echo "
	    "'{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"value\":\"'$v'\"}}'\n" VALUE(
		4, "second \\u00e9\\n\\ud83d\\ude00 \\\"v\\\"\\/"));
	struct secret *s;

	(void)state;
	assert_int_equal(get(&ask, &s), 0);
	assert_true(secret_equals(s, SENTINEL, strlen(SENTINEL)));
	/* the same process answers again, and what is escaped is decoded */
	assert_int_equal(get(&ask, &s), 0);
	assert_string_equal(secret_expose(s), "second \303\251\n\360\237\230\200 \"v\"/");
}

static void
its_environment_is_what_is_named(void **state)
{
	static const char *const env[] = {"ACME_ADDR=https://acme.example", "HOME", NULL};
	struct plugin_ask ask = plugin("env", INIT AVAILABLE
	    "read -r l\nv=$(env | tr '\\n' ' ')\n"
	    "echo \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":3,\\\"result\\\":"
	    "{\\\"value\\\":\\\"$v\\\"}}\"\n");
	struct secret *s;

	(void)state;
	assert_int_equal(setenv("KENNEL_T_LEAK", SENTINEL, 1), 0);
	assert_int_equal(setenv("HOME", "/nonexistent/home", 1), 0);
	ask.env = env;
	assert_int_equal(get(&ask, &s), 0);
	assert_non_null(strstr(secret_expose(s), "PATH=/usr/local/bin:/usr/bin:/bin "));
	assert_non_null(strstr(secret_expose(s), "ACME_ADDR=https://acme.example "));
	assert_non_null(strstr(secret_expose(s), "HOME=/nonexistent/home "));
	assert_null(strstr(secret_expose(s), "LANG="));
	assert_null(strstr(secret_expose(s), "KENNEL_T_LEAK"));
	assert_int_equal(unsetenv("KENNEL_T_LEAK"), 0);
}

/* What it logs in with stands in its first request and nowhere else. */
static void
a_credential_is_told_by_init(void **state)
{
	struct plugin_ask ask = plugin("login",
	    "read -r l\ncase $l in "
	    "*'\"credentials\":{\"ACME_TOKEN\":\"sentinel-4kP1x-value\"}'*) ;; "
	    "*) exit 1;; esac\n"
	    "if env | grep -q sentinel; then exit 1; fi\n"
	    "if tr '\\0' '\\n' </proc/self/cmdline | grep -q sentinel; then exit 1; fi\n"
	    "echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocol_version\":1,"
	    "\"capabilities_bits\":3,\"name\":\"acme\",\"more\":[{\"a\":[1,\"]\"]}]}}'"
	    "\n" AVAILABLE VALUE(3, "logged in"));
	struct plugin_credential c = {.name = "ACME_TOKEN"};
	struct secret *s, *token;

	(void)state;
	assert_int_equal(setenv("KENNEL_T_TOKEN", SENTINEL, 1), 0);
	assert_int_equal(secret_from_env(vault, "KENNEL_T_TOKEN", &token, &why), 0);
	c.value = token;
	ask.credential = &c;
	ask.credential_n = 1;
	assert_int_equal(get(&ask, &s), 0);
	assert_string_equal(secret_expose(s), "logged in");
}

static void
it_stands_behind_the_fence(void **state)
{
	char script[1024];
	struct plugin_ask ask;
	struct secret *s;

	(void)state;
	(void)snprintf(script, sizeof(script),
	    INIT AVAILABLE
	    "read -r l\nif (echo x >%s/w) 2>/dev/null; then v=written; else v=refused; "
	    "fi\n"
	    "echo '{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"value\":\"'$v'\"}}'\n",
	    folder);
	ask = plugin("fence", script);
	assert_int_equal(get(&ask, &s), 0);
	assert_string_equal(secret_expose(s), "refused");
	ask = plugin("open", script); /* the control */
	ask.may = SECRET_CMD_WRITE;
	assert_int_equal(get(&ask, &s), 0);
	assert_string_equal(secret_expose(s), "written");
}

/* ---- what is refused ---- */

static void
what_breaks_the_protocol_is_ended(void **state)
{
	(void)state;
	refused("exit 3\n", -EPIPE, "secret_source.init: it ended");
	refused(
	    INIT AVAILABLE "read -r l\nexit 0\n", -EPIPE, "secret_source.get: it ended");
	refused("read -r l\necho " SENTINEL "\n", -EPROTO, "invalid JSON");
	refused(
	    "read -r l\necho '{\"value\":\"" SENTINEL "\"}'\n", -EPROTO, "unknown name");
	refused("read -r l\necho '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}'\n",
	    -EPROTO, "another version of the protocol");
	refused("read -r l\necho '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":"
		"{\"protocol_version\":2,\"capabilities_bits\":1}}'\n",
	    -EPROTO, "another version of the protocol");
	refused("read -r l\necho '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":"
		"{\"protocol_version\":1,\"capabilities_bits\":2}}'\n",
	    -EPROTO, "READ");
	refused(INIT AVAILABLE VALUE(2, SENTINEL), -EPROTO, "a reply to another request");
	refused(INIT AVAILABLE
	    "read -r l\nprintf '%s\\n%s\\n' '{\"jsonrpc\":\"2.0\",\"id\":3,"
	    "\"result\":{\"value\":\"" SENTINEL "\"}}' more\n",
	    -EPROTO, "more than one line");
	refused(INIT AVAILABLE
	    "read -r l\necho '{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}'\n",
	    -EPROTO, "a reply without a value");
	refused(INIT AVAILABLE
	    "read -r l\necho '{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":"
	    "{\"value\":\"" SENTINEL "\",\"value\":\"b\"}}'\n",
	    -EPROTO, "duplicate name");
}

/* Ten megabytes without a newline: half of one is read. */
static void
what_prints_for_ever_is_ended(void **state)
{
	(void)state;
	refused("read -r l\nhead -c 10485760 /dev/zero | tr '\\0' s\n", -EFBIG,
	    "it sent more than 512 KiB");
}

static void
what_hangs_is_ended(void **state)
{
	static const struct plugin_times times = {
	    .wait = 300, .stop = 20000, .idle = 60000};

	(void)state;
	plugins_free(plugins);
	plugins = NULL;
	assert_int_equal(plugins_new(run_dir, &times, &plugins), 0);
	refused("read -r l\nprintf '{\"jsonrpc\":'\ntrap '' TERM\nsleep 1000\n",
	    -ETIMEDOUT, "secret_source.init: it does not answer");
}

static void
a_no_is_told_by_its_kind(void **state)
{
	(void)state;
	refused(INIT "read -r l\necho '{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":"
		     "{\"available\":false}}'\nread -r l\n",
	    -EREMOTEIO, "secret_source.is_available: unavailable");
	refused(ERROR(1, ",\"data\":{\"kind\":\"needs-credential\"}") "read -r l\n",
	    -ENOKEY, "secret_source.init: needs-credential");
}

static void
a_bad_reference_is_no_failure(void **state)
{
	struct plugin_ask ask = plugin("no",
	    INIT AVAILABLE ERROR(3, ",\"data\":{\"kind\":\"bad-reference\",\"x\":1}")
		ERROR(4, ",\"data\":{\"kind\":\"unsupported-capability\"}")
		    ERROR(5, ",\"data\":7") VALUE(6, "at last"));
	struct secret *s;

	(void)state;
	assert_int_equal(get(&ask, &s), -ENOENT);
	assert_non_null(strstr(why.text, "secret_source.get: bad-reference"));
	assert_int_equal(get(&ask, &s), -EREMOTEIO);
	assert_non_null(strstr(why.text, "unsupported-capability"));
	assert_int_equal(get(&ask, &s), -EREMOTEIO);
	assert_non_null(strstr(why.text, "get: other"));
	assert_int_equal(get(&ask, &s), 0); /* it was not ended, nor is it counted */
}

static void
what_no_secret_can_be_is_refused(void **state)
{
	static char script[1u << 16];
	struct plugin_ask ask =
	    plugin("odd", INIT AVAILABLE VALUE(3, "") VALUE(4, "abc")
			      VALUE(5, "a\\u0000bcdef") VALUE(6, "line\\n"));
	struct secret *s;

	(void)state;
	assert_int_equal(get(&ask, &s), -ENOENT);
	assert_int_equal(get(&ask, &s), -EINVAL);
	assert_int_equal(get(&ask, &s), -EINVAL);
	assert_int_equal(get(&ask, &s), 0);
	assert_string_equal(secret_expose(s), "line\n"); /* it says what it means */
	(void)snprintf(script, sizeof(script),
	    INIT AVAILABLE
	    "read -r l\nprintf '{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"value\":\"'\n"
	    "head -c 65537 /dev/zero | tr '\\0' s\necho '\"}}'\n");
	ask = plugin("big", script);
	assert_int_equal(get(&ask, &s), -EFBIG);
	assert_non_null(strstr(why.text, "the value is bigger than 64 KiB"));
}

/* ---- which program ---- */

static void
append(const char *path)
{
	int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "\n", 1), 1);
	assert_int_equal(close(fd), 0);
}

static void
another_program_is_not_run(void **state)
{
	struct plugin_ask ask = plugin("swap", INIT AVAILABLE VALUE(3, SENTINEL));
	char link_path[128];
	struct secret *s;

	(void)state;
	append(ask.program);
	assert_int_equal(get(&ask, &s), -EACCES);
	assert_non_null(strstr(why.text, "digest"));
	ask = plugin("swap", INIT AVAILABLE VALUE(3, SENTINEL));
	assert_int_equal(chmod(ask.program, 0720), 0);
	assert_int_equal(get(&ask, &s), -EACCES);
	assert_non_null(strstr(why.text, "may write it"));
	assert_int_equal(chmod(ask.program, 0600), 0);
	assert_int_equal(get(&ask, &s), -EACCES);
	assert_int_equal(chmod(ask.program, 0700), 0);
	(void)snprintf(link_path, sizeof(link_path), "%s", in_folder("link"));
	assert_int_equal(symlink(ask.program, link_path), 0);
	ask.program = link_path;
	assert_int_equal(get(&ask, &s), -EACCES);
	assert_non_null(strstr(why.text, "symbolic link"));
	ask.program = in_folder("none");
	assert_int_equal(get(&ask, &s), -EACCES);
	ask.program = folder;
	assert_int_equal(get(&ask, &s), -EACCES);
	ask = plugin("swap", INIT AVAILABLE VALUE(3, SENTINEL)); /* the control */
	assert_int_equal(get(&ask, &s), 0);
}

static const char *
may_write(void *path, const char *at)
{
	return strcmp(path, at) == 0 ? "server t may write (f:1)" : NULL;
}

/* The digest of a plugin says nothing about what env(1) runs by its first line. */
static void
the_argument_of_its_first_line_is_judged(void **state)
{
	struct plugin_ask ask;
	struct secret *s;
	char tool[128], script[2048];

	(void)state;
	ask = plugin("tool", "#!/bin/sh\nexec /bin/sh \"$@\"\n");
	(void)snprintf(tool, sizeof(tool), "%s", ask.program);
	(void)snprintf(script, sizeof(script), "#!/usr/bin/env %s\n" INIT AVAILABLE "%s",
	    tool, VALUE(3, SENTINEL));
	ask = plugin("by-env", script);
	vault_judge(vault, may_write, tool);
	assert_int_equal(get(&ask, &s), -EACCES);
	assert_non_null(strstr(why.text, "has the argument"));
	vault_judge(vault, NULL, NULL);
	assert_int_equal(get(&ask, &s), 0); /* the control */
}

/* What is written into the file once it runs is not what runs: the script reads
 * itself from the copy. */
static void
a_change_while_it_starts_changes_nothing(void **state)
{
	static char script[1u << 16];
	struct plugin_ask ask;
	struct secret *s;
	char line[256];

	(void)state;
	/* its first act is to put another script in its own place; its fence is open
	 * for that */
	(void)snprintf(line, sizeof(line), "echo 'echo " SENTINEL "' >%s/self\n", folder);
	(void)snprintf(script, sizeof(script), "%s" INIT AVAILABLE "%s", line,
	    VALUE(3, "from the copy"));
	ask = plugin("self", script);
	ask.may = SECRET_CMD_WRITE;
	assert_int_equal(get(&ask, &s), 0);
	assert_string_equal(secret_expose(s), "from the copy");
	plugins_free(plugins);
	plugins = NULL;
	assert_int_equal(plugins_new(run_dir, NULL, &plugins), 0);
	assert_int_equal(get(&ask, &s), -EACCES); /* the control: it was written */
}

/* ---- how often ---- */

static void
crashes_are_counted(void **state)
{
	uint64_t wait, t = 1000000000;

	(void)state;
	assert_int_equal(plugin_failures_may(run_dir, "c", t, &wait), 0);
	assert_int_equal(plugin_failures_note(run_dir, "c", t), 0);
	assert_int_equal(plugin_failures_may(run_dir, "c", t, &wait), -EAGAIN);
	assert_int_equal(wait, PLUGIN_BACK_MS);
	assert_int_equal(plugin_failures_may(run_dir, "c", t + PLUGIN_BACK_MS, &wait), 0);
	t += 2000;
	assert_int_equal(plugin_failures_note(run_dir, "c", t), 0);
	assert_int_equal(
	    plugin_failures_may(run_dir, "c", t + 2 * PLUGIN_BACK_MS - 1, &wait),
	    -EAGAIN);
	assert_int_equal(wait, 1);
	assert_int_equal(
	    plugin_failures_may(run_dir, "c", t + 2 * PLUGIN_BACK_MS, &wait), 0);
	/* the third within a minute: off for five */
	t += 50000;
	assert_int_equal(plugin_failures_note(run_dir, "c", t), 0);
	assert_int_equal(plugin_failures_may(run_dir, "c", t + 1, &wait), -EAGAIN);
	assert_int_equal(wait, PLUGIN_OFF_MS - 1);
	assert_int_equal(plugin_failures_may(run_dir, "c", t + PLUGIN_OFF_MS, &wait), 0);
	/* another source has its own count; a machine that started anew has none */
	assert_int_equal(plugin_failures_may(run_dir, "d", t, &wait), 0);
	assert_int_equal(plugin_failures_may(run_dir, "c", 5000, &wait), 0);
	/* three in more than a minute are three waits */
	assert_int_equal(plugin_failures_note(run_dir, "e", t), 0);
	assert_int_equal(plugin_failures_note(run_dir, "e", t + 50000), 0);
	assert_int_equal(plugin_failures_note(run_dir, "e", t + 100000), 0);
	assert_int_equal(plugin_failures_may(run_dir, "e", t + 100000, &wait), -EAGAIN);
	assert_int_equal(wait, 2 * PLUGIN_BACK_MS);
	/* a name is no path */
	assert_int_equal(plugin_failures_note(run_dir, "../c", t), -EINVAL);
}

static void
what_stands_in_the_file_is_no_order(void **state)
{
	uint64_t wait;
	int fd =
	    openat(run_dir, "plugin.f.crashes", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	(void)state;
	assert_int_equal(write(fd, "anything at all, and much of it, as ever", 40), 40);
	assert_int_equal(close(fd), 0);
	assert_int_equal(plugin_failures_may(run_dir, "f", 1000000, &wait), 0);
	assert_int_equal(symlinkat("f", run_dir, "plugin.g.crashes"), 0);
	assert_int_equal(plugin_failures_may(run_dir, "g", 1000000, &wait), -ELOOP);
	assert_int_equal(mkfifoat(run_dir, "plugin.h.crashes", 0600), 0);
	assert_int_equal(plugin_failures_may(run_dir, "h", 1000000, &wait), -EACCES);
}

static void
what_failed_waits(void **state)
{
	struct plugin_ask ask = plugin("fails", "exit 3\n");
	struct secret *s;
	int i;

	(void)state;
	for (i = 0; i < PLUGIN_CRASHES; i++)
		assert_int_equal(
		    plugin_failures_note(run_dir, "fails", plugin_failures_now()), 0);
	assert_int_equal(get(&ask, &s), -EAGAIN);
	assert_non_null(strstr(why.text, "it failed too often; trying again in "));
	forgiven("fails");
	assert_int_equal(get(&ask, &s), -EPIPE); /* the control: now it was started */
	assert_int_equal(faccessat(run_dir, "plugin.fails.crashes", F_OK, 0), 0);
}

/* Unasked for its time: another process answers, from its beginning. */
static void
what_is_idle_is_stopped(void **state)
{
	static const struct plugin_times times = {
	    .wait = 60000, .stop = 20000, .idle = 0};
	struct plugin_ask ask =
	    plugin("idle", INIT AVAILABLE VALUE(3, "the first") VALUE(4, "the second"));
	struct secret *s;

	(void)state;
	assert_int_equal(get(&ask, &s), 0);
	assert_int_equal(get(&ask, &s), 0);
	assert_string_equal(secret_expose(s), "the second"); /* the control */
	plugins_free(plugins);
	plugins = NULL;
	assert_int_equal(plugins_new(run_dir, &times, &plugins), 0);
	assert_int_equal(get(&ask, &s), 0);
	assert_int_equal(get(&ask, &s), 0);
	assert_string_equal(secret_expose(s), "the first");
}

/* Its input ends, TERM does not move it: killed, with what it started. */
static void
nothing_is_left(void **state)
{
	static const struct plugin_times times = {
	    .wait = 60000, .stop = 20, .idle = 60000};
	struct plugin_ask ask = plugin("stays",
	    INIT AVAILABLE VALUE(
		3, "value") "trap '' TERM\nsleep 1000 & while :; do sleep 1000; done\n");
	struct secret *s;

	(void)state;
	plugins_free(plugins);
	plugins = NULL;
	assert_int_equal(plugins_new(run_dir, &times, &plugins), 0);
	assert_int_equal(get(&ask, &s), 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), 0); /* the control: it runs */
	plugins_free(plugins);
	plugins = NULL;
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* ---- its answers, as bytes ---- */

static void
answers(void **state)
{
	static const struct {
		const char *text;
		int r;
	} row[] = {
	    {"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"value\":\"abcd\"}}", 0},
	    {" { \"id\" : 2 , \"jsonrpc\" : \"2.0\" , \"result\" : { } } ", 0},
	    {"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"value\":7}}", -EPROTO},
	    {"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"value\":null}}", -EPROTO},
	    {"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":[]}", -EPROTO},
	    {"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{},\"error\":{}}", -EPROTO},
	    {"{\"jsonrpc\":\"2.0\",\"id\":2}", -EPROTO},
	    {"{\"jsonrpc\":\"1.0\",\"id\":2,\"result\":{}}", -EPROTO},
	    {"{\"id\":2,\"result\":{}}", -EPROTO},
	    {"{\"jsonrpc\":\"2.0\",\"result\":{}}", -EPROTO},
	    {"{\"jsonrpc\":\"2.0\",\"id\":\"2\",\"result\":{}}", -EPROTO},
	    {"{\"jsonrpc\":\"2.0\",\"id\":2.0,\"result\":{}}", -EPROTO},
	    {"{\"jsonrpc\":\"2.0\",\"id\":4294967298,\"result\":{}}", -EPROTO},
	    {"{\"jsonrpc\":\"2.0\",\"id\":2,\"id\":2,\"result\":{}}", -EPROTO},
	    {"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"value\":\"\\ud800\"}}",
		-EPROTO},
	    {"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"available\":1}}", -EPROTO},
	    {"{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{}}", -EPROTO},
	    {"{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-1,\"message\":\"\"}}",
		0},
	    {"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}} {}", -EPROTO},
	    {"[]", -EPROTO},
	    {"", -EPROTO},
	    {"null", -EPROTO},
	};
	const char *what;
	struct reply reply;
	char text[256];
	size_t i;
	int r;

	(void)state;
	for (i = 0; i < ARRAY_LEN(row); i++) {
		what = NULL;
		(void)snprintf(text, sizeof(text), "%s", row[i].text);
		r = reply_read(text, strlen(text), 2, &reply, &what);
		if (r != row[i].r || (r < 0) != (what != NULL))
			fail_msg("%s: %d", row[i].text, r);
	}
}

static void
corpus_of_answers(void **state)
{
	(void)state;
	assert_true(corpus_each("tests/fuzz/corpus/plugin_reply", corpus_input) >= 20);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_value_is_asked_for_by_its_reference),
	    TEST(its_environment_is_what_is_named),
	    TEST(a_credential_is_told_by_init),
	    TEST(it_stands_behind_the_fence),
	    TEST(what_breaks_the_protocol_is_ended),
	    TEST(what_prints_for_ever_is_ended),
	    TEST(what_hangs_is_ended),
	    TEST(a_no_is_told_by_its_kind),
	    TEST(a_bad_reference_is_no_failure),
	    TEST(what_no_secret_can_be_is_refused),
	    TEST(another_program_is_not_run),
	    TEST(the_argument_of_its_first_line_is_judged),
	    TEST(a_change_while_it_starts_changes_nothing),
	    TEST(crashes_are_counted),
	    TEST(what_stands_in_the_file_is_no_order),
	    TEST(what_failed_waits),
	    TEST(what_is_idle_is_stopped),
	    TEST(nothing_is_left),
	    cmocka_unit_test(answers),
	    cmocka_unit_test(corpus_of_answers),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
