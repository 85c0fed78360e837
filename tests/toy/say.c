/* Tools of the toy server that say something (toy.h). */
#include "shim/base/array.h"
#include "tests/toy/toy.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static void
do_echo(const struct call *c)
{
	const char *text = toy_arg(c, "text", "");

	toy_result(c, text, strlen(text));
}

/* The request as it arrived, byte by byte. */
static void
do_line(const struct call *c)
{
	toy_result(c, c->line.at, c->line.len);
}

/* A line of the caller's choice, as it is, before the answer. */
static void
do_say(const struct call *c)
{
	printf("%s\n", toy_arg(c, "text", ""));
	toy_result(c, "said", 4);
}

static void
do_complain(const struct call *c)
{
	fprintf(stderr, "%s\n", toy_arg(c, "text", ""));
	toy_result(c, "complained", 10);
}

static void
do_env(const struct call *c)
{
	static char text[TOY_TEXT_MAX];
	size_t n = 0;

	for (char **e = environ; *e != NULL; e++) {
		size_t len = strlen(*e);
		if (n + len + 1 > sizeof(text))
			break;
		memcpy(text + n, *e, len);
		n += len;
		text[n++] = '\n';
	}
	toy_result(c, text, n);
}

static void
do_getenv(const struct call *c)
{
	const char *v = getenv(toy_arg(c, "var", ""));

	toy_resultf(c, "%s", v != NULL ? v : "(unset)");
}

/* A value letter by letter: what a scrubber of exact values lets pass, so that
 * a test can see which value arrived. */
static void
do_spell(const struct call *c)
{
	static char text[8192];
	const char *v = getenv(toy_arg(c, "var", ""));
	size_t n = 0;

	for (; v != NULL && *v != '\0' && n + 2 < sizeof(text); v++) {
		text[n++] = *v;
		text[n++] = '-';
	}
	toy_result(c, text, n);
}

/* The initialize request as it came. */
static void
do_first(const struct call *c)
{
	struct json line = toy_first();

	toy_result(c, line.at, line.len);
}

/* ---- leak: a secret in every dress ---------------------------------------- */

static void
leak_raw(const struct call *c, const char *v)
{
	toy_resultf(c, "before %s after", v);
}

static void
leak_unicode(const struct call *c, const char *v)
{
	toy_head(c);
	printf("\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"");
	for (; *v != '\0'; v++)
		printf(*v & 1 ? "\\u%04X" : "\\u%04x", (unsigned char)*v);
	printf("\"}]}}\n");
}

static void
leak_split(const struct call *c, const char *v)
{
	size_t half = strlen(v) / 2;

	toy_head(c);
	printf(
	    "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"%.*s", (int)half, v);
	fflush(stdout);
	usleep(50000);
	printf("%s\"}]}}\n", v + half);
}

static void
leak_bytes(const struct call *c, const char *v)
{
	toy_head(c);
	printf("\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"");
	for (; *v != '\0'; v++) {
		putchar(*v);
		fflush(stdout);
		usleep(1000);
	}
	printf("\"}]}}\n");
}

static void
leak_error(const struct call *c, const char *v)
{
	toy_head(c);
	printf("\"error\":{\"code\":-32000,\"message\":\"denied for %s\",\"data\":"
	       "{\"token\":\"%s\"}}}\n",
	    v, v);
}

static void
leak_note(const struct call *c, const char *v)
{
	printf("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":"
	       "{\"level\":\"info\",\"data\":\"token is %s\"}}\n",
	    v);
	toy_result(c, "told", 4);
}

static void
leak_key(const struct call *c, const char *v)
{
	toy_head(c);
	printf("\"result\":{\"content\":[],\"structuredContent\":{\"%s\":1}}}\n", v);
}

/* The text of a resource, and structured content below others. */
static void
leak_blob(const struct call *c, const char *v)
{
	toy_head(c);
	printf("\"result\":{\"contents\":[{\"uri\":\"toy://one\",\"blob\":\"%s\"},"
	       "{\"uri\":\"toy://two\",\"text\":\"%s\"}],\"structuredContent\":"
	       "{\"a\":[{\"b\":\"x%sy\"}]}}}\n",
	    v, v, v);
}

static void
leak_uri(const struct call *c, const char *v)
{
	toy_head(c);
	printf("\"result\":{\"content\":[{\"type\":\"resource_link\",\"name\":\"n\","
	       "\"uri\":\"https:\\/\\/x.example\\/?t=%s\"}]}}\n",
	    v);
}

static void
leak_stderr(const struct call *c, const char *v)
{
	fprintf(stderr, "using token %s now\n", v);
	toy_result(c, "logged", 6);
}

/* Raw bytes in a line that is no JSON at all. */
static void
leak_junk(const struct call *c, const char *v)
{
	printf("debug: token=%s\n", v);
	toy_result(c, "printed", 7);
}

static void
do_leak(const struct call *c)
{
	static const struct {
		const char *name;
		void (*leak)(const struct call *, const char *);
	} modes[] = {
	    {"raw", leak_raw},
	    {"unicode", leak_unicode},
	    {"split", leak_split},
	    {"bytes", leak_bytes},
	    {"error", leak_error},
	    {"note", leak_note},
	    {"key", leak_key},
	    {"blob", leak_blob},
	    {"uri", leak_uri},
	    {"stderr", leak_stderr},
	    {"junk", leak_junk},
	};
	const char *v = getenv(toy_arg(c, "var", ""));
	const char *mode = toy_arg(c, "mode", "raw");

	for (size_t i = 0; i < ARRAY_LEN(modes); i++)
		if (strcmp(mode, modes[i].name) == 0) {
			modes[i].leak(c, v != NULL ? v : "(unset)");
			return;
		}
	toy_result(c, "unknown mode", 12);
}

/* ---- what else a server may send ------------------------------------------ */

static void
do_big(const struct call *c)
{
	size_t n = (size_t)json_number(json_get(c->args, "n"), 1);

	toy_head(c);
	printf("\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"");
	for (size_t i = 0; i < n; i++)
		putchar('a' + (int)(i % 26));
	printf("\"}]}}\n");
}

static void
do_junk(const struct call *c)
{
	printf("Listening on stdio...\n\n\x1b[31mred\x1b[0m\nnot { json\n\xff\xfe\n");
	toy_result(c, "after junk", 10);
}

static void
do_progress(const struct call *c)
{
	struct json token = json_get(c->line, "params._meta.progressToken");
	long n = json_number(json_get(c->args, "n"), 3);

	for (long i = 1; i <= n && token.len > 0; i++) {
		printf("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
		       "\"params\":{\"progressToken\":%.*s,\"progress\":%ld,"
		       "\"total\":%ld}}\n",
		    (int)token.len, token.at, i, n);
		fflush(stdout);
	}
	toy_result(c, "done", 4);
}

/* Asks the client and returns its answer, as it came. */
static void
do_ask(const struct call *c)
{
	static const struct {
		const char *kind, *method, *params;
	} asks[] = {
	    {"sampling", "sampling/createMessage",
		"{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\","
		"\"text\":\"hi\"}}],\"maxTokens\":5}"},
	    {"elicitation", "elicitation/create",
		"{\"message\":\"name?\",\"requestedSchema\":{\"type\":\"object\","
		"\"properties\":{\"name\":{\"type\":\"string\"}}}}"},
	    {"roots", "roots/list", "{}"},
	    {"ping", "ping", "{}"},
	};
	const char *kind = toy_arg(c, "kind", "ping");
	static unsigned int turn;
	char id[32], copy[8192];
	struct json line;

	(void)snprintf(id, sizeof(id), "toy-%u", ++turn);
	for (size_t i = 0; i < ARRAY_LEN(asks); i++)
		if (strcmp(kind, asks[i].kind) == 0)
			printf("{\"jsonrpc\":\"2.0\",\"id\":\"%s\",\"method\":\"%s\","
			       "\"params\":%s}\n",
			    id, asks[i].method, asks[i].params);
	fflush(stdout);
	struct call mine = *c;
	char held_id[128];
	(void)snprintf(held_id, sizeof(held_id), "%.*s", (int)c->id.len, c->id.at);
	mine.id = (struct json){held_id, strlen(held_id)};
	while ((line = toy_read()).at != NULL)
		if (json_is(json_get(line, "id"), id)) {
			(void)snprintf(
			    copy, sizeof(copy), "%.*s", (int)line.len, line.at);
			toy_resultf(&mine, "%s", copy);
			return;
		}
}

/* Waits to be cancelled, then says nothing; "was_cancelled" tells. */
static char cancelled[256];

static void
do_wait(const struct call *c)
{
	char id[128];
	struct json line;

	(void)snprintf(id, sizeof(id), "%.*s", (int)c->id.len, c->id.at);
	while ((line = toy_read()).at != NULL) {
		struct json r = json_get(line, "params.requestId");
		if (!json_is(json_get(line, "method"), "notifications/cancelled") ||
		    r.len != strlen(id) || memcmp(r.at, id, r.len) != 0)
			continue;
		(void)snprintf(cancelled, sizeof(cancelled), "%s", id);
		return;
	}
}

static void
do_was_cancelled(const struct call *c)
{
	toy_resultf(c, "%s", cancelled);
}

const struct tool say_tools[] = {
    {"echo", do_echo, "says text"},
    {"line", do_line, "says the request as it came"},
    {"say", do_say, "writes text as a line of its own"},
    {"complain", do_complain, "writes text to stderr"},
    {"env", do_env, "its whole environment"},
    {"getenv", do_getenv, "one variable"},
    {"spell", do_spell, "the value of var, letter by letter"},
    {"first", do_first, "the initialize request as it came"},
    {"leak", do_leak, "says the value of var as mode says"},
    {"big", do_big, "n bytes"},
    {"junk", do_junk, "lines that are not JSON"},
    {"progress", do_progress, "n progress notifications"},
    {"ask", do_ask, "asks the client: sampling elicitation roots ping"},
    {"wait", do_wait, "waits to be cancelled"},
    {"was_cancelled", do_was_cancelled, "which call was cancelled"},
    {NULL, NULL, NULL},
};
