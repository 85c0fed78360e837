/*
 * Adds the line that names a pins file to the text of a policy, below the line that
 * begins the server. Everything else stays byte for byte.
 *
 * Process: kennel, for its user. Writes only a file of this user.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/cli/verb.h"
#include "shim/base/cause.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/host/path_open.h"
#include "supervisor/base/ask.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/pin/pins_line.h"
#include "supervisor/pin/private.h"

#define TEXT_LEN_MAX (16u << 20)
#define PLAIN        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._/@+,"

struct pins_line {
	char file[PATH_MAX], line[PATH_MAX + 32];
	char *text; /* of the file, with the line; owned */
	unsigned int mode;
	bool there; /* there is a `pins` line already */
};

static const char *
next_line(const char *at)
{
	at += strcspn(at, "\n");
	return *at == '\n' ? at + 1 : at;
}

static size_t
indent(const char *line)
{
	return strspn(line, " \t");
}

static bool
begins(const char *line, const char *word)
{
	size_t n = strlen(word);

	line += indent(line);
	return strncmp(line, word, n) == 0 && strchr(" \t{", line[n]) != NULL;
}

/* The place after the server's first line; NULL: another text than was compiled. */
static const char *
place_of(const char *text, uint32_t line, bool *ret_there)
{
	const char *at = text, *place;

	*ret_there = false;
	for (uint32_t i = 1; i < line && *at != '\0'; i++)
		at = next_line(at);
	if (!begins(at, "server"))
		return NULL;
	place = next_line(at);
	if (memchr(at, '{', (size_t)(place - at)) == NULL || place[-1] != '\n')
		return NULL;
	for (at = place; *at != '\0' && !begins(at, "server"); at = next_line(at))
		*ret_there |= begins(at, "pins");
	return place;
}

/* The name of the pins file as the policy would write it. */
static int
pins_name(const char *policy, const char *pins, char out[PATH_MAX])
{
	const char *slash = strrchr(policy, '/');
	size_t dir = slash == NULL ? 0 : (size_t)(slash - policy) + 1;

	if (realpath(pins, out) == NULL)
		return -errno;
	if (dir > 0 && strncmp(out, policy, dir) == 0 && strchr(out + dir, '/') == NULL)
		memmove(out, out + dir, strlen(out + dir) + 1);
	return out[strspn(out, PLAIN)] == '\0' ? 0 : -EINVAL;
}

static int
read_own(const char *path, char **ret_text, size_t *ret_len, unsigned int *ret_mode)
{
	struct stat st;
	int fd = -1, r = path_open(path, &fd);

	if (r < 0)
		return r;
	if (fstat(fd, &st) < 0)
		r = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		r = -EPERM;
	else
		r = fd_slurp(fd, TEXT_LEN_MAX, ret_text, ret_len);
	fd_close(&fd);
	*ret_mode = st.st_mode & 0777;
	return r;
}

/* False: a person has to add the line; why. */
static bool
make_line(const struct policy_found *f, const char *pins, struct pins_line *ret,
    struct reason *why)
{
	const struct sealed_at at = f->server->at;
	const char *place = NULL, *like; /* the next line */
	char name[PATH_MAX], *text = NULL;
	size_t len = 0;
	int r = pins_name(f->file, pins, name);
	bool plain = r == 0;

	*ret = (struct pins_line){.mode = 0};
	(void)snprintf(ret->file, sizeof(ret->file), "%s",
	    at.file == 0 ? f->file : policy_str(&f->policy, f->policy.file[at.file]));
	(void)snprintf(
	    ret->line, sizeof(ret->line), "pins \"%s\"\n", plain ? name : "FILE");
	if (!f->text)
		(void)reason_set(why, 0, "it is sealed");
	else if ((r = read_own(ret->file, &text, &len, &ret->mode)) < 0)
		(void)reason_set(
		    why, 0, "%s", r == -EPERM ? "it is another user's" : strerror(-r));
	else if (text == NULL || !plain ||
		 (place = place_of(text, at.line, &ret->there)) == NULL)
		(void)reason_set(why, 0, "its text needs a person");
	else if (!ret->there) {
		like = indent(place) > 0 ? place : "    ";
		if (asprintf(&ret->text, "%.*s%.*s%s%s", (int)(place - text), text,
			(int)indent(like), like, ret->line, place) < 0)
			ret->text = NULL;
	}
	free(text);
	return ret->text != NULL;
}

static bool
is_wanted(const struct pins_line *line, const char *shown, int shown_len)
{
	char question[2 * PATH_MAX + 64];

	(void)snprintf(question, sizeof(question), "Add `%.*s` to %s?", shown_len, shown,
	    line->file); /* fits */
	return ask_possible() && ask_yes(question);
}

int
pins_line_offer(const struct policy_found *f, const char *pins, bool add)
{
	struct pins_line line;
	struct reason why = {""};
	bool made = make_line(f, pins, &line, &why);
	const char *shown = line.line;
	int len = (int)strcspn(shown, "\n"), r = 0;

	if (line.there)
		return 0;
	if (!made) {
		log_warn(
		    "%s does not use them yet: add the line `%.*s` to the server (%s)",
		    line.file, len, shown, why.text);
		return add ? EXIT_INPUT : 0;
	}
	if (!add && !is_wanted(&line, shown, len))
		log_info(
		    "%s does not use them yet: add the line `%.*s` to the server, or "
		    "run this again with --add-line",
		    line.file, len, shown);
	else if ((r = verb_write(line.file, line.text, strlen(line.text), line.mode)) < 0)
		log_error("unable to write %s: %s", line.file, strerror(-r));
	else
		log_info("%s uses them now", line.file);
	free(line.text);
	return r < 0 ? EXIT_CONFIG : 0;
}
