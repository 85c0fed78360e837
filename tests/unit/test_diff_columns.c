/*
 * Changes each column of each row of a sealed policy, one at a time, and compares.  A
 * changed column is a difference, in both directions, and never narrower in both; except
 * for the columns that mean nothing (policy/diff/diff_columns.c), of which no change is
 * one.  The loader decides which changes are possible: one that it refuses shows nothing.
 * A column that never changes alone is changed in memory instead.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "policy/base/source.h"
#include "policy/compile/compile.h"
#include "policy/diff/diff.h"
#include "policy/sealed/fields.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "shim/base/buf.h"
#include "tests/unit/resealed.h"

/* How many values one column of one row gets, and of how many rows all are changed: a kind
 * with more is sampled.  Under sanitizers each change takes six times as long. */
#ifdef __SANITIZE_ADDRESS__
#define CHANGES_MAX 6
#define ROWS_MAX    8
#else
#define CHANGES_MAX 24
#define ROWS_MAX    60
#endif
#define SAMPLES 8

#define UNTIL(ticket, day) " owner joe ticket " ticket " until 2031-01-" day "\n"

/* Each line counts: none is covered by another one. */
static const char text[] =
    "server s {\n"
    "	about \"for tests\"\n"
    "	run /bin/sh -c true\n"
    "	cwd /srv\n"
    "	user nobody\n"
    "	env MODE = \"one\"\n"
    "	env LANG\n"
    "	secret A from env A_TOKEN { hosts a.example.com b.example.com "
    "*.c.example.com 192.0.2.0/24 approve session with key }\n"
    "	secret B from vault team/b/token { approve session with passphrase }\n"
    "	secret C from file /run/c { as file hosts any }\n"
    "	secret D from cmd /usr/bin/env pass show { may network files weak "
    "allowed }\n"
    "	read /usr/share\n"
    "	read /usr/lib { optional }\n"
    "	write /srv\n"
    "	hide /usr/share/doc\n"
    "	hide /srv/x { optional }\n"
    "	tmp 16M\n"
    "	exec allow /usr/bin/env one * a-* x|y ** from /bin/sh in /srv with "
    "env CI GITHEAD_*"
    " except one x ** " UNTIL("T-1",
	"02") "	exec ask /usr/bin/env two with key because \"b\" instead \"i\"\n"
	      "	exec allow /usr/bin/ldd x\n" /* a script */
	      "	exec deny /usr/bin/env one y **" UNTIL(
		  "T-2", "03") "	tool allow get_* except get_x" UNTIL("T-3",
		  "02") "	tool ask put_* with passphrase\n"
			"	tool deny put_off because \"b\" instead \"i\"" UNTIL(
			    "T-7",
			    "02") "	tool allow pay when args.a[1].b < 3 and args.s "
				  "in [\"x\", \"y\"]\n"
				  "	tool allow limited rate 3/1m quota 20\n"
				  "	resource allow file:///srv/*" UNTIL("T-4",
				      "03") "	resource deny "
					    "file:///srv/secret\n"
					    "	prompt allow one\n"
					    "	method deny logging/setLevel\n"
					    "	sampling allow" UNTIL("T-5",
						"02") "	roots allow\n"
						      "	net allow "
						      "a.example.com:443 to private\n"
						      "	net allow "
						      "b.example.com:5432 to "
						      "10.0.0.0/8 starttls "
						      "postgres" UNTIL("T-6",
							  "03") "	net ask "
								"*.c.example.com:80-"
								"90 plain with key\n"
								"	net allow "
								"192.0.2.0/24:443 "
								"no-sni\n"
								"	net deny "
								"x.c.example.com:80 "
								"because \"b\" "
								"instead \"i\"" UNTIL(
								    "T-8",
								    "03") "	limit "
									  "memory "
									  "512M "
									  "processes "
									  "64\n"
									  "	timeout "
									  "ask 60s\n"
									  "	require "
									  "landlock "
									  "3\n"
									  "	require "
									  "cgroup\n"
									  "	audit "
									  "args full "
									  "get_*\n"
									  "	audit "
									  "sync "
									  "strict\n"
									  "	syscalls "
									  "allow "
									  "io_setup "
									  "io_submit "
									  "because "
									  "\"b\"\n"
									  "	syscalls "
									  "deny "
									  "mlockall\n"
									  "	oneshot\n"
									  "}\n"
									  "server t "
									  "{\n" /* here the classes of a definition decide */
									  "	run "
									  "/bin/sh "
									  "-c true\n"
									  "	user "
									  "nobody\n"
									  "	pins "
									  "\"t."
									  "pins\"\n"
									  "	tool "
									  "allow "
									  "@readonly"
									  "\n"
									  "}\n"
									  "server u {\n"
									  "	run "
									  "/bin/sh -c "
									  "true\n	"
									  "user "
									  "nobody\n	"
									  "pins "
									  "\"u.pins\"\n"
									  "	tool "
									  "by-"
									  "annotations\n"
									  "}\n";

struct sealed {
	uint8_t *bytes;
	size_t len;
	struct policy p;
};

static struct sealed base;

static int
read_pins(void *arg, const char *path, size_t max, char **ret_text, size_t *ret_len)
{
	char *name;

	*ret_text = strdup(
	    "{\"kennel-pins\":1,\"server\":\"t\"}\n"
	    "{\"body\":{\"annotations\":{\"readOnlyHint\":true},\"name\":\"get_a\"},"
	    "\"kind\":\"tool\",\"name\":\"get_a\",\"variant\":\"\"}\n"
	    "{\"body\":{\"name\":\"look\"},\"kind\":\"tool\",\"name\":\"look\","
	    "\"variant\":\"\"}\n");
	assert_non_null(*ret_text);
	name = strstr(*ret_text, "\"t\"}") + 1;
	*name = *(strstr(path, ".pins") - 1); /* of the server */
	*ret_len = strlen(*ret_text);
	return 0;
}

static void
base_make(void)
{
	static const struct policy_reader reader = {.read = read_pins};
	struct policy_source source = {
	    .path = "columns", .text = text, .len = sizeof(text) - 1, .reader = &reader};
	struct buf bytes;
	char why[200] = "";

	buf_init(&bytes, SEALED_LEN_MAX);
	assert_int_equal(policy_compile(&source, 1, NULL, &bytes, stderr), 0);
	base.bytes = bytes.data;
	base.len = bytes.len;
	if (policy_load_bytes(base.bytes, base.len, &base.p, why, sizeof(why)) != 0)
		fail_msg("%s", why);
	base.p.today = 20000;
}

/* ---- both directions --------------------------------------------------------------- */

/* Only the classes of tools need the second and third server. The third has pins too:
 * without, `by-annotations` asks for every tool, as `tool ask *` does. */
static uint32_t servers_n = 1;

/* The servers keep their places. */
static bool
compare(const struct policy *a, const struct policy *b, bool *ret_narrower)
{
	bool found = false;
	uint32_t i;

	*ret_narrower = true;
	for (i = 0; i < servers_n; i++) {
		struct diff d = {.p = {a, b}, .s = {&a->server[i], &b->server[i]}};

		assert_int_equal(diff_server(&d), 0);
		found = found || d.found_n > 0 || d.beyond || d.left_out > 0;
		*ret_narrower = *ret_narrower && diff_only_narrower(&d);
		diff_free(&d);
	}
	return found;
}

/* Is the change a difference? */
static bool
is_found(const struct policy *changed, const char *what)
{
	bool there, back, narrower[2];

	there = compare(&base.p, changed, &narrower[0]);
	back = compare(changed, &base.p, &narrower[1]);
	if (there != back)
		fail_msg("%s: a difference in one direction only", what);
	if (there && narrower[0] && narrower[1])
		fail_msg("%s: narrower in both directions", what);
	return there;
}

/* ---- changes of one column ----------------------------------------------------------- */

static uint8_t *
row_at(const struct policy *p, const uint8_t *bytes, uint32_t kind, uint32_t row)
{
	const void *table;

	memcpy(&table, (const uint8_t *)p + field_kind[kind].table, sizeof(table));
	return (uint8_t *)(uintptr_t)bytes + ((const uint8_t *)table - p->base) +
	       (size_t)row * field_kind[kind].size;
}

struct change {
	uint8_t v[40];
	size_t len;
};

static void
put(struct change *c, size_t *n, const void *v, size_t len)
{
	if (*n == CHANGES_MAX)
		return;
	memcpy(c[*n].v, v, len);
	c[(*n)++].len = len;
}

static void
put_number(struct change *c, size_t *n, uint32_t v)
{
	put(c, n, &v, sizeof(v));
}

/* Texts of the same column in other rows, and a few of the pool. */
static size_t
change_text(const struct sealed_field *f, const uint8_t *at, struct change *c)
{
	static const char *const more[] = {"", "get_x", "/usr/share", "/srv", "one", "x",
	    "y", "a.example.com", "A_TOKEN", "MODE", "nobody", "columns", "for tests",
	    "ptrace", "joe"};
	struct sealed_ref old, ref;
	size_t n = 0, i;

	memcpy(&old, at, sizeof(old));
	for (i = 0; i < base.p.row_n[f->kind] && n < 8; i++) {
		memcpy(&ref, row_at(&base.p, base.p.base, f->kind, (uint32_t)i) + f->at,
		    sizeof(ref));
		if (strcmp(policy_str(&base.p, ref), policy_str(&base.p, old)) != 0)
			put(c, &n, &ref, sizeof(ref));
	}
	for (i = 0; i < ARRAY_LEN(more); i++) {
		const char *pool = base.p.strings, *s = pool;

		while (s < pool + base.p.strings_len && strcmp(s, more[i]) != 0)
			s += strlen(s) + 1;
		if (s >= pool + base.p.strings_len || old.len == strlen(more[i]))
			continue;
		ref = (struct sealed_ref){(uint32_t)(s - pool), (uint32_t)strlen(s)};
		put(c, &n, &ref, sizeof(ref));
	}
	return n;
}

static size_t
change_number(const struct sealed_field *f, const uint8_t *at, struct change *c)
{
	uint32_t old, v;
	size_t n = 0;

	memcpy(&old, at, sizeof(old));
	if (f->is == FIELD_FLAGS) {
		for (v = 1; v != 0; v <<= 1)
			if ((f->hi & v) != 0)
				put_number(c, &n, old ^ v);
		return n;
	}
	if (f->is == FIELD_ROW || f->is == FIELD_MAY_ROW) {
		for (v = 0; v < base.p.row_n[f->lo] && n < CHANGES_MAX - 1; v++)
			if (v != old)
				put_number(c, &n, v);
		if (old != SEALED_NONE && f->is == FIELD_MAY_ROW)
			put_number(c, &n, SEALED_NONE);
		return n;
	}
	for (v = f->lo; v - f->lo < 12 && v <= f->hi; v++)
		if (v != old)
			put_number(c, &n, v);
	if (old < f->hi)
		put_number(c, &n, old + 1);
	return n;
}

static size_t
changes_of(const struct sealed_field *f, const uint8_t *at, struct change *c)
{
	struct sealed_range range;
	struct sealed_at place;
	uint8_t bytes[32];
	uint64_t number;
	size_t n = 0, i;

	switch (f->is) {
	case FIELD_AT:
		memcpy(&place, at, sizeof(place));
		place.line++;
		put(c, &n, &place, sizeof(place));
		return n;
	case FIELD_RANGE:
	case FIELD_SHARED:
		memcpy(&range, at, sizeof(range));
		if (range.n > 0) {
			range.n--;
			put(c, &n, &range, sizeof(range));
			range.n = 0;
			put(c, &n, &range, sizeof(range));
		}
		return n;
	case FIELD_LONG:
		memcpy(&number, at, sizeof(number));
		number++;
		put(c, &n, &number, sizeof(number));
		number *= 2;
		put(c, &n, &number, sizeof(number));
		return n;
	case FIELD_BYTES:
		for (i = 0; i < f->lo; i++) {
			memcpy(bytes, at, f->lo);
			bytes[i] ^= i % 2 == 0 ? 1 : 0x80;
			put(c, &n, bytes, f->lo);
		}
		return n;
	case FIELD_NUMBER:
	case FIELD_FLAGS:
	case FIELD_ROW:
	case FIELD_MAY_ROW:
		return change_number(f, at, c);
	default:
		return change_text(f, at, c);
	}
}

/* ---- the attack ------------------------------------------------------------------------ */

/*
 * Changes one column of one row: 1: a difference, 0: none, -1: the loader refuses it.
 * If load is false, the loader does not see the change.
 */
static int
try_change(const struct sealed_field *f, uint32_t row, const struct change *c,
    const char *what, bool load)
{
	uint8_t *copy = malloc(base.len), *at;
	struct policy p;
	char why[200];
	int found = -1;

	assert_non_null(copy);
	memcpy(copy, base.bytes, base.len);
	at = row_at(&base.p, copy, f->kind, row) + f->at;
	if (load) {
		memcpy(at, c->v, c->len);
		digest_again(copy, base.len);
	}
	if (policy_load_bytes(copy, base.len, &p, why, sizeof(why)) == 0) {
		memcpy(at, c->v, c->len);
		p.today = base.p.today;
		found = is_found(&p, what);
		policy_unload(&p);
	}
	free(copy);
	return found;
}

/* The rows to change: of the first server, where that has one of each sort. */
static uint32_t
rows_n(uint32_t kind)
{
	const struct sealed_server *s = base.p.server;

	switch (kind) {
	case SEALED_ENVS:
		return s->envs.n;
	case SEALED_MOUNTS:
		return s->mounts.n;
	case SEALED_IMAGES:
		return s->images.n;
	case SEALED_EXECS:
		return s->execs.n;
	case SEALED_ARGS:
		return s->args.n;
	default:
		return base.p.row_n[kind];
	}
}

/* The filters have thousands of rows of one kind. */
static uint32_t
stride(uint32_t kind)
{
	return rows_n(kind) <= ROWS_MAX || kind == SEALED_MOUNTS ? 1
								 : rows_n(kind) / SAMPLES;
}

/* Rows of which a column may change without effect. */
static bool
is_idle(uint32_t kind, uint32_t row)
{
	const struct sealed_mount *m = &base.p.mount[row];

	/* "x" as a word, as a pattern and as a choice is the same: one row of the table
	 * must make a difference */
	if (kind == SEALED_ARGS)
		return true;
	/* the host of a block of addresses is a text; a deny of what no line grants */
	if (kind == SEALED_NETS)
		return base.p.net[row].kind == HOST_CIDR ||
		       base.p.net[row].verdict == VERDICT_DENY;
	/* a directory that was made on the way to a mount: nothing may be done with it */
	return kind == SEALED_MOUNTS && m->kind == MOUNT_DIR && m->right == RIGHT_NONE;
}

/* Every row: a column that may change makes a difference. How many do? */
static size_t
try_column(const struct sealed_field *f, bool load)
{
	static struct change c[CHANGES_MAX];
	struct column is = diff_column(f);
	size_t found_n = 0, n, i;
	bool any, tried;
	char what[128];
	uint32_t row;
	int found;

	servers_n =
	    f->kind == SEALED_GATES || f->kind == SEALED_PINS || f->kind == SEALED_SERVERS
		? base.p.row_n[SEALED_SERVERS]
		: 1;
	for (row = 0; row < rows_n(f->kind); row += stride(f->kind)) {
		n = changes_of(f, row_at(&base.p, base.p.base, f->kind, row) + f->at, c);
		any = tried = false;
		for (i = 0; i < n && !(any && f->is != FIELD_FLAGS); i++) {
			(void)snprintf(what, sizeof(what), "%s %u, byte %u, change %zu",
			    field_kind[f->kind].name, row, f->at, i);
			found = try_change(f, row, &c[i], what, load);
			tried = tried || found >= 0;
			any = any || found > 0;
			found_n += found > 0;
			if (is.is == COLUMN_NOTHING && found > 0)
				fail_msg("%s: means nothing, and is a difference", what);
			if (is.is == COLUMN_NOTHING && found == 0)
				break;
		}
		if (is.is == COLUMN_COMPARED && load && tried && !any &&
		    !is_idle(f->kind, row))
			fail_msg("%s: no difference (%s)", what, is.note);
	}
	return found_n;
}

static void
every_column_is_a_difference(void **state)
{
	const struct sealed_field *f;
	struct column is;

	for (f = sealed_fields; f->kind < SEALED_KIND_END; f++) {
		is = diff_column(f);
		if (is.is == COLUMN_UNKNOWN)
			fail_msg("%s, byte %u: not in diff_columns.c",
			    field_kind[f->kind].name, f->at);
		/* the parts of a table: the loader does not let one change alone */
		if (try_column(f, true) == 0 && is.is == COLUMN_COMPARED &&
		    (f->kind != SEALED_SERVERS || f->is != FIELD_RANGE) &&
		    try_column(f, false) == 0)
			fail_msg("%s, byte %u: no difference (%s)",
			    field_kind[f->kind].name, f->at, is.note);
	}
}

/* A column that a later version adds. */
static void
an_unknown_column_is_wider(void **state)
{
	static const struct sealed_field fields[] = {
	    {SEALED_NETS, FIELD_NUMBER, sizeof(struct sealed_net), 0, 1},
	    {.kind = SEALED_KIND_END}};
	struct diff d = {.p = {&base.p, &base.p}, .s = {base.p.server, base.p.server}};

	assert_int_equal(diff_columns(&d, sealed_fields), 0);
	assert_int_equal(d.found_n, 0); /* the control */
	assert_int_equal(diff_columns(&d, fields), 0);
	assert_int_equal(d.found_n, 1);
	assert_int_equal(d.found[0].way, DIFF_WIDER);
	assert_false(diff_only_narrower(&d));
	diff_free(&d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_unknown_column_is_wider),
	    cmocka_unit_test(every_column_is_a_difference),
	};

	base_make();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
