/*
 * Writes records in OCSF 1.5. One table maps each kind to a class and an activity;
 * the complete record is under "unmapped".
 */
#include <inttypes.h>
#include <string.h>

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
    {"genesis", NULL, EVENT_LOG, 9, "Enable"}, {"open", NULL, EVENT_LOG, 6, "Start"},
    {"end", NULL, EVENT_LOG, 7, "Stop"}, {"epoch", NULL, EVENT_LOG, 5, "Rotate"},
    {"export", NULL, EVENT_LOG, 3, "Export"}, {"prune", NULL, EVENT_LOG, 2, "Delete"},
    {"rotate", NULL, EVENT_LOG, 5, "Rotate"}, {"gap", NULL, EVENT_LOG, OTHER, "Gap"},
    {"break", NULL, EVENT_LOG, OTHER, "Break"},
    {"clock", NULL, EVENT_LOG, OTHER, "Clock"},
    {NULL, NULL, EVENT_LOG, OTHER, "Other"}, /* any other kind */
};

static size_t
find_row(const struct fact *fact)
{
	size_t i = 0;

	for (; row_of[i].kind != NULL; i++) {
		if (strcmp(row_of[i].kind, fact->kind) == 0 &&
		    (row_of[i].has == NULL || fact_find(fact, row_of[i].has) != NULL))
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
	inert_json(out, text);
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
put_device(FILE *out, const struct fact *fact)
{
	fprintf(out, ",\"device\":{\"type_id\":0,\"hostname\":\"");
	inert_json(out, or_else(fact_text(fact, "host"), "localhost"));
	fprintf(out, "\"}");
}

static void
put_actor(FILE *out, const struct fact *fact)
{
	fprintf(out, ",\"actor\":{\"app_name\":\"kennel %s\"",
	    strcmp(fact->role, "leash") == 0 ? "leash" : "supervisor");
	fprintf(out, ",\"session\":{\"uid\":\"");
	inert_json(out, fact->session);
	fprintf(
	    out, "\"},\"process\":{\"pid\":%" PRIu64 ",\"name\":\"kennel\"}}", fact->pid);
}

static void
put_process(FILE *out, const struct fact *fact)
{
	const char *program = fact_text(fact, "program");
	uint64_t pid;

	fprintf(out, ",\"process\":{\"name\":\"");
	inert_json(out,
	    or_else(base_name(program), or_else(fact_text(fact, "server"), "unknown")));
	fprintf(out, "\"");
	if (fact_number(fact, "pid", &pid))
		fprintf(out, ",\"pid\":%" PRIu64, pid);
	if (program != NULL) {
		fprintf(out, ",\"file\":{\"type_id\":1,\"name\":\"");
		inert_json(out, base_name(program));
		put_pair(out, "\",", "path", program);
		fprintf(out, "}");
	}
	fprintf(out, "}");
}

static void
put_file(FILE *out, const struct fact *fact)
{
	fprintf(out, ",\"file\":{\"type_id\":2,\"name\":\"");
	inert_json(out, or_else(fact_text(fact, "mount"), "view"));
	fprintf(out, "\"}");
}

static void
put_api(FILE *out, const struct fact *fact)
{
	fprintf(out, ",\"api\":{\"operation\":\"");
	inert_json(out, or_else(fact_text(fact, "method"), fact->kind));
	fprintf(out, "\"");
	put_pair(out, ",\"request\":{", "uid", fact_text(fact, "request"));
	fprintf(out, "%s", fact_text(fact, "request") != NULL ? "}" : "");
	put_pair(out, ",\"service\":{", "name", fact_text(fact, "server"));
	fprintf(out, "%s", fact_text(fact, "server") != NULL ? "}" : "");
	fprintf(out, "},\"src_endpoint\":{\"name\":\"");
	inert_json(out, or_else(fact_text(fact, "direction"), "agent"));
	fprintf(out, "\"}");
	put_pair(out, ",\"resources\":[{", "name", fact_text(fact, "name"));
	fprintf(out, "%s", fact_text(fact, "name") != NULL ? "}]" : "");
}

static void
put_network(FILE *out, const struct fact *fact)
{
	uint64_t port, bytes;

	fprintf(out, ",\"dst_endpoint\":{\"hostname\":\"");
	inert_json(out, or_else(fact_text(fact, "name"), "unknown"));
	fprintf(out, "\"");
	put_pair(out, ",", "ip", fact_text(fact, "address"));
	if (fact_number(fact, "port", &port))
		fprintf(out, ",\"port\":%" PRIu64, port);
	fprintf(out, "},\"src_endpoint\":{\"name\":\"");
	inert_json(out, or_else(fact_text(fact, "server"), "unknown"));
	fprintf(out,
	    "\"},\"connection_info\":{\"direction_id\":2,\"protocol_name\":\"tcp\"}");
	if (fact_number(fact, "bytes_out", &bytes))
		fprintf(out, ",\"traffic\":{\"bytes_out\":%" PRIu64 "}", bytes);
}

static void
put_finding(FILE *out, const struct fact *fact)
{
	fprintf(out,
	    ",\"finding_info\":{\"uid\":\"kennel-%" PRIu64 "\",\"title\":\"%s\"}",
	    fact->idx,
	    strcmp(fact->kind, "scrub") == 0
		? "a secret was redacted from a server's output"
		: "a line that is not a message was dropped");
}

/* ---- a record ------------------------------------------------------------------------- */

/* The security_control profile: the decision, and its rule. */
static void
put_control(FILE *out, const struct fact *fact)
{
	static const struct {
		const char *verdict;
		int action, disposition, status, severity;
	} row[] = {
	    {"allow", 1, 1, 1, 1}, {"deny", 2, 2, 2, 3}, {"killed", 2, 2, 2, 4},
	    {"ask", 3, 99, 99, 2}, {NULL, 3, 99, 99, 1}, /* observed */
	};
	size_t i = 0;

	while (row[i].verdict != NULL && !fact_is(fact, "verdict", row[i].verdict))
		i++;
	fprintf(out,
	    ",\"severity_id\":%d,\"action_id\":%d,\"disposition_id\":%d,\"status_id\":%d",
	    row[i].severity, row[i].action, row[i].disposition, row[i].status);
	put_pair(out, ",", "status_detail", fact_text(fact, "reason"));
	put_pair(out, ",\"firewall_rule\":{", "name", fact_text(fact, "rule"));
	fprintf(out, "%s", fact_text(fact, "rule") != NULL ? "}" : "");
	put_pair(out, ",\"policy\":{", "uid", fact_text(fact, "policy"));
	fprintf(out, "%s", fact_text(fact, "policy") != NULL ? "}" : "");
}

void
export_ocsf(FILE *out, const struct fact *fact)
{
	static const struct {
		unsigned int class;
		void (*put)(FILE *, const struct fact *);
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
	static char story[STORY_MAX];
	size_t i = find_row(fact);
	unsigned int class = row_of[i].class;

	fprintf(out,
	    "{\"class_uid\":%u,\"category_uid\":%u,\"activity_id\":%u,"
	    "\"activity_name\":\"%s\",\"type_uid\":%u,\"time\":%" PRIu64,
	    class, class / 1000, row_of[i].activity, row_of[i].name,
	    class * 100 + row_of[i].activity, fact->ts / 1000000);
	fprintf(out,
	    ",\"metadata\":{\"version\":\"" OCSF_VERSION "\",\"product\":{\"name\":"
	    "\"kennel\",\"vendor_name\":\"kennel\"},\"profiles\":[\"security_control\"],"
	    "\"log_name\":\"audit\",\"uid\":\"%" PRIu64 "\",\"sequence\":%" PRIu64 "}",
	    fact->idx, fact->idx);
	put_control(out, fact);
	put_pair(out, ",", "message", story_tell(fact, story));
	put_actor(out, fact);
	for (size_t k = 0; k < ARRAY_LEN(object); k++) {
		if (object[k].class == class)
			object[k].put(out, fact);
	}
	fprintf(out, ",\"unmapped\":{\"kennel\":");
	inert_body(out, fact->body, fact->len);
	fprintf(out, "}}");
}
