/*
 * Texts that look like a secret: each rule, with a harmless text that is close to it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "shim/base/array.h"
#include "policy/tokens/secret_shaped.h"

#define HEX32 "0123456789abcdef0123456789abcdef"
#define B31   "AbCdEfGhIjKlMnOpQrStUvWxYz01234"
/* written in parts, so that no scanner takes this file for a leak */
#define GITHUB \
	"ghp" \
	"_" \
	"abcdefghijklmnopqrstuvwxyz0123aQKGvh"
#define GITLAB \
	"glp" \
	"at-" \
	"aBcDeFgHiJkLmNoPqRsT"
#define SLACK \
	"xox" \
	"b-" \
	"123456789012-abcdefghijkl"
#define OPENAI \
	"sk" \
	"-" \
	"proj-abcdefghij0123456789"
#define AWS \
	"AKI" \
	"A" \
	"ABCDEFGHIJKLMNOP"
#define GOOGLE \
	"AIz" \
	"a" \
	"SyA0123456789abcdefghijklmnopqrstuv"
#define STRIPE \
	"sk_" \
	"live_" \
	"0123456789abcdefghijklmn"
#define SHOPIFY \
	"shp" \
	"at_" HEX32
#define JWT \
	"eyJ" \
	"hbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl"

static const struct {
	const char *text;
	bool shaped;
} alone_rows[] = {
    /* known formats, also inside a text, and what only resembles one */
    {GITHUB, true},
    {"use " GITHUB ".", true},
    {"x=" GITLAB, true},
    {"pre_" GITLAB, true},
    {GITLAB, true},
    {"glpat-short", false},
    {SLACK, true},
    {"xoxb-", false},
    {OPENAI, true},
    {"sk-short", false},
    {"desk-lamp-with-a-very-long-name", false},
    {AWS, true},
    {"AKIAshort", false},
    {GOOGLE, true},
    {"AIza-short", false},
    {STRIPE, true},
    {SHOPIFY, true},
    {JWT, true},
    {"eyJust.a-sentence", false},
    {"-----BEGIN RSA PRIVATE KEY-----", true},
    {"-----BEGIN CERTIFICATE-----", false},
    /* a password or a parameter in a URL */
    {"postgres://joe:hunter2@db/x", true},
    {"postgres://joe@db/x", false},
    {"postgres://joe:@db/x", false},
    {"https://host:8080/a@b", false},
    {"https://h/?api_key=1234", true},
    {"https://h/?x=1&token=1234", true},
    {"https://h/#access_token=1234", true},
    {"https://h/?X-Amz-Signature=1234", true},
    {"https://h/?sig=1234", true},
    {"https://h/?password=p", true},
    {"https://h/?clientSecret=p", true},
    {"https://h/?token=", false},
    {"https://h/?page=2&design=1", false},
    {"https://h/?token=${TOKEN}", false},
    {"https://abcdef@h/1", true},
    {"https://${TOKEN}@h/1", false},
    {"ssh://git@h/1", false},
    {"https://h/services/T00/B00/aBcDeFgH1234IjKlMnOpQrSt", true},
    {"https://h/s/" HEX32 "/mcp", true},
    {"see https://h/s/" HEX32, true},
    {"https://h/s/release-2024-01-15-build-1234567", false},
    {"git+https://h/o/r@" HEX32 "01234567", false},
    /* a value with a name */
    {"GITHUB_TOKEN=abc", true},
    {"--api-key=abc", true},
    {"password:abc", true},
    {"Authorization: Bearer abc", true},
    {"Authorization: Bearer ${TOKEN}", false},
    {"MY_SECRET=x", true},
    {"DB_PASS=x", true},
    {"CREDENTIALS=x", true},
    {"GITHUB_TOKEN=", false},
    {"GITHUB_TOKEN=$GITHUB_TOKEN", false},
    {"GITHUB_USER=abc", false},
    {"run it with TOKEN=abc", true},
    {"the token is in the vault", false},
    {"key: see the vault", true},
    {"note on the key: it is in the vault", false},
    {"tokenizer://x", false},
    /* long runs */
    {HEX32, true},
    {"0123456789abcdef0123456789abcde", false}, /* 31 */
    {B31 "5", true},
    {B31, false},
    {"a " B31 "+ b", true},
    {"AbCdEfGhIjKlMnOp-QrStUv_WxYz01234", true},
    {"modelcontextprotocol-server-everything-latest", false},
    {"01234567-89ab-cdef-0123-456789abcdef", false}, /* a UUID */
    {"/nix/store/" HEX32 "-x", false},
    {HEX32 ".js", false},
    {"", false},
    {"node", false},
    {"@modelcontextprotocol/server-filesystem@2025.1.14", false},
};

static void
alone(void **state)
{

	for (size_t i = 0; i < ARRAY_LEN(alone_rows); i++)
		if (secret_shaped(alone_rows[i].text) != alone_rows[i].shaped)
			fail_msg("%s: %d", alone_rows[i].text, !alone_rows[i].shaped);
}

static const struct {
	const char *name, *value;
	bool shaped;
} named_rows[] = {
    {"GITHUB_TOKEN", "x", true},
    {"X-Api-Key", "x", true},
    {"authorization", "Basic x", true},
    {"PASSPHRASE", "x", true},
    {"GIT_AUTHOR_NAME", "Joe", false},
    {"AUTHOR", "Joe", false},
    {"GIT_AUTHOR_TOKEN", "Joe", true},
    {"GITHUB_TOKEN", "", false},
    {"GITHUB_TOKEN", "${GITHUB_TOKEN}", false},
    {"GITHUB_TOKEN", "${GITHUB_TOKEN}x", true},
    {"LOG_LEVEL", "debug", false},
    {"LOG_LEVEL", GITHUB, true},
    /* whole words, in any spelling */
    {"apiKey", "x", true},
    {"APIKey", "x", true},
    {"apikey", "x", true},
    {"PGPASSWORD", "x", true},
    {"GITHUBTOKEN", "x", true},
    {"accessToken", "x", true},
    {"TOKEN2", "x", true},
    {"GITHUB_PAT", "x", true},
    {"SENTRY_DSN", "https://abc@h/1", true},
    {"KEYBOARD_LAYOUT", "qwertz-de", false},
    {"KEYCLOAK_URL", "https://sso.corp.example/realms/main", false},
    {"COMPASS_URL", "https://compass.example/", false},
    {"TOKENIZER", "cl100k_base", false},
    {"PASSWORDLESS", "login", false},
    {"MONKEY", "x", false},
    {"GIT_AUTHOR_EMAIL", "a@corp.example", false},
    {"GITHUB_OAUTH_CALLBACK_PORT", "8085", false},
    {"GITHUB_TOOLSETS", "repos", false},
    {"AUTH_TYPE", "basic", false},
    {"PUBLIC_KEY", "x", false},
    {"MAX_TOKENS", "many", false},
    {"API_TOKENS", "a,b", true},
    /* the form of the value */
    {"MAX_TOKENS", "10000", false},
    {"API_KEY", "10000", false},
    {"API_KEY", "1234567890123456", true},
    {"TOKEN", "30s", false},
    {"TOKEN", "12ab", true},
    {"AUTH", "false", false},
    {"KEY", "/etc/ssl/key.pem", false},
    {"KEY", "~/.secrets/k", false},
    {"KEY", "/aBcD1234/eFgH+5678=iJkL", true},
    {"KEY", "/run/aBcDeFgH1234IjKlMnOpQrSt", true},
    {"TOKEN", "https://h/token", false},
    {"TOKEN", "https://joe@h/token", true},
    {"TOKEN", "https://h/?access_token=1", true},
    {"TOKEN", "https://h/aBcDeFgH1234IjKlMnOpQrSt", true},
    {"DB_PASSWORD", "10000", true},
    {"DB_PASS", "true", true},
    {"SIM_PIN", "1234", true},
    {"CLIENT_SECRET", "/x", true},
    {"CREDENTIALS", "https://h/x", true},
    {"password1", "1", true},
    /* references, and what is written as one */
    {"KEY", "{env:MY_KEY}", false},
    {"KEY", "{file:~/.k}", false},
    {"KEY", "${env:MY_KEY}", false},
    {"KEY", "${input:key}", false},
    {"KEY", "${KEY:-}", false},
    {"KEY", "${KEY:-10}", false},
    {"KEY", "${KEY:-hunter2}", true},
    {"KEY", "$KEY", false},
    {"KEY", "%KEY%", false},
    {"KEY", "{{ secrets.KEY }}", false},
    {"KEY", "$(cat k)", false},
    {"KEY", "op://Vault/item/field", false},
    {"KEY", "bw://item", false},
    {"KEY", "keychain:item", false},
    {"KEY", "vault:secret/x#k", false},
    {"KEY", "aws-sm://x", false},
    {"KEY", "<YOUR_KEY>", false},
    {"KEY", "YOUR_API_KEY_HERE", false},
    {"KEY", "sk-xxxxxxxx", false},
    {"PASSWORD", "${PASSWORD}", false},
    {"KEY", "{env}", true},
    {"KEY", "op:hunter2", true},
    {"KEY", "%KEY", true},
    {"KEY", "your own", false},
    {"KEY", "yourself", true},
    {"DATABASE_URL", "postgres://joe:hunter2@db/x", true},
    {"DATABASE_URL", "postgres://db/x", false},
};

static void
named(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(named_rows); i++)
		if (secret_shaped_value(named_rows[i].name, named_rows[i].value) !=
		    named_rows[i].shaped)
			fail_msg("%s=%s", named_rows[i].name, named_rows[i].value);
}

static void
arguments(void **state)
{
	static const struct {
		const char *arg[4];
		int at;
	} rows[] = {
	    {{"-y", "server", "/srv"}, -1},
	    {{"--token", "abc"}, 1},
	    {{"--token", "${TOKEN}"}, -1},
	    {{"--token", "--verbose"}, -1},
	    {{"--token"}, -1},
	    {{"--api-key=", "abc"}, -1},
	    {{"--user", "joe", "--password", "p"}, 3},
	    {{"-H", "X-Api-Key: abc"}, 1},
	    {{"token", "abc"}, -1},
	    {{"run", GITHUB}, 1},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t n = 0;

		while (n < 4 && rows[i].arg[n] != NULL)
			n++;
		if (secret_shaped_args(rows[i].arg, n) != rows[i].at)
			fail_msg("row %zu", i);
	}
}

int
main(void)
{
	const struct CMUnitTest all[] = {
	    cmocka_unit_test(alone),
	    cmocka_unit_test(named),
	    cmocka_unit_test(arguments),
	};

	return cmocka_run_group_tests(all, NULL, NULL);
}
