/*
 * npm verifies what it has installed, in its cell. Only its report is read here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "shim/base/log.h"
#include "supervisor/base/other_verb.h"
#include "supervisor/install/installer.h"
#include "supervisor/json/json.h"
#include "supervisor/registry/reference.h"

/* Does the report list packages under this key? */
static bool
lists(struct json report, const char *key)
{
	struct json list, none, item;
	struct json_walk walk;

	if (json_get(report, key, &list) < 0)
		return false;
	json_walk(&walk, list);
	return json_next(&walk, &none, &item);
}

/* The reason in npm's report of an error. */
static void
reason_of(struct json report, char ret_why[256])
{
	struct json error, summary;
	char text[200];
	size_t len;

	if (json_get(report, "error", &error) == 0 &&
	    json_get(error, "summary", &summary) == 0 &&
	    json_text(summary, text, sizeof(text), &len) == 0 && len > 0)
		(void)log_quote(ret_why, 256, text, strcspn(text, "\n"));
	else
		(void)snprintf(
		    ret_why, 256, "the registry gives no keys for them"); /* fits */
}

enum signatures
installer_audit(const struct installer *in, char ret_why[256])
{
	static const char *const word[] = {
	    "audit", "signatures", "--json", "--loglevel", "silent", "--fetch-retries"};
	enum signatures found = SIGNATURES_SKIPPED;
	struct npm_words w = {.n = 0};
	struct json report;
	char *output;
	int status;

	for (size_t i = 0; i < ARRAY_LEN(word); i++)
		npm_word(&w, word[i]);
	npm_word(&w, in->npm.url.tls ? "1" : "0");
	status = installer_npm(in, CELL_AUDIT, &w, &output);
	if (status == 0)
		found = SIGNATURES_VERIFIED;
	else if (output == NULL || json_of(output, &report) < 0)
		(void)snprintf(ret_why, 256, "npm gave no report (it exited with %d)",
		    status); /* fits */
	else if (lists(report, "invalid") || lists(report, "missing"))
		found = SIGNATURES_WRONG;
	else
		reason_of(report, ret_why);
	if (found == SIGNATURES_WRONG)
		other_verb_show("npm: ", output);
	free(output);
	return found;
}
