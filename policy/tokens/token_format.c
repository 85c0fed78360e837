/*
 * Token formats, one row each.  Prefixes, lengths and alphabets come from the
 * providers' documentation and from real tokens; if a provider promises no
 * length, the row is wide.
 */
#include "policy/tokens/token_format.h"
#include "shim/base/array.h"

#include <string.h>

#include "shim/base/token_checksum.h"

#define ALNUM "A-Za-z0-9"
#define WORD  "A-Za-z0-9_-"
#define HEX   "a-f0-9"

static const struct token_format table[] = {
    {"anthropic-api", "sk-ant-", WORD, 20, 250},
    {"aws-access-key", "AKIA", "A-Z2-7", 16, 16},
    {"digitalocean-pat", "dop_v1_", HEX, 64, 64},
    {"docker-pat", "dckr_pat_", WORD, 20, 100},
    {"github-app", "ghs_", ALNUM, 36, 36, TOKEN_CRC32_BASE62},
    {"github-fine-grained", "github_pat_", "A-Za-z0-9_", 82, 82},
    {"github-oauth", "gho_", ALNUM, 36, 36, TOKEN_CRC32_BASE62},
    {"github-pat", "ghp_", ALNUM, 36, 36, TOKEN_CRC32_BASE62},
    {"gitlab-pat", "glpat-", "A-Za-z0-9_.-", 20, 100},
    {"google-api", "AIza", WORD, 35, 35},
    {"hashicorp-vault", "hvs.", WORD, 24, 250},
    {"huggingface", "hf_", ALNUM, 34, 64},
    {"npm-token", "npm_", ALNUM, 36, 36, TOKEN_CRC32_BASE62},
    {"openai-api", "sk-", WORD, 20, 250},
    {"pypi-token", "pypi-", WORD, 50, 250},
    {"sendgrid-api", "SG.", "A-Za-z0-9_.-", 66, 66},
    {"slack-app", "xapp-", "A-Za-z0-9-", 20, 250},
    {"slack-bot", "xoxb-", "A-Za-z0-9-", 20, 250},
    {"slack-user", "xoxp-", "A-Za-z0-9-", 20, 250},
    {"stripe-live", "sk_live_", ALNUM, 24, 250},
};
#define TABLE_N (ARRAY_LEN(table))

const struct token_format *
token_formats(size_t *ret_n)
{
	*ret_n = TABLE_N;
	return table;
}

const struct token_format *
token_format_find(const char *name)
{
	size_t i;

	for (i = 0; i < TABLE_N; i++)
		if (strcmp(table[i].name, name) == 0)
			return &table[i];
	return NULL;
}

/* Is c one of bytes, where a-z is a range? */
static bool
byte_fits(const char *bytes, char c)
{
	size_t i;

	for (i = 0; bytes[i] != '\0'; i++) {
		if (bytes[i + 1] == '-' && bytes[i + 2] != '\0') {
			if (c >= bytes[i] && c <= bytes[i + 2])
				return true;
			i += 2;
		} else if (c == bytes[i]) {
			return true;
		}
	}
	return false;
}

bool
token_format_has(const struct token_format *s, char c)
{
	return byte_fits(s->bytes, c);
}

const char *
token_format_wrong(const struct token_format *s, const char *text, size_t len)
{
	size_t prefix = strlen(s->prefix), i;

	if (len < prefix || memcmp(text, s->prefix, prefix) != 0)
		return "it does not start like a token of this kind";
	text += prefix;
	len -= prefix;
	if (len < s->min || len > s->max)
		return "its length is wrong for a token of this kind";
	for (i = 0; i < len; i++)
		if (!byte_fits(s->bytes, text[i]))
			return "it contains a character that is invalid in a token of "
			       "this kind";
	if (s->sum == TOKEN_CRC32_BASE62 && !shape_sum_fits((const uint8_t *)text, len))
		return "its checksum is wrong: check for a typing error";
	return NULL;
}
