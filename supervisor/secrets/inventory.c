/*
 * secrets_list and secrets_describe: metadata of the secrets that the project declares.
 * The state of a secret is computed from dates; no source is asked.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/secrets/private.h"

#define FILTER_CAP 256

/* ---- manifests ------------------------------------------------------------------ */

/* The first line of what was reported, without the word `error`. It names file, place
 * and field, and contains no line of the file. */
static void
fail_merge(struct secrets_answer *a, const char *reported)
{
	static const char word[] = ": error: ";
	size_t len = strcspn(reported, "\n");
	const char *at = strstr(reported, word);

	if (at == NULL || at > reported + len)
		fail(a, SECRETS_MERGE_FAILED, "merge-failed: " META_FILE ": invalid");
	else
		fail(a, SECRETS_MERGE_FAILED, "merge-failed: %.*s: %.*s",
		    (int)(at - reported), reported,
		    (int)(reported + len - at - (sizeof(word) - 1)),
		    at + sizeof(word) - 1);
}

static void
fail_read(struct secrets_answer *a, int error)
{
	if (error == -EIO)
		fail(a, SECRETS_UNAVAILABLE,
		    "unavailable: no answer from the process that reads the manifests");
	else if (error == -EFBIG)
		fail(a, SECRETS_MERGE_FAILED,
		    "merge-failed: " META_FILE ": it is larger than 1 MiB");
	else if (error == -EPERM)
		fail(a, SECRETS_MERGE_FAILED,
		    "merge-failed: " META_FILE
		    ": another user owns it or may write it, or it is no regular file");
	else
		fail(a, SECRETS_MERGE_FAILED,
		    "merge-failed: " META_FILE ": unable to read it");
}

bool
inventory_read(
    const struct secrets_context *c, struct metas *ret, struct secrets_answer *a)
{
	const struct secrets_manifests *from = c->manifests;
	const struct meta_text project = {META_FILE, from->project, from->project_len};
	const struct meta_text index = {META_FILE, from->index, from->index_len};
	char *text = NULL;
	size_t len = 0;
	FILE *diag;
	int r;

	if (from->error != 0) {
		fail_read(a, from->error);
		return false;
	}
	diag = open_memstream(&text, &len);
	if (diag == NULL) {
		a->no_memory = true;
		return false;
	}
	r = metas_merge(from->project != NULL ? &project : NULL,
	    from->index != NULL ? &index : NULL, 0, diag, ret);
	if (fclose(diag) != 0 || r == -ENOMEM)
		a->no_memory = true;
	else if (r < 0)
		fail_merge(a, text);
	if (r == 0 && a->no_memory) {
		metas_free(ret);
		r = -ENOMEM;
	}
	free(text);
	return r == 0;
}

const struct meta *
inventory_find(const struct metas *m, const char *path, struct secrets_answer *a)
{
	enum meta_error why;
	const struct meta *found = metas_find(m, path, &why);

	if (found == NULL)
		fail_path(a, SECRETS_NOT_FOUND, path);
	return found;
}

/* ---- secrets_list ----------------------------------------------------------------- */

static bool
filter_known(struct json arguments, struct secrets_answer *a)
{
	static const char *const known[] = {
	    "path_contains", "scope", "status", "include_internal"};
	struct json key, value;
	struct json_walk w;
	bool is;

	json_walk(&w, arguments);
	while (json_next(&w, &key, &value)) {
		is = false;
		for (size_t i = 0; i < ARRAY_LEN(known); i++)
			is |= json_key_is(key, known[i]) == 1;
		if (!is) {
			fail(a, SECRETS_INVALID_ARGUMENTS,
			    "invalid filter: unknown field, expected one of "
			    "path_contains, scope, status, include_internal");
			return false;
		}
	}
	return true;
}

void
secrets_list(
    const struct secrets_context *c, struct json arguments, struct secrets_answer *a)
{
	char contains[FILTER_CAP], scope[FILTER_CAP], status[FILTER_CAP];
	struct meta_filter f = {.all = false};
	struct metas m;

	if (!arguments_object(&arguments, a) || !filter_known(arguments, a) ||
	    !argument_text(
		arguments, "path_contains", contains, sizeof(contains), &f.contains, a) ||
	    !argument_text(arguments, "scope", scope, sizeof(scope), &f.scope, a) ||
	    !argument_text(arguments, "status", status, sizeof(status), &f.status, a) ||
	    !argument_flag(arguments, "include_internal", &f.internal, a))
		return;
	if (f.status != NULL && meta_status_find(f.status) < 0) {
		fail(a, SECRETS_INVALID_ARGUMENTS,
		    "invalid arguments: `status`: expected registered, expiring or "
		    "expired, found another string");
		return;
	}
	if (!inventory_read(c, &m, a))
		return;
	if (secrets_reply_list(&a->text, &m, &f, c->today) < 0 ||
	    buf_puts(&a->structured, "{\"secrets\":") < 0 ||
	    buf_put(&a->structured, a->text.data, a->text.len) < 0 ||
	    buf_putc(&a->structured, '}') < 0)
		a->no_memory = true;
	metas_free(&m);
}

/* ---- secrets_describe --------------------------------------------------------------- */

void
secrets_describe(
    const struct secrets_context *c, struct json arguments, struct secrets_answer *a)
{
	char path[SECRET_PATH_MAX + 1];
	const struct meta *found;
	struct metas m;

	if (!arguments_object(&arguments, a) ||
	    !argument_path(arguments, "path", path, a) || !inventory_read(c, &m, a))
		return;
	found = inventory_find(&m, path, a);
	if (found != NULL && secrets_reply_card(&a->structured, found, c->today) < 0)
		a->no_memory = true;
	metas_free(&m);
}
