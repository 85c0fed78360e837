/*
 * The stored copies of catalogs by URL, and the whole catalog from all files.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/manifests/catalog.h"
#include "policy/manifests/catalog_source.h"
#include "policy/manifests/private.h"
#include "policy/sealed/policy.h"
#include "shim/base/hex.h"

/* What catalog_read has read. */
struct texts {
	struct manifest_file project, personal;
	struct catalog_sources sources;
	struct metas_text stored[CATALOG_SOURCES_MAX];
	struct meta_text fetched[CATALOG_SOURCES_MAX];
	size_t fetched_n;
};

void
catalog_digest(const char *text, size_t len, char ret[CATALOG_DIGEST_LEN + 1])
{
	uint8_t digest[CATALOG_DIGEST_LEN / 2];

	policy_digest(text, len, digest);
	(void)hex_put(ret, digest, sizeof(digest));
}

int
catalog_stored_read(
    const char *store, const struct catalog_source *s, FILE *diag, struct metas_text *ret)
{
	char name[CATALOG_DIGEST_LEN + sizeof(".kennel")], digest[CATALOG_DIGEST_LEN + 1];
	struct manifest_file f;
	int r;

	*ret = (struct metas_text){.text = NULL};
	if (s->sha256 == NULL)
		return 0;
	(void)snprintf(name, sizeof(name), "%s.kennel", s->sha256); /* fits */
	r = manifest_file_read(store, name, s->url, diag, &f);
	if (r < 0 || f.data == NULL)
		return r;
	catalog_digest(f.data, f.text.len, digest);
	if (strcmp(digest, s->sha256) != 0) {
		free(f.data);
		return -EBADMSG;
	}
	*ret = (struct metas_text){f.data, f.text.len};
	return 0;
}

int
catalog_fetched_check(
    const char *url, const char *text, size_t len, FILE *diag, size_t *ret_n)
{
	const struct meta_text fetched = {url, text, len};
	struct catalog c;
	int r = catalog_merge(
	    &(struct catalog_texts){.fetched = &fetched, .fetched_n = 1}, diag, &c);

	if (r < 0)
		return r;
	*ret_n = 0;
	for (size_t i = 0; i < c.n; i++)
		*ret_n += c.row[i].origin == CATALOG_FETCHED;
	catalog_free(&c);
	return 0;
}

/* ---- the whole catalog ------------------------------------------------------ */

/* A copy that is not used: the catalog goes on without it. */
static void
stored_missing(const struct catalog_source *s, int r, FILE *diag)
{
	(void)fprintf(diag, "%s: warning: %s: `kennel secret catalog fetch%s` gets it\n",
	    s->url,
	    r == -EBADMSG ? "the stored copy was altered, and is not used"
			  : "this catalog was not fetched yet",
	    s->sha256 == NULL ? " --first" : "");
}

static int
stored_all(const char *store, struct texts *t, FILE *diag)
{
	struct metas_text *text;
	int r;

	for (size_t i = 0; store != NULL && i < t->sources.n; i++) {
		text = &t->stored[i];
		r = catalog_stored_read(store, &t->sources.source[i], diag, text);
		if (r < 0 && r != -EBADMSG)
			return r;
		if (text->text == NULL)
			stored_missing(&t->sources.source[i], r, diag);
		else
			t->fetched[t->fetched_n++] = (struct meta_text){
			    t->sources.source[i].url, text->text, text->len};
	}
	return 0;
}

static int
http_refuse(const struct catalog_sources *list, FILE *diag)
{
	for (size_t i = 0; i < list->n; i++)
		if (!list->source[i].https) {
			(void)fprintf(diag,
			    "%s: error: `catalog` takes an https:// URL\n",
			    list->source[i].url);
			return -EINVAL;
		}
	return 0;
}

int
catalog_read(const char *project, const char *config, const char *store, FILE *diag,
    struct catalog *ret)
{
	static struct texts t; /* large */
	const struct meta_text *own, *personal;
	int r;

	t = (struct texts){.fetched_n = 0};
	r = manifest_pair_read(project, config, CATALOG_FILE,
	    META_PROJECT_DIR "/" CATALOG_FILE, diag, &t.project, &t.personal);
	own = t.project.data != NULL ? &t.project.text : NULL;
	personal = t.personal.data != NULL ? &t.personal.text : NULL;
	if (r == 0)
		r = catalog_sources_merge(own, personal, diag, &t.sources);
	if (r == 0)
		r = http_refuse(&t.sources, diag);
	if (r == 0)
		r = stored_all(store, &t, diag);
	if (r == 0)
		r = catalog_merge(
		    &(struct catalog_texts){own, personal, t.fetched, t.fetched_n}, diag,
		    ret);
	catalog_sources_free(&t.sources);
	for (size_t i = 0; i < CATALOG_SOURCES_MAX; i++)
		free(t.stored[i].text);
	free(t.project.data);
	free(t.personal.data);
	return r;
}
