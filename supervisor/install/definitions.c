#include "leash/audit/writer.h"
#include "supervisor/install/definitions.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/cli/verb.h"
#include "shim/base/log.h"
#include "supervisor/cli/mcp_client.h"
#include "supervisor/draft/draft.h"

#define TEXT_MAX (256u << 10)

/* ---- the cell ---------------------------------------------------------------------- */

static int
write_policy(
    const char *file, const char *name, int argc, char *const *argv, const char *hidden)
{
	static struct draft d; /* large */
	char *text = NULL;
	size_t len = 0;
	FILE *out;
	int r;

	d = (struct draft){.name = name};
	if (draft_take(&d, argc, argv) != 0)
		return -EINVAL;
	out = open_memstream(&text, &len);
	if (out == NULL)
		return -ENOMEM;
	r = draft_head(&d, out);
	fprintf(out, "%s    tool allow *\n", hidden);
	if (r == 0)
		r = draft_tail(&d, out);
	if (fclose(out) != 0 && r == 0)
		r = -ENOMEM;
	if (r == 0)
		r = verb_write(file, text, len, 0600);
	free(text);
	return r;
}

/* ---- what it lists ------------------------------------------------------------------- */

static char *
printable(const void *bytes, size_t len)
{
	char *out = malloc(4 * len + 1);

	return out == NULL ? NULL : log_quote(out, 4 * len + 1, bytes, len);
}

static int
add(void *arg, struct json item)
{
	struct definitions *d = arg;
	struct json name;
	char text[1024];
	struct buf body;
	size_t len;
	int r;

	if (d->n == DEFINITIONS_MAX || json_get(item, "name", &name) < 0 ||
	    json_text(name, text, sizeof(text), &len) < 0)
		return 0; /* a policy cannot name it either */
	buf_init(&body, TEXT_MAX);
	r = json_canon(item, &body);
	d->tool[d->n].name = r < 0 ? NULL : printable(text, len);
	d->tool[d->n].text = r < 0 ? NULL : printable(body.data, body.len);
	buf_free(&body);
	if (r == 0 && (d->tool[d->n].name == NULL || d->tool[d->n].text == NULL))
		r = -ENOMEM;
	d->n++;
	return r;
}

int
definitions_ask(const char *file, const char *name, int argc, char *const *argv,
    const char *hidden, struct definitions *ret)
{
	const char *const kennel[] = {"kennel", "run", name, "--policy", file, NULL};
	int to = -1, from = -1, r;
	struct client c;
	pid_t pid = 0;

	*ret = (struct definitions){.n = 0};
	(void)signal(SIGPIPE, SIG_IGN); /* cannot fail: valid signal */
	r = write_policy(file, name, argc, argv, hidden);
	if (r == 0)
		r = client_spawn(PURPOSE_UPDATE, kennel, &pid, &to, &from);
	if (r < 0) {
		(void)snprintf(ret->why, sizeof(ret->why), "unable to start it: %s",
		    strerror(-r)); /* fits */
		return r;
	}
	r = client_open(&c, to, from, "{}", CLIENT_START_OF_RUN);
	if (r == 0)
		r = client_tools(&c, add, ret);
	if (r < 0)
		(void)snprintf(ret->why, sizeof(ret->why), "%s", c.why); /* as long */
	client_free(&c);
	(void)client_reap(pid); /* it was only asked for its tools */
	(void)unlink(file);     /* or it is removed with its directory */
	return r;
}

void
definitions_free(struct definitions *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->tool[i].name);
		free(d->tool[i].text);
	}
	d->n = 0;
}

/* ---- differences ------------------------------------------------------------------------ */

static const char *
text_of(const struct definitions *d, const char *name)
{
	for (size_t i = 0; i < d->n; i++)
		if (strcmp(d->tool[i].name, name) == 0)
			return d->tool[i].text;
	return NULL;
}

size_t
definitions_diff(const struct definitions *was, const struct definitions *is)
{
	size_t n = 0;

	for (size_t i = 0; i < is->n; i++) {
		const char *before = text_of(was, is->tool[i].name);

		if (before != NULL && strcmp(before, is->tool[i].text) == 0)
			continue;
		printf("  %c tool %s\n", before == NULL ? '+' : '~', is->tool[i].name);
		if (before != NULL)
			printf("    was %s\n", before);
		printf("    is  %s\n", is->tool[i].text);
		n++;
	}
	for (size_t i = 0; i < was->n; i++)
		if (text_of(is, was->tool[i].name) == NULL) {
			printf("  - tool %s\n", was->tool[i].name);
			n++;
		}
	return n;
}
