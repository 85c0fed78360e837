/*
 * Writes the tools of a drafted server by name, so that a tool that the server adds
 * later is refused at once.
 *
 * Process: kennel, the user's. The server runs in its cell, under the draft. Trusts
 * neither its names (only plain ones are written, because a name is a pattern in a
 * policy) nor its annotations: a tool is allowed without asking only if its name says
 * too that it reads.
 */
#include "supervisor/cli/init_tools.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "policy/cli/verb.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "supervisor/cli/mcp_client.h"
#include "supervisor/lint/lint.h"

#define TOOLS_MAX 512
#define LINES_MAX (128u << 10)
#define DRAFT_MAX (1u << 20)

static const char *const reading[] = {"count", "describe", "find", "get", "info", "list",
    "lookup", "query", "read", "search", "show", "stat", "status", "view"};
static const char *const writing[] = {"add", "apply", "approve", "cancel", "clear",
    "close", "commit", "create", "delete", "drop", "edit", "exec", "execute", "import",
    "insert", "install", "kill", "merge", "modify", "move", "patch", "post", "push",
    "put", "remove", "rename", "replace", "reset", "restart", "run", "save", "send",
    "set", "start", "stop", "submit", "update", "upload", "write"};

static bool
is_in(const char *word, size_t len, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(list[i]) == len && strncasecmp(word, list[i], len) == 0)
			return true;
	return false;
}

/* The length of the first word in a name: read_file, readFile, READ-FILE. */
static size_t
word_len(const char *name)
{
	size_t n = 1;

	while (isalnum((unsigned char)name[n]) &&
	       !(isupper((unsigned char)name[n]) && islower((unsigned char)name[n - 1])))
		n++;
	return n;
}

static bool
says_that_it_reads(const char *name)
{
	bool reads = false;

	while (*name != '\0') {
		size_t n = word_len(name);

		if (is_in(name, n, writing, ARRAY_LEN(writing)))
			return false;
		reads |= is_in(name, n, reading, ARRAY_LEN(reading));
		for (name += n; *name != '\0' && !isalnum((unsigned char)*name);)
			name++;
	}
	return reads;
}

static bool
is_read_only(struct json definition)
{
	struct json annotations, hint;

	return json_get(definition, "annotations", &annotations) == 0 &&
	       json_get(annotations, "readOnlyHint", &hint) == 0 &&
	       hint.type == JSON_IS_TRUE;
}

static bool
is_plain(const char *name, size_t len)
{
	return len > 0 &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789_-./:") == len;
}

bool
init_tool(struct json definition, char name[INIT_TOOL_MAX], bool *ret_reads)
{
	struct json text;
	size_t len;

	if (json_get(definition, "name", &text) < 0 ||
	    json_text(text, name, INIT_TOOL_MAX, &len) < 0 || !is_plain(name, len))
		return false;
	*ret_reads = is_read_only(definition) && says_that_it_reads(name);
	return true;
}

static int
add_tool(void *arg, struct json item)
{
	struct tools_found *found = arg;
	char name[INIT_TOOL_MAX];
	bool allowed;

	first_look_add(found->look, item);
	if (!init_tool(item, name, &allowed) ||
	    found->allowed + found->asked == TOOLS_MAX) {
		found->left_out++;
		return 0;
	}
	*(allowed ? &found->allowed : &found->asked) += 1;
	return buf_printf(
	    &found->lines, "    tool %s \"%s\"\n", allowed ? "allow" : "ask", name);
}

static int
add_tools(struct tools_found *found, struct client *c)
{
	int r = client_tools(c, add_tool, found);

	(void)first_look_end(found->look); /* it prints */
	found->look = NULL;

	if (r == 0 && found->lines.len == 0) {
		(void)snprintf(c->why, sizeof(c->why), "it lists no tool"); /* fits */
		return -ENOENT;
	}
	return r;
}

int
init_tools_list(
    const char *purpose, const char *file, const char *name, struct tools_found *ret)
{
	/* no person has reviewed the server, nor the draft */
	const char *const argv[] = {
	    "kennel", "run", name, "--policy", file, "--placeholders", NULL};
	int to = -1, from = -1, r;
	struct client c;
	pid_t pid = 0;

	*ret = (struct tools_found){.allowed = 0};
	buf_init(&ret->lines, LINES_MAX);
	(void)signal(SIGPIPE, SIG_IGN); /* cannot fail: valid signal */
	r = client_spawn(purpose, argv, &pid, &to, &from);
	if (r < 0) {
		(void)snprintf(ret->why, sizeof(ret->why), "unable to start kennel: %s",
		    strerror(-r));
		return r;
	}
	r = client_open(&c, to, from, "{}", CLIENT_START_OF_RUN);
	if (r == 0) {
		ret->look = first_look_new(name);
		r = add_tools(ret, &c);
	}
	if (r < 0) {
		(void)snprintf(ret->why, sizeof(ret->why), "%s", c.why); /* as long */
		buf_clear(&ret->lines);
	}
	client_free(&c);
	(void)client_reap(pid); /* it was only asked for its tools */
	return r;
}

/* The lines of a draft whose server was not asked yet. */
static const char unasked[] =
    "    # The tools that it may use: `ask` waits for a person.\n"
    "    tool by-annotations\n";

void
init_tools_put(const struct tools_found *found, FILE *out)
{
	if (found->lines.len == 0 && found->why[0] == '\0') {
		fputs(unasked, out);
		return;
	}
	if (found->lines.len == 0) {
		fprintf(out,
		    "    # The tools that it may use: `ask` waits for a person.\n"
		    "    # The server was not asked for their names");
		client_put_why(out, "    #     ", found->why);
		fprintf(out, "    tool by-annotations\n");
		return;
	}
	fprintf(out,
	    "    # The server's tools: `ask` waits for a person.  `allow`: the server "
	    "says\n"
	    "    # that the tool only reads, and so does its name; no person has checked "
	    "it.\n"
	    "%.*s",
	    (int)found->lines.len, (const char *)found->lines.data);
	if (found->left_out > 0)
		fprintf(out, "    # %zu more have unusual names, and are refused.\n",
		    found->left_out);
}

int
init_tools_fill(const char *file, const struct tools_found *found)
{
	char *draft = NULL, *text = NULL;
	size_t len, new_len = 0;
	const char *at;
	FILE *out;
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	int r = fd < 0 ? -errno : fd_slurp(fd, DRAFT_MAX, &draft, &len);

	fd_close(&fd);
	at = r < 0 || draft == NULL ? NULL : strstr(draft, unasked);
	out = at == NULL ? NULL : open_memstream(&text, &new_len);
	if (out != NULL) {
		fprintf(out, "%.*s", (int)(at - draft), draft);
		init_tools_put(found, out);
		fputs(at + strlen(unasked), out);
		r = fclose(out) != 0 ? -ENOMEM : verb_write(file, text, new_len, 0600);
	} else if (at != NULL) {
		r = -ENOMEM;
	}
	free(text);
	free(draft);
	return r;
}
