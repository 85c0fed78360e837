#include "supervisor/learn/seen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "shim/base/hash.h"

#define SLOTS     ((size_t)2 * SEEN_FILES_MAX) /* a power of two */
#define TEXT_UNIT (64u << 10)

/* Text that lives as long as the facts. */
struct seen_text {
	struct seen_text *next;
	size_t len;
	_Alignas(void *) char bytes[TEXT_UNIT];
};

int
seen_new(struct seen *s)
{
	*s = (struct seen){.file = calloc(SEEN_FILES_MAX, sizeof(*s->file)),
	    .exec = calloc(SEEN_EXECS_MAX, sizeof(*s->exec)),
	    .host = calloc(SEEN_HOSTS_MAX, sizeof(*s->host)),
	    .slot = calloc(SLOTS, sizeof(*s->slot))};
	if (s->file != NULL && s->exec != NULL && s->host != NULL && s->slot != NULL)
		return 0;
	seen_free(s);
	return -ENOMEM;
}

void
seen_free(struct seen *s)
{
	while (s->text != NULL) {
		struct seen_text *next = s->text->next;

		free(s->text);
		s->text = next;
	}
	free(s->file);
	free(s->exec);
	free(s->host);
	free(s->slot);
	*s = (struct seen){.file = NULL};
}

/* Aligned for pointers; NULL: no room. */
static void *
room(struct seen *s, size_t len)
{
	struct seen_text *t = s->text;
	void *ret;

	len = (len + sizeof(void *) - 1) / sizeof(void *) * sizeof(void *);
	if (len > TEXT_UNIT)
		return NULL;
	if (t == NULL || len > TEXT_UNIT - t->len) {
		if (s->text_len + TEXT_UNIT > SEEN_TEXT_MAX)
			return NULL;
		t = malloc(sizeof(*t));
		if (t == NULL)
			return NULL;
		t->next = s->text;
		t->len = 0;
		s->text = t;
		s->text_len += TEXT_UNIT;
	}
	ret = t->bytes + t->len;
	t->len += len;
	return ret;
}

static const char *
keep(struct seen *s, const char *text)
{
	size_t len = strlen(text) + 1;
	char *ret = room(s, len);

	return ret == NULL ? NULL : memcpy(ret, text, len);
}

/* ---- files ------------------------------------------------------------------------- */

static void
add_file(struct seen *s, const struct child_named *n)
{
	uint64_t h = hash64(HASH64_START, n->path, strlen(n->path));
	size_t at = (h ^ h >> 32) % SLOTS;
	struct seen_file *f;

	for (; s->slot[at] != 0; at = (at + 1) % SLOTS) {
		f = &s->file[s->slot[at] - 1];
		if (strcmp(f->path, n->path) == 0) {
			f->uses |= 1u << n->use;
			return;
		}
	}
	if (n->path[0] != '/')
		return; /* a correct leash never sends this */
	f = &s->file[s->file_n];
	if (s->file_n == SEEN_FILES_MAX || (f->path = keep(s, n->path)) == NULL ||
	    (f->program = keep(s, n->program)) == NULL) {
		s->left_out++;
		return;
	}
	f->uses = 1u << n->use;
	f->is = SEEN_NOTHING;
	f->root = SEEN_NO_ROOT;
	s->slot[at] = (uint32_t)++s->file_n;
}

static enum seen_is
look(const char *path)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return SEEN_NOTHING;
	if (S_ISDIR(st.st_mode))
		return SEEN_DIR;
	return S_ISLNK(st.st_mode) ? SEEN_LINK : SEEN_FILE;
}

void
seen_look(struct seen *s, bool (*may)(void *arg, const char *path), void *arg)
{
	for (size_t i = 0; i < s->file_n; i++)
		s->file[i].is =
		    may(arg, s->file[i].path) ? look(s->file[i].path) : SEEN_UNKNOWN;
}

/* ---- programs ------------------------------------------------------------------------ */

static bool
same_exec(const struct seen_exec *e, const struct child_judged *j, bool allowed)
{
	if (e->allowed != allowed || e->argc != j->argc ||
	    strcmp(e->program, j->program) != 0)
		return false;
	for (size_t i = 0; i < e->argc; i++)
		if (strcmp(e->argv[i], j->argv[i]) != 0)
			return false;
	return true;
}

static bool
keep_exec(struct seen *s, const struct child_judged *j, struct seen_exec *ret)
{
	const char **argv = room(s, (j->argc + 1) * sizeof(*argv));

	ret->program = keep(s, j->program);
	ret->caller = keep(s, j->caller);
	ret->reason = keep(s, j->reason);
	if (argv == NULL || ret->program == NULL || ret->caller == NULL ||
	    ret->reason == NULL)
		return false;
	for (size_t i = 0; i < j->argc; i++)
		if ((argv[i] = keep(s, j->argv[i])) == NULL)
			return false;
	argv[j->argc] = NULL;
	ret->argv = argv;
	ret->argc = j->argc;
	ret->cut = j->cut;
	return true;
}

static void
add_exec(struct seen *s, const struct child_judged *j)
{
	bool allowed = strcmp(j->verdict, "allow") == 0;

	s->left_out += j->lost;
	if (!allowed && strcmp(j->verdict, "deny") != 0)
		return; /* absent: a search along PATH */
	if (strcmp(j->caller, "kennel-shim") == 0)
		return; /* the server itself: its `run` line */
	for (size_t i = 0; i < s->exec_n; i++)
		if (same_exec(&s->exec[i], j, allowed))
			return;
	if (s->exec_n == SEEN_EXECS_MAX || !keep_exec(s, j, &s->exec[s->exec_n]))
		s->left_out++;
	else
		s->exec[s->exec_n++].allowed = allowed;
}

/* ---- hosts --------------------------------------------------------------------------- */

/* A lookup and a connection to the same name are one host, with the port. */
static void
add_host(struct seen *s, const struct child_unreached *u)
{
	struct seen_host *h;

	if (u->name[0] == '\0' || u->failed)
		return; /* the network as a whole, or a host that is granted */
	for (size_t i = 0; i < s->host_n; i++) {
		h = &s->host[i];
		if (strcmp(h->name, u->name) != 0 ||
		    (h->port != u->port && h->port != 0 && u->port != 0))
			continue;
		if (h->port == 0)
			h->port = u->port;
		return;
	}
	h = &s->host[s->host_n];
	if (s->host_n == SEEN_HOSTS_MAX || (h->name = keep(s, u->name)) == NULL) {
		s->left_out++;
		return;
	}
	h->port = u->port;
	s->host_n++;
}

void
seen_forget_refused(struct seen *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->exec_n; i++)
		if (s->exec[i].allowed)
			s->exec[kept++] = s->exec[i];
	s->exec_n = kept;
	s->host_n = 0;
}

void
seen_add(struct seen *s, const struct child_news *news)
{
	if (news->type == LEASH_NAMED)
		add_file(s, &news->named);
	else if (news->type == LEASH_JUDGED)
		add_exec(s, &news->judged);
	else if (news->type == LEASH_UNREACHED)
		add_host(s, &news->unreached);
}
