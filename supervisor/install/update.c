/*
 * The policy names the version that it starts, in paths of the store. An update installs
 * another one beside it, shows the differences, and replaces those paths in the text.
 */
#include "supervisor/install/update.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/cli/verb.h"
#include "policy/compile/compile.h"
#include "policy/sealed/sealed.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/install/ask.h"
#include "supervisor/install/changes.h"
#include "supervisor/install/definitions.h"
#include "supervisor/install/store.h"
#include "supervisor/launch/find/policy_files.h"
#include "supervisor/launch/launch.h"

#define POLICY_MAX ((size_t)1 << 20)

struct updating {
	char path[PATH_MAX]; /* of the policy */
	char *text;
	size_t len;
	mode_t mode;
	char key[STORE_KEY_LEN + 1]; /* that it starts from */
	char dir[PATH_MAX];          /* of that entry */
	struct package package;      /* in it */
	struct installed done;       /* what is new */
};

/* ---- the policy -------------------------------------------------------------------- */

/* The package that a path of the text names after the key. */
static int
find_package(struct updating *u)
{
	static const char modules[] = "/node_modules/";
	const char *at = u->text;
	char name[PACKAGE_TEXT_MAX], root[PATH_MAX];

	while ((at = strstr(at, u->key)) != NULL) {
		size_t n, k;

		at += STORE_KEY_LEN;
		if (strncmp(at, modules, sizeof(modules) - 1) != 0)
			continue;
		at += sizeof(modules) - 1;
		n = strcspn(at, "/ \"\n");
		if (at[0] == '@' && at[n] == '/')
			n += 1 + strcspn(at + n + 1, "/ \"\n");
		if (n == 0 || n >= sizeof(name))
			continue;
		memcpy(name, at, n);
		name[n] = '\0';
		k = (size_t)snprintf(root, sizeof(root), "%.3800s/node_modules/%s",
		    u->dir, name); /* fits */
		if (k < sizeof(root) && package_read(root, &u->package) == 0 &&
		    u->package.program[0] != '\0')
			return 0;
	}
	return -ENOENT;
}

static int
read_text(const char *path, char **ret_text, size_t *ret_len, mode_t *ret_mode)
{
	struct stat st = {.st_mode = 0};
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int r = fd < 0 || fstat(fd, &st) < 0
		    ? -errno
		    : fd_slurp(fd, POLICY_MAX, ret_text, ret_len);

	fd_close(&fd);
	*ret_mode = st.st_mode & 0777;
	return r;
}

static int
read_policy(const struct install *in, struct updating *u)
{
	char near[SERVER_NAME_LEN_MAX + 1];
	const char *key;
	int r;

	install_policy_path(in, u->path);
	r = read_text(u->path, &u->text, &u->len, &u->mode);
	if (r == -ENOENT && in->out == NULL && in->name != NULL &&
	    server_name_near(in->name, near, sizeof(near))) {
		log_error("no policy %s: did you mean `%s`?", u->path, near);
		return EXIT_CONFIG;
	}
	if (r < 0) {
		log_error("unable to read the policy %s: %s", u->path, strerror(-r));
		return EXIT_CONFIG;
	}
	key = strlen(u->text) == u->len ? store_key_in(u->text, u->len) : NULL;
	if (key != NULL) {
		memcpy(u->key, key, STORE_KEY_LEN);
		(void)snprintf(
		    u->dir, sizeof(u->dir), "%.3800s/%s", store_dir(), u->key); /* fits */
	}
	if (key == NULL || find_package(u) < 0) {
		log_error("%s starts no package of the store: remove it and run `kennel "
			  "install %s -- COMMAND`",
		    u->path, in->name);
		return EXIT_INPUT;
	}
	return 0;
}

/* Appends the text with every `from` replaced. */
static int
replace_all(const char *text, const char *from, const char *to, struct buf *ret)
{
	size_t n = strlen(from);
	const char *at;
	int r = 0;

	while (r == 0 && (at = strstr(text, from)) != NULL) {
		r = buf_put(ret, text, (size_t)(at - text));
		if (r == 0)
			r = buf_puts(ret, to);
		text = at + n;
	}
	return r < 0 ? r : buf_puts(ret, text);
}

/* Has the policy the text that the update began with? 0, or an exit status. */
static int
check_unchanged(const struct updating *u)
{
	char *text = NULL;
	size_t len = 0;
	mode_t mode;
	int r = read_text(u->path, &text, &len, &mode);
	bool same =
	    r == 0 && text != NULL && len == u->len && memcmp(text, u->text, len) == 0;

	free(text);
	if (same)
		return 0;
	log_error("%s was changed during the update and is left as it is; run it again",
	    u->path);
	return EXIT_CONFIG;
}

/* Compiles the server in the new text, which prints errors: 0, or an exit status. */
static int
check_text(const struct updating *u, const char *name, const struct buf *text)
{
	struct policy_source source = {.path = u->path,
	    .text = (const char *)text->data,
	    .len = text->len,
	    .reader = &policy_files_unpinned};
	struct buf out;
	int r;

	buf_init(&out, SEALED_LEN_MAX);
	r = policy_compile(&source, 1, name, &out, stderr);
	buf_free(&out);
	if (r == 0)
		return 0;
	log_error("unable to use %s %s: the policy would not compile, and is left as it "
		  "is; remove it and run `kennel install %s -- COMMAND`",
	    u->done.package.name, u->done.package.version, name);
	return EXIT_INPUT;
}

/* The policy may have the program's path without quotes: its new place in the package
 * may have no byte that would be more than a part of a word. */
static int
check_program(const struct updating *u)
{
	const char *place = u->done.package.program + strlen(u->done.package.root);
	char shown[1024];

	if (place[strspn(place, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				"0123456789-._/@+")] == '\0')
		return 0;
	log_error("unable to use %s %s: its program has the name %s; if that is "
		  "right, remove the policy and run `kennel install` again",
	    u->done.package.name, u->done.package.version,
	    log_quote(shown, sizeof(shown), place, strnlen(place, 250)));
	return EXIT_INPUT;
}

/* Replaces the paths, the program's place in the package, and the version in `about`. */
static int
new_text(const struct updating *u, struct buf *ret)
{
	const struct package *was = &u->package, *is = &u->done.package;
	char from[2 * PATH_MAX], to[2 * PATH_MAX];
	struct buf text[2];
	int r;

	for (size_t i = 0; i < 2; i++)
		buf_init(&text[i], 2 * POLICY_MAX);
	(void)snprintf(to, sizeof(to), "%s", strrchr(u->done.path, '/') + 1); /* fits */
	r = replace_all(u->text, u->key, to, &text[0]);
	(void)snprintf(from, sizeof(from), "%s%s", is->root,
	    was->program + strlen(was->root)); /* fits */
	if (r == 0)
		r = replace_all(buf_str(&text[0]), from, is->program, &text[1]);
	(void)snprintf(from, sizeof(from), "\"%s %s\"", was->name, was->version);
	(void)snprintf(to, sizeof(to), "\"%s %s\"", is->name, is->version); /* fits */
	if (r == 0)
		r = replace_all(buf_str(&text[1]), from, to, ret);
	for (size_t i = 0; i < 2; i++)
		buf_free(&text[i]);
	return r;
}

/* 0, or an exit status after reporting why not. */
static int
write_policy(const struct updating *u, const char *name)
{
	struct buf text;
	int r, status;

	buf_init(&text, 2 * POLICY_MAX);
	r = new_text(u, &text);
	status = r < 0 ? 0 : check_text(u, name, &text);
	if (r == 0 && status == 0)
		status = check_unchanged(u);
	if (r == 0 && status == 0)
		r = verb_write(u->path, text.data, text.len, u->mode);
	buf_free(&text);
	if (r < 0) {
		log_error("unable to write %s: %s", u->path, strerror(-r));
		status = EXIT_CONFIG;
	}
	return status;
}

/* ---- tools ---------------------------------------------------------------------------- */

#define WORDS_MAX 256

struct argv {
	char *word[WORDS_MAX];
	int n;
};

static void
argv_free(struct argv *a)
{
	for (int i = 0; i < a->n; i++)
		free(a->word[i]);
	a->n = 0;
}

static int
argv_add(struct argv *a, const char *word, const char *from, const char *to)
{
	struct buf text;
	int r;

	if (a->n == WORDS_MAX)
		return -E2BIG;
	buf_init(&text, (size_t)2 * PATH_MAX);
	r = replace_all(word, from, to, &text);
	if (r == 0) {
		a->word[a->n] = strdup(buf_str(&text));
		r = a->word[a->n] == NULL ? -ENOMEM : 0;
		a->n += r == 0;
	}
	buf_free(&text);
	return r;
}

/* An argument of the old command, and of the new one. */
static int
add_both(const struct updating *u, const char *word, struct argv *was, struct argv *is)
{
	const char *key = strrchr(u->done.path, '/') + 1;
	bool program = strcmp(word, u->package.program) == 0;
	int r = argv_add(was, word, u->key, u->key);

	if (r == 0)
		r = argv_add(is, program ? u->done.package.program : word, u->key, key);
	return r;
}

/* What the policy hides, as lines of a policy; a name that is gone hides nothing. */
static int
put_hidden(const struct policy_found *f, FILE *out)
{
	const struct sealed_range *rows = &f->server->mounts;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < rows->n; i++) {
		const struct sealed_mount *m = &f->policy.mount[rows->first + i];

		if (m->kind != MOUNT_HIDE)
			continue;
		fputs("    hide", out);
		r = draft_word(out, policy_str(&f->policy, m->target));
		fputs(" { optional }\n", out);
	}
	return r;
}

static int
hidden_lines(const struct policy_found *f, char **ret)
{
	size_t len;
	FILE *out = open_memstream(ret, &len);
	int r = out == NULL ? -ENOMEM : put_hidden(f, out);

	if (out != NULL && fclose(out) != 0 && r == 0)
		r = -ENOMEM;
	return r;
}

/* The command of the policy, as it is and with the new package in place of the old; and
 * what the policy hides, which the caller frees. */
static int
commands(const struct install *in, const struct updating *u, struct argv *was,
    struct argv *is, char **ret_hidden)
{
	const struct sealed_exec *run;
	char why[256];
	struct policy_found found;
	int r = 0;

	if (find_policy_unpinned(u->path, in->name, &found, why, sizeof(why)) != 0)
		return -EINVAL;
	run = &found.policy.exec[found.server->run];
	r = add_both(
	    u, policy_str(&found.policy, found.policy.image[run->asked].path), was, is);
	for (uint32_t i = 0; r == 0 && i < run->args.n; i++) {
		const struct sealed_arg *arg = &found.policy.arg[run->args.first + i];

		if (arg->kind == ARG_LITERAL)
			r = add_both(u, policy_str(&found.policy, arg->text), was, is);
	}
	if (r == 0)
		r = hidden_lines(&found, ret_hidden);
	policy_found_free(&found);
	return r;
}

static void
show_tools(const struct install *in, const struct updating *u)
{
	static struct definitions old, new; /* large */
	struct argv was = {.n = 0}, is = {.n = 0};
	char file[PATH_MAX], *hidden = NULL;
	int r;

	(void)snprintf(file, sizeof(file), "%.3800s/%.200s-%ld.kennel",
	    store_staging_dir(), in->name, (long)getpid()); /* fits */
	printf(
	    "Starting both versions once, with no secret, no host and nothing to write, "
	    "to compare their tools ...\n");
	(void)fflush(stdout); /* before the messages of the start */
	r = commands(in, u, &was, &is, &hidden);
	if (r == 0)
		r = definitions_ask(file, in->name, was.n, was.word, hidden, &old);
	if (r == 0)
		r = definitions_ask(file, in->name, is.n, is.word, hidden, &new);
	if (r < 0)
		printf("The tools are not compared: %s. `kennel server pin %s --diff` "
		       "does it after the update.\n",
		    new.why[0] != '\0'   ? new.why
		    : old.why[0] != '\0' ? old.why
					 : strerror(-r),
		    in->name);
	else if (definitions_diff(&old, &new) == 0)
		printf("Tools: all %zu have the same definitions.\n", new.n);
	argv_free(&was);
	argv_free(&is);
	free(hidden);
	definitions_free(&old);
	definitions_free(&new);
}

/* ---- the update -------------------------------------------------------------------------- */

static int
find_source(
    const struct install *in, const struct updating *u, struct package_source *ret)
{
	char newest[PACKAGE_TEXT_MAX + 8];
	char *word[] = {(char *)"npx", newest};
	int status;

	(void)snprintf(newest, sizeof(newest), "%s@latest", u->package.name); /* fits */
	status = in->command_n > 0 ? package_source(in->command_n, in->command, ret)
				   : package_source(2, word, ret);
	if (status == 0 && strcmp(ret->name, u->package.name) != 0) {
		log_error(
		    "expected the package %s, found %s", u->package.name, ret->name);
		status = EXIT_INPUT;
	}
	return status;
}

static int
propose(const struct install *in, struct updating *u)
{
	int r, status = check_program(u);

	if (status != 0)
		return status;
	printf("\n%s: %s %s -> %s\n", in->name, u->package.name, u->package.version,
	    u->done.package.version);
	r = changes_show(u->dir, u->done.path, u->package.name);
	if (r < 0)
		printf("The files are not compared: %s\n", strerror(-r));
	show_tools(in, u);
	if (!in->yes && !ask_person("Change the policy to the new version?"))
		return 1;
	status = write_policy(u, in->name);
	if (status != 0)
		return status;
	printf(
	    "%s starts %s %s from now on. If it is sealed, run `kennel policy compile`; "
	    "if it has pins, run `kennel server pin %s`.\n",
	    u->path, u->package.name, u->done.package.version, in->name);
	return 0;
}

int
update(const struct install *in)
{
	static struct updating u; /* large */
	struct package_source from;
	int status = read_policy(in, &u);

	if (status == 0)
		status = find_source(in, &u, &from);
	if (status == 0)
		status = package_install(&from, &in->how, &u.done);
	if (status == 0 && strcmp(u.dir, u.done.path) == 0)
		printf("%s starts this version already.\n", u.path);
	else if (status == 0)
		status = propose(in, &u);
	free(u.text);
	return status;
}
