/*
 * Text of the server in records, questions and messages: names are searched without
 * regard to case and signs, each value is counted, and what is no value stays.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "leash/scrub/foreign.h"
#include "leash/vault/vault.h"
#include "shim/base/array.h"

struct bed {
	struct vault *vault;
	struct scrub *scrub;
	struct buf room;
};

static void
bed_make(struct bed *b, const char *value)
{
	struct secret *secret;
	struct reason why;

	assert_int_equal(vault_new(1u << 18, &b->vault), 0);
	assert_int_equal(scrub_new(&b->scrub), 0);
	assert_int_equal(setenv("KENNEL_N", value, 1), 0);
	assert_int_equal(secret_from_env(b->vault, "KENNEL_N", &secret, &why), 0);
	assert_int_equal(scrub_learn(b->scrub, secret, 7), 0);
	buf_init(&b->room, 1u << 16);
}

static void
bed_free(struct bed *b)
{
	scrub_free(b->scrub);
	vault_free(b->vault);
	buf_free(&b->room);
}

struct row {
	const char *value, *name, *shown;
	uint64_t count;
};

static void
hold(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct row *r = &rows[i];
		struct bed b;

		bed_make(&b, r->value);
		assert_string_equal(
		    foreign_str(foreign_name(b.scrub, r->name, &b.room)), r->shown);
		assert_int_equal(scrub_count(b.scrub, 7), r->count);
		bed_free(&b);
	}
}

#define V "Sk_Live-4eC3/9HqLyj+WDar"

static void
attack_a_name_in_every_spelling(void **state)
{
	static const struct row rows[] = {
	    {V, V ".evil.example", "***.evil.example", 1},
	    {V, "sk_live-4ec3?9hqlyj?wdar.evil.example", "***.evil.example", 1},
	    {V, "SKLIVE4EC39HQLYJWDAR.evil.example", "***.evil.example", 1},
	    {V, "s.k.l.i.v.e.4.e.c.3.9.h.q.l.y.j.w.d.a.r.x", "***.x", 1},
	    {V, "sk--live..4ec3-9hqlyj-wdar.x", "***.x", 1},
	    {V, "a.sklive4ec39hqlyjwdar.b.sklive4ec39hqlyjwdar.c", "a.***.b.***.c", 1},
	    /* reversed; hex, cut; base32; UTF-16 */
	    {V, "radw+jylqh9/3ce4-evil_ks.x", "***.x", 1},
	    {V, "536b5f4c6976652d.346543332f3948714c.796a2b57446172.x", "***.x", 1},
	    {V, "knpuy2lwmuwtizkd.gmxtsslrjz4wwk2xirqx.x",
		"knpuy2lwmuwtizkd.gmxtsslrjz4wwk2xirqx.x", 0}, /* of another value */
	    {V, "S.k._.L.i.v.e.-.4.e.C.3./.9.H.q.L.y.j.+.W.D.a.r", "***", 1},
	    /* an address, in hex */
	    {"0123456789abcdef", "2a30:3132:3334:3536:3738:3961:6263:6465:66", "2a***",
		1},
	};

	hold(rows, ARRAY_LEN(rows));
}

/* Characters above 0x7f leave a name for the end of its label. */
static void
attack_a_name_with_encoded_characters(void **state)
{
	static const struct row rows[] = {
	    {"gr\xc3\xbc\xc3\x9f-Secret.9876x", "xn--gr-secret-9876x-7kb0f.evil.example",
		"***.evil.example", 1},
	    {"gr\xc3\xbc\xc3\x9f-Secret.9876x",
		"a.XN--GR-SECRET-7KB0F.9876x.evil.example", "a.***.evil.example",
		1}, /* cut by the code */
	    {"Sk_Live-4ec3.\xc3\xbc"
	     "9HqLyjWDar",
		"sk_live-4ec3.xn--9hqlyjwdar-hsb.x", "***.x", 1},
	    {"\xc3\xbc.Sk_Live-4ec3.\xc3\xbc"
	     "9HqLyj",
		"xn--tda.sk_live-4ec3.xn--9hqlyj-n2a.x", "xn--tda.***.x", 1},
	    {V, "sk_live-4ec3.xn--9hqlyjwdar.x", "***.x", 1},
	    {V, "sk_live-4ec3.xn--9hqlyjwdar-hsb.x", "***.x", 1},
	    {V, "xn--sk_live-4ec3-xya.xn--9hqlyj-xya.wdar.x", "***.x", 1},
	    /* the value has such a beginning itself */
	    {"xn--9hqlyjwdar-4ec3", "a.XN--9HQLYJWDAR.4ec3.x", "a.***.x", 1},
	    /* the code of a label is between two parts of a value, and is none */
	    {"abcd4ec3hsb9", "xn--abcd4ec-hsb.3hsb9.x", "***.x", 1},
	    {"abcd4ec3hsb9", "xn--abcd4ec-hsb.9z.x", "xn--abcd4ec-hsb.9z.x", 0},
	    {"\xc3\xbc" V, "xn--" V "-7kb.evil.example", "***.evil.example", 1},
	    {V, "xn--" V "-7kb.evil.example", "xn--***-7kb.evil.example", 1},
	    {V, "xn--bcher-kva." V ".example", "xn--bcher-kva.***.example", 1},
	    /* a few letters are no value; nor is another label of it */
	    {"gr\xc3\xbc\xc3\x9f"
	     "e",
		"xn--gre-8ka.example", "xn--gre-8ka.example", 0},
	    /* raw bytes above 0x7f, in a name that also has an encoded label */
	    {"[\xfc\xfd\xfc\xfd\xfc\xfd\xfc\xfd\xfc\xfd",
		"xn--tda.\xfc\xfd\xfc\xfd\xfc\xfd\xfc\xfd\xfc\xfd.x", "xn--tda.***.x", 1},
	    {V, "xn--bcher-kva.example", "xn--bcher-kva.example", 0},
	};

	hold(rows, ARRAY_LEN(rows));
}

/* A short value is found without regard to case, but not across signs: "te.st" is no
 * "test".  Nor are parts of a value found. */
static void
ordinary_names_stay(void **state)
{
	static const struct row rows[] = {
	    {"Ab1c", "xAB1Cx.example", "x***x.example", 1},
	    {"Ab1c", "a.b.1.c.example", "a.b.1.c.example", 0},
	    {"a-b1.c", "A-B1.C.example", "***.example", 1},
	    {"a-b1.c", "ab1c.example", "ab1c.example", 0},
	    {V, "api.example.com:443", "api.example.com:443", 0},
	    {V, "sk_live-4ec3.example", "sk_live-4ec3.example", 0},
	    {V, "", "", 0},
	    {"----------____.....x7", "a-very----long.name.x7", "a-very----long.name.x7",
		0},
	};

	hold(rows, ARRAY_LEN(rows));
}

static void
texts_around_a_name_are_kept(void **state)
{
	const struct foreign *name, *all;
	struct buf other;
	struct bed b;
	char *longer;

	bed_make(&b, V);
	buf_init(&other, 1u << 16);
	name = foreign_name(b.scrub, "sklive4ec39hqlyjwdar.x", &b.room);
	all = foreign_after("the ClientHello names another server", name, &other);
	assert_string_equal(
	    foreign_str(all), "the ClientHello names another server: ***.x");
	name = foreign_name(b.scrub, "", &b.room);
	assert_string_equal(foreign_str(foreign_after("denied", name, &other)), "denied");
	/* too long for a name */
	longer = calloc(1, FOREIGN_NAME_MAX + 1);
	assert_non_null(longer);
	memset(longer, 'a', FOREIGN_NAME_MAX);
	assert_string_equal(
	    foreign_str(foreign_name(b.scrub, longer, &b.room)), SCRUB_MASK);
	free(longer);
	/* a text without secrets to look for, and one without room */
	assert_string_equal(foreign_str(foreign_text(NULL, V, &other)), V);
	buf_free(&other);
	buf_init(&other, 4);
	assert_string_equal(
	    foreign_str(foreign_text(b.scrub, "more than four", &other)), SCRUB_MASK);
	buf_free(&other);
	bed_free(&b);
}

static void
a_list_ends_where_it_is_full(void **state)
{
	struct foreign_list list;
	struct bed b;

	bed_make(&b, V);
	foreign_list_init(&list, 16);
	assert_string_equal(foreign_list_str(&list), "");
	assert_true(foreign_list_add(&list, foreign_text(b.scrub, "a " V, &b.room)));
	assert_true(foreign_list_add(&list, foreign_text(b.scrub, "second", &b.room)));
	assert_false(foreign_list_add(&list, foreign_text(b.scrub, "third", &b.room)));
	assert_int_equal(list.n, 2);
	assert_memory_equal(foreign_list_str(&list), "a ***\0second", 13);
	foreign_list_clear(&list);
	assert_int_equal(list.n, 0);
	foreign_list_free(&list);
	bed_free(&b);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(attack_a_name_in_every_spelling),
	    cmocka_unit_test(attack_a_name_with_encoded_characters),
	    cmocka_unit_test(ordinary_names_stay),
	    cmocka_unit_test(texts_around_a_name_are_kept),
	    cmocka_unit_test(a_list_ends_where_it_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
