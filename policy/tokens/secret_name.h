/*
 * Names of secrets, by their whole words: API_KEY, clientSecret and X-Auth-Token have one;
 * KEYBOARD, AUTHOR and TOKENIZER have none.
 */
#ifndef KENNEL_POLICY_TOKENS_SECRET_NAME_H
#define KENNEL_POLICY_TOKENS_SECRET_NAME_H

#include <stdbool.h>
#include <stddef.h>

enum secret_name {
	SECRET_NAME_NONE, /* also MAX_TOKENS, PUBLIC_KEY, TOKEN_URL, AUTH_TYPE */
	SECRET_NAME,      /* API_KEY: unless the form of the value denies it */
	SECRET_NAME_SURE, /* its last word is PASSWORD, PASS, PIN, SECRET, CREDENTIALS */
};

/* Of len bytes, in any case, with words apart by marks or by a change of case. */
enum secret_name secret_name(const char *name, size_t len);

#endif
