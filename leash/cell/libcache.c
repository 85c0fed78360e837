/*
 * The /etc/ld.so.cache of a cell: where glibc's loader finds the libraries that the
 * view has in its default directories.  Without it each start of a program tries
 * every library in every variant of every directory: about two dozen calls for libc
 * alone, a tenth of the time that /bin/true takes.
 *
 * It reveals nothing of the host's cache: all listed libraries are in the view, and
 * the loader searches for all others as before.
 *
 * The file (glibc's sysdeps/generic/dl-cache.h, version 1.1, native byte order):
 *
 *	0	"glibc-ld.so.cache1.1"
 *	20	u32 entries, u32 bytes of strings, u8 byte order, 3 of 0,
 *		u32 extensions, 3 x u32 of 0
 *	48	entries: i32 flags, u32 name, u32 path, u32 0, u64 0; name and path
 *		are offsets from the start of the file, the names descend
 *	...	strings, each with its NUL; the name is the end of the path
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "leash/cell/private.h"
#include "policy/sealed/lib_dirs.h"
#include "shim/base/array.h"
#include "shim/base/sort.h"

#define LIBS_MAX   1024 /* more: no cache */
#define DIGITS_MAX 9    /* digits of a number in a name: glibc compares them as an int */

struct header {
	char magic[20];
	uint32_t lib_n, string_len;
	uint8_t order, none[3];
	uint32_t extensions, rest[3];
};

struct entry {
	int32_t flags;
	uint32_t name, path, version;
	uint64_t hwcap;
};

struct lib {
	const char *path, *name; /* the name is the end of the path */
	size_t dir;              /* index of its default directory */
};

static const char *const dirs[] = {LIB_DIRS};

#define DIRS (ARRAY_LEN(dirs))

/* A number in a name; longer ones were rejected before. */
static long
number_at(const char **p)
{
	long n = 0;

	for (; **p >= '0' && **p <= '9'; ++*p)
		n = n * 10 + (**p - '0');
	return n;
}

/* The order of the loader's binary search: runs of digits compare as numbers, and sort
 * above all other characters. */
static int
compare_names(const char *a, const char *b)
{
	for (;;) {
		bool digit_a = *a >= '0' && *a <= '9', digit_b = *b >= '0' && *b <= '9';
		long diff;

		if (digit_a != digit_b && *a != '\0')
			return digit_a ? 1 : -1;
		if (digit_a && digit_b) {
			diff = number_at(&a);
			diff -= number_at(&b);
		} else if (*a == '\0') {
			return -*b;
		} else {
			diff = *a++ - *b++;
		}
		if (diff != 0)
			return diff < 0 ? -1 : 1;
	}
}

/* Descending names; for equal names the first directory wins. */
static int
compare_libs(const void *a, const void *b)
{
	const struct lib *x = a, *y = b;
	int r = compare_names(y->name, x->name);

	return r != 0 ? r : (x->dir > y->dir) - (x->dir < y->dir);
}

static bool
is_library(const char *name)
{
	size_t digits = 0;

	for (const char *p = name; *p != '\0'; p++) {
		digits = *p >= '0' && *p <= '9' ? digits + 1 : 0;
		/* ASCII only: glibc compares char, signed or unsigned */
		if (digits > DIGITS_MAX || *p == '/' || *p < ' ' || *p > '~')
			return false;
	}
	return strstr(name, ".so") != NULL;
}

static bool
in_dir(const char *path, struct lib *ret)
{
	for (size_t i = 0; i < DIRS; i++) {
		size_t len = strlen(dirs[i]);

		if (strncmp(path, dirs[i], len) != 0 || path[len] != '/' ||
		    !is_library(path + len + 1))
			continue;
		*ret = (struct lib){.path = path, .name = path + len + 1, .dir = i};
		return true;
	}
	return false;
}

/* Is a whole tree of the host mounted at, above or below a default directory?  It
 * contains libraries without a row, and variants for this processor that a search
 * prefers. */
static bool
tree_near(const char *path)
{
	size_t len = strlen(path);

	for (size_t i = 0; i < DIRS; i++) {
		size_t dir_len = strlen(dirs[i]);
		size_t n = len < dir_len ? len : dir_len;
		const char *rest = len < dir_len ? dirs[i] + n : path + n;

		if (memcmp(path, dirs[i], n) == 0 && (*rest == '/' || *rest == '\0'))
			return true;
	}
	return false;
}

/* -EXDEV: the libraries cannot be listed. */
static int
find_libs(const struct cell_order *order, struct lib lib[LIBS_MAX], size_t *ret_n)
{
	const struct sealed_mount *m;
	size_t n, lib_n = 0;

	m = cell_mounts(order, &n);
	for (size_t i = 0; i < n; i++) {
		const char *path = policy_str(order->policy, m[i].target);
		struct lib found;

		/* the tree of every cell is a locale's */
		if (m[i].kind == MOUNT_TREE && m[i].why != WHY_BASE && tree_near(path))
			return -EXDEV;
		if ((m[i].kind != MOUNT_FILE && m[i].kind != MOUNT_SYMLINK) ||
		    !in_dir(path, &found))
			continue;
		if (lib_n == LIBS_MAX)
			return -EXDEV;
		lib[lib_n++] = found;
	}
	*ret_n = lib_n;
	return 0;
}

static int
write_cache(const struct lib *lib, size_t lib_n, uint8_t *to, size_t cap, size_t *ret_len)
{
	struct header h = {.lib_n = (uint32_t)lib_n,
	    .order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 2 : 3};
	size_t at = sizeof(h), string = sizeof(h) + lib_n * sizeof(struct entry);

	memcpy(h.magic, "glibc-ld.so.cache1.1", sizeof(h.magic));
	if (string > cap)
		return -E2BIG;
	for (size_t i = 0; i < lib_n; i++, at += sizeof(struct entry)) {
		size_t len = strlen(lib[i].path) + 1;
		struct entry e = {.flags = LIB_CACHE_FLAGS,
		    .name = (uint32_t)(string + (size_t)(lib[i].name - lib[i].path)),
		    .path = (uint32_t)string};

		if (len > cap - string)
			return -E2BIG;
		memcpy(to + at, &e, sizeof(e));
		memcpy(to + string, lib[i].path, len);
		string += len;
	}
	h.string_len = (uint32_t)(string - at);
	memcpy(to, &h, sizeof(h));
	*ret_len = string;
	return 0;
}

int
libcache_make(const struct cell_order *order, uint8_t *to, size_t cap, size_t *ret_len)
{
	static struct lib lib[LIBS_MAX];
	size_t n = 0;
	int r = find_libs(order, lib, &n);

	if (r < 0 || n == 0)
		return r < 0 ? r : -ENOENT;
	sort_in_place(lib, n, sizeof(*lib), compare_libs);
	return write_cache(lib, n, to, cap, ret_len);
}
