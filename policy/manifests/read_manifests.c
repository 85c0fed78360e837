/*
 * Reads manifests from files, and answers queries on the merged result.
 */
#include "policy/manifests/private.h"
#include "shim/base/array.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/host/path_open.h"

/* ---- files ---------------------------------------------------------------- */

/* Can this file be trusted? NULL, or why not. */
static const char *
file_wrong(const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return "it is not a regular file";
	/* early: geteuid */
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return "it belongs to another user";
	if ((st->st_mode & S_IWOTH) != 0)
		return "it is world-writable (chmod o-w)";
	return NULL;
}

int
manifest_file_read(const char *dir, const char *name, const char *shown, FILE *diag,
    struct manifest_file *ret)
{
	struct manifest_file f = {.text = {.shown = shown}};
	const char *why = NULL;
	char path[PATH_MAX], link[PATH_WHY_MAX];
	struct stat st;
	int fd = -1, r, n;

	*ret = f;
	if (dir == NULL)
		return 0;
	n = snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (n < 0 || (size_t)n >= sizeof(path))
		return -ENAMETOOLONG;
	r = path_open(path, &fd);
	if (r < 0) {
		why = path_why(path, r, link, sizeof(link));
		r = r == -ENOENT || r == -ENOTDIR ? 0 : r;
		goto out;
	}
	/* early: fstat newfstatat read lseek close */
	r = fstat(fd, &st) < 0 ? -errno : 0;
	if (r == 0 && (why = file_wrong(&st)) != NULL)
		r = -EPERM;
	if (r == 0)
		r = fd_slurp(fd, META_LEN_MAX, &f.data, &f.text.len);
	if (r == 0) {
		f.text.text = f.data;
		*ret = f;
	}
out:
	fd_close(&fd);
	if (r == -EFBIG)
		why = "it is larger than 1 MiB";
	if (r < 0)
		(void)fprintf(
		    diag, "%s: error: %s\n", shown, why != NULL ? why : strerror(-r));
	return r;
}

int
manifest_pair_read(const char *project, const char *config, const char *name,
    const char *shown, FILE *diag, struct manifest_file *ret_own,
    struct manifest_file *ret_index)
{
	char dir[PATH_MAX];
	int r = 0, n;

	*ret_own = *ret_index = (struct manifest_file){.data = NULL};
	if (project != NULL) {
		n = snprintf(dir, sizeof(dir), "%s/%s", project, META_PROJECT_DIR);
		if (n < 0 || (size_t)n >= sizeof(dir))
			return -ENAMETOOLONG;
		r = manifest_file_read(dir, name, shown, diag, ret_own);
	}
	if (r == 0)
		r = manifest_file_read(config, name, name, diag, ret_index);
	return r;
}

int
metas_texts(const char *project, const char *config, FILE *diag,
    struct metas_text *ret_project, struct metas_text *ret_index)
{
	struct manifest_file own, index;
	int r = manifest_pair_read(project, config, META_FILE,
	    META_PROJECT_DIR "/" META_FILE, diag, &own, &index);

	if (r < 0) {
		free(own.data);
		free(index.data);
		return r;
	}
	*ret_project = (struct metas_text){own.data, own.text.len};
	*ret_index = (struct metas_text){index.data, index.text.len};
	return 0;
}

int
metas_read(const char *project, const char *config, unsigned int how, FILE *diag,
    struct metas *ret)
{
	struct manifest_file own, index;
	int r = manifest_pair_read(project, config, META_FILE,
	    META_PROJECT_DIR "/" META_FILE, diag, &own, &index);

	if (r == 0)
		r = metas_merge(own.data != NULL ? &own.text : NULL,
		    index.data != NULL ? &index.text : NULL, how, diag, ret);
	free(own.data);
	free(index.data);
	return r;
}

int
meta_texts_keep(const struct meta_text *const *given, size_t n, const char *name,
    char **text, struct policy_source *source)
{
	size_t i;

	for (i = 0; i < n; i++) {
		source[i] = (struct policy_source){.path = name, .text = ""};
		if (given[i] == NULL)
			continue;
		text[i] = malloc(given[i]->len + 1);
		if (text[i] == NULL)
			return -ENOMEM;
		memcpy(text[i], given[i]->text, given[i]->len);
		text[i][given[i]->len] = '\0';
		source[i].path = given[i]->shown;
		source[i].text = text[i];
		source[i].len = given[i]->len;
	}
	return 0;
}

/* ---- status names -------------------------------------------------------- */

const char *const meta_rotations[] = {"manual", "provider-ui", "provider-api"};
const char *const meta_approvals[] = {"never", "session", "per-call"};
static const char *const statuses[] = {"registered", "expiring", "expired"};

const char *
meta_status_name(enum meta_status s)
{
	return statuses[s];
}

int
meta_status_find(const char *word)
{
	int i;

	for (i = 0; i < 3; i++)
		if (strcmp(statuses[i], word) == 0)
			return i;
	return -1;
}

const char *
meta_rotation_name(enum meta_rotation r)
{
	return meta_rotations[r];
}

const char *
meta_approve_name(enum meta_approve a)
{
	return meta_approvals[a];
}

const char *
meta_factor_name(enum meta_factor f)
{
	return f == META_PASSPHRASE ? "passphrase" : f == META_KEY ? "key" : NULL;
}

const char *
meta_error_name(enum meta_error e)
{
	static const char *const names[] = {"not-found", "invalid-path", "merge-failed"};

	return names[e];
}

/* ---- dates ---------------------------------------------------------------- */

uint32_t
meta_today(void)
{
	time_t now = time(NULL); /* early: clock_gettime openat */
	struct tm here;

	/* the local day: days up to local midnight, counted as if in UTC */
	if (now < 0 || localtime_r(&now, &here) == NULL)
		return 0;
	return (uint32_t)(((int64_t)now + here.tm_gmtoff) / 86400);
}

enum meta_status
meta_status(const struct meta *m, uint32_t today)
{
	if (m->expires == 0)
		return META_REGISTERED;
	if (m->expires < today)
		return META_EXPIRED;
	return m->expires - today <= META_EXPIRING_DAYS ? META_EXPIRING : META_REGISTERED;
}

uint32_t
meta_rotate_by(const struct meta *m)
{
	return m->last_rotated == 0 || m->rotate_every == 0
		   ? 0
		   : m->last_rotated + m->rotate_every;
}

/* ---- lookups ------------------------------------------------------------- */

const struct meta *
metas_find(const struct metas *m, const char *path, enum meta_error *ret_why)
{
	size_t i;

	if (secret_path_wrong(path, strlen(path)) != NULL) {
		*ret_why = META_INVALID_PATH;
		return NULL;
	}
	for (i = 0; i < m->n; i++)
		if (m->meta[i].declared && strcmp(m->meta[i].path, path) == 0)
			return &m->meta[i];
	*ret_why = META_NOT_FOUND;
	return NULL;
}

static bool
in_scope(const char *path, const char *scope)
{
	size_t len = strlen(scope);

	return strncmp(path, scope, len) == 0 && path[len] == '/';
}

bool
meta_passes(const struct meta *m, const struct meta_filter *f, uint32_t today)
{
	if (m->internal ? !f->internal : !m->declared && !f->all)
		return false;
	if (f->contains != NULL && strstr(m->path, f->contains) == NULL)
		return false;
	if (f->scope != NULL && !in_scope(m->path, f->scope))
		return false;
	return f->status == NULL ||
	       strcmp(f->status, meta_status_name(meta_status(m, today))) == 0;
}

static bool
has_manifest(const char *dir)
{
	static const char *const names[] = {META_FILE, "catalog.kennel"};
	char path[PATH_MAX];
	int n;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		n = snprintf(
		    path, sizeof(path), "%s/" META_PROJECT_DIR "/%s", dir, names[i]);
		/* early: faccessat faccessat2 access */
		if (n > 0 && (size_t)n < sizeof(path) && access(path, F_OK) == 0)
			return true;
	}
	return false;
}

static char fixed_project[PATH_MAX]; /* "": not fixed */

int
metas_project_fix(const char *given)
{
	const char *dir = metas_project(given);
	char here[PATH_MAX];

	/* early: getcwd */
	if (dir == NULL)
		dir = getcwd(here, sizeof(here));
	if (dir == NULL)
		return -errno;
	if (strlen(dir) >= sizeof(fixed_project))
		return -ENAMETOOLONG;
	(void)snprintf(fixed_project, sizeof(fixed_project), "%s", dir); /* fits */
	return 0;
}

const char *
metas_project(const char *given)
{
	static char dir[PATH_MAX];
	char *slash;

	if (given != NULL)
		return given;
	if (fixed_project[0] != '\0')
		return fixed_project;
	/* early: getcwd */
	if (getcwd(dir, sizeof(dir)) == NULL)
		return NULL;
	for (;;) {
		if (has_manifest(dir))
			return dir;
		slash = strrchr(dir, '/');
		if (slash == NULL || dir[1] == '\0')
			return NULL;
		slash[slash == dir ? 1 : 0] = '\0';
	}
}
