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
#define PATH \
	JSON("path":{"description":"name of the secret: scope/provider/purpose",) \
	JSON("type":"string"})

/* The members of a record, in the order of their keys; MORE: those of a card. */
#define APPROVE JSON("approve_on_use":{) \
	"\"description\":\"a person is asked before the secret is used: once in a " \
	"session, or for each call; absent: no one is asked\"," \
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
/* clang-format on */
