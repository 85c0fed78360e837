/*
 * The definitions of kennel's own tools, as clients receive them.
 *
 * They are canonical JSON: members in the order of their keys, no white space. So an
 * agent that pins definitions sees a change exactly when a definition changes. The
 * descriptions are written for a model that knows nothing else about kennel.
 *
 * Annotations: the first two tools only read what kennel knows. tool_invoke and
 * mcp_query are as dangerous as the worst tool of any server. mcp_register changes a
 * registry that grants nothing.
 */
#include "supervisor/serve/tools/own_tools.h"

#include <errno.h>
#include <string.h>

#include "supervisor/serve/tools/secrets_definitions.h"

/* JSON as it is; a long text is a literal of its own. */
#define JSON(...) #__VA_ARGS__

/* clang-format off */
static const char tool_search[] =
JSON({"annotations":{"destructiveHint":false,"idempotentHint":true,)
JSON("openWorldHint":false,"readOnlyHint":true},)
"\"description\":\"Find tools of all servers by words in their names, descriptions "
"and parameters. Start here: most tools are not in tools/list. All words must match, "
"the last one as the beginning of a word; if no tool has all of them, tools with any "
"of them are returned. The best match is first; an empty query lists every tool. "
"Pass a result's `name` to tool_describe for its parameters, then to tool_invoke. "
"`starting` names servers whose tools are not known yet: search again in a few "
"seconds. `needs_approval` names servers whose tools are listed only after a person "
"has approved a secret: tool_describe with the server's name asks for it. Tools that "
"the policy denies are never found.\","
JSON("inputSchema":{"additionalProperties":false,"properties":{"cursor":{)
JSON("description":"`nextCursor` of the previous result","type":"string"},"limit":{)
JSON("default":20,"description":"most tools to return","maximum":100,"minimum":1,)
JSON("type":"integer"},"query":{)
JSON("description":"words to look for, at most 16; empty: every tool","type":"string"},)
JSON("server":{"description":"only tools of this server","type":"string"}},"required":[)
JSON("query"],"type":"object"},)
JSON("name":"tool_search",)
JSON("outputSchema":{"properties":{"needs_approval":{)
JSON("description":"servers whose secret a person must approve before they list tools",)
JSON("items":{"type":"string"},"type":"array"},"nextCursor":{)
JSON("description":"more tools match: pass it as `cursor`","type":"string"},)
JSON("starting":{"description":"servers whose tools are not known yet","items":{)
JSON("type":"string"},"type":"array"},"tools":{"items":{"properties":{"approval":{)
JSON("description":"auto: runs at once; confirm: a person is asked first","enum":[)
JSON("auto","confirm"],"type":"string"},"facet":{)
JSON("description":"the server, or the facet of one of kennel's own tools",)
JSON("type":"string"},"mutates":{)
JSON("description":"false: by its reviewed definition, the tool only reads",)
JSON("type":"boolean"},"name":{)
JSON("description":"`server.tool`, for tool_describe and tool_invoke","type":"string"},)
JSON("pinned":{"description":"a person has reviewed the definition","type":"boolean"},)
JSON("summary":{"description":"first sentence of the description","type":"string"},)
JSON("wire":{"description":"the name in tools/list, if the tool is listed",)
JSON("type":"string"}},"required":["name","summary","facet","mutates"],)
JSON("type":"object"},"type":"array"}},"required":["tools"],"type":"object"},)
JSON("title":"Search tools"});

static const char tool_describe[] =
JSON({"annotations":{"destructiveHint":false,"idempotentHint":true,)
JSON("openWorldHint":false,"readOnlyHint":true},)
"\"description\":\"Return the full definition of one tool: description, inputSchema, "
"and whether a call needs a person's approval. Read it before the first tool_invoke "
"of that tool. With the name of a server, return what the server is for, its "
"instructions, its number of tools and its state.\","
JSON("inputSchema":{"additionalProperties":false,"properties":{"name":{)
JSON("description":"a tool as `server.tool` or by its name in tools/list, or a server",)
JSON("type":"string"}},"required":["name"],"type":"object"},)
JSON("name":"tool_describe",)
JSON("outputSchema":{"properties":{"about":{"description":"of a server: its purpose",)
JSON("type":"string"},"annotations":{"type":"object"},"approval":{)
JSON("description":"auto: runs at once; confirm: a person is asked first","enum":[)
JSON("auto","confirm"],"type":"string"},"description":{"type":"string"},"execution":{)
JSON("type":"object"},"facet":{)
JSON("description":"the server, or the facet of one of kennel's own tools",)
JSON("type":"string"},"inputSchema":{"description":"JSON Schema of the arguments",)
JSON("type":"object"},"instructions":{"description":"of a server: how to use it",)
JSON("type":"string"},"mutates":{)
JSON("description":"false: by its reviewed definition, the tool only reads",)
JSON("type":"boolean"},"name":{"type":"string"},"outputSchema":{)
JSON("description":"JSON Schema of structuredContent","type":"object"},"pinned":{)
JSON("description":"a person has reviewed the definition","type":"boolean"},"status":{)
JSON("description":"of a server","enum":["disconnected","connecting","connected",)
JSON("error"],"type":"string"},"tools":{)
JSON("description":"of a server: the number of its tools","minimum":0,)
JSON("type":"integer"},"verdict":{"description":"the policy's verdict","enum":["allow",)
JSON("ask"],"type":"string"},"wire":{)
JSON("description":"the name in tools/list, if the tool is listed","type":"string"}},)
JSON("required":["name"],"type":"object"},)
JSON("title":"Describe a tool or server"});

static const char tool_invoke[] =
JSON({"annotations":{"destructiveHint":true,"idempotentHint":false,)
JSON("openWorldHint":true,"readOnlyHint":false},)
"\"description\":\"Call a tool of a server. `arguments` must match the inputSchema "
"that tool_describe returns. The result is the tool's own, unchanged. The server is "
"started if it is not running. If the tool's `approval` is confirm, the call waits "
"until a person has answered. A refused call has isError, and its text says why and "
"what to do instead: do not repeat it unchanged. tool_search, tool_describe and "
"tool_invoke cannot be invoked this way.\","
JSON("execution":{"taskSupport":"optional"},)
JSON("inputSchema":{"additionalProperties":false,"properties":{"arguments":{)
JSON("description":"the tool's arguments; absent: none","type":"object"},"name":{)
JSON("description":"the tool as `server.tool`, or by its name in tools/list",)
JSON("type":"string"}},"required":["name"],"type":"object"},)
JSON("name":"tool_invoke",)
JSON("title":"Invoke a tool"});

static const char mcp_query[] =
JSON({"annotations":{"destructiveHint":true,"idempotentHint":false,)
JSON("openWorldHint":true,"readOnlyHint":false},)
"\"description\":\"Call one tool of a server in a new process that ends with the "
"call, so that nothing of earlier calls is left in it. It is slower than "
"tool_invoke; use it for a single query whose result must not depend on the session. "
"`state` is ok (see `result`), denied (policy or a person refused, nothing was "
"sent), error (the server failed or did not answer in time) or skipped (a secret of "
"the server is not available, nothing was started); `detail` says why.\","
JSON("inputSchema":{"additionalProperties":false,"properties":{"arguments":{)
JSON("description":"the tool's arguments; absent: none","type":"object"},"server":{)
JSON("description":"name of the server","type":"string"},"timeout_seconds":{)
"\"description\":\"how long to wait; the policy's limit for calls is the maximum and "
"the default\","
JSON("minimum":1,"type":"integer"},"tool":{)
JSON("description":"the server's own name of the tool","type":"string"}},"required":[)
JSON("server","tool"],"type":"object"},)
JSON("name":"mcp_query",)
JSON("outputSchema":{"additionalProperties":false,"properties":{"detail":{)
JSON("description":"with every other state: the reason","type":"string"},"result":{)
JSON("description":"with ok only: the result of tools/call","type":"object"},"server":{)
JSON("type":"string"},"state":{"enum":["ok","denied","error","skipped"],)
JSON("type":"string"},"tool":{"type":"string"}},"required":["server","tool","state"],)
JSON("type":"object"},)
JSON("title":"Query a server once"});

static const char mcp_register[] =
JSON({"annotations":{"destructiveHint":false,"idempotentHint":false,)
JSON("openWorldHint":false,"readOnlyHint":false},)
"\"description\":\"Propose an MCP server for the registry, or list or remove "
"registered ones. Registering grants nothing: the server stays disabled until a "
"person enables it, and it starts only if a policy allows its command. Never write a "
"secret into command, args or note: the call is refused. Servers that a policy, a "
"file or a person defined cannot be changed.\","
JSON("inputSchema":{"additionalProperties":false,"properties":{"action":{)
JSON("default":"add","description":"what to do","enum":["add","list","remove"],)
JSON("type":"string"},"args":{)
JSON("description":"the program's arguments, one each; no shell reads them","items":{)
JSON("type":"string"},"type":"array"},"command":{)
JSON("description":"the program, without arguments; required by add","type":"string"},)
JSON("name":{"description":"name of the server; required by add and remove",)
JSON("type":"string"},"note":{)
JSON("description":"what the server is for, for the person who reviews it",)
JSON("type":"string"}},"type":"object"},)
JSON("name":"mcp_register",)
JSON("outputSchema":{"properties":{"created_gen":{)
JSON("description":"add: the registry's generation in which the server was created",)
JSON("type":"integer"},"name":{"description":"add, remove: the server",)
JSON("type":"string"},"removed":{"description":"remove: true","type":"boolean"},)
JSON("servers":{"description":"list: the registered servers","items":{"properties":{)
JSON("args":{"items":{"type":"string"},"type":"array"},"command":{"type":"string"},)
JSON("created_gen":{"type":"integer"},"name":{"type":"string"},"note":{)
JSON("type":"string"}},"required":["name"],"type":"object"},"type":"array"}},)
JSON("type":"object"},)
JSON("title":"Register a server"});

/* clang-format on */

const struct own_tool own_tools[OWN_TOOL_N] = {
    [OWN_SECRETS_LIST] = {"secrets_list", FACET_SECRETS, secrets_list_definition},
    [OWN_SECRETS_DESCRIBE] = {"secrets_describe", FACET_SECRETS,
	secrets_describe_definition},
    [OWN_SECRETS_REQUEST_PROVISION] = {"secrets_request_provision", FACET_SECRETS,
	secrets_request_provision_definition},
    [OWN_SECRETS_REQUEST_ROTATION] = {"secrets_request_rotation", FACET_SECRETS,
	secrets_request_rotation_definition},
    [OWN_SECRETS_PROPOSE_METADATA] = {"secrets_propose_metadata", FACET_SECRETS,
	secrets_propose_metadata_definition},
    [OWN_SECRETS_PROPOSE_NEW_PATH] = {"secrets_propose_new_path", FACET_SECRETS,
	secrets_propose_new_path_definition},
    [OWN_SECRETS_REQUEST_USE_APPROVAL] = {"secrets_request_use_approval", FACET_SECRETS,
	secrets_request_use_approval_definition},
    [OWN_SECRETS_POLL_STATUS] = {"secrets_poll_status", FACET_SECRETS,
	secrets_poll_status_definition},
    [OWN_TOOL_SEARCH] = {"tool_search", FACET_SEARCH, tool_search},
    [OWN_TOOL_DESCRIBE] = {"tool_describe", FACET_SEARCH, tool_describe},
    [OWN_TOOL_INVOKE] = {"tool_invoke", FACET_SEARCH, tool_invoke},
    [OWN_MCP_QUERY] = {"mcp_query", FACET_QUERY, mcp_query},
    [OWN_MCP_REGISTER] = {"mcp_register", FACET_MCP, mcp_register},
};

int
own_tool_find(const char *name, size_t len, enum own_tool_id *ret)
{
	for (size_t i = 0; i < OWN_TOOL_N; i++)
		if (strlen(own_tools[i].name) == len &&
		    memcmp(own_tools[i].name, name, len) == 0) {
			*ret = (enum own_tool_id)i;
			return 0;
		}
	return -ENOENT;
}
