/*
 * Writes records in OCSF 1.5. One table maps each kind to a class and an activity;
 * the complete record is under "unmapped".
 */
#include <inttypes.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/audit/query/describe.h"
#include "supervisor/audit/query/escape.h"
#include "supervisor/audit/report/export.h"

#define OCSF_VERSION "1.5.0"

enum {
	FILE_ACTIVITY = 1001,
	PROCESS_ACTIVITY = 1007,
	EVENT_LOG = 1008,
	FINDING = 2004,
	NETWORK = 4001,
	CONFIG_CHANGE = 5019,
	API = 6003
};
enum { OTHER = 99 };

static const struct {
	const char *kind, *has; /* has: only with this field; NULL: any */
	unsigned int class, activity;
	const char *name; /* of the activity */
} row_of[] = {
    {"start", NULL, PROCESS_ACTIVITY, 1, "Launch"},
    {"exec", NULL, PROCESS_ACTIVITY, 1, "Launch"},
    {"stop", NULL, PROCESS_ACTIVITY, 2, "Terminate"},
    {"refused", "direction", API, OTHER, "Refused"},
    {"refused", NULL, PROCESS_ACTIVITY, 1, "Launch"},
    {"mounts", NULL, FILE_ACTIVITY, 12, "Mount"}, {"call", NULL, API, OTHER, "Call"},
    {"secrets", NULL, API, 2, "Read"}, {"vault", NULL, API, 2, "Read"},
    {"approve", NULL, API, OTHER, "Approve"}, {"dropped", NULL, FINDING, 1, "Create"},
    {"scrub", NULL, FINDING, 1, "Create"}, {"egress", NULL, NETWORK, 6, "Traffic"},
    {"policy.load", NULL, CONFIG_CHANGE, 1, "Log"},
    {"exception", NULL, CONFIG_CHANGE, 1, "Log"},
    {"manifest", NULL, CONFIG_CHANGE, 1, "Log"},
    {"registry", NULL, CONFIG_CHANGE, 1, "Log"},
    {"catalog", NULL, CONFIG_CHANGE, 1, "Log"}, {"console", NULL, API, OTHER, "Console"},
    {"install", NULL, CONFIG_CHANGE, 1, "Log"}, {"genesis", NULL, EVENT_LOG, 9, "Enable"},
    {"open", NULL, EVENT_LOG, 6, "Start"}, {"end", NULL, EVENT_LOG, 7, "Stop"},
    {"epoch", NULL, EVENT_LOG, 5, "Rotate"}, {"export", NULL, EVENT_LOG, 3, "Export"},
    {"prune", NULL, EVENT_LOG, 2, "Delete"}, {"rotate", NULL, EVENT_LOG, 5, "Rotate"},
    {"gap", NULL, EVENT_LOG, OTHER, "Gap"}, {"break", NULL, EVENT_LOG, OTHER, "Break"},
    {"clock", NULL, EVENT_LOG, OTHER, "Clock"},
    {NULL, NULL, EVENT_LOG, OTHER, "Other"}, /* any other kind */
};

static size_t
find_row(const struct log_record *record)
{
	size_t i = 0;

	for (; row_of[i].kind != NULL; i++) {
		if (strcmp(row_of[i].kind, record->kind) == 0 &&
		    (row_of[i].has == NULL ||
			log_record_find(record, row_of[i].has) != NULL))
			break;
	}
	return i;
}

/* ---- helpers ----------------------------------------------------------------------- */

static void
put_pair(FILE *out, const char *before, const char *key, const char *text)
{
	if (text == NULL)
		return;
	fprintf(out, "%s\"%s\":\"", before, key);
	escape_json(out, text);
	fprintf(out, "\"");
}

static const char *
or_else(const char *text, const char *other)
{
	return text != NULL && text[0] != '\0' ? text : other;
}

static const char *
base_name(const char *path)
{
	const char *slash = path != NULL ? strrchr(path, '/') : NULL;

	return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

static void
put_device(FILE *out, const struct log_record *record)
{
	fprintf(out, ",\"device\":{\"type_id\":0,\"hostname\":\"");
	escape_json(out, or_else(log_record_text(record, "host"), "localhost"));
	fprintf(out, "\"}");
}

static void
put_actor(FILE *out, const struct log_record *record)
{
	fprintf(out, ",\"actor\":{\"app_name\":\"kennel %s\"",
	    strcmp(record->role, "leash") == 0 ? "leash" : "supervisor");
	fprintf(out, ",\"session\":{\"uid\":\"");
	escape_json(out, record->session);
	fprintf(out, "\"},\"process\":{\"pid\":%" PRIu64 ",\"name\":\"kennel\"}}",
	    record->pid);
}

static void
put_process(FILE *out, const struct log_record *record)
{
	const char *program = log_record_text(record, "program");
	uint64_t pid;

	fprintf(out, ",\"process\":{\"name\":\"");
	escape_json(out, or_else(base_name(program),
			     or_else(log_record_text(record, "server"), "unknown")));
	fprintf(out, "\"");
	if (log_record_number(record, "pid", &pid))
		fprintf(out, ",\"pid\":%" PRIu64, pid);
	if (program != NULL) {
		fprintf(out, ",\"file\":{\"type_id\":1,\"name\":\"");
		escape_json(out, base_name(program));
		put_pair(out, "\",", "path", program);
		fprintf(out, "}");
	}
	fprintf(out, "}");
}

static void
put_file(FILE *out, const struct log_record *record)
{
	fprintf(out, ",\"file\":{\"type_id\":2,\"name\":\"");
	escape_json(out, or_else(log_record_text(record, "mount"), "view"));
	fprintf(out, "\"}");
}

static void
put_api(FILE *out, const struct log_record *record)
{
	fprintf(out, ",\"api\":{\"operation\":\"");
	escape_json(out, or_else(log_record_text(record, "method"), record->kind));
	fprintf(out, "\"");
	put_pair(out, ",\"request\":{", "uid", log_record_text(record, "request"));
	fprintf(out, "%s", log_record_text(record, "request") != NULL ? "}" : "");
	put_pair(out, ",\"service\":{", "name", log_record_text(record, "server"));
	fprintf(out, "%s", log_record_text(record, "server") != NULL ? "}" : "");
	fprintf(out, "},\"src_endpoint\":{\"name\":\"");
	escape_json(out, or_else(log_record_text(record, "direction"), "agent"));
	fprintf(out, "\"}");
	put_pair(out, ",\"resources\":[{", "name", log_record_text(record, "name"));
	fprintf(out, "%s", log_record_text(record, "name") != NULL ? "}]" : "");
}

static void
put_network(FILE *out, const struct log_record *record)
{
	uint64_t port, bytes;

	fprintf(out, ",\"dst_endpoint\":{\"hostname\":\"");
	escape_json(out, or_else(log_record_text(record, "name"), "unknown"));
	fprintf(out, "\"");
	put_pair(out, ",", "ip", log_record_text(record, "address"));
	if (log_record_number(record, "port", &port))
		fprintf(out, ",\"port\":%" PRIu64, port);
	fprintf(out, "},\"src_endpoint\":{\"name\":\"");
	escape_json(out, or_else(log_record_text(record, "server"), "unknown"));
	fprintf(out,
	    "\"},\"connection_info\":{\"direction_id\":2,\"protocol_name\":\"tcp\"}");
	if (log_record_number(record, "bytes_out", &bytes))
		fprintf(out, ",\"traffic\":{\"bytes_out\":%" PRIu64 "}", bytes);
}

static void
put_finding(FILE *out, const struct log_record *record)
{
	fprintf(out,
	    ",\"finding_info\":{\"uid\":\"kennel-%" PRIu64 "\",\"title\":\"%s\"}",
	    record->idx,
	    strcmp(record->kind, "scrub") == 0
		? "a secret was redacted from a server's output"
		: "a line that is not a message was dropped");
}

/* ---- a record ------------------------------------------------------------------------- */

/* Of an answer, which has no verdict: did what was asked succeed? */
static int
status_of_answer(const struct log_record *record)
{
	static const struct {
		const char *outcome;
		int status;
	} row[] = {
	    {"ok", 1}, {"error", 2}, {"tool-error", 2}, {"timeout", 2}, {"gone", 2}};

	for (size_t i = 0; i < ARRAY_LEN(row); i++)
		if (strcmp(record->kind, "call") == 0 &&
		    log_record_is(record, "outcome", row[i].outcome))
			return row[i].status;
	return 99;
}

/* The security_control profile: the decision, and its rule. */
static void
put_control(FILE *out, const struct log_record *record)
{
	static const struct {
		const char *verdict;
		int action, disposition, status, severity;
	} row[] = {
	    {"allow", 1, 1, 1, 1}, {"deny", 2, 2, 2, 3}, {"killed", 2, 2, 2, 4},
	    {"ask", 3, 99, 99, 2}, {VERDICT_ABSENT, 2, 2, 2, 1},
	    {NULL, 3, 99, 99, 1}, /* observed */
	};
	size_t i = 0;

	while (
	    row[i].verdict != NULL && !log_record_is(record, "verdict", row[i].verdict))
		i++;
	fprintf(out,
	    ",\"severity_id\":%d,\"action_id\":%d,\"disposition_id\":%d,\"status_id\":%d",
	    row[i].severity, row[i].action, row[i].disposition,
	    row[i].verdict != NULL ? row[i].status : status_of_answer(record));
	put_pair(out, ",", "status_detail", log_record_text(record, "reason"));
	put_pair(out, ",\"firewall_rule\":{", "name", log_record_text(record, "rule"));
	fprintf(out, "%s", log_record_text(record, "rule") != NULL ? "}" : "");
	put_pair(out, ",\"policy\":{", "uid", log_record_text(record, "policy"));
	fprintf(out, "%s", log_record_text(record, "policy") != NULL ? "}" : "");
}

void
export_ocsf(FILE *out, const struct log_record *record)
{
	static const struct {
		unsigned int class;
		void (*put)(FILE *, const struct log_record *);
	} object[] = {
	    {FILE_ACTIVITY, put_device},
	    {FILE_ACTIVITY, put_file},
	    {PROCESS_ACTIVITY, put_device},
	    {PROCESS_ACTIVITY, put_process},
	    {EVENT_LOG, put_device},
	    {FINDING, put_finding},
	    {NETWORK, put_device},
	    {NETWORK, put_network},
	    {CONFIG_CHANGE, put_device},
	    {API, put_api},
	};
	static char story[DESCRIBE_MAX];
	size_t i = find_row(record);
	unsigned int class = row_of[i].class;

	fprintf(out,
	    "{\"class_uid\":%u,\"category_uid\":%u,\"activity_id\":%u,"
	    "\"activity_name\":\"%s\",\"type_uid\":%u,\"time\":%" PRIu64,
	    class, class / 1000, row_of[i].activity, row_of[i].name,
	    class * 100 + row_of[i].activity, record->ts / 1000000);
	fprintf(out,
	    ",\"metadata\":{\"version\":\"" OCSF_VERSION "\",\"product\":{\"name\":"
	    "\"kennel\",\"vendor_name\":\"kennel\"},\"profiles\":[\"security_control\"],"
	    "\"log_name\":\"audit\",\"uid\":\"%" PRIu64 "\",\"sequence\":%" PRIu64 "}",
	    record->idx, record->idx);
	put_control(out, record);
	put_pair(out, ",", "message", describe_tell(record, story));
	put_actor(out, record);
	for (size_t k = 0; k < ARRAY_LEN(object); k++) {
		if (object[k].class == class)
			object[k].put(out, record);
	}
	fprintf(out, ",\"unmapped\":{\"kennel\":");
	escape_body(out, record->body, record->len);
	fprintf(out, "}}");
}
