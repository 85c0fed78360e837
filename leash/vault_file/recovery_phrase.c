/*
 * A recovery phrase: sixteen random bytes as eight pronounceable words, and a ninth
 * that detects a wrong word.
 *
 * A word is sixteen bits: consonant, vowel, consonant, vowel, consonant, with four
 * bits for a consonant and two for a vowel, most significant first.
 *
 * Process: the keeper (makes and reads them), kennel-secret (passes them on).
 */
#include <ctype.h>
#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "leash/vault_file/vault_file.h"

static const char consonant[] = "bdfghjklmnprstvz";
static const char vowel[] = "aiou";

#define WORD_LETTERS 5
#define LETTERS      ((size_t)PHRASE_WORDS * WORD_LETTERS)

static uint16_t
check_word(const uint8_t bytes[PHRASE_BYTES])
{
	uint8_t hash[crypto_generichash_BYTES];
	uint16_t word;

	/* cannot fail: the lengths are constants */
	(void)crypto_generichash(hash, sizeof(hash), bytes, PHRASE_BYTES, NULL, 0);
	word = (uint16_t)(hash[0] << 8 | hash[1]);
	sodium_memzero(hash, sizeof(hash));
	return word;
}

void
phrase_draw(uint8_t ret[PHRASE_BYTES])
{
	randombytes_buf(ret, PHRASE_BYTES);
}

void
phrase_write(const uint8_t bytes[PHRASE_BYTES], char ret[PHRASE_LEN])
{
	char *at = ret;

	for (size_t i = 0; i < PHRASE_WORDS; i++) {
		unsigned int word =
		    i < PHRASE_WORDS - 1
			? (unsigned int)bytes[2 * i] << 8 | bytes[2 * i + 1]
			: check_word(bytes);

		*at++ = consonant[word >> 12 & 15];
		*at++ = vowel[word >> 10 & 3];
		*at++ = consonant[word >> 6 & 15];
		*at++ = vowel[word >> 4 & 3];
		*at++ = consonant[word & 15];
		*at++ = i < PHRASE_WORDS - 1 ? ' ' : '\0';
	}
}

int
phrase_read(const char *text, size_t len, uint8_t ret[PHRASE_BYTES])
{
	uint8_t bytes[PHRASE_BYTES];
	unsigned int word = 0;
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; i < len && r == 0; i++) {
		bool is_vowel = n % WORD_LETTERS % 2 == 1;
		const char *from = is_vowel ? vowel : consonant;
		const char *at;

		if (!isalpha((unsigned char)text[i]))
			continue;
		at = strchr(from, tolower((unsigned char)text[i]));
		if (at == NULL || n == LETTERS) {
			r = -EINVAL;
			break;
		}
		word = word << (is_vowel ? 2 : 4) | (unsigned int)(at - from);
		if (++n % WORD_LETTERS != 0)
			continue;
		if (n == LETTERS)
			r = word == check_word(bytes) ? 0 : -EINVAL;
		else {
			bytes[n / WORD_LETTERS * 2 - 2] = (uint8_t)(word >> 8);
			bytes[n / WORD_LETTERS * 2 - 1] = (uint8_t)word;
		}
		word = 0;
	}
	if (r == 0 && n != LETTERS)
		r = -EINVAL;
	if (r == 0)
		memcpy(ret, bytes, sizeof(bytes));
	sodium_memzero(bytes, sizeof(bytes));
	return r;
}
