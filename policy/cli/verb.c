/*
 * Code that the verbs of "kennel policy" share: arguments, input and output
 * files.
 *
 * Runs in the supervisor's program, as the calling user.  Holds no secret.
 * Reads the policies given to it and the programs that they name; writes only
 * the requested output.
 */
#include "policy/cli/verb.h"
#include "policy/cli/near_file.h"
#include "policy/compile/compile.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/host/path_open.h"
#include "shim/host/path_resolve.h"

/* ---- arguments ----------------------------------------------------------- */

#define NO_VALUE   SIZE_MAX       /* takes no value */
#define MANY_TIMES (SIZE_MAX - 1) /* appends to env */
#define SLOT(name) offsetof(struct args, name)

static const struct {
	const char *name;
	unsigned int bit;
	size_t slot; /* where the value is stored */
} options[] = {
    {"-o", OPT_OUT, SLOT(out)},
    {"--json", OPT_JSON, NO_VALUE},
    {"--check", OPT_CHECK, NO_VALUE},
    {"-w", OPT_WRITE, NO_VALUE},
    {"--threshold", OPT_THRESHOLD, SLOT(threshold)},
    {"--html", OPT_HTML, NO_VALUE},
    {"--mutation", OPT_MUTATION, NO_VALUE},
    {"--from", OPT_CALLER, SLOT(from)},
    {"--in", OPT_CALLER, SLOT(in)},
    {"--env", OPT_CALLER, MANY_TIMES},
    {"--key", OPT_SIGN, SLOT(key)},
    {"--counter", OPT_SIGN, SLOT(counter)},
    {"--until", OPT_SIGN, SLOT(until)},
    {"--current", OPT_SIGN, SLOT(current)},
    {"--git", OPT_GIT, SLOT(git)},
};

/* Stores the value of options[k]; 0 or EXIT_USAGE. */
static int
option_value(size_t k, const char *value, struct args *a)
{
	const char **slot;

	if (options[k].slot == MANY_TIMES) {
		if (a->env_n == VERB_WORDS_MAX)
			return verb_usage("too many variables", "");
		a->env[a->env_n++] = value;
		return 0;
	}
	slot = (const char **)(void *)((char *)a + options[k].slot);
	if (*slot != NULL)
		return verb_usage("duplicate option ", options[k].name);
	*slot = value;
	return 0;
}

/* Parses the option argv[*i] with its value; 0 or EXIT_USAGE. */
static int
option(const struct verb *v, int argc, char **argv, int *i, struct args *a)
{
	const char *name = argv[*i];
	size_t k;

	for (k = 0; k < ARRAY_LEN(options); k++)
		if (strcmp(name, options[k].name) == 0 && (options[k].bit & v->may) != 0)
			break;
	if (k == ARRAY_LEN(options))
		return verb_unknown_option(name);
	a->given |= options[k].bit;
	if (options[k].slot == NO_VALUE)
		return 0;
	if (*i + 1 == argc)
		return verb_usage(name, " takes one value");
	return option_value(k, argv[++*i], a);
}

int
verb_args(const struct verb *v, int argc, char **argv, struct args *ret)
{
	bool plain = false; /* after "--", and once a request begins */
	int i, status;

	memset(ret, 0, sizeof(*ret));
	for (i = 1; i < argc; i++) {
		plain = plain || (v->plain > 0 && ret->word_n >= v->plain);
		if (plain || argv[i][0] != '-' || argv[i][1] == '\0') {
			if (ret->word_n == VERB_WORDS_MAX)
				return verb_usage("too many arguments", "");
			ret->word[ret->word_n++] = argv[i];
		} else if (strcmp(argv[i], "--") == 0) {
			plain = true;
		} else {
			status = option(v, argc, argv, &i, ret);
			if (status != 0)
				return status;
		}
	}
	if (ret->word_n == 0)
		return verb_usage("expected a file", "");
	if (ret->word_n < v->word_min)
		return verb_usage("missing argument", "");
	return ret->word_n > v->word_max ? verb_usage("too many arguments", "") : 0;
}

/* ---- reading ------------------------------------------------------------- */

void
texts_free(struct texts *t)
{
	size_t i;

	for (i = 0; i < t->n; i++)
		free(t->data[i]);
	t->n = 0;
}

/* 0 or an exit status, with the reason reported. */
static int
file_read(const char *path, size_t max, char **ret_data, size_t *ret_len)
{
	bool in = strcmp(path, "-") == 0;
	struct stat st = {0};
	char shown[256];
	int fd, r, status = 0;

	fd = STDIN_FILENO;
	r = in ? 0 : path_open(path, &fd);
	if (r < 0) {
		(void)verb_unable("open", path, r);
		if (r == -ENOENT)
			near_file_say(path);
		return r == -ENOENT ? EXIT_MISSING : EXIT_BAD_INPUT;
	}
	/* syscalls: newfstatat fstat read lseek */
	if (!in && (fstat(fd, &st) < 0 || (st.st_mode & S_IWOTH) != 0)) {
		fprintf(stderr,
		    "kennel policy: %s is world-writable: run `chmod o-w` on it\n",
		    log_quote(shown, sizeof(shown), path, strlen(path)));
		fd_close(&fd);
		return EXIT_BAD_INPUT;
	}
	r = fd_slurp(fd, max, ret_data, ret_len);
	if (r != 0) {
		fprintf(stderr, "kennel policy: unable to read %s: %s\n",
		    in ? "standard input"
		       : log_quote(shown, sizeof(shown), path, strlen(path)),
		    strerror(-r));
		status = EXIT_BAD_INPUT;
	}
	if (!in)
		fd_close(&fd);
	return status;
}

int
texts_read(const char *const *path, size_t n, size_t max, struct texts *ret)
{
	int status;

	for (ret->n = 0; ret->n < n; ret->n++) {
		struct policy_source *s = &ret->source[ret->n];

		status = file_read(path[ret->n], max, &ret->data[ret->n], &s->len);
		if (status != 0) {
			texts_free(ret);
			return status;
		}
		s->text = ret->data[ret->n];
		s->path = strcmp(path[ret->n], "-") == 0 ? NULL : path[ret->n];
		s->reader = &policy_files;
	}
	return 0;
}

bool
text_is_sealed(const struct policy_source *s)
{
	return s->len >= 8 && memcmp(s->text, SEALED_MAGIC, 8) == 0;
}

/* ---- compiled policies --------------------------------------------------- */

void
compiled_free(struct compiled *o)
{
	policy_unload(&o->p);
	buf_free(&o->bytes);
	free(o->data);
	memset(o, 0, sizeof(*o));
}

/* The sealed bytes: read from the file, or compiled from its text. */
static int
sealed_bytes(const struct policy_source *s, struct compiled *o, const uint8_t **ret,
    size_t *ret_len)
{
	int status;

	*ret = (const uint8_t *)s->text;
	*ret_len = s->len;
	if (text_is_sealed(s))
		return 0;
	status = verb_status(policy_compile(s, 1, NULL, &o->bytes, stderr));
	*ret = o->bytes.data;
	*ret_len = o->bytes.len;
	return status;
}

int
compiled_read(const char *path, struct compiled *ret)
{
	return compiled_read_by(path, &policy_files, ret);
}

/* By a reader of its own, which has reported what it could not read. */
static int
read_by(const struct policy_reader *reader, const char *path, struct compiled *o,
    size_t *ret_len)
{
	int r;

	if (strcmp(path, "-") == 0 || reader == &policy_files)
		return file_read(path, SEALED_LEN_MAX, &o->data, ret_len);
	r = reader->read(reader->arg, path, SEALED_LEN_MAX, &o->data, ret_len);
	if (r != 0 && r != -EIO)
		(void)verb_unable("read", path, r);
	return r == 0 ? 0 : r == -ENOENT ? EXIT_MISSING : EXIT_BAD_INPUT;
}

int
compiled_read_by(
    const char *path, const struct policy_reader *reader, struct compiled *ret)
{
	struct policy_source s = {
	    .path = strcmp(path, "-") == 0 ? NULL : path, .reader = reader};
	struct compiled o = {.data = NULL};
	const uint8_t *bytes = NULL;
	char why[256], shown[256];
	size_t len = 0;
	int status;

	buf_init(&o.bytes, SEALED_LEN_MAX);
	status = read_by(reader, path, &o, &s.len);
	if (status != 0)
		return status;
	s.text = o.data;
	status = sealed_bytes(&s, &o, &bytes, &len);
	if (status == 0 && policy_load_bytes(bytes, len, &o.p, why, sizeof(why)) != 0) {
		fprintf(stderr, "kennel policy: %s: %s\n",
		    log_quote(shown, sizeof(shown), path, strlen(path)), why);
		status = EXIT_BAD_INPUT;
	}
	if (status != 0) {
		buf_free(&o.bytes);
		free(o.data);
		return status;
	}
	*ret = o;
	return 0;
}

const struct sealed_server *
compiled_server(const struct compiled *o, const char *path, const char *name)
{
	const struct sealed_server *s = policy_server(&o->p, name);
	char file[256], shown[128];
	const char *near;

	if (s != NULL)
		return s;
	near = policy_near_server(&o->p, name);
	(void)log_quote(file, sizeof(file), path, strlen(path));   /* shown */
	(void)log_quote(shown, sizeof(shown), name, strlen(name)); /* shown */
	if (near != NULL)
		fprintf(stderr, "kennel policy: %s: no server `%s`: did you mean `%s`?\n",
		    file, shown, near);
	else
		fprintf(stderr,
		    "kennel policy: %s: no server `%s`: `kennel policy show %s` lists "
		    "its servers\n",
		    file, shown, file);
	return NULL;
}

int
verb_status(int r)
{
	if (r == 0)
		return EXIT_OK;
	if (r == -EINVAL)
		return EXIT_BAD_INPUT; /* every error was reported */
	fprintf(stderr, "kennel policy: unable to compile: %s\n", strerror(-r));
	return EXIT_FAILED;
}

int
own_folder(const char *name, char *out, size_t cap)
{
	const char *home = getenv("KENNEL_HOME"), *rest = "";
	struct path_resolved p;
	int n, r;

	if (home == NULL || home[0] != '/') {
		home = getenv("XDG_CONFIG_HOME");
		rest = "/kennel";
	}
	if (home == NULL || home[0] != '/') {
		home = getenv("HOME");
		rest = "/.config/kennel";
	}
	if (home == NULL || home[0] != '/')
		return -ENOENT;
	n = snprintf(out, cap, "%s%s/%s", home, rest, name);
	if (n < 0 || (size_t)n >= cap)
		return -ENAMETOOLONG;
	r = path_resolve(out, PATH_MISSING_OK, NULL, NULL, &p);
	fd_close(&p.fd);
	if (r < 0)
		return r;
	(void)snprintf(out, cap, "%s", p.real); /* paths have a maximal length */
	return 0;
}

/* ---- writing ------------------------------------------------------------- */

int
verb_write(const char *path, const void *data, size_t len, unsigned int mode)
{
	const char *slash = strrchr(path, '/');
	char temp[PATH_MAX];
	int fd, n, r = fd_may_replace(path);

	if (r < 0)
		return r;
	n = snprintf(temp, sizeof(temp), "%.*s.kennel-%ld.new",
	    slash == NULL ? 0 : (int)(slash - path + 1), path, (long)getpid());
	if (n < 0 || (size_t)n >= sizeof(temp))
		return -ENAMETOOLONG;
	/* syscalls: unlink unlinkat openat fsync rename renameat getpid fchmod */
	(void)unlink(temp); /* from an earlier process with the same number, if any */
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -errno;
	r = fd_write_all(fd, data, len);
	if (r == 0 && mode != 0600 && fchmod(fd, (mode_t)mode) != 0)
		r = -errno;
	if (r == 0 && fsync(fd) != 0)
		r = -errno;
	fd_close(&fd);
	if (r == 0 && rename(temp, path) != 0)
		r = -errno;
	if (r != 0)
		(void)unlink(temp); /* r already has the reason */
	return r;
}

int
verb_unable(const char *what, const char *path, int r)
{
	char shown[256], why[PATH_WHY_MAX], plain[PATH_WHY_MAX];

	(void)path_why(path, r, why, sizeof(why));
	fprintf(stderr, "kennel policy: unable to %s %s: %s\n", what,
	    log_quote(shown, sizeof(shown), path, strlen(path)),
	    log_quote(plain, sizeof(plain), why, strlen(why)));
	return EXIT_CONFIG;
}

int
verb_flush(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	return verb_unable("write", "standard output", errno == 0 ? -EIO : -errno);
}
