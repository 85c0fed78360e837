/*
 * npm verifies what it has installed, in its cell; the log has the outcome.
 */
#include <stdlib.h>
#include <unistd.h>

#include "leash/audit/writer.h"
#include "shim/base/array.h"
#include "shim/base/log.h"
#include "supervisor/audit/audit.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/other_verb.h"
#include "supervisor/cli/cli.h"
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

int
installer_record(
    const struct installer *in, enum signatures found, bool allowed, const char *why)
{
	static const char *const outcome[] = {
	    [SIGNATURES_VERIFIED] = "verified",
	    [SIGNATURES_SKIPPED] = "unverified",
	    [SIGNATURES_WRONG] = "invalid",
	};
	char reason[AUDIT_WRITE_WHY_MAX];
	static struct event e; /* large */

	event_begin(&e, EVENT_INSTALL);
	event_text(&e, KEY_NAME, in->package);
	event_text(&e, KEY_OUTCOME, outcome[found]);
	event_text(&e, KEY_VERDICT, allowed ? "allow" : "deny");
	if (why != NULL)
		event_text(&e, KEY_REASON, why);
	event_number(&e, KEY_UID, getuid());
	if (user_report_one(&e, reason) == 0)
		return 0;
	log_error("unable to record the installation of %s in the audit log: %s; nothing "
		  "was kept",
	    in->package, reason);
	return EXIT_FAILED;
}
