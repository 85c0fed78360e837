/*
 * Credentials that are no value of ours, by their shape: each kind, raw and decoded,
 * after every escape, cut everywhere; and what only looks like one.
 */
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
#include "tests/unit/scrub_kit.h"

#define TOKEN  "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"
#define MASKED "[REDACTED:github-token]"
#define LINE   "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
#define KEY(end) \
	"-----BEGIN RSA PRIVATE KEY-----" end LINE end \
	"MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu" end \
	"+1jYnE0wTg==" end "-----END RSA PRIVATE KEY-----" end

static const struct {
	const char *in, *out;
} shape_rows[] = {
    /* checksums are right here, and wrong in one character there */
    {"a 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 b", "a [REDACTED:github-token] b"},
    {"a ghp_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq1A b", NULL},
    {"x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", NULL},
    {"a\\n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\"", "a\\n[REDACTED:github-token]\""},
    {"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x", NULL},
    {"key=AKIAIOSFODNN7EXAMPLE,", "key=[REDACTED:aws-key-id],"},
    {"key=AKIAIOSFODNN7EXAMPL,", NULL},
    {"an AKIA and a ghp_ and an xoxb- and eyJ are words", NULL},
    {"glpat-abcdefghijklmnopqrst.", "[REDACTED:gitlab-token]."},
    {"\"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl\"", "\"[REDACTED:jwt]\""},
    {"eyJhbGciOiJIUzI1NiJ9.com is a name", NULL},
    /* after an escape, whatever it is one of; inside of one; in JSON in JSON */
    {"\\u0022" TOKEN "\\u0022", "\\u0022" MASKED "\\u0022"},
    {"k\\u003d" TOKEN "\\u003e", "k\\u003d" MASKED "\\u003e"},
    {"\\\\u0022" TOKEN "\\\\u0022", "\\\\u0022" MASKED "\\\\u0022"},
    {"a\\u000a" TOKEN, "a\\u000a" MASKED},
    {"k%3D" TOKEN "%26x", "k%3D" MASKED "%26x"},
    {"k%253D" TOKEN "%2526x", "k%253D" MASKED "%2526x"},
    {"k\\x3d" TOKEN "\\x20", "k\\x3d" MASKED "\\x20"},
    {"k=3D" TOKEN "=20", "k=3D" MASKED "=20"},
    {"\\012" TOKEN "\\012", "\\012" MASKED "\\012"},
    {"&#34;" TOKEN "&#34;", "&#34;" MASKED "&#34;"},
    {"&#x22" TOKEN "&#x22", "&#x22" MASKED "&#x22"},
    {"\x1b[32m" TOKEN "\x1b[0m", "\x1b[32m" MASKED "\x1b[0m"},
    {"\\u001b[1;31m" TOKEN "\\u001b[m", "\\u001b[1;31m" MASKED "\\u001b[m"},
    {"\\x1b[38;5;120m" TOKEN "!", "\\x1b[38;5;120m" MASKED "!"},
    {"a \\u0067\\u0068p_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17 b", "a " MASKED " b"},
    {"a ghp%5FzQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17 b", "a " MASKED " b"},
    {"a ghp&#95;zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17 b", "a " MASKED " b"},
    {"a ghp_zQWBuTSOoRi4A9spH=\ncVY5ncnsDkxkJ0mLq17 b", "a " MASKED " b"},
    {"glpat\\u002dabcdefghijklmnopqrst.", "[REDACTED:gitlab-token]."},
    /* an escape of a letter is a letter; so are these */
    {"\\u0041" TOKEN, NULL},
    {"%41" TOKEN, NULL},
    {"\\x41" TOKEN, NULL},
    {"m" TOKEN, NULL},
    {"u0022" TOKEN, NULL},
    {"3D" TOKEN, NULL},
    /* private keys: 64 characters and more, lines or none, also encrypted ones */
    {KEY("\\n"), "[REDACTED:private-key]\\n"},
    {KEY("\n"), "[REDACTED:private-key]\n"},
    {KEY("\r\n"), "[REDACTED:private-key]\r\n"},
    {KEY("\\r\\n"), "[REDACTED:private-key]\\r\\n"},
    {KEY("\\\\n"), "[REDACTED:private-key]\\\\n"},
    {KEY("\n    "), "[REDACTED:private-key]\n    "},
    {KEY(" "), "[REDACTED:private-key] "},
    {KEY(""), "[REDACTED:private-key]"},
    {KEY("\\u000a"), "[REDACTED:private-key]\\u000a"},
    {KEY("%0A"), "[REDACTED:private-key]%0A"},
    {KEY("&#10;"), "[REDACTED:private-key]&#10;"},
    {"x-----BEGIN RSA PRIVATE KEY-----\\nProc-Type: 4,ENCRYPTED\\nDEK-Info: "
     "AES-128-CBC,00112233\\n\\n" LINE "\\n" LINE "\\n-----END RSA PRIVATE KEY-----y",
	"x[REDACTED:private-key]y"},
    {"-----BEGIN PRIVATE KEY-----\\n" LINE "\\nabc=\"}", "[REDACTED:private-key]\"}"},
    {"-----BEGIN PRIVATE KEY-----\\n" LINE "\\n, and so on",
	"[REDACTED:private-key]\\n, and so on"},
    {"-----BEGIN PUBLIC KEY-----\\n" LINE "\\n-----END PUBLIC KEY-----", NULL},
    /* what only speaks of one, or is shorter than any */
    {"-----BEGIN RSA PRIVATE KEY-----\\nMIIE\\n-----END RSA PRIVATE KEY-----\\n", NULL},
    {"-----BEGIN EC PRIVATE KEY----- and no end", NULL},
    {"{\"a\":\"-----BEGIN PRIVATE KEY-----\"}\n{\"b\":\"the next message\"}\n", NULL},
    {"grep -q '-----BEGIN PRIVATE KEY-----' file && echo yes", NULL},
    {"-----BEGIN PRIVATE KEY-----\\nThese are words of a manual, and none is a key.",
	NULL},
};

static void
shapes_are_known(void **state)
{
	static struct text t;
	struct buf out;
	struct kit k;
	size_t i, cut;

	kit_open(&k, "some-value-of-ours");
	buf_init(&out, 1 << 16);
	for (i = 0; i < ARRAY_LEN(shape_rows); i++) {
		const char *want = shape_rows[i].out;

		t.n = 0;
		puts_to(&t, shape_rows[i].in);
		for (cut = 0; cut <= t.n; cut++) {
			through(&k, &t, cut, cut, &out);
			assert_string_equal(
			    buf_str(&out), want != NULL ? want : shape_rows[i].in);
		}
	}
	assert_true(scrub_credential_count(k.scrub, 0) > 0);
	assert_string_equal(scrub_credential(0), "github-token");
	buf_free(&out);
	kit_close(&k);
}

/* One of each kind, at every place, each way. */
static const struct {
	const char *beginning, *kind;
	size_t more; /* characters, if it does not stand there whole */
} tokens[] = {
    {"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", "github-token", 0},
    {"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", "github-token", 0},
    {"ghu_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17", "github-token", 0},
    {"ghs_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17", "github-token", 0},
    {"ghr_", "github-token", 36},
    {"github_pat_", "github-token", 82},
    {"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", "npm-token", 0},
    {"glpat-", "gitlab-token", 20},
    {"sk-ant-", "anthropic-key", 90},
    {"sk-proj-", "openai-key", 48},
    {"xoxb-", "slack-token", 40},
    {"xoxp-", "slack-token", 40},
    {"xoxa-", "slack-token", 40},
    {"xapp-", "slack-token", 40},
    {"sk_live_", "stripe-key", 24},
    {"rk_live_", "stripe-key", 24},
    {"AIza", "google-key", 35},
    {"AKIA", "aws-key-id", 16},
    {"ASIA", "aws-key-id", 16},
    {"pypi-AgEI", "pypi-token", 100},
    {"dop_v1_", "digitalocean-token", 64},
    {"shpat_", "shopify-token", 32},
    {"hf_", "huggingface-token", 34},
    {"hvs.", "vault-token", 90},
    {"SG.", "sendgrid-key", 22},
    {"AGE-SECRET-KEY-1", "age-key", 58},
    {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "jwt", 0},
    {KEY(""), "private-key", 0},
};

static void
every_kind_stands_at_every_place(void **state)
{
	char token[512], mask[64];
	struct kit k;
	size_t i, n, seen = 0;

	kit_open(&k, "some-value-of-ours");
	for (i = 0; i < ARRAY_LEN(tokens); i++) {
		n = strlen(tokens[i].beginning);
		memcpy(token, tokens[i].beginning, n);
		/* hex, and upper letters' digits, and all others' */
		memset(token + n, '7', tokens[i].more);
		token[n + tokens[i].more] = '\0';
		(void)snprintf(mask, sizeof(mask), "[REDACTED:%s]", tokens[i].kind);
		for (int kind = 0; kind < SIEVE_KINDS; kind++)
			if (net_walks(&k.scrub->filter.net, kind))
				at_every_place(&k, token, mask);
	}
	kit_close(&k);
	/* none that is known is missing above */
	while (scrub_credential((uint32_t)seen) != NULL)
		seen++;
	assert_int_equal(seen, ARRAY_LEN(tokens));
}

/* A value of ours that has a shape is a value of ours. */
static void
a_value_comes_first(void **state)
{
	static struct text t;
	struct buf out;
	struct kit k;

	kit_open(&k, "glpat-abcdefghijklmnopqrst");
	buf_init(&out, 1 << 16);
	t.n = 0;
	puts_to(&t, "a glpat-abcdefghijklmnopqrst b");
	through(&k, &t, 0, 0, &out);
	assert_string_equal(buf_str(&out), "a *** b");
	assert_int_equal(scrub_count(k.scrub, 0), 1);
	buf_free(&out);
	kit_close(&k);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_kind_stands_at_every_place),
	    cmocka_unit_test(shapes_are_known),
	    cmocka_unit_test(a_value_comes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
