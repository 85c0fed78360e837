/*
 * The loader's rules L1 to L22 (docs/FORMAT.sealed), on a file that has a row in
 * every table: one test for each, beside the breaks of test_load.c.
 */
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

#include "policy/sealed/load.h"
#include "policy/sealed/policy.h"
#include "policy/sealed/signature.h"
#include "shim/base/array.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/corpus.h"
#include "tests/unit/policy_many.h"
#include "tests/unit/resealed.h"

static struct buf good;
static uint8_t *copy;   /* of it, that may be changed */
static struct policy p; /* of the copy */
static char why[256];

#define ROW(table, i) ((struct sealed_##table *)(uintptr_t)&p.table[i])

static uint32_t
put_value(struct sealer *s, uint32_t type, const char *text)
{
	struct sealed_value v = {.type = type, .text = fix_str(s, text)};

	return sealer_row(s, SEALED_VALUES, &v, sizeof(v));
}

/* args.path under /srv and args.n in [1, "x"] */
static struct sealed_range
put_conds(struct sealer *s, struct sealed_at at)
{
	struct sealed_step key = {.key = fix_str(s, "path")};
	struct sealed_step index = {.is_index = 1, .index = 3};
	struct sealed_cond under = {.op = COND_UNDER, .at = at};
	struct sealed_cond in = {.op = COND_IN, .at = at};
	struct sealed_cond both = {.op = COND_AND, .at = at};
	struct sealed_range range = {sealer_rows(s, SEALED_CONDS), 3};

	under.steps =
	    (struct sealed_range){sealer_row(s, SEALED_STEPS, &key, sizeof(key)), 1};
	in.steps =
	    (struct sealed_range){sealer_row(s, SEALED_STEPS, &index, sizeof(index)), 1};
	under.values = (struct sealed_range){put_value(s, VALUE_STRING, "/srv"), 1};
	in.values = (struct sealed_range){put_value(s, VALUE_NUMBER, "1e2"), 2};
	(void)put_value(s, VALUE_STRING, "x");
	(void)sealer_row(s, SEALED_CONDS, &under, sizeof(under));
	(void)sealer_row(s, SEALED_CONDS, &in, sizeof(in));
	(void)sealer_row(s, SEALED_CONDS, &both, sizeof(both));
	return range;
}

static void
put_reach(struct sealer *s, struct sealed_server *row)
{
	struct sealed_net net = {.at = row->at,
	    .host = fix_str(s, "10.0.0.0/8"),
	    .kind = HOST_CIDR,
	    .prefix = 104,
	    .addr = {[10] = 0xff, [11] = 0xff, [12] = 10},
	    .port_first = 1,
	    .port_last = 65535,
	    .exception = SEALED_NONE};
	struct sealed_pin pin = {.kind = PIN_TOOL,
	    .name = fix_str(s, "get"),
	    .body = fix_str(s, "{\"name\":\"get\"}"),
	    .classes = CLASS_READONLY};
	struct sealed_audit audit = {
	    .at = row->at, .kind = GATE_TOOL, .flags = AUDIT_ARGS_FULL};
	struct sealed_call call = {.at = row->at,
	    .name = fix_str(s, "read"),
	    .verdict = VERDICT_ALLOW,
	    .exception = SEALED_NONE};

	policy_digest("{\"name\":\"get\"}", 14, pin.sha256);
	audit.name = fix_str(s, "get*");
	row->nets =
	    (struct sealed_range){sealer_row(s, SEALED_NETS, &net, sizeof(net)), 2};
	net = (struct sealed_net){.at = row->at,
	    .host = fix_str(s, "example.org"),
	    .kind = HOST_SUFFIX,
	    .port_first = 443,
	    .port_last = 443,
	    .exception = 0};
	(void)sealer_row(s, SEALED_NETS, &net, sizeof(net));
	row->pins =
	    (struct sealed_range){sealer_row(s, SEALED_PINS, &pin, sizeof(pin)), 1};
	row->audits =
	    (struct sealed_range){sealer_row(s, SEALED_AUDITS, &audit, sizeof(audit)), 1};
	row->calls =
	    (struct sealed_range){sealer_row(s, SEALED_CALLS, &call, sizeof(call)), 1};
}

static void
put_exec(struct sealer *s, struct sealed_server *row, uint32_t image)
{
	struct sealed_except except = {.args.n = 1};
	struct sealed_exec e = {.at = row->at,
	    .asked = image,
	    .mapped = image,
	    .verdict = VERDICT_ALLOW,
	    .in = fix_str(s, "/srv"),
	    .exception = 0};
	struct sealed_ref from = fix_str(s, "/bin/caller"), env = fix_str(s, "EDITOR");

	except.args.first = fix_arg(s, ARG_REST, "");
	e.excepts = (struct sealed_range){
	    sealer_row(s, SEALED_EXCEPTS, &except, sizeof(except)), 1};
	e.from =
	    (struct sealed_range){sealer_row(s, SEALED_REFS, &from, sizeof(from)), 1};
	e.env = (struct sealed_range){sealer_row(s, SEALED_REFS, &env, sizeof(env)), 1};
	(void)sealer_row(s, SEALED_EXECS, &e, sizeof(e));
	row->execs.n++;
}

static int
rich_policy(struct buf *out)
{
	struct sealer *s = sealer_new();
	struct sealed_server row = {.at = {0, 1}};
	struct sealed_exception exception = {.at = row.at, .until = 21000};
	struct sealed_gate gate = {.at = row.at,
	    .kind = GATE_TOOL,
	    .verdict = 2,
	    .rate = 30,
	    .rate_ms = 60000,
	    .quota = 100};
	struct sealed_ref file = fix_str(s, "rich.kennel"), glob;
	uint32_t image;
	int r;

	(void)sealer_row(s, SEALED_FILES, &file, sizeof(file));
	exception.owner = fix_str(s, "jo");
	exception.ticket = fix_str(s, "T-1");
	row.exceptions = (struct sealed_range){
	    sealer_row(s, SEALED_EXCEPTIONS, &exception, sizeof(exception)), 1};
	row.name = fix_str(s, "r");
	row.cwd = fix_str(s, "/tmp");
	row.filters = fix_filter(s);
	row.images = (struct sealed_range){sealer_rows(s, SEALED_IMAGES), 1};
	image = fix_image(s, row.at, "/usr/bin/git", "/usr/bin/git");
	row.execs = (struct sealed_range){
	    fix_exec(s, row.at, image, image, 0, 0, VERDICT_ALLOW, EXEC_FROM_RUN), 1};
	row.run = row.execs.first;
	put_exec(s, &row, image);
	gate.conds = put_conds(s, row.at);
	gate.name = fix_str(s, "get*");
	glob = fix_str(s, "get_all");
	gate.excepts =
	    (struct sealed_range){sealer_row(s, SEALED_REFS, &glob, sizeof(glob)), 1};
	row.gates =
	    (struct sealed_range){sealer_row(s, SEALED_GATES, &gate, sizeof(gate)), 1};
	put_reach(s, &row);
	(void)sealer_row(s, SEALED_SERVERS, &row, sizeof(row));
	if ((r = sealer_finish(s, out)) < 0)
		fprintf(stderr, "rich: %d: %s\n", r, sealer_why(s));
	sealer_free(s);
	return r;
}

/* ---- breaks ------------------------------------------------------------------- */

#define BREAK(name, ...) \
	static void name(void) \
	{ \
		__VA_ARGS__; \
	}

BREAK(cond_op, ROW(cond, 0)->op = 14)
BREAK(cond_short, ROW(cond, 2)->op = COND_NOT)
BREAK(cond_empty, ROW(cond, 0)->op = COND_AND)
BREAK(cond_type, ROW(cond, 0)->op = COND_LT)
BREAK(cond_many, ROW(cond, 1)->op = COND_EQ)
BREAK(cond_reserved, ROW(cond, 0)->reserved = 1)
BREAK(cond_range, ROW(cond, 0)->steps.n = 2)
BREAK(cond_range_wrap, ROW(cond, 1)->values.n = UINT32_MAX)
BREAK(step_both, ROW(step, 0)->index = 1)
BREAK(step_bool, ROW(step, 1)->is_index = 2)
BREAK(value_number, ROW(value, 1)->text = ROW(value, 2)->text)
BREAK(value_type, ROW(value, 0)->type = 6)
BREAK(value_text, ROW(value, 0)->type = VALUE_NULL)
BREAK(gate_flags, ROW(gate, 0)->flags = 8)
BREAK(gate_classes, ROW(gate, 0)->classes = 32)
BREAK(gate_named, ROW(gate, 0)->kind = GATE_ROOTS)
BREAK(gate_by, ROW(gate, 0)->flags = 1; ROW(gate, 0)->verdict = VERDICT_ALLOW)
BREAK(gate_rate_alone, ROW(gate, 0)->rate_ms = 0)
BREAK(gate_rate_none, ROW(gate, 0)->rate = 0)
BREAK(gate_rate_high, ROW(gate, 0)->rate = CALL_RATE_MAX + 1)
BREAK(gate_rate_short, ROW(gate, 0)->rate_ms = CALL_RATE_MS_MIN - 1)
BREAK(gate_rate_long, ROW(gate, 0)->rate_ms = CALL_RATE_MS_MAX + 1)
BREAK(gate_quota_high, ROW(gate, 0)->quota = CALL_QUOTA_MAX + 1)
BREAK(gate_limit_deny, ROW(gate, 0)->verdict = VERDICT_DENY)
BREAK(gate_limit_prompt, ROW(gate, 0)->kind = GATE_PROMPT)
BREAK(gate_limit_by, ROW(gate, 0)->flags = GATE_BY_ANNOTATIONS)
BREAK(gate_quota_by, ROW(gate, 0)->flags = GATE_BY_ANNOTATIONS; ROW(gate, 0)->rate = 0;
      ROW(gate, 0)->rate_ms = 0)
BREAK(server_flag, ROW(server, 0)->flags = 2 * SERVER_TTY)
BREAK(server_url, ROW(server, 0)->flags = SERVER_REMOTE)
BREAK(exception_row, ROW(net, 1)->exception = 1)
BREAK(exception_until, ROW(exception, 0)->until = 0)
BREAK(exception_owner, ROW(exception, 0)->owner = (struct sealed_ref){0, 0})
BREAK(net_port, ROW(net, 0)->port_first = 0)
BREAK(net_ports, ROW(net, 1)->port_last = 442)
BREAK(net_port_high, ROW(net, 0)->port_last = 65536)
BREAK(net_prefix, ROW(net, 0)->prefix = 129)
BREAK(net_bits, ROW(net, 0)->addr[15] = 1)
BREAK(net_prefix_name, ROW(net, 1)->prefix = 8)
BREAK(net_host, ROW(net, 1)->host = ROW(image, 0)->path)
BREAK(net_scope, ROW(net, 1)->scope_prefix = 1)
BREAK(pin_digest, ROW(pin, 0)->sha256[31] ^= 1)
BREAK(pin_kind, ROW(pin, 0)->kind = PIN_SERVER_INFO)
BREAK(pin_classes, ROW(pin, 0)->kind = PIN_PROMPT)
BREAK(audit_none, ROW(audit, 0)->flags = 0)
BREAK(audit_sync, ROW(audit, 0)->flags = AUDIT_SYNC_STRICT)
BREAK(call_says, ROW(call, 0)->verdict = VERDICT_DENY)
BREAK(call_ask, ROW(call, 0)->verdict = VERDICT_ASK)
BREAK(exec_from, ROW(ref, p.exec[1].from.first)->off = p.server[0].name.off;
      ROW(ref, p.exec[1].from.first)->len = 1)
BREAK(exec_env, ROW(ref, p.exec[1].env.first)[0] = p.server[0].cwd)
BREAK(exec_in, ROW(exec, 1)->in = p.server[0].name)
BREAK(exec_factor, ROW(exec, 1)->factor = FACTOR_KEY + 1)
BREAK(exec_factor_unasked, ROW(exec, 1)->factor = FACTOR_KEY)
BREAK(net_factor_unasked, ROW(net, 0)->factor = FACTOR_PASSPHRASE)
BREAK(gate_factor_unasked, ROW(gate, 0)->flags = GATE_PASSPHRASE;
      ROW(gate, 0)->verdict = VERDICT_ALLOW)
BREAK(gate_factors, ROW(gate, 0)->flags |= GATE_PASSPHRASE | GATE_KEY)
BREAK(ref_empty, ROW(ref, 0)->off = 0; ROW(ref, 0)->len = 0)
BREAK(depths, ROW(server, 0)->gate_depths = 1)
BREAK(slots, ROW(server, 0)->exec_slots.n = 1)
BREAK(string_unused, ROW(exception, 0)->owner = ROW(exception, 0)->ticket)

static const struct {
	const char *name;
	void (*apply)(void);
} breaks[] = {
#define B(name) \
	{ \
#name, name \
	}
    B(cond_op), B(cond_short), B(cond_empty), B(cond_type), B(cond_many),
    B(cond_reserved), B(cond_range), B(cond_range_wrap), B(step_both), B(step_bool),
    B(value_number), B(value_type), B(value_text), B(gate_flags), B(gate_classes),
    B(gate_named), B(gate_by), B(gate_rate_alone), B(gate_rate_none), B(gate_rate_high),
    B(gate_rate_short), B(gate_rate_long), B(gate_quota_high), B(gate_limit_deny),
    B(gate_limit_prompt), B(gate_limit_by), B(gate_quota_by), B(server_flag),
    B(server_url), B(exception_row), B(exception_until), B(exception_owner), B(net_port),
    B(net_ports), B(net_port_high), B(net_prefix), B(net_bits), B(net_prefix_name),
    B(net_host), B(net_scope), B(pin_digest), B(pin_kind), B(pin_classes), B(audit_none),
    B(audit_sync), B(call_says), B(call_ask), B(exec_from), B(exec_env), B(exec_in),
    B(exec_factor), B(exec_factor_unasked), B(net_factor_unasked), B(gate_factor_unasked),
    B(gate_factors), B(ref_empty), B(depths), B(slots), B(string_unused)};

static void
fresh(void)
{
	memcpy(copy, good.data, good.len);
	assert_int_equal(policy_load_bytes(copy, good.len, &p, why, sizeof(why)), 0);
}

/* L3 L5 L6 L7 L8 L9 L11: every rule of the tables that came with version 2 */
static void
every_table_is_checked(void **state)
{
	struct policy q;
	size_t i, bad = 0;

	for (i = 0; i < ARRAY_LEN(breaks); i++) {
		fresh();
		breaks[i].apply();
		digest_again(copy, good.len);
		why[0] = 0;
		if (policy_load_bytes(copy, good.len, &q, why, sizeof(why)) != -EBADMSG ||
		    why[0] == 0) {
			print_error("%s is taken\n", breaks[i].name);
			bad++;
		}
		(void)LLVMFuzzerTestOneInput(copy, good.len);
		corpus_keep(breaks[i].name, copy, good.len);
	}
	assert_int_equal(bad, 0);
}

/* L4 L6: no byte of a row that no line of fields.c speaks of */
static void
every_byte_has_a_rule(void **state)
{
	static const uint32_t size[] = {[FIELD_AT] = 8,
	    [FIELD_RANGE] = 8,
	    [FIELD_SHARED] = 8,
	    [FIELD_ROW] = 4,
	    [FIELD_MAY_ROW] = 4,
	    [FIELD_NUMBER] = 4,
	    [FIELD_FLAGS] = 4,
	    [FIELD_LONG] = 8};
	const struct sealed_field *f;
	uint32_t kind, at;

	for (kind = SEALED_FILES; kind < SEALED_KIND_END; kind++) {
		for (at = 0, f = fields_of(kind); f->kind == kind; f++) {
			assert_int_equal(f->at, at);
			at += f->is <= FIELD_REFS_END ? 8
			      : f->is == FIELD_BYTES  ? f->lo
						      : size[f->is];
		}
		assert_int_equal(at, field_kind[kind].size);
	}
}

/* L10: what was decoded is encoded to the same bytes */
static void
canonical(void **state)
{
	struct sealer *s = sealer_new();
	struct buf again;
	uint32_t kind, i;
	const uint8_t *rows;
	const struct sealed_field *f;
	uint8_t row[512];
	struct sealed_ref ref;

	fresh();
	buf_init(&again, SEALED_LEN_MAX);
	for (kind = SEALED_FILES; kind < SEALED_SLOTS; kind++)
		for (i = 0; i < p.row_n[kind]; i++) {
			memcpy(&rows, (char *)&p + field_kind[kind].table, sizeof(rows));
			memcpy(row, rows + (size_t)i * field_kind[kind].size,
			    field_kind[kind].size);
			for (f = fields_of(kind); f->kind == kind; f++) {
				if (f->is > FIELD_REFS_END)
					continue;
				memcpy(&ref, row + f->at, sizeof(ref));
				ref = sealer_str(s, policy_str(&p, ref), ref.len);
				memcpy(row + f->at, &ref, sizeof(ref));
			}
			(void)sealer_row(
			    s, (enum sealed_kind)kind, row, field_kind[kind].size);
		}
	assert_int_equal(sealer_finish(s, &again), 0);
	assert_int_equal(again.len, good.len);
	assert_memory_equal(again.data, good.data, good.len);
	sealer_free(s);
	buf_free(&again);
}

/* L1: only bytes that nobody can change any more.  L20: their id is a SHA-256 */
static void
private_and_named(void **state)
{
	uint8_t digest[32];
	struct policy q;
	int fd = memfd_create("rules", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(write(fd, good.data, good.len), good.len);
	assert_int_equal(policy_load(fd, &q, why, sizeof(why)), -EPERM);
	assert_int_equal(
	    fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK), 0);
	assert_int_equal(policy_load(fd, &q, why, sizeof(why)), 0);
	policy_digest(good.data, good.len, digest);
	assert_memory_equal(q.id, digest, sizeof(digest));
	policy_unload(&q);
	close(fd);
}

/* L16: ceilings; L18: on any error the old policy is untouched */
static void
ceilings_and_no_half_load(void **state)
{
	struct policy q, was;

	fresh();
	memset(&was, 0x5a, sizeof(was));
	q = was;
	assert_int_equal(
	    policy_load_bytes(copy, (size_t)SEALED_LEN_MAX + 1, &q, why, sizeof(why)),
	    -EFBIG);
	ROW(pin, 0)->sha256[0] ^= 1;
	digest_again(copy, good.len);
	assert_int_equal(
	    policy_load_bytes(copy, good.len, &q, why, sizeof(why)), -EBADMSG);
	assert_memory_equal(&q, &was, sizeof(q));
}

/* The highest value of each limit is taken, one alone is enough, and `oneshot` is. */
static void
limits_at_their_bounds(void **state)
{
	static const uint32_t rows[][3] = {
	    {CALL_RATE_MAX, CALL_RATE_MS_MAX, CALL_QUOTA_MAX},
	    {1, CALL_RATE_MS_MIN, 1},
	    {30, 60000, 0},
	    {0, 0, 100},
	    {0, 0, 0},
	};
	struct policy q;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		fresh();
		ROW(gate, 0)->rate = rows[i][0];
		ROW(gate, 0)->rate_ms = rows[i][1];
		ROW(gate, 0)->quota = rows[i][2];
		ROW(server, 0)->flags = SERVER_ONESHOT;
		digest_again(copy, good.len);
		assert_int_equal(
		    policy_load_bytes(copy, good.len, &q, why, sizeof(why)), 0);
		assert_int_equal(policy_oneshot(&q, q.server), ONESHOT_STATED);
	}
}

/* A session keeps a time for each call of a rate, so their sum is bounded. */
static void
sum_of_rates(void **state)
{
	struct buf many;
	struct policy q;
	uint32_t set = 0;

	buf_init(&many, SEALED_LEN_MAX);
	assert_int_equal(many_policy(200, &many), 0);
	assert_int_equal(policy_load_bytes(many.data, many.len, &q, why, sizeof(why)), 0);
	for (uint32_t i = 0; i < q.row_n[SEALED_GATES] && set <= 100; i++) {
		struct sealed_gate *g = (struct sealed_gate *)(uintptr_t)&q.gate[i];

		if (g->verdict == VERDICT_DENY)
			continue;
		g->rate = CALL_RATE_MAX;
		g->rate_ms = 60000;
		digest_again(many.data, many.len);
		assert_int_equal(
		    policy_load_bytes(many.data, many.len, &q, why, sizeof(why)),
		    ++set <= CALL_RATE_SUM_MAX / CALL_RATE_MAX ? 0 : -EBADMSG);
	}
	assert_int_equal(set, 101);
	assert_non_null(strstr(why, "rates"));
	buf_free(&many);
}

/* What the rows of version 2 mean, once loaded. */
static void
answers(void **state)
{
	const char *argv[] = {"git", NULL}, *env[] = {"EDITOR=vi"},
		   *other[] = {"PAGER=x"};
	struct policy_exec_ask e = {.argv = {argv, 1}, .caller = SEALED_NONE};
	struct policy_gate_ask g = {.kind = GATE_TOOL, .name = "get", .name_len = 3};
	struct policy_net_ask n = {.host = "10.9.8.7", .host_len = 8, .port = 80};
	const struct sealed_server *s;

	fresh();
	s = &p.server[0];
	p.today = 21000;
	e.asked = s->images.first;
	/* run grants it as it is; the other row needs a caller and a folder */
	assert_int_equal(policy_match_exec_call(&p, s, &e).verdict, VERDICT_ALLOW);
	e.env = env;
	e.env_n = 1;
	assert_int_equal(policy_match_exec_call(&p, s, &e).verdict, VERDICT_DENY);
	assert_int_equal(policy_exec_miss(&p, &p.exec[1], &e), MISS_EXCEPT);
	e.env = other;
	assert_int_equal(policy_match_exec_call(&p, s, &e).verdict, VERDICT_DENY);
	/* listed though conditional; asked where the condition is not known to fail */
	assert_int_equal(policy_match_gate(&p, s, &g).verdict, VERDICT_ASK);
	g.args = "{\"path\":\"/etc\"}";
	g.args_len = strlen(g.args);
	assert_int_equal(policy_match_gate(&p, s, &g).verdict, VERDICT_DENY);
	g.args = "";
	g.args_len = 0;
	assert_int_equal(policy_match_gate(&p, s, &g).verdict, VERDICT_ASK);
	g.name = "get_all";
	g.name_len = 7;
	assert_int_equal(policy_match_gate(&p, s, &g).verdict, VERDICT_DENY);
	assert_int_equal(policy_match_net(&p, s, &n).verdict, VERDICT_DENY);
	assert_non_null(policy_match_net(&p, s, &n).net);
	assert_int_equal(policy_net_miss(&p, &p.net[1], &n), MISS_HOST);
	p.today = 21001; /* the day after */
	g.name = "get";
	g.name_len = 3;
	g.args = NULL;
	assert_int_equal(policy_match_gate(&p, s, &g).verdict, VERDICT_DENY);
	assert_int_equal(policy_gate_miss(&p, &p.gate[0], &g), MISS_EXPIRED);
}

/* A beginning of variables' names, and what it stands for. */
static void
beginnings(void **state)
{
	static const struct {
		const char *row, *name;
		bool is; /* a beginning */
		bool holds;
	} table[] = {
	    {"ABC_*", "ABC_D", true, true},
	    {"ABC_*", "ABC_", true, false},
	    {"ABC_*", "ABC_*", true, false},
	    {"ABC_*", "ABC_D%", true, false},
	    {"ABC_*", "abc_D", true, false},
	    {"ABC_*", "LD_PRELOAD", true, false},
	    {"AB_*", "AB_", false, false},
	    {"ABC*", "ABC", false, false},
	    {"A*C_*", "", false, false},
	    {"1BC_*", "", false, false},
	    {"*", "", false, false},
	    {"", "", false, false},
	    {"ABC_", "ABC_", false, true},
	};

	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		struct sealed_ref ref = {0, (uint32_t)strlen(table[i].row)};
		struct policy q = {
		    .strings = table[i].row, .strings_len = ref.len + 1, .ref = &ref};
		struct sealed_exec row = {.env = {0, 1}};

		assert_int_equal(
		    policy_env_beginning(table[i].row, ref.len), table[i].is);
		if (table[i].is || table[i].holds)
			assert_int_equal(policy_exec_env(&q, &row, table[i].name,
					     strlen(table[i].name)),
			    table[i].holds);
	}
}

static int
group_setup(void **state)
{
	buf_init(&good, SEALED_LEN_MAX);
	if (rich_policy(&good) < 0)
		return -1;
	copy = malloc(good.len);
	corpus_keep("good-rich", good.data, good.len);
	return copy == NULL;
}

static int
group_teardown(void **state)
{
	buf_free(&good);
	free(copy);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_table_is_checked),
	    cmocka_unit_test(every_byte_has_a_rule),
	    cmocka_unit_test(canonical),
	    cmocka_unit_test(private_and_named),
	    cmocka_unit_test(ceilings_and_no_half_load),
	    cmocka_unit_test(limits_at_their_bounds),
	    cmocka_unit_test(sum_of_rates),
	    cmocka_unit_test(answers),
	    cmocka_unit_test(beginnings),
	};

	return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
