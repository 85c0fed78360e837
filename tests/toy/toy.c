/*
 * A scriptable MCP server for the tests: speaks newline-delimited JSON-RPC on
 * stdio, any legacy version and 2026-07-28.  Its tools misbehave on request.
 *
 *	toy [--ignore-term] [--stay] [--daemon] [--describe VAR] [--schema TEXT]
 *	    [--slow MS] [--fail STATUS] [--banner TEXT] [--stderr TEXT]
 *
 * It answers a method that it does not know with the request itself, as text:
 * so a test sees the very bytes that reached the server.
 */
#include "shim/base/array.h"
#include "tests/toy/toy.h"

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static struct {
	bool stay;            /* end of file is no reason to go */
	const char *describe; /* variable whose value a description tells */
	const char *schema;   /* inputSchema of every tool; NULL: any object */
} toy;

static char *inbox;
static size_t inbox_n, inbox_used;

struct json
toy_read(void)
{
	memmove(inbox, inbox + inbox_used, inbox_n - inbox_used);
	inbox_n -= inbox_used;
	inbox_used = 0;
	for (;;) {
		char *nl = memchr(inbox, '\n', inbox_n);
		if (nl != NULL) {
			inbox_used = (size_t)(nl - inbox) + 1;
			return (struct json){inbox, inbox_used - 1};
		}
		ssize_t got = inbox_n < TOY_LINE_MAX
				  ? read(0, inbox + inbox_n, TOY_LINE_MAX - inbox_n)
				  : 0;
		if (got <= 0)
			return (struct json){0};
		inbox_n += (size_t)got;
	}
}

void
toy_head(const struct call *c)
{
	printf("{\"jsonrpc\":\"2.0\",\"id\":%.*s,", (int)c->id.len, c->id.at);
}

void
toy_result(const struct call *c, const char *text, size_t len)
{
	toy_head(c);
	printf("\"result\":{\"content\":[{\"type\":\"text\",\"text\":");
	json_put(stdout, text, len);
	printf("}]}}\n");
}

void
toy_resultf(const struct call *c, const char *fmt, ...)
{
	static char text[TOY_TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	toy_result(c, text, n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

const char *
toy_arg(const struct call *c, const char *name, const char *otherwise)
{
	static char text[4][TOY_TEXT_MAX];
	static unsigned int turn;
	char *out = text[turn++ % 4];

	return json_text(json_get(c->args, name), out, TOY_TEXT_MAX) ? out : otherwise;
}

static char *first;

struct json
toy_first(void)
{
	return (struct json){first, first != NULL ? strlen(first) : 0};
}

/* ---- methods ------------------------------------------------------------ */

static void
on_initialize(const struct call *c)
{
	struct json v = json_get(c->line, "params.protocolVersion");

	free(first);
	first = strndup(c->line.at, c->line.len);

	toy_head(c);
	printf("\"result\":{\"protocolVersion\":%.*s,\"capabilities\":{\"tools\":"
	       "{\"listChanged\":true},\"resources\":{\"subscribe\":true},"
	       "\"prompts\":{},\"logging\":{}},\"serverInfo\":{\"name\":\"toy\","
	       "\"version\":\"1\"},\"x-unknown\":{\"kept\":true}}}\n",
	    v.len > 0 ? (int)v.len : 12, v.len > 0 ? v.at : "\"2025-11-25\"");
}

static void
list_tools(const struct tool *t, const char **sep)
{
	for (; t->name != NULL; t++, *sep = ",") {
		printf("%s{\"name\":\"%s\",\"description\":", *sep, t->name);
		if (toy.describe != NULL && strcmp(t->name, "echo") == 0)
			json_put(stdout, getenv(toy.describe) ?: "(unset)",
			    strlen(getenv(toy.describe) ?: "(unset)"));
		else
			json_put(stdout, t->about, strlen(t->about));
		printf(",\"inputSchema\":%s}", toy.schema ?: "{\"type\":\"object\"}");
	}
}

static void
on_tools_list(const struct call *c)
{
	const char *sep = "";

	toy_head(c);
	printf("\"result\":{\"tools\":[");
	list_tools(say_tools, &sep);
	list_tools(act_tools, &sep);
	printf("]}}\n");
}

static const struct tool *
tool_find(const struct tool *t, struct json name)
{
	while (t->name != NULL && !json_is(name, t->name))
		t++;
	return t->name != NULL ? t : NULL;
}

static void
on_tools_call(const struct call *c)
{
	struct json name = json_get(c->line, "params.name");
	const struct tool *t = tool_find(say_tools, name) ?: tool_find(act_tools, name);

	if (t != NULL) {
		t->act(c);
		return;
	}
	toy_head(c);
	printf("\"error\":{\"code\":-32602,\"message\":\"no such tool\"}}\n");
}

static void
on_resources_list(const struct call *c)
{
	toy_head(c);
	printf("\"result\":{\"resources\":[{\"uri\":\"toy://one\",\"name\":\"one\"},"
	       "{\"uri\":\"toy://two\",\"name\":\"two\"}]}}\n");
}

static void
on_templates_list(const struct call *c)
{
	toy_head(c);
	printf("\"result\":{\"resourceTemplates\":[]}}\n");
}

static void
on_resources_read(const struct call *c)
{
	struct json uri = json_get(c->line, "params.uri");

	toy_head(c);
	printf("\"result\":{\"contents\":[{\"uri\":%.*s,\"text\":\"body\"}]}}\n",
	    (int)uri.len, uri.at);
}

static void
on_prompts_list(const struct call *c)
{
	toy_head(c);
	printf(
	    "\"result\":{\"prompts\":[{\"name\":\"first\"},{\"name\":\"second\"}]}}\n");
}

static void
on_prompts_get(const struct call *c)
{
	toy_head(c);
	printf("\"result\":{\"messages\":[{\"role\":\"user\",\"content\":"
	       "{\"type\":\"text\",\"text\":\"prompt\"}}]}}\n");
}

static void
on_ping(const struct call *c)
{
	toy_head(c);
	printf("\"result\":{}}\n");
}

static void
on_discover(const struct call *c)
{
	toy_head(c);
	printf("\"result\":{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":"
	       "{\"tools\":{}},\"serverInfo\":{\"name\":\"toy\",\"version\":\"1\"}}}\n");
}

static const struct {
	const char *name;
	void (*act)(const struct call *);
} methods[] = {
    {"initialize", on_initialize},
    {"server/discover", on_discover},
    {"ping", on_ping},
    {"tools/list", on_tools_list},
    {"tools/call", on_tools_call},
    {"resources/list", on_resources_list},
    {"resources/read", on_resources_read},
    {"resources/templates/list", on_templates_list},
    {"prompts/list", on_prompts_list},
    {"prompts/get", on_prompts_get},
};

static void
answer(struct json line)
{
	struct call c = {line, json_get(line, "id"), json_get(line, "params.arguments")};
	struct json method = json_get(line, "method");

	if (c.id.len == 0 || method.len == 0)
		return; /* a notification, an answer, or noise */
	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		if (json_is(method, methods[i].name)) {
			methods[i].act(&c);
			return;
		}
	toy_result(&c, line.at, line.len);
}

/* 2025-03-26: an array is answered by one line, the array of the answers. */
static void
answer_all(struct json array)
{
	FILE *out = stdout;
	const char *before = "[";
	struct json item;

	for (size_t i = 0; (item = json_item(array, i)).len > 0; i++) {
		char *text = NULL;
		size_t len = 0;

		stdout = open_memstream(&text, &len);
		answer(item);
		fclose(stdout);
		stdout = out;
		if (len > 0) { /* without its newline */
			printf("%s%.*s", before, (int)len - 1, text);
			before = ",";
		}
		free(text);
	}
	if (*before == ',')
		printf("]\n");
}

/* ---- start -------------------------------------------------------------- */

/* A process that leaves its parent and session and never ends by itself. */
static void
start_daemon(void)
{
	if (fork() != 0)
		return;
	(void)setsid(); /* cannot fail in a fresh child */
	if (fork() == 0) {
		(void)prctl(PR_SET_NAME, "toy-daemon");
		for (int i = 1; i < 65; i++)
			(void)signal(i, SIG_IGN); /* KILL and STOP refuse */
		for (;;)
			pause();
	}
	_exit(0);
}

static void
option(const char *name, const char *value)
{
	if (strcmp(name, "--ignore-term") == 0)
		for (int i = 1; i < 16; i++)
			(void)signal(i, SIG_IGN); /* KILL refuses */
	else if (strcmp(name, "--stay") == 0)
		toy.stay = true;
	else if (strcmp(name, "--daemon") == 0)
		start_daemon();
	else if (strcmp(name, "--describe") == 0)
		toy.describe = value;
	else if (strcmp(name, "--schema") == 0)
		toy.schema = value;
	else if (strcmp(name, "--slow") == 0)
		usleep((useconds_t)atoi(value) * 1000);
	else if (strcmp(name, "--fail") == 0)
		exit(atoi(value));
	else if (strcmp(name, "--banner") == 0)
		printf("%s\n", value);
	else if (strcmp(name, "--stderr") == 0)
		fprintf(stderr, "%s\n", value);
}

int
main(int argc, char **argv)
{
	struct json line;

	inbox = malloc(TOY_LINE_MAX);
	if (inbox == NULL)
		return 70;
	(void)setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	for (int i = 1; i < argc; i++)
		option(argv[i], i + 1 < argc ? argv[i + 1] : "");
	fflush(stdout);
	while ((line = toy_read()).at != NULL) {
		if (line.len > 0 && line.at[0] == '[')
			answer_all(line);
		else
			answer(line);
		fflush(stdout);
	}
	while (toy.stay)
		pause();
	return 0;
}
