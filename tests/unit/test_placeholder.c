/*
 * Placeholders: nothing of a value is in them but its length, its structure and the kinds of
 * its characters.
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "leash/placeholder/placeholder.h"
#include "policy/tokens/token_format.h"
#include "shim/base/array.h"
#include "tests/unit/corpus.h"

#define TEXT_MAX 8192

static const uint8_t seeds[2][PLACEHOLDER_SEED_LEN] = {{1, 2, 3}, {4, 5, 6}};

/* The placeholder of a value; one of a few buffers. */
static const char *
made(const char *value, const char *name, int seed, uint32_t attempt)
{
	static char room[8][TEXT_MAX];
	static size_t next;
	char *text = room[next++ % ARRAY_LEN(room)];
	const struct placeholder how = {seeds[seed], name, attempt};

	assert_true(strlen(value) < TEXT_MAX);
	(void)snprintf(text, TEXT_MAX, "%s", value);
	placeholder_replace(&how, (uint8_t *)text, strlen(value));
	assert_int_equal(strlen(text), strlen(value));
	return text;
}

static const char *
of(const char *value)
{
	return made(value, "TOKEN", 0, 0);
}

/* No n bytes of the value in a row, but those of `stays`, are in its placeholder. */
static void
keeps_only(const char *value, size_t n, const char *stays)
{
	const char *text = of(value);
	char piece[64];

	for (size_t i = 0; i + n <= strlen(value); i++) {
		(void)snprintf(piece, sizeof(piece), "%.*s", (int)n, value + i);
		if (strstr(text, piece) != NULL && strstr(stays, piece) == NULL)
			fail_msg("`%s` of `%s` is in `%s`", piece, value, text);
	}
}

static void
begins_and_ends(const char *value, const char *begin, const char *end)
{
	const char *text = of(value);
	size_t n = strlen(text);

	if (strncmp(text, begin, strlen(begin)) != 0 || n < strlen(end) ||
	    strcmp(text + n - strlen(end), end) != 0)
		fail_msg("`%s` of `%s`", text, value);
}

/* ---- the tests ----------------------------------------------------------------------------- */

static void
is_determined(void **state)
{
	static const char value[] = "s3cr3t-token-value-0123456789";
	const char *one = made(value, "TOKEN", 0, 0);

	(void)state;
	assert_string_equal(one, made(value, "TOKEN", 0, 0));
	assert_string_not_equal(one, made(value, "TOKEN", 1, 0));
	assert_string_not_equal(one, made(value, "OTHER", 0, 0));
	assert_string_not_equal(one, made(value, "TOKEN", 0, 1));
	assert_string_not_equal(one, value);
	/* no more of the value than its kinds and separators */
	assert_string_equal(one, made("x1xxxx-xxxxx-xxxxx-1111111111", "TOKEN", 0, 0));
}

/* Of each format: one that is made without a value, and one for that. */
static void
formats(void **state)
{
	const struct placeholder how = {seeds[1], "TOKEN", 0};
	const struct token_format *all;
	size_t n;

	(void)state;
	all = token_formats(&n);
	assert_true(n > 10);
	for (size_t i = 0; i < n; i++) {
		char value[PLACEHOLDER_LEN_MAX + 1] = "";
		size_t len = placeholder_unread(&how, &all[i], (uint8_t *)value);
		const char *text;

		assert_true(len < sizeof(value) && len == strlen(value));
		assert_null(token_format_wrong(&all[i], value, len));
		text = of(value);
		assert_null(token_format_wrong(&all[i], text, len));
		keeps_only(value, 6 + strlen(all[i].prefix), all[i].prefix);
		assert_string_not_equal(text, value);
	}
	for (size_t i = 0; i < n; i++) { /* the longest have room */
		char value[PLACEHOLDER_LEN_MAX + 1] = "";

		assert_true(all[i].min + strlen(all[i].prefix) < PLACEHOLDER_LEN_MAX);
		(void)placeholder_unread(&how, NULL, (uint8_t *)value);
		assert_int_equal(strlen(value), 40);
	}
}

static const char key[] =
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n"
    "MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu\n"
    "NMoSfm76oqFvAp8Gy0iz5sxjZmSnXyCdPEovGhLa0VzMaQ8s+CLOyS56YyCFGeJZ\n"
    "Aw==\n";

/* Where upper case, lower case and digits are is a part of a key's bits. */
static void
pem(void **state)
{
	static const char begin[] = "-----BEGIN PRIVATE KEY-----\n",
			  end[] = "-----END PRIVATE KEY-----\n";
	char value[TEXT_MAX];
	const char *text;
	size_t same = 0, n = 0;

	(void)state;
	(void)snprintf(value, sizeof(value), "%s%s%s", begin, key, end);
	begins_and_ends(value, begin, end);
	keeps_only(value, 6,
	    "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n"
	    "==\n-----END PRIVATE KEY-----\n");
	text = of(value) + strlen(begin);
	for (size_t i = 0; key[i] != '\0' && text[i] != '\0'; i++) {
		if (!isalnum((unsigned char)key[i]))
			continue;
		n++;
		same += (isupper((unsigned char)key[i]) != 0) ==
			(isupper((unsigned char)text[i]) != 0);
	}
	assert_true(n > 100 && same * 100 < n * 72);
	/* what is no label is no frame */
	keeps_only(
	    "-----BEGIN CORRECTHORSE-----\nbattery-staple-secret", 9, "----------");
}

static void
json(void **state)
{
	static const char value[] =
	    "{\"type\": \"service_account\", \"project_id\": \"blue-falcon-123\",\n"
	    " \"private_key\": \"-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG\\n"
	    "9w0BAQEFAASC\\n-----END PRIVATE KEY-----\\n\", \"n\": [1234567, -4.25e9, "
	    "true, "
	    "null],\n \"url\": \"https://user:hunter22@auth.example.com/v1/token\", "
	    "\"e\": \"\\u0041bc\\\"def-ghijk\"}";
	const char *text = of(value);
	static const char *const stay[] = {"{\"type\": \"", "\", \"project_id\": \"",
	    "\"private_key\": \"-----BEGIN PRIVATE KEY-----\\n",
	    "\\n-----END PRIVATE KEY-----\\n\", \"n\": [",
	    (", true, null],\n \"url\": "
	     "\"https://"),
	    "@auth.example.com/", "\"e\": \"\\u006"};
	static const char *const go[] = {"service_account", "falcon", "MIIEv", "9w0BA",
	    "1234567", "4.25", "user", "hunter22", "\\u0041", "def", "ghijk"};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stay); i++)
		if (strstr(text, stay[i]) == NULL)
			fail_msg("no `%s` in %s", stay[i], text);
	for (size_t i = 0; i < ARRAY_LEN(go); i++)
		if (strstr(text, go[i]) != NULL)
			fail_msg("`%s` is in %s", go[i], text);
	/* what only begins like it */
	keeps_only("{hunter2-correct-horse-battery", 7, "");
	keeps_only("[\"hunter2correcthorse", 7, "");
	keeps_only("{\"hunter2-correct:horse\":1}", 7, "");
	keeps_only("{\"0a1b2c3d4e5f6789\":{}}", 6, "");
}

static void
lines(void **state)
{
	const char *text =
	    of("# staging key\n[default]\n"
	       "aws_access_key_id = AKIAABCDEFGHIJKLMNOP\n"
	       "export aws_secret_access_key='wJalrXUtnFEMIK7MDENG'\n"
	       "users:\n- name: admin\n  token: |\n    abcdefgh12345678\n");

	(void)state;
	assert_non_null(strstr(text, "\n[default]\naws_access_key_id = AKIA"));
	assert_non_null(strstr(text, "\nexport aws_secret_access_key='"));
	assert_non_null(strstr(text, "'\nusers:\n- name: "));
	assert_non_null(strstr(text, "\n  token: |\n    "));
	assert_null(strstr(text, "ABCDEFGHIJKLMNOP"));
	assert_null(strstr(text, "wJalr"));
	assert_null(strstr(text, "staging"));
	assert_null(strstr(text, "admin"));
	assert_null(strstr(text, "abcdefgh1"));
	keeps_only(
	    "correct horse battery\nstaple correct horse\r\nbattery staple", 6, "");
	assert_int_equal(of("one-line-here\nanother-line")[13], '\n');
	/* the end of base64 is no empty field, and the text of a key has no fields */
	keeps_only("user: bobbybobby\nc2VjcmV0c2Vjcg==", 6, "user: ");
	keeps_only("user = bobbybobby\nQWxhZGRpbjpvcGVuIHNlc2FtZQ=\n", 6, "user = ");
	keeps_only("user: bobbybobby\nkey: |\n  c2VjcmV0c2Vjcg\n  c2VjcmV0c2Vjcg==\n", 6,
	    "user: \nkey: |\n  ");
	keeps_only("user: bobbybobby\nkey: >-\n  hunterhunter: x\n  correcthorse: |\n"
		   "    batterystaple: y\nend: abcdefghij\n",
	    6, "user: \nkey: >-\n  \nend: ");
	assert_non_null(
	    strstr(of("a: b\nkey: |\n  hunterhunter\nend: abcdefghij\n"), "\nend: "));
	assert_non_null(
	    strstr(of("name = bobbybobby\nempty =\nlast = 12345678\n"), "\nlast = "));
}

static void
urls(void **state)
{
	static const char db[] =
	    "postgres://admin:Tr0ub4dorQ@db.example.com:5432/orders?x=y";

	(void)state;
	begins_and_ends(db, "postgres://", "");
	assert_non_null(strstr(of(db), "@db.example.com:5432/"));
	keeps_only(db, 7, "postgres://@db.example.com:5432/");
	keeps_only("https://hooks.example.com/services/T012/B345/Xyz0Abc1Def2", 8,
	    "https://hooks.example.com/");
	/* no host, or one that may be a token */
	keeps_only("token://hunter2correcthorse", 7, "");
	keeps_only("https://q7w8e9r0t1y2u3i4o5p6a7s8d9.example.com/", 8, "example.com/");
	keeps_only("abc://de.fg", 5, "");
}

static void
opaque(void **state)
{
	const char *text;

	(void)state;
	begins_and_ends("  s3cr3t-token-value\n", "  ", "\n");
	text = of("0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9");
	for (size_t i = 0; i < strlen(text); i++)
		assert_true(i == 8 || i == 13 || i == 18 || i == 23
				? text[i] == '-'
				: isdigit((unsigned char)text[i]) ||
				      (text[i] >= 'a' && text[i] <= 'f'));
	text = of("4711471147");
	assert_int_equal(strspn(text, "0123456789"), 10);
	assert_int_not_equal(text[0], '0');
	text = of("Tr0ub4dor&3xyzzyA");
	assert_non_null(strpbrk(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"));
	assert_non_null(strpbrk(text, "0123456789"));
	/* all symbols, all separators */
	keeps_only("!#$^*!#$^*!#$", 4, "");
	keeps_only("._-._-/.-_:.-", 3, "");
	/* short ones: as long, and another attempt is another text */
	for (size_t n = 4; n < 8; n++) {
		char value[8] = "ab1Z9xy";

		value[n] = '\0';
		assert_string_not_equal(
		    made(value, "PIN", 0, 0), made(value, "PIN", 0, 1));
	}
	assert_string_equal(of(""), "");
}

static void
not_ascii(void **state)
{
	static const char value[] = "pässwörd-密码-🔑-ключ";
	static const char broken[] = "abc\xff\xfe\x80token\xc3";
	const char *text = of(value);

	(void)state;
	assert_string_not_equal(text, value);
	assert_null(strstr(text, "密"));
	assert_null(strstr(text, "🔑"));
	assert_null(strstr(text, "кл"));
	text = of(broken);
	for (size_t i = 0; i < strlen(text); i++)
		assert_true((unsigned char)text[i] < 0x80);
}

int LLVMFuzzerTestOneInput(const uint8_t *, size_t);

static void
replay(const char *name, const uint8_t *data, size_t len)
{
	(void)name;
	(void)LLVMFuzzerTestOneInput(data, len);
}

static void
corpus(void **state)
{
	(void)state;
	assert_true(corpus_each("tests/fuzz/corpus/placeholder", replay) > 5);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(is_determined),
	    cmocka_unit_test(formats), cmocka_unit_test(pem), cmocka_unit_test(json),
	    cmocka_unit_test(lines), cmocka_unit_test(urls), cmocka_unit_test(opaque),
	    cmocka_unit_test(not_ascii), cmocka_unit_test(corpus)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
