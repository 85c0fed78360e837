/*
 * mcp_register: the tool by which an agent proposes a server, lists those of the
 * registry, and withdraws its own. It grants nothing.
 *
 *	register_read	the arguments are checked; refusals end here
 *	(the log has a record of the change)
 *	register_do	the change and the reply
 */
#ifndef KENNEL_SUPERVISOR_REGISTRY_REGISTER_TOOL_H
#define KENNEL_SUPERVISOR_REGISTRY_REGISTER_TOOL_H

#include "shim/base/buf.h"
#include "supervisor/json/json.h"
#include "supervisor/registry/registry.h"

enum register_action { REGISTER_ADD, REGISTER_LIST, REGISTER_REMOVE, REGISTER_N };
const char *register_action_name(enum register_action);

struct register_order {
	enum register_action action;
	struct server_row row; /* add: all of it; remove: name */
};
void register_order_free(struct register_order *);

/* Whether a policy or a file defines a server of this name now. */
typedef bool server_defined_fn(void *arg, const char *name, enum row_source *ret);

/*
 * Reads the arguments of the call, in bytes that json_scan accepted (type JSON_IS_NONE:
 * there are none). Returns 0; -EINVAL and similar: refused, and the text for the agent
 * is in reply; *ret still has the action and, if it is valid, the name, for the record.
 */
int register_read(struct json arguments, server_defined_fn *defined, void *arg,
    struct register_order *ret, struct buf *reply);
/*
 * Does it, and appends structuredContent as JSON. Returns 0; otherwise nothing was
 * changed and reply has the text of the error. ret: of the row that was added or removed;
 * a removed one is not the same.
 */
int register_do(struct registry *, const struct register_order *, struct row_change *ret,
    struct buf *reply);

#endif
