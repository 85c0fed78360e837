/*
 * npm verifies what it has installed, in its cell.
 */
#include <stdlib.h>

#include "shim/base/array.h"
#include "supervisor/base/other_verb.h"
#include "supervisor/install/installer.h"

enum signatures
installer_audit(const struct installer *in, char ret_why[256])
{
	static const char *const word[] = {
	    "audit", "signatures", "--json", "--loglevel", "silent", "--fetch-retries"};
	enum signatures found;
	struct npm_words w = {.n = 0};
	char *output;
	int status;

	for (size_t i = 0; i < ARRAY_LEN(word); i++)
		npm_word(&w, word[i]);
	npm_word(&w, in->npm.url.tls ? "1" : "0");
	status = installer_npm(in, CELL_AUDIT, &w, &output);
	found = signatures_of(status, output, ret_why);
	if (found == SIGNATURES_WRONG)
		other_verb_show("npm: ", output);
	free(output);
	return found;
}
