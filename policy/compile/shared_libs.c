/*
 * Finds the libraries of a program as glibc's loader will: DT_RPATH of the file
 * and of those that loaded it, DT_RUNPATH, the loader's cache, the default
 * directories.  Each library is added to the view at the path where the loader
 * searches for it.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIAG_CODE "program"

#include "policy/compile/lower.h"
#include "policy/lang/scalar.h"
#include "policy/sealed/lib_dirs.h"

#define CACHE_PATH    "/etc/ld.so.cache"
#define CACHE_LEN_MAX (16u << 20)
#define LIBS_MAX      2048 /* of one program */

static const char *const default_dirs[] = {LIB_DIRS, NULL};
static const char *const musl_dirs[] = {"/lib", "/usr/local/lib", "/usr/lib", NULL};

/* A file whose needs are resolved; from is the file that needed it. */
struct object {
	const char *real; /* canonical */
	struct elf elf;
	const struct object *from;
};

struct search {
	struct lower *l;
	struct at at;
	enum sealed_mount_why why;
	const char *interp; /* canonical path of the program's loader */
	bool musl;
	bool packaged; /* of a module in a package, which must not choose files outside */
	struct object *object[LIBS_MAX]; /* work list: found so far */
	size_t object_n;
	const uint8_t *cache;
	size_t cache_len;
	bool cache_used;
};

/* ---- ld.so.cache -------------------------------------------------------------- */

/* The format "glibc-ld.so.cache1.1"; numbers in native byte order. */
struct cache_header {
	char magic[20];
	uint32_t lib_n, string_len;
	uint32_t rest[5];
};
struct cache_entry {
	int32_t flags;
	uint32_t key, value, version;
	uint64_t hwcap;
};

static void
cache_open(struct search *s)
{
	const struct way *w = fs_cache_way(s->l->tree->fs_cache, CACHE_PATH);
	struct stat st;
	void *map;
	int fd;

	if (w == NULL || !content_public(s->l, w))
		return; /* others than root decide what it contains */
	/* syscalls: openat fstat newfstatat mmap munmap close */
	fd = open(CACHE_PATH, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return; /* then there is no cache */
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
	    st.st_size <= (off_t)CACHE_LEN_MAX) {
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (map != MAP_FAILED) {
			s->cache = map;
			s->cache_len = (size_t)st.st_size;
		}
	}
	(void)close(fd); /* only read */
}

static const char *
cache_string(const struct search *s, uint32_t off)
{
	if (off >= s->cache_len || memchr(s->cache + off, 0, s->cache_len - off) == NULL)
		return "";
	return (const char *)s->cache + off;
}

/* The path in the cache for a name, or NULL. */
static const char *
cache_find(const struct search *s, const char *name)
{
	struct cache_header h;
	struct cache_entry e;
	const char *path;
	uint64_t i;

	if (s->cache_len < sizeof(h))
		return NULL;
	memcpy(&h, s->cache, sizeof(h));
	if (memcmp(h.magic, "glibc-ld.so.cache1.1", sizeof(h.magic)) != 0 ||
	    h.lib_n > (s->cache_len - sizeof(h)) / sizeof(e))
		return NULL;
	for (i = 0; i < h.lib_n; i++) {
		memcpy(&e, s->cache + sizeof(h) + i * sizeof(e), sizeof(e));
		/*
		 * skip variants for specific processors: the plain one always
		 * works
		 */
		if (e.flags != LIB_CACHE_FLAGS || e.hwcap != 0 ||
		    strcmp(cache_string(s, e.key), name) != 0)
			continue;
		path = cache_string(s, e.value);
		if (path_is_normal(path))
			return path;
	}
	return NULL;
}

/* ---- one library ---------------------------------------------------------------- */

static struct object *
object_seen(const struct search *s, const char *real)
{
	size_t i;

	for (i = 0; i < s->object_n; i++)
		if (strcmp(s->object[i]->real, real) == 0)
			return s->object[i];
	return NULL;
}

/* Where a path of a library comes from. */
enum chooser {
	CHOSEN_HERE,       /* a default directory of the loader */
	CHOSEN_BY_CONFIG,  /* the loader's cache, which root makes */
	CHOSEN_BY_CONTENT, /* the object that needs it */
};

/*
 * The path may not be in the view.  A program does not start without it; the rest is loaded
 * only by some programs, and may be elsewhere, or in another version.
 */
static int
object_refused(struct search *s, const char *path, const struct object *from)
{
	char *what;

	if (s->packaged || s->why == WHY_PRESET)
		return -ENOENT;
	what = lower_printf(s->l, "a library of %s,", from->real);
	return what == NULL ? -ENOMEM : content_refused(s->l, s->at, what, path);
}

/* The canonical path of a library that the search may use, as content_find() has it. */
static int
object_find(struct search *s, const char *path, enum chooser by, const char **ret_real)
{
	const struct way *w;
	int r = by == CHOSEN_BY_CONFIG ? content_find_configured(s->l, path, ret_real)
				       : content_find(s->l, path, ret_real);

	/* one in a package chooses only among what is granted */
	if (r != 0 || !s->packaged || by != CHOSEN_BY_CONTENT)
		return r;
	w = fs_cache_way(s->l->tree->fs_cache, path);
	if (w == NULL)
		return -ENOMEM;
	return w->error == -ELOOP || content_granted(s->l, w) ? 0 : -EACCES;
}

/* Root's links on the way; one in a granted tree is in it already. */
static int
object_links(struct search *s, const char *path)
{
	const struct way *w = fs_cache_way(s->l->tree->fs_cache, path);
	const char *real;

	if (w == NULL)
		return -ENOMEM;
	return w->error == 0 ? view_walk(s->l, path, s->at, &real) : 0;
}

/* Is there a library for this machine at path? -ENOENT: continue the search. */
static int
object_try(struct search *s, const char *path, enum chooser by, const struct object *from)
{
	struct view_row row = {.kind = MOUNT_FILE, .right = RIGHT_READ, .why = s->why};
	struct object *o;
	const char *real, *walked, *why;
	struct elf elf;
	int r;

	r = object_find(s, path, by, &real);
	if (r == -EACCES)
		return object_refused(s, path, from);
	if (r == -ENOENT || r == -ENOMEM)
		return r;
	if (r < 0) /* a link that is not followed */
		return s->packaged ? -ENOENT : view_walk(s->l, path, s->at, &walked);
	if ((r = elf_read(s->l->arena, real, &elf, &why)) < 0)
		return r == -ENOMEM ? r : -ENOENT;
	if ((r = object_links(s, path)) < 0)
		return r;
	row.source = row.target = real;
	row.at = s->at;
	if ((r = view_put(s->l, &row)) < 0 || object_seen(s, real) != NULL)
		return r;
	if (s->object_n == LIBS_MAX)
		return -E2BIG;
	if ((o = arena_alloc(s->l->arena, sizeof(*o))) == NULL)
		return -ENOMEM;
	*o = (struct object){.real = real, .elf = elf, .from = from};
	s->object[s->object_n++] = o;
	return 0;
}

/*
 * One directory of a list, with $ORIGIN and ${ORIGIN} replaced; NULL: unusable.
 */
static char *
dir_expand(struct lower *l, const char *dir, size_t len, const char *real)
{
	static const char *const token[] = {"$ORIGIN", "${ORIGIN}"};
	size_t i, n;

	for (i = 0; i < 2; i++) {
		n = strlen(token[i]);
		if (len >= n && memcmp(dir, token[i], n) == 0)
			return lower_printf(l, "%.*s%.*s",
			    (int)(strrchr(real, '/') - real), real, (int)(len - n),
			    dir + n);
	}
	if (len == 0 || dir[0] != '/' || memchr(dir, '$', len) != NULL)
		return NULL; /* relative to an unknown directory: never used */
	return lower_printf(l, "%.*s", (int)len, dir);
}

static int
list_try(struct search *s, const char *list, const struct object *owner, const char *name,
    const struct object *from)
{
	const char *p, *end;
	char *dir, *path;
	int r;

	for (p = list; p != NULL && *p != 0; p = *end == 0 ? end : end + 1) {
		end = p + strcspn(p, ":");
		dir = dir_expand(s->l, p, (size_t)(end - p), owner->real);
		if (dir == NULL)
			continue;
		if ((path = lower_printf(s->l, "%s/%s", dir, name)) == NULL)
			return -ENOMEM;
		if ((r = object_try(s, path, CHOSEN_BY_CONTENT, from)) != -ENOENT)
			return r;
	}
	return -ENOENT;
}

static int
dirs_try(
    struct search *s, const char *const *dir, const char *name, const struct object *from)
{
	char *path;
	int r = -ENOENT;

	for (; *dir != NULL && r == -ENOENT; dir++) {
		if ((path = lower_printf(s->l, "%s/%s", *dir, name)) == NULL)
			return -ENOMEM;
		r = object_try(s, path, CHOSEN_HERE, from);
	}
	return r;
}

static int
cache_try(struct search *s, const char *name, const struct object *from)
{
	const char *path = cache_find(s, name);
	size_t i, n;
	int r;

	if (path == NULL)
		return -ENOENT;
	if ((r = object_try(s, path, CHOSEN_BY_CONFIG, from)) < 0)
		return r;
	for (i = 0; default_dirs[i] != NULL; i++) {
		n = strlen(default_dirs[i]);
		if (strncmp(path, default_dirs[i], n) == 0 && path[n] == '/' &&
		    strchr(path + n + 1, '/') == NULL)
			return 0;
	}
	s->cache_used = true; /* the loader finds it only in the cache */
	return 0;
}

static int
library_find(struct search *s, const char *name, const struct object *from)
{
	const struct object *o;
	int r = -ENOENT;

	if (name[0] == '/')
		return object_try(s, name, CHOSEN_BY_CONTENT, from);
	if (strchr(name, '/') != NULL)
		return -ENOENT;
	for (o = from; o != NULL && from->elf.runpath == NULL && r == -ENOENT;
	     o = o->from)
		r = list_try(s, o->elf.rpath, o, name, from);
	if (r == -ENOENT)
		r = list_try(s, from->elf.runpath, from, name, from);
	if (r == -ENOENT && !s->musl)
		r = cache_try(s, name, from);
	if (r == -ENOENT)
		r = dirs_try(s, s->musl ? musl_dirs : default_dirs, name, from);
	return r;
}

/* ---- dependencies -------------------------------------------------------- */

/* A loader has none itself. The kernel starts it, so no other file may take its place. */
static int
loader_check(struct search *s)
{
	const char *why = NULL;
	struct elf elf;
	int r = elf_read(s->l->arena, s->interp, &elf, &why);

	if (r == -ENOMEM)
		return r;
	if (r == 0 && elf.type == ET_DYN && elf.interp == NULL)
		return 0;
	diag_error(s->l->diag, s->at,
	    "its dynamic loader %s is no loader: expected a shared object for this "
	    "machine that names no loader itself",
	    s->interp);
	return -EINVAL;
}

static int
interp_need(struct search *s, const char *interp)
{
	struct view_row row = {
	    .kind = MOUNT_FILE, .right = RIGHT_READ | RIGHT_START, .why = WHY_LOADER};
	const char *base = strrchr(interp, '/');
	int r;

	r = interp[0] != '/' ? -ENOENT : content_find(s->l, interp, &s->interp);
	if (r == -EACCES)
		return content_refused(s->l, s->at, "its dynamic loader", interp);
	if (r != -ENOENT && r != -ENOMEM)
		r = view_walk(s->l, interp, s->at, &s->interp);
	if (r == -ENOENT) {
		diag_host(
		    s->l->diag, s->at, "its dynamic loader does not exist: %s", interp);
		return -EINVAL;
	}
	if (r < 0 || (r = loader_check(s)) < 0)
		return r;
	s->musl = strncmp(base + 1, "ld-musl-", 8) == 0;
	row.source = row.target = s->interp;
	row.at = s->at;
	return view_put(s->l, &row);
}

static int
search_run(struct search *s)
{
	const struct object *o;
	size_t i, k;
	int r;

	/* The list grows during the loop; each file is on it once. */
	for (i = 0; i < s->object_n; i++) {
		o = s->object[i];
		for (k = 0; k < o->elf.needed_n; k++) {
			r = library_find(s, o->elf.needed[k], o);
			if (r == -ENOENT && s->why == WHY_PRESET)
				continue; /* it cannot be loaded outside either */
			if (r == -ENOENT) {
				diag_host(s->l->diag, s->at,
				    "library %s of %s does not exist", o->elf.needed[k],
				    o->real);
				return -EINVAL;
			}
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int
search_libs(struct lower *l, const char *real, const struct elf *elf, struct at at,
    enum sealed_mount_why why, bool packaged)
{
	struct view_row cache = {.kind = MOUNT_FILE,
	    .right = RIGHT_READ,
	    .why = why,
	    .source = CACHE_PATH,
	    .target = CACHE_PATH,
	    .at = at};
	struct object root = {.real = real, .elf = *elf};
	struct search *s;
	int r = 0;

	if ((s = calloc(1, sizeof(*s))) == NULL)
		return -ENOMEM;
	s->l = l;
	s->at = at;
	s->why = why;
	s->packaged = packaged;
	s->object[s->object_n++] = &root;
	cache_open(s);
	if (elf->interp != NULL && !packaged)
		r = interp_need(s, elf->interp);
	if (r == 0)
		r = search_run(s);
	if (r == 0 && s->cache_used)
		r = view_put(l, &cache);
	if (s->cache != NULL)
		(void)munmap((void *)(uintptr_t)s->cache, s->cache_len); /* best effort */
	free(s);
	return r;
}

int
libs_need(struct lower *l, const char *real, const struct elf *elf, struct at at,
    enum sealed_mount_why why)
{
	return search_libs(l, real, elf, at, why, false);
}

int
module_libs_need(struct lower *l, const char *real, const struct elf *elf, struct at at)
{
	return search_libs(l, real, elf, at, WHY_PRESET, true);
}
