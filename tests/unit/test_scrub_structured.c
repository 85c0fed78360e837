/*
 * What is learned of a value: itself, without outer white space, its lines, and the
 * secret fields of a structured one; and what of it is ordinary text and stays.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "leash/scrub/private.h"
#include "leash/scrub/scrub.h"
#include "leash/vault/vault.h"
#include "shim/base/array.h"

#define LINE_1 "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
#define LINE_2 "MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu"

static int
learned(struct vault *v, struct scrub *s, const char *value, struct secret **ret)
{
	struct reason why;

	assert_int_equal(setenv("KENNEL_L", value, 1), 0);
	assert_int_equal(secret_from_env(v, "KENNEL_L", ret, &why), 0);
	return scrub_learn(s, *ret, 0);
}

static void
through(struct scrub *s, bool messages, const char *in, struct buf *out)
{
	struct scrub_stream *st;

	buf_clear(out);
	assert_int_equal(scrub_stream_new(s, &st), 0);
	if (messages)
		scrub_stream_messages(st);
	assert_int_equal(scrub_feed(st, in, strlen(in), out), 0);
	assert_int_equal(scrub_flush(st, out), 0);
	scrub_stream_free(st);
}

struct row {
	const char *value, *in, *out; /* out NULL: as in */
};

static void
hold(const struct row *rows, size_t n, bool messages)
{
	struct secret *secret;
	struct vault *v;
	struct scrub *s;
	struct buf out;

	buf_init(&out, 1 << 16);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(vault_new(1u << 20, &v), 0);
		assert_int_equal(scrub_new(&s), 0);
		assert_int_equal(learned(v, s, rows[i].value, &secret), 0);
		through(s, messages, rows[i].in, &out);
		assert_string_equal(
		    buf_str(&out), rows[i].out == NULL ? rows[i].in : rows[i].out);
		scrub_free(s);
		vault_free(v);
	}
	buf_free(&out);
}
#define HOLD(rows, messages) hold(rows, ARRAY_LEN(rows), messages)

/* ---- white space ------------------------------------------------------------------------ */

static const struct row trims[] = {
    {"  s3cret-value\n", "a s3cret-value b", "a *** b"},
    {"s3cret-value\r", "a s3cret-value b", "a *** b"},
    {"\xef\xbb\xbfs3cret-value", "a s3cret-value b", "a *** b"},
    {"\xef\xbb\xbf\t s3cret-value \r\n", "a czNjcmV0LXZhbHVl b", "a *** b"},
    {"s3cret value", "s3cret-value s3cret value", "s3cret-value ***"},
    /* not white space: the end of a letter with the same last byte */
    {"s3cret-valu\u00e0", "a s3cret-valu\u00e0 b", "a *** b"},
    {"s3cret-valu\u00e0", "a s3cret-valu b", NULL},
};

/* What JavaScript, Python, Java, Go, C# or PHP trims, and Latin-1 of two. */
static const char *const white[] = {"\x01", "\t", "\n", "\v", "\f", "\r", "\x1c", "\x1d",
    "\x1e", "\x1f", " ", "\xc2\x85", "\u00a0", "\u1680", "\u180e", "\u2000", "\u2001",
    "\u2002", "\u2003", "\u2004", "\u2005", "\u2006", "\u2007", "\u2008", "\u2009",
    "\u200a", "\u200b", "\u2028", "\u2029", "\u202f", "\u205f", "\u2060", "\u3000",
    "\ufeff", "\x85", "\xa0"};

/* In front, behind, on both sides, twice; around a line, a field of an environment file
 * and one of JSON. */
static void
attack_white_space_of_any_language(void **state)
{
	static const char *const forms[] = {"%ss3cret-v4lue-1", "s3cret-v4lue-1%s",
	    "%ss3cret-v4lue-1%s", "%s%ss3cret-v4lue-1%s",
	    "an-0ther-l1ne\n%ss3cret-v4lue-1%s\nthe-l4st-line",
	    "API_TOKEN=%ss3cret-v4lue-1%s\nPORT=80",
	    "{\"token\":\"%ss3cret-v4lue-1%s\"}"};
	char value[128];

	for (size_t i = 0; i < ARRAY_LEN(white) * ARRAY_LEN(forms); i++) {
		const char *w = white[i / ARRAY_LEN(forms)];
		struct row row = {value, "(s3cret-v4lue-1)", "(***)"};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		(void)snprintf(
		    value, sizeof(value), forms[i % ARRAY_LEN(forms)], w, w, w);
#pragma GCC diagnostic pop
		hold(&row, 1, false);
	}
}

/* Each program has its own idea of a line's end. */
static void
attack_lines_of_any_language(void **state)
{
	static const char *const ends[] = {
	    "\n", "\r\n", "\r", "\xc2\x85", "\u2028", "\u2029"};
	char value[128];

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		struct row row = {
		    value, "a the-s3cond-l1ne b the-th1rd-line", "a *** b ***"};

		(void)snprintf(value, sizeof(value),
		    "the-f1rst-line%sthe-s3cond-l1ne%sthe-th1rd-line", ends[i], ends[i]);
		hold(&row, 1, false);
	}
}

static void
attack_a_value_that_the_server_trims(void **state)
{
	struct secret *secret;
	struct vault *v;
	struct scrub *s;

	HOLD(trims, false);
	assert_int_equal(vault_new(1u << 16, &v), 0);
	assert_int_equal(scrub_new(&s), 0);
	assert_int_equal(learned(v, s, " s3cret-value", &secret), 0);
	assert_true(scrub_trims(secret));
	scrub_free(s);
	vault_free(v);
}

/* ---- lines and fields ---------------------------------------------------------------------- */

#define SERVICE \
	"{\n  \"type\": \"service_account\",\n  \"project_id\": \"my-project-17\",\n" \
	"  \"private_key_id\": \"0f1e2d3c4b5a69788796a5b4c3d2e1f001122334\",\n" \
	"  \"private_key\": \"-----BEGIN PRIVATE KEY-----\\n" LINE_1 "\\n" LINE_2 \
	"\\n-----END PRIVATE KEY-----\\n\",\n" \
	"  \"client_email\": \"robot@my-project-17.iam.gserviceaccount.com\",\n" \
	"  \"client_id\": \"112233445566778899001\",\n" \
	"  \"auth_uri\": \"https://accounts.google.com/o/oauth2/auth\",\n" \
	"  \"token_uri\": \"https://oauth2.googleapis.com/token\"\n}\n"
#define KUBECONFIG \
	"apiVersion: v1\nkind: Config\nclusters:\n- cluster:\n" \
	"    certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t\n" \
	"    server: https://10.0.0.1:6443\n  name: kubernetes\nusers:\n- name: admin\n" \
	"  user:\n    client-certificate-data: Q0VSVElGSUNBVEUtb2YtdGhlLXVzZXI\n" \
	"    client-key-data: TFMwdExTMUNSVWRKVGlCU1UwRQ==\n" \
	"    token: \"k8s-t0ken-of-the-admin\" # ours\n"
#define INI \
	"; of the cloud\n[default]\naws_access_key_id = AKIAIOSFODNN7EXAMPLE\n" \
	"aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n" \
	"region = eu-central-1\nkey_file = /home/joe/my.pem\nauth = basic\n"
#define ENVIRONMENT \
	"export DB_HOST=db01.example.org:5432\nexport DB_PASSWORD='c0rrect h0rse'\n" \
	"AUTH_MAIL=joe2@example.org\nAPI_KEY=abc123def456ghi\nPORT=\n" \
	"SENTRY=glpat-abcdefghijklmnopqrst\nAUTHORIZATION=Bearer b34rer-t0ken\n"
#define BLOCK \
	"name: key-of-joe\nprivate_key: |\n    line-number-0ne-of-it\n    ........\n" \
	"    line-number-tw0-of-it\npublic: not-a-s3cret-at-all\ntokens:\n" \
	"  - f1rst-of-the-tokens\n  - 2nd-of-the-tokens\n"

static const struct row fields[] = {
    /* a service account: the key, its lines, its id; nothing that others have too */
    {SERVICE, "id 0f1e2d3c4b5a69788796a5b4c3d2e1f001122334.", "id ***."},
    {SERVICE, "k=" LINE_1 ";" LINE_2, "k=***;***"},
    {SERVICE, "at https://oauth2.googleapis.com/token for my-project-17"},
    {SERVICE, "robot@my-project-17.iam.gserviceaccount.com 112233445566778899001"},
    {SERVICE, "-----BEGIN PRIVATE KEY-----"},
    {SERVICE, "service_account https://accounts.google.com/o/oauth2/auth"},
    /* a kubeconfig */
    {KUBECONFIG, "token k8s-t0ken-of-the-admin", "token ***"},
    {KUBECONFIG, "key TFMwdExTMUNSVWRKVGlCU1UwRQ==", "key ***"},
    {KUBECONFIG, "apiVersion: v1\nkind: Config\n    server: https://10.0.0.1:6443"},
    {KUBECONFIG, "ca LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t, name: kubernetes"},
    /* INI and environment files */
    {INI, "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "***"},
    {INI, "id AKIAIOSFODNN7EXAMPLE", "id ***"},
    {INI, "region = eu-central-1, /home/joe/my.pem, basic auth [default]"},
    {ENVIRONMENT, "c0rrect h0rse", "***"},
    {ENVIRONMENT, "abc123def456ghi glpat-abcdefghijklmnopqrst", "*** ***"},
    {ENVIRONMENT, "Bearer b34rer-t0ken, b34rer-t0ken", "***, ***"},
    {ENVIRONMENT, "db01.example.org:5432 joe2@example.org"},
    /* lists and blocks below a secret name */
    {BLOCK, "line-number-0ne-of-it line-number-tw0-of-it ........", "*** *** ........"},
    {BLOCK, "f1rst-of-the-tokens 2nd-of-the-tokens", "*** ***"},
    {BLOCK, "not-a-s3cret-at-all name: key-of-joe"},
    /* one line that is a field */
    {"Authorization: Bearer b34rer-t0ken", "sent b34rer-t0ken", "sent ***"},
    /* all others: their lines, but for those that ordinary text has */
    {"first-c0de\n\n----------\npassword\n12345678\n  second-c0de\r\n",
	"first-c0de second-c0de ---------- password 12345678",
	"*** *** ---------- password 12345678"},
    {"-----BEGIN RSA PRIVATE KEY-----\n" LINE_1 "\n-----END RSA PRIVATE KEY-----\n",
	"-----BEGIN RSA PRIVATE KEY-----. " LINE_1,
	"-----BEGIN RSA PRIVATE KEY-----. ***"},
};

static void
attack_a_field_of_a_structured_value(void **state)
{
	HOLD(fields, false);
}

static void
too_many_lines_are_refused(void **state)
{
	struct secret *secret;
	struct buf text;
	struct vault *v;
	struct scrub *s;

	buf_init(&text, 1 << 16);
	for (int more = 0; more < 2; more++) {
		buf_clear(&text);
		for (int i = 0; i < SCRUB_STRINGS_MAX - 1 + more; i++)
			assert_int_equal(buf_printf(&text, "%sl1ne-number-%d-of-it",
					     i > 0 ? "\n" : "", i * 7919),
			    0);
		assert_int_equal(vault_new(1u << 20, &v), 0);
		assert_int_equal(scrub_new(&s), 0);
		assert_int_equal(
		    learned(v, s, buf_str(&text), &secret), more ? -E2BIG : 0);
		scrub_free(s);
		vault_free(v);
	}
	buf_free(&text);
}

/* ---- numbers in JSON -------------------------------------------------------------------------- */

static const struct row numbers[] = {
    {"4815162342", "{\"a\":4815162342,\"b\":\"4815162342\"}\n",
	"{\"a\":1,\"b\":\"***\"}\n"},
    {"4815162342", "{\"a\":[-4815162342.5e3,104815162342,48151623420]}\n",
	"{\"a\":[-1.5e3,101,10]}\n"},
    {"4815162342", "{\"a\":\"\\\"4815162342\",\"4815162342\":4815162342}\n",
	"{\"a\":\"\\\"***\",\"***\":1}\n"},
    {"481516.2342", "{\"a\":481516.2342}\n", "{\"a\":1}\n"},
    {".481516234", "{\"a\":0.481516234}\n", "{\"a\":0.1}\n"},
    {"4815162342e", "{\"a\":4815162342e-5}\n", "{\"a\":1e-5}\n"},
    {"e+48151623", "{\"a\":5e+48151623}\n", "{\"a\":5e1}\n"},
    {"{\"pin\":4815162342}", "{\"a\":{\"pin\":4815162342}}\n", "{\"a\":\"***\"}\n"},
    {"s3cret-value", "{\"a\":\"s3cret-value\"}\n", "{\"a\":\"***\"}\n"},
};

static void
a_number_in_json_stays_valid(void **state)
{
	static const struct row raw[] = {
	    {"4815162342", "a 4815162342 b", "a *** b"},
	    {"4815162342", "{\"a\":4815162342}\n", "{\"a\":***}\n"},
	};

	HOLD(numbers, true);
	HOLD(raw, false);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(attack_a_value_that_the_server_trims),
	    cmocka_unit_test(attack_white_space_of_any_language),
	    cmocka_unit_test(attack_lines_of_any_language),
	    cmocka_unit_test(attack_a_field_of_a_structured_value),
	    cmocka_unit_test(too_many_lines_are_refused),
	    cmocka_unit_test(a_number_in_json_stays_valid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
