/*
 * The registry: what each source may change, what the columns refuse, generations, and
 * files that are damaged or hostile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "leash/audit/writer.h"
#include "shim/base/array.h"
#include "supervisor/registry/registry_log.h"
#include "tests/unit/registry_fixture.h"

/* ---- the file --------------------------------------------------------------------- */

static char *
path_of(const char *below)
{
	static char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", registry_dir, below);
	return path;
}

static void
modes(void **state)
{
	struct registry *g = NULL;
	struct reason why;
	struct stat st;

	assert_int_equal(registry_open(path_of("none"), false, &g, NULL, &why), -ENOENT);
	assert_int_equal(stat(path_of("none"), &st), -1);
	g = registry_of("m");
	assert_int_equal(stat(path_of("m"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(stat(path_of("m/registry.db"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(generation_of(g), 0);
	registry_close(g);
}

static void
run_sql(const char *below, const char *sql)
{
	char *said = NULL;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path_of(below), &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &said) != SQLITE_OK)
		fail_msg("%s: %s", sql, said);
	(void)sqlite3_close(db);
}

/* Every file that is not this registry is moved aside and named; the next open finds a
 * new one, and what was there is kept. */
static void
damaged(void **state)
{
	static const struct {
		const char *what, *sql; /* sql NULL: other bytes */
	} rows[] = {
	    {"garbage", NULL},
	    {"a trigger", "CREATE TRIGGER t AFTER INSERT ON servers BEGIN DELETE FROM "
			  "tools; END"},
	    {"a view", "CREATE VIEW v AS SELECT * FROM servers"},
	    {"an index", "CREATE INDEX i ON servers(url)"},
	    {"a table more", "CREATE TABLE x(y)"},
	    {"a table less", "DROP TABLE prompts"},
	    {"a column more", "ALTER TABLE tools ADD COLUMN z TEXT"},
	    {"another schema", "DROP TABLE trusted_files; CREATE TABLE trusted_files(a)"},
	    {"another program's", "PRAGMA application_id=7"},
	    {"no version", "PRAGMA user_version=0"},
	    {"no generation", "DELETE FROM generation"},
	    {"an orphan",
		"PRAGMA foreign_keys=OFF; INSERT INTO tools VALUES('gone', 't', "
		"'gone.t', NULL, NULL, NULL, 'x', NULL, 1)"},
	};
	struct registry *g;
	struct reason why, moved;
	struct stat st;
	char kept[64];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		g = registry_of("d");
		(void)row_put(g, "x", FROM_PERSON, "/bin/x");
		registry_close(g);
		if (rows[i].sql != NULL)
			run_sql("d/registry.db", rows[i].sql);
		else
			file_write("d/registry.db", "garbage", 7);
		if (registry_open(path_of("d"), true, &g, &moved, &why) < 0)
			fail_msg("%s: %s", rows[i].what, why.text);
		(void)snprintf(kept, sizeof(kept), "d/registry.db.damaged-%zu", i + 1);
		if (strstr(moved.text, path_of(kept)) == NULL)
			fail_msg("%s: %s", rows[i].what, moved.text);
		assert_int_equal(stat(path_of(kept), &st), 0);
		assert_int_equal(generation_of(g), 0);
		(void)row_put(g, "y", FROM_PERSON, "/bin/y");
		registry_close(g);
		registry_close(registry_of("d")); /* not damaged */
		(void)unlink(path_of("d/registry.db"));
	}
	/* the control: the same steps without a change */
	g = registry_of("d");
	(void)row_put(g, "x", FROM_PERSON, "/bin/x");
	registry_close(g);
	run_sql("d/registry.db", "PRAGMA user_version=1");
	g = registry_of("d");
	WITH_ROW(g, "x", row, assert_string_equal(row->command, "/bin/x"));
	registry_close(g);
}

/* A page overwritten in the middle, and a file cut short: moved, never read on. */
static void
broken_pages(void **state)
{
	struct registry *g = registry_of("p");
	struct reason why, moved;
	char name[32];
	int fd;

	for (int i = 0; i < 200; i++) {
		(void)snprintf(name, sizeof(name), "server-%d", i);
		(void)row_put(g, name, FROM_PERSON, "/bin/some/program/with/a/long/path");
	}
	registry_close(g);
	fd = open(path_of("p/registry.db"), O_WRONLY | O_CLOEXEC);
	for (off_t at = 4096 * 3; at < 4096 * 12; at += 4096)
		assert_int_equal(
		    pwrite(fd, "\xff\xff\xff\xff\xff\xff\xff\xff", 8, at), 8);
	(void)close(fd);
	assert_int_equal(registry_open(path_of("p"), true, &g, &moved, &why), 0);
	assert_non_null(strstr(moved.text, "damaged-1"));
	registry_close(g);
}

static void
links_and_versions(void **state)
{
	struct registry *g = NULL;
	struct reason why, moved;
	struct stat st;

	/* a link is not followed: the file that it names is not changed */
	file_write("victim", "untouched", 9);
	assert_int_equal(mkdir(path_of("l"), 0700), 0);
	assert_int_equal(symlink("../victim", path_of("l/registry.db")), 0);
	assert_int_equal(registry_open(path_of("l"), true, &g, &moved, &why), 0);
	assert_non_null(strstr(moved.text, "damaged-1"));
	registry_close(g);
	assert_int_equal(stat(path_of("victim"), &st), 0);
	assert_int_equal(st.st_size, 9);
	/* a newer version is refused, and stays where it is */
	registry_close(registry_of("v"));
	run_sql("v/registry.db", "PRAGMA user_version=2");
	assert_int_equal(
	    registry_open(path_of("v"), true, &g, &moved, &why), -EPROTONOSUPPORT);
	assert_non_null(strstr(why.text, "newer version"));
	assert_int_equal(stat(path_of("v/registry.db.damaged-1"), &st), -1);
}

/* Several processes change one registry: no change is lost, none fails. */
static void
processes(void **state)
{
	enum { WRITERS = 4, EACH = 25 };
	struct registry *g = registry_of("many");
	pid_t pid[WRITERS];
	int status;

	for (int w = 0; w < WRITERS; w++) {
		pid[w] = fork();
		assert_true(pid[w] >= 0);
		if (pid[w] > 0)
			continue;
		for (int i = 0; i < EACH; i++) {
			struct registry *own = registry_of("many");
			char name[32];

			(void)snprintf(name, sizeof(name), "s%d-%d", w, i);
			(void)row_put(own, name, FROM_PERSON, "/bin/x");
			registry_close(own);
		}
		_exit(0);
	}
	for (int w = 0; w < WRITERS; w++) {
		assert_int_equal(waitpid(pid[w], &status, 0), pid[w]);
		assert_int_equal(status, 0);
	}
	/* one that was open before sees all of it */
	assert_int_equal(generation_of(g), WRITERS * EACH);
	registry_close(g);
}

/* A process that must not wait gets -EBUSY while another one opens or changes the file, and
 * nothing is changed; then it succeeds. */
static void
in_use(void **state)
{
	struct registry *g = registry_of("u"), *now = NULL;
	struct discovered none = {.tool_n = 0};
	struct reason why;
	int dir = open(path_of("u"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	sqlite3 *db;

	assert_true(dir >= 0);
	assert_int_equal(flock(dir, LOCK_EX), 0);
	assert_int_equal(registry_open_now(path_of("u"), &now, NULL, &why), -EBUSY);
	(void)close(dir);
	assert_int_equal(registry_open_now(path_of("u"), &now, NULL, &why), 0);
	assert_int_equal(sqlite3_open(path_of("u/registry.db"), &db), SQLITE_OK);
	assert_int_equal(
	    sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(
	    registry_discovery(now, "s", FROM_POLICY, "connected", NULL, &none), -EBUSY);
	registry_close(now);
	assert_int_equal(registry_open_now(path_of("u"), &now, NULL, &why), -EBUSY);
	/* one that only reads, too */
	assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(
	    sqlite3_exec(db, "BEGIN; SELECT count(*) FROM generation", NULL, NULL, NULL),
	    SQLITE_OK);
	assert_int_equal(registry_open_now(path_of("u"), &now, NULL, &why), -EBUSY);
	(void)sqlite3_close(db); /* rolls back */
	assert_int_equal(generation_of(g), 0);
	assert_int_equal(registry_open_now(path_of("u"), &now, NULL, &why), 0);
	assert_int_equal(
	    registry_discovery(now, "s", FROM_POLICY, "connected", NULL, &none), 0);
	assert_int_equal(generation_of(g), 1);
	registry_close(now);
	registry_close(g);
}

/* ---- rows ------------------------------------------------------------------------------ */

/* S4-02 S4-03 S4-05 C16: name is the key, a second put replaces, created_gen stays, and
 * generations rise with each change. */
static void
generations(void **state)
{
	struct registry *g = registry_of("g");
	struct row_change first, again;
	enum row_source owner;

	first = row_put(g, "a", FROM_PERSON, "/bin/a");
	assert_false(first.existed);
	assert_int_equal(first.created_gen, 1);
	assert_int_equal(row_put(g, "b", FROM_PERSON, "/bin/b").created_gen, 2);
	again = row_put(g, "a", FROM_PERSON, "/bin/other");
	assert_true(again.existed);
	assert_int_equal(again.created_gen, 1);
	assert_int_equal(generation_of(g), 3);
	WITH_ROW(g, "a", row, assert_string_equal(row->command, "/bin/other");
		 assert_int_equal(row->created_gen, 1);
		 assert_int_equal(row->updated_gen, 3);
		 assert_string_equal(row->args_json, "[\"a\"]");
		 assert_string_equal(row->policy_server, "a");
		 assert_true(row->created_at > 1700000000));
	assert_int_equal(registry_enable(g, "a", FROM_PERSON, false, NULL), 0);
	assert_int_equal(generation_of(g), 4);
	WITH_ROW(g, "a", row, assert_false(row->enabled);
		 assert_int_equal(row->updated_gen, 4));
	assert_int_equal(registry_remove(g, "b", FROM_PERSON, &owner), 0);
	assert_int_equal(generation_of(g), 5);
	/* what changed nothing raises nothing */
	assert_int_equal(registry_remove(g, "b", FROM_PERSON, &owner), -ENOENT);
	assert_int_equal(registry_enable(g, "b", FROM_PERSON, true, NULL), -ENOENT);
	assert_int_equal(generation_of(g), 5);
	/* a removed name is a new row: its generation is above the old one's */
	assert_int_equal(row_put(g, "b", FROM_PERSON, "/bin/b").created_gen, 6);
	registry_close(g);
}

static const struct {
	const char *what;
	struct server_row row;
	int r;
} vocabularies_rows[] = {
    {"control",
	{.name = "a",
	    .scope = "user",
	    .transport = "stdio",
	    .auth_type = "none",
	    .policy_server = "a"},
	0},
    {"http",
	{.name = "a",
	    .scope = "global",
	    .transport = "http",
	    .auth_type = "oauth2",
	    .policy_server = "a"},
	0},
    {"api_key",
	{.name = "a",
	    .scope = "user",
	    .transport = "http",
	    .auth_type = "api_key",
	    .policy_server = "a"},
	0},
    {"bearer",
	{.name = "a",
	    .scope = "user",
	    .transport = "http",
	    .auth_type = "bearer",
	    .policy_server = "a"},
	0},
    {"scope",
	{.name = "a",
	    .scope = "all",
	    .transport = "stdio",
	    .auth_type = "none",
	    .policy_server = "a"},
	-EINVAL},
    {"transport",
	{.name = "a",
	    .scope = "user",
	    .transport = "sse",
	    .auth_type = "none",
	    .policy_server = "a"},
	-EINVAL},
    {"auth",
	{.name = "a",
	    .scope = "user",
	    .transport = "stdio",
	    .auth_type = "basic",
	    .policy_server = "a"},
	-EINVAL},
    {"no name",
	{.name = "",
	    .scope = "user",
	    .transport = "stdio",
	    .auth_type = "none",
	    .policy_server = "a"},
	-EINVAL},
    {"a dot",
	{.name = "a.b",
	    .scope = "user",
	    .transport = "stdio",
	    .auth_type = "none",
	    .policy_server = "a"},
	-EINVAL},
    {"sql",
	{.name = "a'); DROP TABLE servers; --",
	    .scope = "user",
	    .transport = "stdio",
	    .auth_type = "none",
	    .policy_server = "a"},
	-EINVAL},
    {"no policy",
	{.name = "a", .scope = "user", .transport = "stdio", .auth_type = "none"},
	-EINVAL},
};

/* S3-18 S3-19 S3-20 S3-21: the columns refuse every other word, and have defaults. */
static void
vocabularies(void **state)
{
	struct registry *g = registry_of("w");
	struct row_change done;
	uint64_t gen;

	for (size_t i = 0; i < ARRAY_LEN(vocabularies_rows); i++) {
		gen = generation_of(g);
		if (registry_put(g, &vocabularies_rows[i].row, &done) !=
		    vocabularies_rows[i].r)
			fail_msg("%s", vocabularies_rows[i].what);
		assert_int_equal(generation_of(g), gen + (vocabularies_rows[i].r == 0));
	}
	assert_int_equal(
	    registry_discovery(g, "a", FROM_PERSON, "broken", NULL, NULL), -EINVAL);
	WITH_ROW(g, "a", row, assert_string_equal(row->discovery_status, "pending");
		 assert_null(row->protocol); assert_null(row->command));
	registry_close(g);
	run_sql("w/registry.db",
	    "INSERT INTO servers(name, scope, source, transport_type, "
	    "policy_server, created_gen, updated_gen, created_at, "
	    "updated_at) VALUES('d', 'user', 'person', 'stdio', 'd', 1, "
	    "1, 0, 0)");
	g = registry_of("w");
	WITH_ROW(g, "d", row, assert_true(row->enabled);
		 assert_string_equal(row->auth_type, "none");
		 assert_string_equal(row->discovery_status, "pending"));
	registry_close(g);
}

/* An agent's row starts disabled, stays as a person left it until it is changed, and
 * changes no row of another source. */
static void
agents(void **state)
{
	struct registry *g = registry_of("a");
	struct server_row row = row_of("x", FROM_AGENT, "/bin/x", NULL);
	struct row_change done;
	enum row_source owner;
	uint64_t gen;

	assert_int_equal(registry_put(g, &row, &done), 0);
	WITH_ROW(g, "x", r, assert_false(r->enabled));
	assert_int_equal(registry_enable(g, "x", FROM_AGENT, true, NULL), 0);
	row.note = "another note";
	assert_int_equal(registry_put(g, &row, &done), 0);
	WITH_ROW(g, "x", r, assert_true(r->enabled);
		 assert_string_equal(r->note, "another note"));
	row.command = "/bin/evil";
	assert_int_equal(registry_put(g, &row, &done), 0);
	WITH_ROW(g, "x", r, assert_false(r->enabled));

	(void)row_put(g, "p", FROM_PERSON, "/bin/p");
	assert_int_equal(
	    registry_enable(g, "policy", FROM_POLICY, false, NULL), 0); /* of a policy */
	gen = generation_of(g);
	for (size_t i = 0; i < 2; i++) {
		row.name = i == 0 ? "p" : "policy";
		assert_int_equal(registry_put(g, &row, &done), -EPERM);
		assert_int_equal(done.owner, i == 0 ? FROM_PERSON : FROM_POLICY);
		assert_int_equal(
		    registry_remove(g, row.name, FROM_AGENT, &owner), -EPERM);
		assert_int_equal(owner, done.owner);
	}
	assert_int_equal(generation_of(g), gen);
	WITH_ROW(g, "p", r, assert_string_equal(r->command, "/bin/p"));
	/* the control: a person may change and remove an agent's */
	assert_true(row_put(g, "x", FROM_PERSON, "/bin/x").existed);
	WITH_ROW(g, "x", r, assert_true(r->enabled);
		 assert_int_equal(r->source, FROM_PERSON));
	row.name = "y";
	assert_int_equal(registry_put(g, &row, &done), 0);
	assert_int_equal(registry_remove(g, "y", FROM_PERSON, &owner), 0);
	assert_int_equal(registry_remove(g, "policy", FROM_PERSON, &owner), -EPERM);
	registry_close(g);
}

/* S3-39: every server can be disabled. For a policy's the registry keeps it; an agent's
 * row of that name does not decide about it. */
static void
enabling(void **state)
{
	struct registry *g = registry_of("e");
	struct server_row row = row_of("github", FROM_AGENT, "/bin/x", NULL);
	struct row_change done;

	assert_int_equal(registry_put(g, &row, &done), 0);
	assert_int_equal(registry_enable(g, "github", FROM_POLICY, true, NULL), 0);
	WITH_ROW(g, "github", r, assert_int_equal(r->source, FROM_POLICY);
		 assert_true(r->enabled); assert_null(r->command));
	assert_int_equal(registry_enable(g, "github", FROM_POLICY, false, NULL), 0);
	WITH_ROW(g, "github", r, assert_false(r->enabled));
	/* a file's row of the same name: the person's row and its command stay */
	(void)row_put(g, "p", FROM_PERSON, "/bin/p");
	assert_int_equal(registry_enable(g, "p", FROM_FILE, false, NULL), 0);
	WITH_ROW(g, "p", r, assert_false(r->enabled);
		 assert_string_equal(r->command, "/bin/p"));
	registry_close(g);
}

/* What was changed after a person saw it is not enabled. */
static void
enabling_what_was_shown(void **state)
{
	struct registry *g = registry_of("shown");
	struct server_row row = row_of("x", FROM_AGENT, "/bin/x", NULL);
	struct row_change done;
	uint64_t shown = 1, none = 0;

	assert_int_equal(registry_put(g, &row, &done), 0);
	row.command = "/bin/evil";
	assert_int_equal(registry_put(g, &row, &done), 0);
	assert_int_equal(registry_enable(g, "x", FROM_AGENT, true, &shown), -ESTALE);
	assert_int_equal(registry_enable(g, "x", FROM_AGENT, true, &none), -ESTALE);
	WITH_ROW(g, "x", r, assert_false(r->enabled); shown = r->updated_gen);
	assert_int_equal(generation_of(g), 2);
	assert_int_equal(registry_enable(g, "x", FROM_AGENT, true, &shown), 0);
	WITH_ROW(g, "x", r, assert_true(r->enabled));
	/* a policy's server of that name, of which the registry keeps nothing yet */
	shown = 3;
	assert_int_equal(registry_enable(g, "x", FROM_POLICY, true, &shown), -ESTALE);
	assert_int_equal(registry_enable(g, "x", FROM_POLICY, true, &none), 0);
	assert_int_equal(registry_enable(g, "x", FROM_POLICY, true, &none), -ESTALE);
	registry_close(g);
}

/* Listed by scope, the user's first, then by name. */
static void
listed(void **state)
{
	static const char *const wanted[] = {"b", "z", "a", "c"};
	struct registry *g = registry_of("o");
	struct server_row row;
	struct server_rows rows;
	struct row_change done;

	for (size_t i = 0; i < 4; i++) {
		row = row_of(wanted[3 - i], FROM_PERSON, "/bin/x", NULL);
		row.scope = i < 2 ? "global" : "user";
		assert_int_equal(registry_put(g, &row, &done), 0);
	}
	assert_int_equal(registry_list(g, &rows), 0);
	assert_int_equal(rows.n, 4);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(rows.row[i].name, wanted[i]);
	server_rows_free(&rows);
	registry_close(g);
}

/* What agents say does not keep people from reading and adding to the list. */
static void
agents_fill_little(void **state)
{
	struct registry *g = registry_of("f");
	struct server_row row = row_of("", FROM_AGENT, "/bin/x", NULL);
	struct server_rows rows;
	struct row_change done;
	char name[16];

	for (int i = 0; i <= 256; i++) {
		(void)snprintf(name, sizeof(name), "a%d", i);
		row.name = name;
		assert_int_equal(registry_put(g, &row, &done), i < 256 ? 0 : -ENOSPC);
	}
	row.name = "a1"; /* the control: one that is there may be changed */
	assert_int_equal(registry_put(g, &row, &done), 0);
	(void)row_put(g, "p", FROM_PERSON, "/bin/p");
	assert_int_equal(registry_list(g, &rows), 0);
	assert_int_equal(rows.n, 257);
	server_rows_free(&rows);
	registry_close(g);
}

/* ---- one list ------------------------------------------------------------------------------ */

/* Who defines a name when several do; the registry's decision to disable holds for each. */
static void
merged(void **state)
{
	static const struct {
		bool etc, person, policy, file, agent;
		int is; /* -1: not listed */
	} rows[] = {
	    {true, true, true, false, false, FROM_FILE},
	    {false, true, true, true, false, FROM_PERSON},
	    {false, false, true, true, true, FROM_POLICY},
	    {false, false, false, true, true, FROM_FILE},
	    {false, false, false, false, true, FROM_AGENT},
	    {false, false, true, false, true, FROM_POLICY},
	    {false, false, false, false, false, -1},
	};
	struct server_row mine[2], file = row_of("x", FROM_FILE, "/f", NULL);
	struct server_row policy = row_of("x", FROM_POLICY, "/p", NULL);
	struct server_rows got;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct server_rows stored = {mine, 1}, files = {&file, 1},
				   policies = {&policy, 1};
		const struct server_sources from = {.stored = &stored,
		    .file = rows[i].etc || rows[i].file ? &files : NULL,
		    .file_first = rows[i].etc,
		    .policy = rows[i].policy ? &policies : NULL};

		mine[0] = row_of("x",
		    rows[i].person  ? FROM_PERSON
		    : rows[i].agent ? FROM_AGENT
				    : FROM_POLICY,
		    "/r", NULL);
		mine[0].enabled = false;
		mine[0].discovery_status = "error";
		assert_int_equal(servers_merge(&from, &got), 0);
		assert_int_equal(got.n, rows[i].is >= 0);
		if (got.n > 0) {
			assert_int_equal(got.row[0].source, rows[i].is);
			/* an agent's row does not disable another one */
			assert_int_equal(got.row[0].enabled,
			    rows[i].agent && rows[i].is != FROM_AGENT);
		}
		server_rows_free(&got);
	}
}

/* ---- what was discovered ------------------------------------------------------------------ */

static const struct tool_row tools[] = {
    {.name = "create_issue", .description = "Create", .parameters = "{}", .sha256 = "aa"},
    {.name = "list.issues", .annotations = "{}", .sha256 = "bb", .pinned_sha256 = "cc"},
};
static const struct resource_row resources[] = {{.uri = "file:///x", .sha256 = "dd"}};
static const struct prompt_row prompts[] = {{.name = "p", .sha256 = "ee"}};

static int64_t
count(const char *below, const char *sql)
{
	sqlite3_stmt *s;
	sqlite3 *db;
	int64_t n;

	assert_int_equal(sqlite3_open(path_of(below), &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	n = sqlite3_column_int64(s, 0);
	(void)sqlite3_finalize(s);
	(void)sqlite3_close(db);
	return n;
}

/* S2-37 S3-23 S3-24 S3-25 S3-26 S3-29 C34: tools are stored under `server.tool`, as a
 * whole; with the server all that was discovered of it is removed. */
static void
discovery(void **state)
{
	const struct discovered all = {tools, 2, resources, 1, prompts, 1};
	const struct discovered fewer = {.tool = &tools[1], .tool_n = 1};
	struct registry *g = registry_of("t");
	struct tool_rows got;
	enum row_source owner;

	(void)row_put(g, "github", FROM_PERSON, "/bin/x");
	(void)row_put(g, "other", FROM_PERSON, "/bin/x");
	assert_int_equal(
	    registry_discovery(g, "github", FROM_PERSON, "connected", "2025-11-25", &all),
	    0);
	assert_int_equal(
	    registry_discovery(g, "other", FROM_PERSON, "connected", NULL, &all), 0);
	assert_int_equal(registry_tools(g, "github", &got), 0);
	assert_int_equal(got.n, 2);
	assert_string_equal(got.row[0].tool_key, "github.create_issue");
	assert_string_equal(got.row[0].description, "Create");
	assert_string_equal(got.row[1].tool_key, "github.list.issues");
	assert_string_equal(got.row[1].pinned_sha256, "cc");
	assert_int_equal(got.row[0].seen_gen, 3);
	tool_rows_free(&got);
	WITH_ROW(
	    g, "github", row, assert_string_equal(row->discovery_status, "connected");
	    assert_string_equal(row->protocol, "2025-11-25");
	    assert_int_equal(row->tools_n, 2));
	/* the next discovery replaces all lists; a failed one keeps them */
	assert_int_equal(
	    registry_discovery(g, "github", FROM_PERSON, "connected", NULL, &fewer), 0);
	assert_int_equal(
	    registry_discovery(g, "github", FROM_PERSON, "unreachable", NULL, NULL), 0);
	WITH_ROW(g, "github", row, assert_int_equal(row->tools_n, 1);
		 assert_string_equal(row->discovery_status, "unreachable");
		 assert_string_equal(row->protocol, "2025-11-25"));
	assert_int_equal(count("t/registry.db",
			     "SELECT count(*) FROM resources WHERE server = 'github'"),
	    0);
	/* another command: what was discovered is not of this program */
	(void)row_put(g, "github", FROM_PERSON, "/bin/new");
	WITH_ROW(g, "github", row, assert_int_equal(row->tools_n, 0);
		 assert_string_equal(row->discovery_status, "pending"));
	/* the control is the other server */
	assert_int_equal(registry_remove(g, "other", FROM_PERSON, &owner), 0);
	registry_close(g);
	assert_int_equal(count("t/registry.db", "SELECT (SELECT count(*) FROM tools) + "
						"(SELECT count(*) FROM resources) + "
						"(SELECT count(*) FROM prompts)"),
	    0);
}

/* A list that cannot be stored leaves the earlier one. */
static void
all_or_none(void **state)
{
	const struct tool_row twice[] = {tools[0], tools[0]};
	const struct discovered good = {.tool = tools, .tool_n = 2};
	const struct discovered bad = {.tool = twice, .tool_n = 2};
	struct registry *g = registry_of("n");
	uint64_t gen;

	assert_int_equal(
	    registry_discovery(g, "x", FROM_POLICY, "connected", NULL, &good), 0);
	gen = generation_of(g);
	assert_int_equal(
	    registry_discovery(g, "x", FROM_POLICY, "error", NULL, &bad), -EINVAL);
	assert_int_equal(generation_of(g), gen);
	WITH_ROW(g, "x", row, assert_int_equal(row->tools_n, 2);
		 assert_string_equal(row->discovery_status, "connected"));
	registry_close(g);
}

static void
trusted(void **state)
{
	static const char one[] =
	    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
	static const char two[] =
	    "1123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
	struct registry *g = registry_of("tr");

	assert_int_equal(registry_trusts(g, one), 0);
	assert_int_equal(registry_trust(g, one, "/p/mcp-servers.json"), 0);
	assert_int_equal(registry_trust(g, one, "/q/mcp-servers.json"), 0);
	assert_int_equal(registry_trusts(g, one), 1);
	assert_int_equal(registry_trusts(g, two), 0);
	registry_close(g);
}

/* ---- the record --------------------------------------------------------------------------- */

static void
recorded(void **state)
{
	static struct event e;
	const struct registry_act act = {"add", "x", FROM_AGENT};

	registry_event(&e, &act, REGISTRY_REFUSED, "because");
	assert_int_equal(e.kind, EVENT_REGISTRY);
	assert_string_equal(event_kind_name(e.kind), "registry");
	assert_int_equal(e.cut_n, 0);
	for (size_t i = 0; i < 5; i++) {
		static const char *const text[] = {
		    "add", "refused", "deny", "because", "agent"};

		assert_non_null(
		    memmem(e.memory, sizeof(e.memory), text[i], strlen(text[i])));
	}
}

int
main(void)
{
	const struct CMUnitTest all[] = {
	    cmocka_unit_test(modes),
	    cmocka_unit_test(damaged),
	    cmocka_unit_test(broken_pages),
	    cmocka_unit_test(links_and_versions),
	    cmocka_unit_test(processes),
	    cmocka_unit_test(in_use),
	    cmocka_unit_test(generations),
	    cmocka_unit_test(vocabularies),
	    cmocka_unit_test(agents),
	    cmocka_unit_test(enabling),
	    cmocka_unit_test(enabling_what_was_shown),
	    cmocka_unit_test(listed),
	    cmocka_unit_test(agents_fill_little),
	    cmocka_unit_test(merged),
	    cmocka_unit_test(discovery),
	    cmocka_unit_test(all_or_none),
	    cmocka_unit_test(trusted),
	    cmocka_unit_test(recorded),
	};

	return cmocka_run_group_tests(all, directory_make, directory_drop);
}
