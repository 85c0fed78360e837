/*
 * "kennel policy check | compile | show": files in, messages and sealed files
 * out.
 *
 * Runs in the supervisor's program, as the person who called it.  Holds no
 * secret; reads the policies it is given and the programs they name, writes
 * sealed files only.
 */
#include "policy/tree.h"
#include "shim/base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES_MAX 256

/* kennel(1), EXIT STATUS */
enum {
	EXIT_OK = 0,
	EXIT_USAGE = 64,
	EXIT_BAD_INPUT = 65,
	EXIT_MISSING = 69,
	EXIT_CONFIG = 78,
	EXIT_FAILED = 125,
};

static const char usage_text[] = "usage: kennel policy check FILE...\n"
				 "       kennel policy compile FILE... [-o OUT]\n"
				 "       kennel policy show FILE [SERVER] [--json]\n";

static int
usage(const char *why, const char *what)
{
	fprintf(stderr, "kennel policy: %s%s\n%s", why, what, usage_text);
	return EXIT_USAGE;
}

/* ---- arguments ----------------------------------------------------------- */

struct args {
	const char *file[FILES_MAX];
	size_t file_n;
	const char *out; /* -o */
	bool json;
};

/* 0 or an exit status.  Which of -o and --json a verb knows is in may. */
enum { MAY_OUT = 1, MAY_JSON = 2 };

static int
args_read(int argc, char **argv, unsigned int may, struct args *ret)
{
	struct args a = {.file_n = 0};
	bool plain = false; /* behind "--" */
	int i;

	for (i = 1; i < argc; i++) {
		if (plain || argv[i][0] != '-' || argv[i][1] == '\0') {
			if (a.file_n == FILES_MAX)
				return usage("too many files", "");
			a.file[a.file_n++] = argv[i];
		} else if (strcmp(argv[i], "--") == 0) {
			plain = true;
		} else if ((may & MAY_OUT) != 0 && strcmp(argv[i], "-o") == 0) {
			if (i + 1 == argc || a.out != NULL)
				return usage("-o takes one file", "");
			a.out = argv[++i];
		} else if ((may & MAY_JSON) != 0 && strcmp(argv[i], "--json") == 0) {
			a.json = true;
		} else {
			return usage("unknown option ", argv[i]);
		}
	}
	if (a.file_n == 0)
		return usage("no file", "");
	*ret = a;
	return 0;
}

/* ---- reading ------------------------------------------------------------- */

struct texts {
	struct policy_source source[FILES_MAX];
	char *data[FILES_MAX];
	size_t n;
};

static void
texts_free(struct texts *t)
{
	size_t i;

	for (i = 0; i < t->n; i++)
		free(t->data[i]);
	t->n = 0;
}

/* 0 or an exit status; the reason has been told. */
static int
file_read(const char *path, size_t max, char **ret_data, size_t *ret_len)
{
	bool in = strcmp(path, "-") == 0;
	int fd, r, status = 0;

	/* syscalls: openat newfstatat fstat read lseek */
	fd = in ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0) {
		r = errno;
		fprintf(
		    stderr, "kennel policy: unable to open %s: %s\n", path, strerror(r));
		return r == ENOENT ? EXIT_MISSING : EXIT_BAD_INPUT;
	}
	r = fd_slurp(fd, max, ret_data, ret_len);
	if (r != 0) {
		fprintf(stderr, "kennel policy: unable to read %s: %s\n",
		    in ? "standard input" : path, strerror(-r));
		status = EXIT_BAD_INPUT;
	}
	if (!in)
		fd_close(&fd);
	return status;
}

static int
texts_read(const struct args *a, size_t n, size_t max, struct texts *ret)
{
	struct texts t = {.n = 0};
	int status;

	for (; t.n < n; t.n++) {
		struct policy_source *s = &t.source[t.n];

		status = file_read(a->file[t.n], max, &t.data[t.n], &s->len);
		if (status != 0) {
			texts_free(&t);
			return status;
		}
		s->text = t.data[t.n];
		s->path = strcmp(a->file[t.n], "-") == 0 ? NULL : a->file[t.n];
	}
	*ret = t;
	return 0;
}

/* What the compiler said, as an exit status. */
static int
status_of(int r)
{
	if (r == 0)
		return EXIT_OK;
	if (r == -EINVAL)
		return EXIT_BAD_INPUT; /* every error has been told */
	fprintf(stderr, "kennel policy: unable to compile: %s\n", strerror(-r));
	return EXIT_FAILED;
}

/* ---- check --------------------------------------------------------------- */

static int
verb_check(int argc, char **argv)
{
	struct texts t;
	struct args a;
	int status;

	status = args_read(argc, argv, 0, &a);
	if (status == 0)
		status = texts_read(&a, a.file_n, SOURCE_LEN_MAX, &t);
	if (status != 0)
		return status;
	status = status_of(policy_check(t.source, t.n, stderr));
	texts_free(&t);
	return status;
}

/* ---- writing ------------------------------------------------------------- */

/* Beside the file, then in its place: it is never half there.  0 or -errno. */
static int
file_write(const char *path, const struct buf *b)
{
	const char *slash = strrchr(path, '/');
	char temp[PATH_MAX];
	int fd, n, r;

	n = snprintf(temp, sizeof(temp), "%.*s.kennel-%ld.new",
	    slash == NULL ? 0 : (int)(slash - path + 1), path, (long)getpid());
	if (n < 0 || (size_t)n >= sizeof(temp))
		return -ENAMETOOLONG;
	/* syscalls: unlink unlinkat openat fsync rename renameat getpid */
	(void)unlink(temp); /* of an earlier process with this number, if any */
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, b->data, b->len);
	if (r == 0 && fsync(fd) != 0)
		r = -errno;
	fd_close(&fd);
	if (r == 0 && rename(temp, path) != 0)
		r = -errno;
	if (r != 0)
		(void)unlink(temp); /* the reason is in r already */
	return r;
}

/* Where sealed files of this user live; every folder of it exists after. */
static int
sealed_folder(char *out, size_t cap)
{
	const char *home = getenv("KENNEL_HOME"), *rest = "/sealed";
	int n;

	if (home == NULL || home[0] != '/') {
		home = getenv("XDG_CONFIG_HOME");
		rest = "/kennel/sealed";
	}
	if (home == NULL || home[0] != '/') {
		home = getenv("HOME");
		rest = "/.config/kennel/sealed";
	}
	if (home == NULL || home[0] != '/')
		return -ENOENT;
	n = snprintf(out, cap, "%s%s", home, rest);
	if (n < 0 || (size_t)n >= cap)
		return -ENAMETOOLONG;
	return fd_make_dirs(out); /* syscalls: mkdir mkdirat */
}

static int
unable(const char *what, const char *path, int r)
{
	fprintf(stderr, "kennel policy: unable to %s %s: %s\n", what, path, strerror(-r));
	return EXIT_CONFIG;
}

/* ---- compile ------------------------------------------------------------- */

static int
compile_to(const struct texts *t, const char *out)
{
	struct buf b;
	int r, status;

	buf_init(&b, SEALED_LEN_MAX);
	status = status_of(policy_compile(t->source, t->n, NULL, &b, stderr));
	if (status == EXIT_OK && strcmp(out, "-") == 0) {
		r = fd_write_all(STDOUT_FILENO, b.data, b.len);
		if (r != 0)
			status = unable("write", "standard output", r);
	} else if (status == EXIT_OK) {
		r = file_write(out, &b);
		if (r != 0)
			status = unable("write", out, r);
	}
	buf_free(&b);
	return status;
}

/* One server into its own file of the folder. */
static int
write_one(const char *server, const struct buf *b, void *arg)
{
	const char *folder = arg;
	char path[PATH_MAX];
	int n, r;

	n = snprintf(path, sizeof(path), "%s/%s.sealed", folder, server);
	r = n < 0 || (size_t)n >= sizeof(path) ? -ENAMETOOLONG : file_write(path, b);
	if (r != 0)
		return unable("write", path, r);
	printf("%s\n", path);
	return 0;
}

static int
compile_files(const struct texts *t)
{
	char folder[PATH_MAX];
	int r;

	r = sealed_folder(folder, sizeof(folder));
	if (r != 0)
		return unable("make", "the folder for sealed files", r);
	r = compile_each(t->source, t->n, write_one, folder, stderr);
	return r > 0 ? r : status_of(r);
}

static int
verb_compile(int argc, char **argv)
{
	struct texts t;
	struct args a;
	int status;

	status = args_read(argc, argv, MAY_OUT, &a);
	if (status == 0)
		status = texts_read(&a, a.file_n, SOURCE_LEN_MAX, &t);
	if (status != 0)
		return status;
	status = a.out != NULL ? compile_to(&t, a.out) : compile_files(&t);
	texts_free(&t);
	return status;
}

/* ---- show ---------------------------------------------------------------- */

static bool
is_sealed(const struct policy_source *s)
{
	return s->len >= 8 && memcmp(s->text, SEALED_MAGIC, 8) == 0;
}

static int
show_bytes(const void *data, size_t len, const char *file, const struct args *a)
{
	const char *only = a->file_n == 2 ? a->file[1] : NULL;
	struct policy p;
	char why[256];
	int r;

	if (policy_load_bytes(data, len, &p, why, sizeof(why)) != 0) {
		fprintf(stderr, "kennel policy: %s: %s\n", file, why);
		return EXIT_BAD_INPUT;
	}
	if (only != NULL && policy_server(&p, only) == NULL) {
		fprintf(stderr, "kennel policy: %s: no server of the name given\n", file);
		policy_unload(&p);
		return EXIT_MISSING;
	}
	r = a->json ? policy_show_json(&p, only, stdout) : policy_show(&p, only, stdout);
	policy_unload(&p);
	if (r != 0 || fflush(stdout) != 0)
		return unable("write", "standard output", r != 0 ? r : -errno);
	return EXIT_OK;
}

static int
verb_show(int argc, char **argv)
{
	struct texts t;
	struct args a;
	struct buf b;
	int status;

	status = args_read(argc, argv, MAY_JSON, &a);
	if (status == 0 && a.file_n > 2)
		return usage("show takes one file and one server", "");
	if (status == 0)
		status = texts_read(&a, 1, SEALED_LEN_MAX, &t);
	if (status != 0)
		return status;
	buf_init(&b, SEALED_LEN_MAX);
	if (is_sealed(&t.source[0])) {
		status = show_bytes(t.source[0].text, t.source[0].len, a.file[0], &a);
	} else {
		status = status_of(policy_compile(t.source, 1, NULL, &b, stderr));
		if (status == EXIT_OK)
			status = show_bytes(b.data, b.len, a.file[0], &a);
	}
	buf_free(&b);
	texts_free(&t);
	return status;
}

/* ---- verbs --------------------------------------------------------------- */

static const struct verb {
	const char *name;
	int (*run)(int argc, char **argv); /* NULL: not in this version */
} verbs[] = {
    {"check", verb_check},
    {"compile", verb_compile},
    {"show", verb_show},
    {"diff", NULL},
    {"doc", NULL},
    {"explain", NULL},
    {"fmt", NULL},
    {"query", NULL},
    {"score", NULL},
    {"sign", NULL},
    {"test", NULL},
    {"verify", NULL},
};

int
policy_main(int argc, char **argv)
{
	size_t i;

	if (argc < 1 || argv[0] == NULL)
		return usage("a verb is missing", "");
	for (i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(argv[0], verbs[i].name) != 0)
			continue;
		if (verbs[i].run != NULL)
			return verbs[i].run(argc, argv);
		fprintf(stderr, "kennel policy: %s is not in this version\n", argv[0]);
		return EXIT_USAGE;
	}
	return usage("unknown verb ", argv[0]);
}
