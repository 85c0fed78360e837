/*
 * kennel approve allow, of a proposal: writes it to the manifest.
 *
 * Process: kennel, of the person who accepts. The session that asks is confined and can
 * write no file; what it sent is checked as if an agent had sent it, and the files are
 * compared with what the person was shown.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/manifests/manifest_change.h"
#include "shim/base/log.h"
#include "supervisor/accept/accept.h"
#include "supervisor/accept/manifest_write.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/secrets/secrets.h"

struct proposal {
	char project[PATH_MAX], shown[MANIFESTS_DIGEST_CAP]; /* of the manifests */
	bool exists; /* the project declares the path */
	struct meta_change change;
};

static int
proposal_read(const struct accept_request *q, struct proposal *ret)
{
	struct secrets_answer wrong;
	struct json_message m;
	struct json value;
	size_t len;
	bool good;

	memset(ret, 0, sizeof(*ret)); /* nothing of the last one */
	if (json_scan((const uint8_t *)q->detail, strlen(q->detail), &m) < 0 ||
	    json_get(m.root, "project", &value) < 0 ||
	    json_text(value, ret->project, sizeof(ret->project), &len) < 0 ||
	    ret->project[0] != '/' || json_get(m.root, "manifests", &value) < 0 ||
	    json_text(value, ret->shown, sizeof(ret->shown), &len) < 0 ||
	    json_get(m.root, "current", &value) < 0)
		return -EBADMSG;
	ret->exists = value.type == JSON_IS_OBJECT;
	secrets_answer_init(&wrong);
	good = secrets_change_read(m.root, "proposed", &ret->change, &wrong);
	secrets_answer_free(&wrong);
	return good ? 0 : -EBADMSG;
}

/* ---- the files ---------------------------------------------------------------------- */

static int
write_one(const char *dir, const char *old, size_t old_len, const struct buf *new)
{
	const struct manifest_text was = {old, old_len};
	const struct manifest_text is = {(const char *)new->data, new->len};
	char shown[4 * PATH_MAX];
	int r = new->len == 0 ? 0 : manifest_write(dir, META_FILE, &was, &is);

	if (new->len > 0 && r == 0)
		printf("changed %s/" META_FILE "\n",
		    log_quote(shown, sizeof(shown), dir, strlen(dir)));
	if (r < 0 && r != -ESTALE)
		log_error("unable to write %s/" META_FILE ": %s; edit it by hand", dir,
		    r == -EPERM ? "it or its directory is a link, has another owner, or "
				  "others may write it"
				: strerror(-r));
	return r;
}

static int
write_all(const struct proposal *p, const struct secrets_manifests *m,
    const struct manifest_new *new)
{
	const char *config = paths_config_dir();
	char dir[PATH_MAX];
	int n = snprintf(dir, sizeof(dir), "%s/" META_PROJECT_DIR, p->project), r;

	if (n < 0 || (size_t)n >= sizeof(dir))
		return -ENAMETOOLONG;
	r = write_one(dir, m->project, m->project_len, &new->project);
	return r < 0 || config == NULL
		   ? r
		   : write_one(config, m->index, m->index_len, &new->index);
}

/* ---- the change ------------------------------------------------------------------------ */

static int
report(int r, const char *path)
{
	if (r == -EEXIST)
		log_error("the project declares %s already: choose another name with "
			  "--as, or decline",
		    path);
	else if (r == -EINVAL)
		log_error("unable to change the manifest: it has an error, or the "
			  "statement is written in a way that kennel does not edit; run "
			  "`kennel secret validate`, or edit it by hand");
	else
		log_error("unable to change the manifest: %s", strerror(-r));
	return EXIT_FAILED;
}

/* The proposal fits the files as they were shown: makes the new texts, and writes them. */
static int
apply(const struct proposal *p, const char *path, const struct secrets_manifests *m,
    bool *ret_changed)
{
	const struct meta_text project = {META_FILE, m->project, m->project_len};
	const struct meta_text index = {META_FILE, m->index, m->index_len};
	const struct manifest_texts from = {
	    m->project != NULL ? &project : NULL, m->index != NULL ? &index : NULL};
	struct manifest_new new;
	int r = p->exists ? manifest_change(&from, path, &p->change, &new)
			  : manifest_add(&from, path, &p->change, &new);

	if (r < 0)
		return report(r, path);
	r = write_all(p, m, &new);
	manifest_new_free(&new);
	*ret_changed = r == -ESTALE;
	return r < 0 ? EXIT_FAILED : 0;
}

static int
accept(const struct proposal *p, const char *path, bool *ret_changed)
{
	struct metas_text project = {.text = NULL}, index = {.text = NULL};
	struct secrets_manifests m = {.error = 0};
	char digest[MANIFESTS_DIGEST_CAP];
	int status = EXIT_FAILED;

	/* what is wrong with a file has been reported */
	if (metas_texts(p->project, paths_config_dir(), stderr, &project, &index) < 0)
		return status;
	m.project = project.text;
	m.project_len = project.len;
	m.index = index.text;
	m.index_len = index.len;
	if (secrets_manifests_digest(&m, digest) < 0)
		log_error("out of memory");
	else if (strcmp(digest, p->shown) != 0)
		*ret_changed = true;
	else
		status = apply(p, path, &m, ret_changed);
	free(project.text);
	free(index.text);
	return status;
}

int
accept_proposal(const struct accept_request *q, const char *name, bool *ret_changed)
{
	static struct proposal p;
	const char *path = name != NULL ? name : q->subject, *why;

	*ret_changed = false;
	if (q->cut != 0) {
		log_error(
		    "a part of the proposal is not shown: edit the manifest by hand, "
		    "and decline it");
		return EXIT_FAILED;
	}
	if (proposal_read(q, &p) < 0) {
		log_error("invalid proposal: decline it");
		return EXIT_FAILED;
	}
	why = secret_path_wrong(path, strlen(path));
	if (why != NULL || (name != NULL && (q->kind != QUESTION_NEW_PATH || p.exists))) {
		log_error("%s", why != NULL ? why
					    : "--as is only for a path that the project "
					      "does not declare");
		return EXIT_USAGE;
	}
	return accept(&p, path, ret_changed);
}
