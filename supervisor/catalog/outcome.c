/*
 * How a fetch ended.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "leash/audit/writer.h"
#include "shim/base/log.h"
#include "supervisor/base/paths.h"
#include "supervisor/catalog/catalog.h"
#include "supervisor/audit/audit.h"
#include "supervisor/cli/cli.h"

static const struct {
	const char *name;
	const char *reason; /* NULL: it is good */
} row[OUTCOME_N] = {
    [OUTCOME_FETCHED] = {"fetched", NULL},
    [OUTCOME_UNCHANGED] = {"unchanged", NULL},
    [OUTCOME_FIRST_USE] = {"first-use", NULL},
    [OUTCOME_DIGEST_MISMATCH] = {"digest-mismatch",
	"it is not the file whose `sha256` " CATALOG_FILE " has: ask its publisher for "
	"the new digest"},
    [OUTCOME_TOO_LARGE] = {"too-large", "it is larger than 256 KiB: divide it"},
    [OUTCOME_WRONG_TYPE] = {"wrong-type",
	"its type is neither application/json nor text: check the URL"},
    [OUTCOME_NOT_HTTPS] = {"not-https", "only https:// is fetched: change the URL"},
    [OUTCOME_PRIVATE_ADDRESS] = {"private-address",
	"its host has no public address: `to private` or `to loopback` in your "
	"own " CATALOG_FILE " permits another"},
    [OUTCOME_REDIRECT] = {"redirect",
	"the host redirects, which is not followed: write the URL where the file is"},
    [OUTCOME_HTTP_ERROR] = {"http-error",
	"the host did not answer with the file: check the URL"},
    [OUTCOME_TLS] = {"tls",
	"the certificate of the host is not trusted: `ca FILE` in your own " CATALOG_FILE
	" names another authority"},
    [OUTCOME_TIMEOUT] = {"timeout", "it did not come within 10 s: try again"},
    [OUTCOME_UNREACHABLE] = {"unreachable", "the host cannot be reached: try again"},
    [OUTCOME_PARSE_ERROR] = {"parse-error",
	"it is not a catalog: ask its publisher to correct it"},
    [OUTCOME_DISABLED] = {"disabled",
	"`catalog deny` in " SETTINGS_FILE " (kennel-settings(5))"},
};

const char *
outcome_name(enum catalog_outcome o)
{
	return row[o].name;
}

enum catalog_outcome
outcome_find(const char *text, size_t len)
{
	unsigned int i;

	for (i = 0; i < OUTCOME_N; i++)
		if (strlen(row[i].name) == len && memcmp(row[i].name, text, len) == 0)
			break;
	return (enum catalog_outcome)i;
}

bool
outcome_good(enum catalog_outcome o)
{
	return row[o].reason == NULL;
}

static const char *
reason_of(const struct catalog_fetch *f, enum catalog_outcome o)
{
	return f->reason != NULL ? f->reason : row[o].reason;
}

int
outcome_record(struct report *report, const struct catalog_fetch *f,
    enum catalog_outcome o, bool allowed)
{
	const char *reason = reason_of(f, o), *log = paths_audit_dir();
	char why[AUDIT_WRITE_WHY_MAX];
	static struct event e;
	uint64_t number = 0;
	int r;

	event_begin(&e, EVENT_CATALOG);
	event_text(&e, KEY_NAME, f->source->url);
	event_text(&e, KEY_OUTCOME, outcome_name(o));
	event_text(&e, KEY_VERDICT, allowed ? "allow" : "deny");
	if (f->digest[0] != '\0')
		event_short(&e, KEY_SHA256, f->digest);
	if (f->source->sha256 != NULL)
		event_text(&e, KEY_PINNED, f->source->sha256);
	if (f->text != NULL)
		event_number(&e, KEY_BYTES, f->len);
	if (f->status != 0)
		event_number(&e, KEY_STATUS, f->status);
	if (reason != NULL)
		event_text(&e, KEY_REASON, reason);
	event_text(&e, KEY_SOURCE, f->source->project ? "project" : "person");
	event_number(&e, KEY_UID, getuid());
	r = report_send(report, &e, EVENT_GATE, &number);
	if (r == 0)
		r = report_wait(report, number, USER_REPORT_WAIT_MS);
	if (r < 0)
		log_error(
		    "unable to record the fetch of %s in the audit log: %s; nothing "
		    "was stored",
		    f->source->url,
		    log != NULL ? audit_write_why(log, r, why) : strerror(-r));
	return r;
}

void
outcome_complain(const struct catalog_fetch *f, enum catalog_outcome o)
{
	char status[32] = "";

	if (o == OUTCOME_HTTP_ERROR || o == OUTCOME_REDIRECT)
		(void)snprintf(status, sizeof(status), " (status %u)", f->status);
	log_error("%s: %s%s: %s; nothing was stored", f->source->url, outcome_name(o),
	    status, reason_of(f, o));
	if (o == OUTCOME_DIGEST_MISMATCH)
		log_error("expected sha256 %s, found %s", f->source->sha256, f->digest);
}
