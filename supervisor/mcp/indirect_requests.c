/*
 * Detects indirect requests to the agent's user: a method name as some peers read it,
 * requests inside a result or a notification, an error that sends the user to a URL.
 */
#include "supervisor/json/json.h"
#include "supervisor/mcp/methods.h"
#include "supervisor/mcp/private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "supervisor/hub/hub.h"

#define ELICITATION_CODE (-32042.0)
#define CODE_MAX         64 /* bytes of a code that is parsed as a number */

static const char not_allowed[] = "the server requests what its policy does not allow";
static const char twice[] = "duplicate key in inputRequests or task";

/* ---- methods ------------------------------------------------------------------ */

/* A request about a task: the agent's tasks are answers that a person gives. */
static bool
is_task_request(const struct method *method)
{
	return (method->flags & METHOD_TASK) != 0 &&
	       strncmp(method->name, "notifications/", 14) != 0;
}

bool
asks_needs(const struct session *s, const struct method *method)
{
	uint32_t has = policy_offers(s->o.policy, s->o.server);

	if (method == NULL)
		return true;
	if (is_task_request(method) &&
	    (has & (SERVER_MCP_SAMPLING | SERVER_MCP_ELICITATION)) == 0)
		return false;
	/* a server may not send what only an agent sends */
	return method->from_server != 0 && (method->needs & ~has) == 0;
}

static bool
may_elicit(const struct session *s)
{
	return (policy_offers(s->o.policy, s->o.server) & SERVER_MCP_ELICITATION) != 0;
}

const char *
asks_needs_why(const struct session *s, const struct method *method)
{
	uint32_t ended = s->o.server->flags & ~policy_offers(s->o.policy, s->o.server);

	if (method != NULL && (method->needs & ended) != 0)
		return "kennel: the exception of the line that allows that has expired";
	return "kennel: the policy of this server does not allow that";
}

/* Fast path: most sessions have no `method` line, and most methods have a row. */
bool
asks_method(struct session *s, const struct method *method, struct gate_answer *ret)
{
	struct gate_ask ask;

	if (method != NULL && !s->judges_methods)
		return true;
	ask = session_ask(s, GATE_METHOD);
	ask.name = s->method;
	ask.name_len = strlen(s->method);
	gate_judge(&ask, ret);
	if (!ret->allowed)
		gate_explain(&ask, ret);
	return ret->allowed;
}

/* ---- nested requests ------------------------------------------------------------ */

/* Judges each as if it had come alone; s->method is the first that may not pass. */
static const char *
inputs_wrong(struct session *s, struct json inputs)
{
	const struct method *method;
	struct gate_answer answer;
	struct json key, value, name;
	struct json_walk w;
	size_t len;
	int r;

	json_walk(&w, inputs);
	while (json_next(&w, &key, &value)) {
		r = json_get(value, "method", &name);
		if (r == -ENOENT)
			continue;
		if (r < 0)
			return "duplicate key in inputRequests";
		if (json_text(name, s->method, sizeof(s->method), &len) < 0)
			return "a method in inputRequests is not plain text";
		method = method_find(s->method, len);
		if (!asks_needs(s, method) || !asks_method(s, method, &answer))
			return not_allowed;
	}
	return NULL;
}

/* ---- errors with a URL ----------------------------------------------------------- */

/* True for any text that some reader parses as this number. */
static bool
is_elicitation(struct json code)
{
	char text[CODE_MAX];
	size_t len;

	if (code.type == JSON_IS_STRING) {
		if (json_text(code, text, sizeof(text), &len) < 0)
			return false;
	} else if (code.type != JSON_IS_NUMBER)
		return false;
	else if (code.len >= sizeof(text))
		return true; /* unusual numbers: be strict */
	else {
		memcpy(text, code.at, code.len);
		text[code.len] = '\0';
	}
	return strtod(text, NULL) == ELICITATION_CODE;
}

/* 2025-11-25: the error of a task is in its status. */
static const char *
error_wrong(struct json task)
{
	struct json error, code;
	int r = json_get(task, "error", &error);

	if (r == 0)
		r = json_get(error, "code", &code);
	if (r == 0)
		return is_elicitation(code) ? not_allowed : NULL;
	return r == -EEXIST ? twice : NULL;
}

/* ---- a message ------------------------------------------------------------------- */

/* params or result, and the task inside. */
struct asked_in {
	struct json all, inputs, task;
	bool of_task; /* it reports the outcome of a task */
};

static const char *
container_wrong(struct session *s, const struct asked_in *in, bool known)
{
	bool elicits = may_elicit(s);
	struct json inputs = {0};
	const char *wrong = NULL;
	int r = json_get(in->task, "inputRequests", &inputs);

	if (r == -EEXIST)
		return twice;
	if (!known && (in->inputs.type != JSON_IS_NONE || inputs.type != JSON_IS_NONE))
		return "inputRequests contains a method that kennel does not know";
	wrong = inputs_wrong(s, in->inputs);
	if (wrong == NULL)
		wrong = inputs_wrong(s, inputs);
	if (wrong == NULL && !elicits)
		wrong = error_wrong(in->task);
	if (wrong == NULL && !elicits && in->of_task)
		wrong = error_wrong(in->all);
	return wrong;
}

const char *
asks_wrong(struct session *s, const struct method *method, const struct json_message *m)
{
	bool of_task = method != NULL && (method->flags & METHOD_TASK) != 0;
	struct asked_in params = {
	    m->top[TOP_PARAMS], m->param[PARAM_INPUTS], m->param[PARAM_TASK], of_task};
	struct asked_in result = {m->top[TOP_RESULT], m->result[RESULT_INPUTS],
	    m->result[RESULT_TASK], of_task};
	const char *wrong;

	if (is_elicitation(m->error[ERROR_CODE]) && !may_elicit(s))
		return not_allowed;
	wrong = container_wrong(s, &params, method != NULL);
	return wrong != NULL ? wrong : container_wrong(s, &result, method != NULL);
}
