#include "supervisor/learn/fold.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HAS(f, use)  (((f)->uses & (1u << (use))) != 0)
#define FOLD_CHANGES ((1u << NAMED_CREATE) | (1u << NAMED_MAKEDIR))

/* One component of a path. */
struct node {
	const char *name; /* of the facts; name_len bytes */
	size_t name_len;
	const struct seen_file *file; /* NULL: only on the way to another */
	uint32_t up, first, next;     /* indexes; 0: none (the root is 0) */
	bool read, write;             /* what it needs itself */
	bool entries;                 /* files are created or removed in it */
	size_t wanted;                /* names in and below it that were wanted */
	size_t writes;                /* of these, to be written */
	const struct seen_file *example;
};

struct tree {
	struct node *node;
	uint32_t n;
	const char *dir;
	struct folds *to;
	size_t left_out;
};

bool
fold_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 &&
	       (path[n] == '\0' || path[n] == '/' || (n > 0 && dir[n - 1] == '/'));
}

/* ---- the tree ------------------------------------------------------------------------ */

/* The child of this name, or a new one; 0: no room. */
static uint32_t
child_of(struct tree *t, uint32_t up, const char *name, size_t len)
{
	struct node *u = &t->node[up];
	uint32_t at;

	for (at = u->first; at != 0; at = t->node[at].next)
		if (t->node[at].name_len == len &&
		    memcmp(t->node[at].name, name, len) == 0)
			return at;
	if (t->n == FOLD_NODES_MAX)
		return 0;
	at = t->n++;
	t->node[at] =
	    (struct node){.name = name, .name_len = len, .up = up, .next = u->first};
	u->first = at;
	return at;
}

static void
add(struct tree *t, const struct seen_file *f)
{
	const char *at = f->path + strlen(t->dir);
	uint32_t here = 0;
	size_t depth = 0;

	for (at += strspn(at, "/"); *at != '\0' && depth < FOLD_DEPTH_MAX; depth++) {
		size_t len = strcspn(at, "/");

		here = child_of(t, here, at, len);
		if (here == 0) {
			t->left_out++;
			return;
		}
		at += len;
		at += strspn(at, "/");
	}
	if (*at == '\0') {
		t->node[here].file = f;
		return;
	}
	/* it folds here */
	t->node[here].read = true;
	t->node[here].entries |= (f->uses & (FOLD_CHANGES | 1u << NAMED_WRITE)) != 0;
	t->node[here].example = f;
}

/* What the file's uses mean for it and for its directory. */
static void
judge(struct tree *t, uint32_t at)
{
	struct node *n = &t->node[at];
	const struct seen_file *f = n->file;

	if (f == NULL)
		return;
	/* What it creates needs its directory, and so does what it has removed.  The
	 * learning cell refused that where it could not write. */
	if ((f->uses & FOLD_CHANGES) != 0 && at != 0)
		t->node[n->up].entries = true;
	if (f->is == SEEN_NOTHING)
		return;
	if (HAS(f, NAMED_WRITE))
		n->write = true;
	if (f->is == SEEN_LINK && at != 0)
		t->node[n->up].read = true; /* a grant cannot name a link */
	else if (f->is == SEEN_DIR)
		n->read = HAS(f, NAMED_LIST) || HAS(f, NAMED_READ);
	else
		n->read = true;
}

/* Children are made after their parents: backwards, each is summed up before its parent. */
static void
sum_up(struct tree *t)
{
	for (uint32_t i = t->n; i-- > 0;) {
		struct node *n = &t->node[i], *up = &t->node[n->up];

		if (n->read || n->write || n->entries) {
			n->wanted++;
			n->writes += n->write || n->entries;
			if (n->example == NULL)
				n->example = n->file;
		}
		if (i == 0)
			break;
		up->wanted += n->wanted;
		up->writes += n->writes;
		if (up->example == NULL)
			up->example = n->example;
	}
}

/* ---- the lines ------------------------------------------------------------------------ */

static char *
path_of(const struct tree *t, uint32_t at)
{
	char text[PATH_MAX];
	size_t start = sizeof(text) - 1, len = strlen(t->dir);

	text[start] = '\0';
	for (; at != 0; at = t->node[at].up) {
		const struct node *n = &t->node[at];

		if (n->name_len + 1 > start)
			return NULL;
		start -= n->name_len;
		memcpy(text + start, n->name, n->name_len);
		text[--start] = '/';
	}
	if (len > 1 && len <= start) {
		start -= len;
		memcpy(text + start, t->dir, len);
	} else if (len > 1)
		return NULL;
	return strdup(text[start] == '\0' ? "/" : text + start);
}

static void
put(struct tree *t, uint32_t at, bool write, bool folded)
{
	const struct node *n = &t->node[at];
	const struct seen_file *f = n->file != NULL ? n->file : n->example;
	struct folded *line = &t->to->line[t->to->n];
	char *path = t->to->n < FOLD_LINES_MAX ? path_of(t, at) : NULL;

	if (path == NULL) {
		t->left_out++;
		return;
	}
	*line = (struct folded){.path = path,
	    .write = write,
	    .folded = folded,
	    .names = n->wanted,
	    .example = n->example != NULL ? n->example->path : "",
	    .program = f != NULL ? f->program : ""};
	t->to->n++;
}

static size_t
wanted_children(const struct tree *t, uint32_t at)
{
	size_t n = 0;

	for (uint32_t i = t->node[at].first; i != 0; i = t->node[i].next)
		n += t->node[i].wanted > 0;
	return n;
}

/*
 * The next node in the order of a walk from the root: below this one unless the walk has
 * finished with it, else after it.  0: the end.
 */
static uint32_t
next_of(const struct tree *t, uint32_t at, bool below)
{
	if (below && t->node[at].first != 0)
		return t->node[at].first;
	while (at != 0 && t->node[at].next == 0)
		at = t->node[at].up;
	return at == 0 ? 0 : t->node[at].next;
}

/* Is a directory above it granted to be read? */
static bool
covered(const struct tree *t, const bool *reads, uint32_t at)
{
	while (at != 0) {
		at = t->node[at].up;
		if (reads[at])
			return true;
	}
	return false;
}

/* One node of the walk.  True: its children need lines of their own. */
static bool
put_node(struct tree *t, bool *reads, uint32_t at)
{
	const struct node *n = &t->node[at];
	bool many = n->first != 0 && wanted_children(t, at) > FOLD_MAX;
	bool dir = n->first != 0 || (n->file != NULL && n->file->is == SEEN_DIR);

	if (n->wanted == 0)
		return false;
	if (n->entries || n->write) {
		put(t, at, true, n->entries && !n->read);
		return false;
	}
	if ((n->read || (dir && many)) && !covered(t, reads, at)) {
		reads[at] = true;
		put(t, at, false, !n->read);
	}
	return n->writes > 0 || !reads[at];
}

/* A directory of which nothing else was wanted must still be there. */
static void
put_looked(struct tree *t)
{
	const struct node *root = &t->node[0];

	if (root->file == NULL || root->file->is != SEEN_DIR || root->wanted > 0)
		return;
	put(t, 0, false, true);
	if (t->to->n > 0) {
		t->to->line[t->to->n - 1].looked = true;
		t->to->line[t->to->n - 1].example = root->file->path;
	}
}

int
fold_files(
    const struct seen *s, uint32_t root, const char *dir, bool writes, struct folds *ret)
{
	struct tree t = {.dir = dir, .to = ret, .n = 1};
	bool *reads = calloc(FOLD_NODES_MAX, sizeof(*reads)), below;

	t.node = calloc(FOLD_NODES_MAX, sizeof(*t.node));
	if (t.node == NULL || reads == NULL) {
		free(reads);
		free(t.node);
		return -ENOMEM;
	}
	for (size_t i = 0; i < s->file_n; i++)
		if (s->file[i].root == root && fold_below(s->file[i].path, dir))
			add(&t, &s->file[i]);
	for (uint32_t i = 0; i < t.n; i++)
		judge(&t, i);
	for (uint32_t i = 0; !writes && i < t.n; i++)
		t.node[i].entries = t.node[i].write = false;
	sum_up(&t);
	for (uint32_t at = 0;;) {
		below = put_node(&t, reads, at);
		at = next_of(&t, at, below);
		if (at == 0)
			break;
	}
	put_looked(&t);
	ret->left_out += t.left_out;
	free(reads);
	free(t.node);
	return 0;
}

void
folds_free(struct folds *f)
{
	for (size_t i = 0; i < f->n; i++)
		free(f->line[i].path);
	f->n = 0;
}
