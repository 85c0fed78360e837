#include "supervisor/import/carried.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/fd.h"
#include "supervisor/draft/draft.h"

#define DRAFT_MAX (1u << 20)

/* The variable of this line, if it is a secret from the environment that a manager has. */
static const struct entry_variable *
variable_of(const struct entry *e, const char *line)
{
	char wanted[512];

	line += strspn(line, " \t");
	for (size_t i = 0; e->manager != NULL && i < e->variable_n; i++) {
		const char *name = e->variable[i].name;
		int n = snprintf(
		    wanted, sizeof(wanted), "secret %.200s from env %.200s", name, name);

		if (e->variable[i].manager != NULL &&
		    strncmp(line, wanted, (size_t)n) == 0 &&
		    strchr(" \n", line[n]) != NULL)
			return &e->variable[i];
	}
	return NULL;
}

/* secret NAME from cmd OP read REFERENCE, with the options that the line has. */
static int
put_secret(FILE *out, const char *op, const struct entry_variable *v, const char *line,
    size_t len)
{
	const char *options = memchr(line, '{', len);
	int r;

	fprintf(out, "%.*ssecret %s from cmd", (int)strspn(line, " \t"), line, v->name);
	r = draft_word(out, op);
	fputs(" \"read\"", out); /* a keyword of the language */
	if (r == 0)
		r = draft_word(out, v->manager);
	fputs(" { may network", out);
	if (options == NULL)
		fputs(" }\n", out);
	else
		fprintf(
		    out, "\n       %.*s", (int)(line + len - options - 1), options + 1);
	return r;
}

static void
put_time(FILE *out, const char *name, unsigned long long ms)
{
	if (ms % 1000 == 0)
		fprintf(out, "  %s %llus", name, ms / 1000);
	else
		fprintf(out, "  %s %llums", name, ms);
}

static void
put_deadlines(FILE *out, const struct entry *e)
{
	if (e->start_ms == 0 && e->call_ms == 0)
		return;
	fputs("    # as long as its client waits\n    timeout", out);
	if (e->start_ms > 0)
		put_time(out, "start", e->start_ms);
	if (e->call_ms > 0)
		put_time(out, "call", e->call_ms);
	fputs("\n", out);
}

static int
put(FILE *out, const char *op, const struct entry *e, const char *text)
{
	const char *end = NULL;
	int r = 0;

	for (const char *at = text; (at = strstr(at, "\n}\n")) != NULL; at++)
		end = at + 1; /* the last block ends there */
	for (size_t len; r == 0 && *text != '\0'; text += len) {
		const struct entry_variable *v = variable_of(e, text);

		len = strcspn(text, "\n");
		len += text[len] == '\n';
		if (text == end)
			put_deadlines(out, e);
		if (v != NULL)
			r = put_secret(out, op, v, text, len);
		else
			fprintf(out, "%.*s", (int)len, text);
	}
	return r;
}

static int
replace(const char *file, const char *text, size_t len)
{
	int fd = open(file, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
	int r = fd < 0 ? -errno : fd_write_all(fd, text, len);

	fd_close(&fd);
	return r;
}

int
carried_put(const char *file, const struct entry *e)
{
	char op[PATH_MAX] = "", *draft = NULL, *text = NULL;
	size_t len, n = 0;
	FILE *out;
	int fd, r = e->manager == NULL ? 0 : draft_program(e->manager, op);

	if (r < 0 || (e->manager == NULL && e->start_ms == 0 && e->call_ms == 0))
		return r;
	fd = open(file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	r = fd < 0 ? -errno : fd_slurp(fd, DRAFT_MAX, &draft, &len);
	fd_close(&fd);
	out = draft == NULL ? NULL : open_memstream(&text, &n);
	if (out != NULL) {
		r = put(out, op, e, draft);
		if (fclose(out) != 0)
			r = -ENOMEM;
	} else if (r == 0) {
		r = -ENOMEM;
	}
	if (r == 0)
		r = replace(file, text, n);
	free(text);
	free(draft);
	return r;
}
