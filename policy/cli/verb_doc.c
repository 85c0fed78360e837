/*
 * "kennel policy doc": a review page for each server, on standard output, in
 * one file, or in one file each in a directory.
 */
#include "policy/cli/verb.h"
#include "policy/sealed/policy.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "policy/print/review.h"

/* The pages of all servers (only: of this one), as one malloc'd text. */
static int
pages(const struct policy *p, const char *only, const char *title, bool html, char **ret,
    size_t *ret_len)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	uint32_t i;
	int r = f == NULL ? -ENOMEM : 0;

	if (f == NULL)
		return r;
	doc_begin(p, title, html, f);
	for (i = 0; i < p->row_n[SEALED_SERVERS] && r == 0; i++)
		if (only == NULL || strcmp(only, policy_str(p, p->server[i].name)) == 0)
			r = doc_server(p, &p->server[i], html, f);
	doc_end(html, f);
	if (fclose(f) != 0 && r == 0)
		r = -ENOMEM;
	if (r != 0)
		free(text);
	else {
		*ret = text;
		*ret_len = len;
	}
	return r;
}

static int
page_write(const struct policy *p, const char *only, bool html, const char *out)
{
	char *text;
	size_t len;
	int r;

	r = pages(p, only, only != NULL ? only : "kennel policy", html, &text, &len);
	if (r != 0)
		return verb_status(r);
	if (out == NULL) {
		(void)fwrite(text, 1, len, stdout); /* checked by verb_flush() */
		r = 0;
	} else {
		r = verb_write(out, text, len, 0644);
	}
	free(text);
	return r == 0 ? 0 : verb_unable("write", out, r);
}

/*
 * Writes NAME.html or NAME.txt for each server; a name has no `/` (the loader
 * checks it).
 */
static int
folder_write(const struct policy *p, const char *only, bool html, const char *folder)
{
	char path[PATH_MAX];
	const char *name;
	uint32_t i;
	int n, status = 0;

	for (i = 0; i < p->row_n[SEALED_SERVERS] && status == 0; i++) {
		name = policy_str(p, p->server[i].name);
		if (only != NULL && strcmp(only, name) != 0)
			continue;
		n = snprintf(
		    path, sizeof(path), "%s/%s.%s", folder, name, html ? "html" : "txt");
		if (n < 0 || (size_t)n >= sizeof(path))
			return verb_unable("write", folder, -ENAMETOOLONG);
		status = page_write(p, name, html, path);
		if (status == 0)
			printf("%s\n", path);
	}
	return status;
}

int
verb_doc(const struct args *a)
{
	const char *only = a->word_n == 2 ? a->word[1] : NULL;
	bool html = (a->given & OPT_HTML) != 0;
	struct compiled c;
	struct stat st;
	int status;

	status = compiled_read(a->word[0], &c);
	if (status != 0)
		return status;
	/* syscalls: newfstatat */
	if (only != NULL && compiled_server(&c, a->word[0], only) == NULL)
		status = EXIT_MISSING;
	else if (a->out != NULL && stat(a->out, &st) == 0 && S_ISDIR(st.st_mode))
		status = folder_write(&c.p, only, html, a->out);
	else
		status = page_write(&c.p, only, html, a->out);
	compiled_free(&c);
	return status != 0 ? status : verb_flush();
}
