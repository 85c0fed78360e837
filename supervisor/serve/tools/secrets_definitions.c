/*
 * The tools of facet secrets, as clients receive them: canonical JSON, like the others in
 * own_tools.c. No tool here returns a value or takes one. The descriptions are all that an
 * agent knows of how to use them.
 */
#include "supervisor/serve/tools/secrets_definitions.h"

/* JSON as it is; a long text is a literal of its own. */
#define JSON(...) #__VA_ARGS__

/* clang-format off */
#define META JSON("_meta":{"kennel/secrets-protocol":"1.0"},)
#define READS \
	JSON("annotations":{"destructiveHint":false,"idempotentHint":true,) \
	JSON("openWorldHint":false,"readOnlyHint":true},)
#define ASKS \
	JSON("annotations":{"destructiveHint":false,"idempotentHint":false,) \
	JSON("openWorldHint":false,"readOnlyHint":false},)
#define REQUEST_ID \
	JSON("outputSchema":{"additionalProperties":false,"properties":{"request_id":{) \
	JSON("description":"for secrets_poll_status","pattern":"^prov-[0-9a-f]{12}$",) \
	JSON("type":"string"}},"required":["request_id"],"type":"object"},)
#define PATH \
	JSON("path":{"description":"name of the secret: scope/provider/purpose",) \
	JSON("type":"string"})

/* The members of a record, in the order of their keys; MORE: those of a card. */
#define APPROVE JSON("approve_on_use":{) \
	"\"description\":\"a person is asked before the secret is used: once in a " \
	"session, or for each call; absent: no person is asked\"," \
	JSON("enum":["session","per-call"],"type":"string"},)
#define CAPABILITIES JSON("capabilities_hint":{) \
	"\"description\":\"read,rotate: the provider can replace the value; read: a " \
	"person does\"," \
	JSON("enum":["read","read,rotate"],"type":"string"},)
#define EXPIRES JSON("expires_at":{"description":"YYYY-MM-DD","type":["string","null"]},)
#define SOURCE JSON("source_name":{"description":"reserved","type":"null"},)
#define STATUS JSON("status":{) \
	"\"description\":\"from expires_at alone; expiring: 14 days or less are left\"," \
	JSON("enum":["registered","expiring","expired"],"type":"string"})

const char secrets_list_definition[] =
"{" META READS
"\"description\":\"List the secrets that this project declares: names and metadata, "
"never values. No tool returns the value of a secret: a value reaches a server when the "
"server starts. Use it to find the path of a secret that a server lacks, or that a "
"person will be asked about (approve_on_use). All filters must match. Without a "
"manifest the list is empty.\","
JSON("inputSchema":{"additionalProperties":false,"properties":{"include_internal":{)
JSON("default":false,"description":"also list kennel's own entries","type":"boolean"},)
JSON("path_contains":{"description":"part of the path","type":"string"},"scope":{)
JSON("description":"first part of the path, whole","type":"string"},"status":{"enum":[)
JSON("registered","expiring","expired"],"type":"string"}},"type":"object"},)
JSON("name":"secrets_list",)
JSON("outputSchema":{"properties":{"secrets":{"items":{"properties":{)
APPROVE CAPABILITIES EXPIRES
JSON("path":{"type":"string"},)
SOURCE STATUS
JSON(},"required":["path","status","expires_at","source_name","capabilities_hint"],)
JSON("type":"object"},"type":"array"}},"required":["secrets"],"type":"object"},)
JSON("title":"List secrets"});

const char secrets_describe_definition[] =
"{" META READS
"\"description\":\"Show what is known of one secret of this project, never its value: "
"what it is for, where a person gets it (retrieval_url), when it expires and how it is "
"rotated. Use it before a request that a person has to answer, and repeat "
"retrieval_url to the person. A path that the project does not declare is not-found.\","
JSON("inputSchema":{"properties":{)
PATH
JSON(},"required":["path"],"type":"object"},)
JSON("name":"secrets_describe",)
JSON("outputSchema":{"properties":{)
APPROVE CAPABILITIES
JSON("description":{"type":["string","null"]},)
EXPIRES
JSON("last_rotated_at":{"description":"YYYY-MM-DD","type":["string","null"]},)
JSON("path":{"type":"string"},"pattern_id":{)
JSON("description":"the token format that the value has","type":["string","null"]},)
JSON("retrieval_url":{"description":"where a person gets a value","type":["string",)
JSON("null"]},"rotate_every_days":{"type":["integer","null"]},"rotation_method":{)
JSON("enum":["manual","provider-ui","provider-api"],"type":"string"},)
SOURCE STATUS
JSON(},"required":["path","status","expires_at","source_name","capabilities_hint",)
JSON("description","retrieval_url","rotation_method","last_rotated_at",)
JSON("rotate_every_days","pattern_id"],"type":"object"},)
JSON("title":"Describe a secret"});

#define POLL_IT \
	"The reply is a request_id: poll it with secrets_poll_status every 2 to 5 " \
	"seconds, with a time-out of your own. "

const char secrets_request_provision_definition[] =
"{" META ASKS
"\"description\":\"Ask a person for the value of a secret that is missing. The person "
"types it where you cannot see it; no tool takes or returns a value, so never ask the "
"user to paste one into the chat. First call secrets_describe and give the user its "
"retrieval_url. " POLL_IT "Tell the user that a question is open: kennel approve shows "
"and answers it. After ok, repeat the call that needed the secret. The request expires "
"after 5 minutes.\","
JSON("inputSchema":{"properties":{"mode":{"default":"provision",)
JSON("description":"rotation: the value replaces the one that is there","enum":[)
JSON("provision","rotation"],"type":"string"},)
PATH
JSON(},"required":["path"],"type":"object"},)
JSON("name":"secrets_request_provision",)
REQUEST_ID
JSON("title":"Ask for the value of a secret"});

const char secrets_request_rotation_definition[] =
"{" META ASKS
"\"description\":\"Ask a person to replace the value of a secret, for example because it "
"expires soon or was revoked. The person confirms that the current value is overwritten, "
"and types the new one where you cannot see it. " POLL_IT "After ok, servers that start "
"get the new value; approvals for the session have ended. The request expires after 5 "
"minutes.\","
JSON("inputSchema":{"properties":{)
PATH
JSON(},"required":["path"],"type":"object"},)
JSON("name":"secrets_request_rotation",)
REQUEST_ID
JSON("title":"Ask to replace a secret"});

/* What a proposal may contain; EXPIRES_AT and the others in the order of their keys. */
#define PROPOSED \
	JSON("additionalProperties":false,"properties":{"description":{) \
	JSON("description":"what it is for; plain text of at most 512 bytes",) \
	JSON("maxLength":512,"minLength":1,"type":"string"},"expires_at":{) \
	JSON("description":"YYYY-MM-DD, or null for no date","type":["string","null"]},) \
	JSON("pattern_id":{"description":"name of a known token format, as github-pat",) \
	JSON("type":"string"},"retrieval_url":{) \
	JSON("description":"where a person gets a value: an https:// URL",) \
	JSON("maxLength":512,"type":"string"},"rotate_every_days":{"maximum":3650,) \
	JSON("minimum":1,"type":"integer"}},"type":"object"})

const char secrets_propose_metadata_definition[] =
"{" META ASKS
"\"description\":\"Propose other metadata for a secret that this project declares. A "
"person sees the current values beside yours, and accepts or declines; fields that you "
"omit stay as they are. Never write a value into a field. " POLL_IT "ok: the manifest "
"has been changed. cancelled: it has not.\","
JSON("inputSchema":{"properties":{"fields":{)
PROPOSED
JSON(,)
PATH
JSON(},"required":["path","fields"],"type":"object"},)
JSON("name":"secrets_propose_metadata",)
REQUEST_ID
JSON("title":"Propose metadata of a secret"});

const char secrets_propose_new_path_definition[] =
"{" META ASKS
"\"description\":\"Propose that this project declares a secret that it does not declare "
"yet, for example after not-found. A person may choose another name, or decline. No "
"value is asked for: after ok, find the name with secrets_list, then use "
"secrets_request_provision. " POLL_IT "\","
JSON("inputSchema":{"properties":{"metadata":{)
PROPOSED
JSON(,"suggested_path":{"description":"scope/provider/purpose, as team/github/token",)
JSON("type":"string"}},"required":["suggested_path","metadata"],"type":"object"},)
JSON("name":"secrets_propose_new_path",)
REQUEST_ID
JSON("title":"Propose a new secret"});

const char secrets_request_use_approval_definition[] =
"{" META ASKS
"\"description\":\"Ask a person for the use of a secret whose approve_on_use is session "
"or per-call, before you call the tool of the server that needs it. Usually it is not "
"needed: a call that starts the server asks by itself. The person sees your reason. The "
"reply is a request_id: poll it with secrets_poll_status every 2 to 5 seconds, with a "
"time-out of your own, and tell the user that a person must answer with kennel approve. "
"A refusal cannot be overridden: only a person can reopen the path.\","
JSON("inputSchema":{"properties":{)
PATH
JSON(,"reason":{)
"\"description\":\"why the secret is needed, for the person who decides; plain text of "
"at most 512 bytes\","
JSON("maxLength":512,"minLength":1,"type":"string"},"ttl_seconds":{"default":300,)
JSON("description":"how long the request stays open; it can only be shortened",)
JSON("maximum":300,"minimum":1,"type":"integer"}},)
JSON("required":["path","reason"],"type":"object"},)
JSON("name":"secrets_request_use_approval",)
REQUEST_ID
JSON("title":"Ask for the use of a secret"});

const char secrets_poll_status_definition[] =
"{" META READS
"\"description\":\"Return the status of a request that a person answers, by its "
"request_id. Poll every 2 to 5 seconds, not faster, and give up after a time-out of your "
"own. pending: wait. ok: repeat the call that needed the secret. once: call the tool "
"now, for this one use; do not assume that it is allowed again. session: call the tool; "
"later uses in this session are allowed too. denied: report it to the user as an error "
"and do not ask again by yourself. cancelled: ask the user what to do. expired: report "
"that no person answered in time, and offer a new request. failed: show reason to the user. "
"Treat any other status as failed.\","
JSON("inputSchema":{"properties":{"request_id":{)
JSON("description":"as a secrets_request tool returned it","type":"string"}},)
JSON("required":["request_id"],"type":"object"},)
JSON("name":"secrets_poll_status",)
JSON("outputSchema":{"properties":{"age_seconds":{)
JSON("description":"since the request was made","minimum":0,"type":"integer"},)
JSON("kind":{"enum":["provision","rotation","metadata-proposal","new-path-proposal",)
JSON("use-approval"],"type":"string"},"path":{)
JSON("description":"the secret that the request was made for","type":"string"},)
JSON("request_id":{"type":"string"},"retry_after_ms":{)
JSON("description":"present after a poll that came too early","minimum":1,)
JSON("type":"integer"},"status":{"properties":{"kind":{"enum":["pending","ok",)
JSON("cancelled","expired","failed","once","session","denied"],"type":"string"},)
JSON("reason":{"description":"of failed","type":"string"}},"required":["kind"],)
JSON("type":"object"}},"required":["request_id","path","kind","status","age_seconds"],)
JSON("type":"object"},)
JSON("title":"Poll a request"});
/* clang-format on */
