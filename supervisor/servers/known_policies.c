/*
 * Reads the policies that a start would find (known_policies.h). A file with errors
 * gets a row of its own, and the others are read.
 *
 * Process: kennel, as the calling user. Starts nothing.
 */
#include "supervisor/servers/known_policies.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/base/source.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/base/paths.h"
#include "supervisor/launch/find/changed_source.h"
#include "supervisor/launch/find/policy_files.h"
#include "supervisor/registry/reference.h"

#define TEXT_LEN_MAX (16u << 20)
#define ARGS_MAX     (64u << 10)

/* A directory being read. */
struct reading {
	struct known_policies *to;
	bool global;
	int r;
};

/* ---- rows of the list -------------------------------------------------------------- */

/* The arguments that `run` starts the server with, as JSON. */
static int
put_args(const struct policy *p, const struct sealed_exec *run, struct buf *out)
{
	bool first = true;
	int r = buf_putc(out, '[');

	for (uint32_t i = 0; r == 0 && i < run->args.n; i++) {
		const struct sealed_arg *arg = &p->arg[run->args.first + i];

		if (arg->kind != ARG_LITERAL)
			continue; /* it adds nothing */
		r = first ? 0 : buf_putc(out, ',');
		if (r == 0)
			r = json_put_text(out, policy_str(p, arg->text));
		first = false;
	}
	if (r == 0)
		r = buf_put(out, "]", 2); /* with the NUL */
	return r;
}

static int
add_row(struct known_policies *to, const struct known_policy *known)
{
	const struct policy *p = &known->file->policy;
	struct server_row copy, row = {.name = known->name,
				    .scope = known->file->global ? "global" : "user",
				    .source = FROM_POLICY,
				    .transport = "stdio",
				    .auth_type = "none",
				    .enabled = true,
				    .discovery_status = "pending",
				    .policy_server = known->name,
				    .file = known->file->path};
	struct buf args;
	int r = 0;

	buf_init(&args, ARGS_MAX);
	if (known->server != NULL) {
		const struct sealed_exec *run = &p->exec[known->server->run];

		row.url = policy_remote_url(p, known->server);
		if (row.url != NULL)
			row.transport = "http";
		else
			row.command = policy_str(p, p->image[run->asked].path);
		if (known->server->about.len > 0)
			row.note = policy_str(p, known->server->about);
		r = row.url == NULL ? put_args(p, run, &args) : buf_put(&args, "[]", 3);
		row.args_json = (const char *)args.data;
	}
	if (r == 0)
		r = server_row_copy(&row, &copy);
	if (r == 0)
		r = server_rows_add(&to->rows, copy);
	buf_free(&args);
	return r;
}

static struct known_policy *
find(const struct known_policies *k, const char *name)
{
	for (size_t i = 0; i < k->policy_n; i++)
		if (k->policy[i].used && k->policy[i].name != NULL &&
		    strcmp(k->policy[i].name, name) == 0)
			return &k->policy[i];
	return NULL;
}

/* ---- servers of a file ---------------------------------------------------------------- */

static int
add_policy(struct known_policies *to, const struct policy_file *file, const char *name)
{
	struct known_policy row = {.file = file}, *more, *before;
	size_t n = to->policy_n;

	if (name != NULL && (row.name = strdup(name)) == NULL)
		return -ENOMEM;
	before = name == NULL ? NULL : find(to, name);
	row.used = before == NULL;
	/* a start does not choose between two texts */
	row.refused = before != NULL && !file->sealed && !before->file->sealed;
	if (row.refused) {
		before->doubled = true;
		to->broken++;
	}
	if (name != NULL && file->loaded && file->counts.errors == 0)
		row.server = policy_server(&file->policy, name);
	more = reallocarray(to->policy, n + 1, sizeof(*more));
	if (more == NULL) {
		free(row.name);
		return -ENOMEM;
	}
	to->policy = more;
	to->policy[n] = row;
	to->policy_n++;
	return name != NULL && row.used ? add_row(to, &to->policy[n]) : 0;
}

struct name_to {
	struct reading *reading;
	const struct policy_file *file;
	size_t n;
};

static void
add_name(void *arg, const struct policy_name *n)
{
	struct name_to *to = arg;

	to->n++;
	if (to->reading->r == 0)
		to->reading->r = add_policy(to->reading->to, to->file, n->name);
}

static void
read_text(struct reading *reading, struct policy_file *f, const char *text, size_t len)
{
	struct policy_source source = {
	    .path = f->path, .text = text, .len = len, .reader = &policy_files};
	struct name_to to = {.reading = reading, .file = f};
	char why[256], *said = NULL;
	size_t said_len = 0;
	FILE *quiet = open_memstream(&said, &said_len);

	if (quiet == NULL || policy_check(&source, 1, &f->bytes, quiet, &f->counts) < 0)
		f->counts.errors += f->counts.errors == 0;
	if (quiet != NULL)
		(void)fclose(quiet); /* only the numbers are shown */
	free(said);
	f->loaded = f->bytes.len > 0 && policy_load_bytes(f->bytes.data, f->bytes.len,
					    &f->policy, why, sizeof(why)) == 0;
	if ((policy_names(&source, add_name, &to) < 0 || to.n == 0) && reading->r == 0)
		reading->r = add_policy(reading->to, f, NULL);
	/* no error, but this machine lacks what a server needs */
	if (!f->loaded && to.n > 0 && f->counts.errors == 0)
		reading->to->broken++;
}

/* NAME.sealed is found by its name. */
static void
read_sealed(struct reading *reading, struct policy_file *f, int fd)
{
	const char *base = strrchr(f->path, '/') + 1;
	struct changed_source changed;
	char name[NAME_MAX + 1], why[256];

	(void)snprintf(name, sizeof(name), "%.*s",
	    (int)(strlen(base) - strlen(".sealed")), base); /* may be cut */
	f->sealed = true;
	f->loaded = policy_seal_fd(fd, &f->memfd) == 0 &&
		    policy_load(f->memfd, &f->policy, why, sizeof(why)) == 0;
	f->counts.errors = !f->loaded || policy_server(&f->policy, name) == NULL;
	f->stale = f->loaded && changed_source_find(&f->policy, f->path, &changed);
	f->stale_own = f->stale && changed.own;
	if (reading->r == 0)
		reading->r = add_policy(reading->to, f, name);
}

static void
read_open(struct reading *reading, struct policy_file *f, int fd)
{
	char magic[8] = "", *text = NULL;
	size_t len = 0;

	if (fd >= 0 && policy_file_refused(fd, f->path) != NULL)
		fd = -1; /* policy check --all says why */
	if (fd >= 0 && pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	    memcmp(magic, SEALED_MAGIC, sizeof(magic)) == 0) {
		read_sealed(reading, f, fd);
	} else if (fd >= 0 && fd_slurp(fd, TEXT_LEN_MAX, &text, &len) == 0) {
		read_text(reading, f, text, len);
		free(text);
	} else {
		f->counts.errors = 1;
		if (reading->r == 0)
			reading->r = add_policy(reading->to, f, NULL);
	}
	reading->to->broken += f->counts.errors > 0;
}

static void
read_file(void *arg, const char *path, int fd)
{
	struct reading *reading = arg;
	struct known_policies *to = reading->to;
	struct policy_file *f = calloc(1, sizeof(*f)), **more;

	more = reallocarray(to->file, to->file_n + 1, sizeof(struct policy_file *));
	if (more != NULL)
		to->file = more;
	if (f == NULL || more == NULL || (f->path = strdup(path)) == NULL) {
		reading->r = -ENOMEM;
		free(f);
		return;
	}
	to->file[to->file_n++] = f;
	f->global = reading->global;
	f->memfd = -1;
	buf_init(&f->bytes, SEALED_LEN_MAX);
	read_open(reading, f, fd); /* < 0: the row says so */
}

/* In the order of a start: a sealed file comes before a text. */
int
known_policies_read(struct known_policies *ret)
{
	const char *config = paths_config_dir();
	const struct {
		const char *base, *below, *suffix;
		bool global;
	} place[] = {
	    {"/etc/kennel", "sealed", ".sealed", true},
	    {config, "sealed", ".sealed", false},
	    {config, "policies", ".kennel", false},
	};
	struct reading reading = {.to = ret};
	char dir[PATH_MAX];
	int r;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < ARRAY_LEN(place); i++) {
		if (place[i].base == NULL)
			continue;
		(void)snprintf(
		    dir, sizeof(dir), "%.4000s/%s", place[i].base, place[i].below);
		reading.global = place[i].global;
		r = policies_each(dir, place[i].suffix, read_file, &reading);
		if (r < 0) {
			log_error("unable to list %s: %s", dir, strerror(-r));
			ret->broken++;
		}
	}
	return reading.r;
}

void
known_policies_free(struct known_policies *k)
{
	server_rows_free(&k->rows);
	for (size_t i = 0; i < k->policy_n; i++)
		free(k->policy[i].name);
	free(k->policy);
	for (size_t i = 0; i < k->file_n; i++) {
		if (k->file[i]->loaded)
			policy_unload(&k->file[i]->policy);
		buf_free(&k->file[i]->bytes);
		fd_close(&k->file[i]->memfd);
		free(k->file[i]->path);
		free(k->file[i]);
	}
	free(k->file);
	memset(k, 0, sizeof(*k));
}

/* ---- questions ------------------------------------------------------------------------- */

const struct known_policy *
known_policy_find(const struct known_policies *k, const char *name)
{
	return find(k, name);
}

size_t
known_policy_tools(const struct known_policy *known)
{
	const struct policy *p = &known->file->policy;
	struct sealed_range pins = {0, 0};
	const char *before = "";
	size_t n = 0;

	if (known->server != NULL)
		pins = known->server->pins;
	for (uint32_t i = pins.first; i < pins.first + pins.n; i++) {
		const char *name = policy_str(p, p->pin[i].name);

		/* variants of one tool are adjacent */
		n += p->pin[i].kind == PIN_TOOL && strcmp(name, before) != 0;
		if (p->pin[i].kind == PIN_TOOL)
			before = name;
	}
	return n;
}

bool
known_policy_sets(const struct known_policy *known, const char *variable)
{
	const struct policy *p = &known->file->policy;
	const struct sealed_server *s = known->server;

	if (s == NULL)
		return false;
	for (uint32_t i = s->envs.first; i < s->envs.first + s->envs.n; i++)
		if (strcmp(policy_str(p, p->env[i].name), variable) == 0)
			return true;
	for (uint32_t i = s->secrets.first; i < s->secrets.first + s->secrets.n; i++)
		if (strcmp(policy_str(p, p->secret[i].name), variable) == 0)
			return true;
	return false;
}
