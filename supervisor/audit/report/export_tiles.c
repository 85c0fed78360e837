/*
 * "kennel audit tiles DIR": writes the log as C2SP tlog-tiles files:
 *
 *	checkpoint
 *	tile/<level>/<n>		256 hashes
 *	tile/<level>/<n>.p/<w>		the first w of a partial tile
 *	tile/entries/<n>[.p/<w>]	the records: each a length (2 bytes,
 *					big-endian) and the bytes
 *
 * n is written in groups of three digits, all but the last with an x before them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/audit/audit_help.h"
#include "supervisor/audit/log/merkle_read.h"
#include "supervisor/audit/report/disclosure.h"
#include "supervisor/audit/report/verbs.h"
#include "supervisor/base/paths.h"

#define NAME_MAX_   64
#define EXIT_TWO    1
#define ENTRIES_MAX (TILE_WIDTH * (2 + AUDIT_BODY_MAX))

static void
put_number(char out[NAME_MAX_], uint64_t n)
{
	char digits[NAME_MAX_];
	size_t len, o = 0;

	(void)snprintf(digits, sizeof(digits), "%021llu", (unsigned long long)n);
	len = strlen(digits);
	for (size_t i = 0; i < len; i += 3) {
		bool last = i + 3 == len;

		if (o == 0 && !last && memcmp(digits + i, "000", 3) == 0)
			continue;
		o += (size_t)snprintf(
		    out + o, NAME_MAX_ - o, last ? "%.3s" : "x%.3s/", digits + i);
	}
}

/* Writes a file below dir, and creates the directories on its path. */
static int
put_file(int dir, const char *path, const void *bytes, size_t len)
{
	char part[256];
	int fd, r;

	if ((size_t)snprintf(part, sizeof(part), "%s", path) >= sizeof(part))
		return -ENAMETOOLONG;
	for (char *at = part; (at = strchr(at, '/')) != NULL; at++) {
		*at = '\0';
		if (mkdirat(dir, part, 0777) < 0 && errno != EEXIST)
			return -errno;
		*at = '/';
	}
	fd = openat(
	    dir, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, bytes, len);
	if (close(fd) < 0 && r == 0)
		r = -errno;
	return r;
}

static int
put_tile(
    int dir, const char *kind, uint64_t n, uint64_t width, const void *bytes, size_t len)
{
	char number[NAME_MAX_], path[128];

	put_number(number, n);
	if (width == TILE_WIDTH)
		(void)snprintf(path, sizeof(path), "tile/%s/%s", kind, number);
	else
		(void)snprintf(path, sizeof(path), "tile/%s/%s.p/%llu", kind, number,
		    (unsigned long long)width);
	return put_file(dir, path, bytes, len);
}

/* Writes all tiles of one level, except removed ones. */
static int
put_level(struct logtree *t, int dir, unsigned int level)
{
	uint64_t all = t->size >> (level * TILE_BITS);
	static uint8_t tile[TILE_LEN];
	char kind[8];
	int r = 0;

	(void)snprintf(kind, sizeof(kind), "%u", level);
	for (uint64_t n = 0; r == 0 && n * TILE_WIDTH < all; n++) {
		uint64_t left = all - n * TILE_WIDTH;
		uint64_t width = left < TILE_WIDTH ? left : TILE_WIDTH;

		r = logtree_tile(t, level, n, width, tile);
		if (r == 0)
			r = put_tile(dir, kind, n, width, tile, width * MERKLE_HASH_LEN);
		else if (r == -ENOENT && level == 0 &&
			 n * TILE_WIDTH < t->segment[0].base)
			r = 0;
	}
	return r;
}

static int
put_entries(struct logtree *t, int dir)
{
	uint8_t *bundle = malloc(ENTRIES_MAX);
	int r = bundle == NULL ? -ENOMEM : 0;

	for (uint64_t n = 0; r == 0 && n * TILE_WIDTH < t->size; n++) {
		uint64_t left = t->size - n * TILE_WIDTH;
		uint64_t width = left < TILE_WIDTH ? left : TILE_WIDTH;
		size_t at = 0, len;

		for (uint64_t i = 0; r == 0 && i < width; i++) {
			r = logtree_body(
			    t, n * TILE_WIDTH + i, bundle + at + 2, AUDIT_BODY_MAX, &len);
			if (r < 0)
				break;
			bundle[at] = (uint8_t)(len >> 8);
			bundle[at + 1] = (uint8_t)len;
			at += 2 + len;
		}
		if (r == 0)
			r = put_tile(dir, "entries", n, width, bundle, at);
		else if (r == -ENOENT && n * TILE_WIDTH < t->segment[0].base)
			r = 0;
	}
	free(bundle);
	return r;
}

/* Does the log continue what the directory has? A reader of the tiles would get those of two
 * histories, and a checkpoint that contradicts the one that it may have kept. -EUCLEAN: no. */
static int
check_published(struct logtree *t, int dir)
{
	struct hashes h = logtree_hashes(t);
	struct merkle_path path;
	struct checkpoint last;
	struct note note;
	char *text = NULL;
	size_t len = 0;
	int fd = openat(dir, "checkpoint", O_RDONLY | O_NOFOLLOW | O_CLOEXEC), r;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	r = fd_slurp(fd, NOTE_MAX, &text, &len);
	fd_close(&fd);
	if (r == 0 &&
	    (note_parse(text, len, &note) < 0 || checkpoint_parse(note.text, &last) < 0 ||
		strcmp(last.origin, t->cp.origin) != 0 || last.size > t->size))
		r = -EUCLEAN;
	if (r == 0 && last.size > 0) {
		r = merkle_path_consistency(&h, last.size, t->size, &path);
		if (r == 0 && !merkle_path_consistent(
				  &path, last.size, last.root, t->size, t->cp.root))
			r = -EUCLEAN;
	}
	free(text);
	return r;
}

static int
record(const char *log_dir, const char *out_dir, const struct logtree *t)
{
	const struct handout h = {.what = "tiles",
	    .to = out_dir,
	    .folder = log_dir,
	    .first = t->segment[0].base,
	    .size = t->size,
	    .root = t->cp.root};
	int r = disclosure_record(&h);

	if (r < 0)
		log_error("unable to record this export in the audit log");
	return r;
}

static int
open_out(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int
audit_tiles(const char *log_dir, const char *out_dir, uint64_t *ret_size)
{
	struct logtree *t = NULL;
	int dir = -1, r;

	r = logtree_open(log_dir, 0, &t);
	if (r == 0 && (dir = open_out(out_dir)) < 0 && dir != -ENOENT)
		r = dir;
	if (r == 0 && dir >= 0)
		r = check_published(t, dir);
	if (r == 0)
		r = record(log_dir, out_dir, t);
	/* a directory is made when there is something to put into it */
	if (r == 0 && dir < 0) {
		if (mkdir(out_dir, 0777) < 0 && errno != EEXIST)
			r = -errno;
		else if ((dir = open_out(out_dir)) < 0)
			r = dir;
	}
	for (unsigned int level = 0; r == 0 && level < TILE_LEVELS; level++)
		r = put_level(t, dir, level);
	if (r == 0)
		r = put_entries(t, dir);
	/* write it last: a reader that finds it finds everything that it covers */
	if (r == 0)
		r = put_file(dir, "checkpoint.new", t->note, strlen(t->note));
	if (r == 0 && renameat(dir, "checkpoint.new", dir, "checkpoint") < 0)
		r = -errno;
	if (r == 0)
		*ret_size = t->size;
	fd_close(&dir);
	logtree_close(t);
	return r;
}

int
tiles_main(int argc, char **argv)
{
	const char *dir = paths_audit_dir();
	uint64_t size = 0;
	int r;

	if (argc > 1 && argv[1][0] == '-')
		return help_unknown_option(&audit_help, argv[0], argv[1]);
	if (argc != 2)
		return help_usage(&audit_help, argv[0], "expected one directory");
	if (dir == NULL) {
		log_error("no home directory: set HOME or KENNEL_HOME");
		return LOG_EXIT_FAILED;
	}
	r = audit_tiles(dir, argv[1], &size);
	if (r == -EUCLEAN) {
		log_error("the checkpoint in %s is not one that this log continues: two "
			  "histories, or another log; nothing was written; name a new "
			  "directory",
		    argv[1]);
		return EXIT_TWO;
	}
	if (r < 0) {
		log_error("unable to write tiles to %s: %s", argv[1],
		    r == -EBADMSG  ? "the log is damaged; run \"kennel audit verify\""
		    : r == -ENOENT ? "no log found"
				   : strerror(-r));
		return LOG_EXIT_FAILED;
	}
	printf("%llu records, in %s\n", (unsigned long long)size, argv[1]);
	return 0;
}
