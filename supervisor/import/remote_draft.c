#include "supervisor/import/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/lang/remote_url.h"
#include "shim/base/fd.h"
#include "supervisor/cli/init_tools.h"
#include "supervisor/draft/draft.h"
#include "supervisor/draft/npm_package.h"

/* A blank, and the text in quotes: so the name of a header is never a keyword. */
static int
put_quoted(FILE *out, const char *text)
{
	char *quoted = package_json_text(text);

	if (quoted == NULL)
		return -EINVAL;
	fprintf(out, " %s", quoted);
	free(quoted);
	return 0;
}

static int
put_credential(FILE *out, const struct entry *e, const char *vault)
{
	const char *name;
	int r = 0;

	if (e->variable_n == 0) {
		fprintf(out, "    # if it asks for a login (status 401):\n"
			     "    #     auth oauth2 client ID issuer HOST\n");
		return 0;
	}
	name = e->variable[0].name;
	fprintf(out, "    auth %s", e->key_header == NULL ? "bearer" : "api-key");
	if (e->key_header != NULL)
		r = put_quoted(out, e->key_header);
	fprintf(out, " %s\n    secret %s from ", name, name);
	if (e->variable[0].clear)
		fprintf(out, "vault %s\n", vault);
	else
		fprintf(out, "env %s\n", name);
	return r;
}

static int
write_draft(FILE *out, const char *name, const struct entry *e, const char *vault)
{
	static struct draft d; /* large */
	static const struct tools_found unknown;
	const char *user;
	int r;

	d.name = name;
	user = draft_user(&d);
	fprintf(out,
	    "# A draft: review every line.  kennel-policy(5) is the language.\n"
	    "server %s {\n    remote",
	    name);
	r = put_quoted(out, e->word[0]);
	fprintf(out, "%s\n", e->loopback ? " to loopback" : "");
	if (r == 0)
		r = put_credential(out, e, vault);
	if (user != NULL)
		fprintf(out, "    user %s\n", user);
	for (size_t i = 1; r == 0 && i + 1 < e->word_n; i += 2) {
		fprintf(out, "    header");
		r = put_quoted(out, e->word[i]);
		if (r == 0)
			r = put_quoted(out, e->word[i + 1]);
		fprintf(out, "\n");
	}
	init_tools_put(&unknown, out);
	return r < 0 ? r : draft_tail(&d, out);
}

int
remote_draft(const char *file, const char *name, const struct entry *e, const char *vault)
{
	FILE *out;
	int r,
	    fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return -errno;
	out = fdopen(fd, "w");
	if (out == NULL) {
		fd_close(&fd);
		(void)unlink(file);
		return -ENOMEM;
	}
	r = write_draft(out, name, e, vault);
	if (fclose(out) != 0 && r == 0)
		r = -EIO;
	if (r < 0)
		(void)unlink(file); /* leave no partial draft */
	return r;
}

/* ---- a policy that exists ---------------------------------------------------- */

static const char *
next_line(const char *line)
{
	line += strcspn(line, "\n");
	return line + strspn(line, " \t\n");
}

/* Quotes may differ: a person writes a URL without them. */
static bool
same_line(const char *a, const char *b)
{
	for (;; a++, b++) {
		a += strspn(a, "\"");
		b += strspn(b, "\"");
		if (*a != *b)
			return false;
		if (*a == '\n' || *a == '\0')
			return true;
	}
}

static bool
has_line(const char *text, const char *line)
{
	for (text += strspn(text, " \t\n"); *text != '\0'; text = next_line(text))
		if (same_line(text, line))
			return true;
	return false;
}

bool
remote_has_lines(const char *policy, const char *other)
{
	bool all = true;

	for (other += strspn(other, " \t\n"); *other != '\0'; other = next_line(other))
		if (strncmp(other, "remote ", 7) == 0 ||
		    strncmp(other, "auth ", 5) == 0 || strncmp(other, "header ", 7) == 0)
			all = all && has_line(policy, other);
	return all;
}
