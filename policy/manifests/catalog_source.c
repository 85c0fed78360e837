/*
 * Reads `catalog` statements.
 */
#define DIAG_CODE "manifest"

#include "policy/manifests/catalog_source.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/lang/host.h"
#include "policy/lang/manifest.h"
#include "policy/lang/remote_url.h"
#include "policy/manifests/catalog.h"
#include "policy/manifests/private.h"
#include "shim/base/array.h"
#include "shim/base/hex.h"

#define TEXTS 2 /* the user's, the project's */

struct catalog_sources_own {
	struct tree tree;
	char *text[TEXTS];
};

/* ---- one statement ---------------------------------------------------------- */

static const char *
scope_wrong(const struct word *w)
{
	uint32_t scope, prefix;
	uint8_t addr[16];

	return net_scope_read(w, &scope, addr, &prefix)
		   ? NULL
		   : "`to` takes loopback, private, or an address block with its host "
		     "bits 0, as in 10.1.0.0/16";
}

static const char *
ca_wrong(const struct word *w)
{
	return w->text[0] == '/' ? NULL : "`ca` takes one absolute path";
}

static const char *
digest_wrong(const struct word *w)
{
	return hex_is(w->text, w->len, CATALOG_DIGEST_LEN)
		   ? NULL
		   : "`sha256` takes 64 lower-case hexadecimal digits";
}

static const struct {
	const char *name;
	const char *(*wrong)(const struct word *);
	size_t to;    /* offset in struct catalog_source */
	bool project; /* also in a project's file */
} options[] = {
    {"to", scope_wrong, offsetof(struct catalog_source, to), false},
    {"ca", ca_wrong, offsetof(struct catalog_source, ca), false},
    {"sha256", digest_wrong, offsetof(struct catalog_source, sha256), true},
};

static void
option(struct catalog_source *s, const struct word *name, const struct word *value,
    struct diag *diag)
{
	const char **to, *why;
	size_t i;

	for (i = 0; i < ARRAY_LEN(options); i++)
		if (strcmp(options[i].name, name->text) == 0)
			break;
	if (i == ARRAY_LEN(options) || value == NULL) {
		diag_error(diag, name->at, "`catalog` takes " CATALOG_TAKES);
		return;
	}
	to = (const char **)((char *)s + options[i].to);
	why = options[i].wrong(value);
	if (*to != NULL)
		diag_error(diag, name->at, "duplicate `%s`", options[i].name);
	else if (s->project && !options[i].project)
		diag_error(diag, name->at,
		    "`%s` is only allowed in your own " CATALOG_FILE
		    ": a project does not choose what is reached or trusted",
		    options[i].name);
	else if (why != NULL)
		diag_error(diag, value->at, "%s", why);
	*to = value->text;
}

static void
statement(const struct declare *d, const char *text, bool project, struct diag *diag,
    struct catalog_source *ret)
{
	const struct word *last = &d->word[d->word_n - 1];
	struct catalog_source s = {.url = d->word[0].text,
	    .project = project,
	    .end = (size_t)(last->raw - text) + last->raw_len};
	struct remote_url url = {.tls = false};
	const char *why = remote_url_read(d->word[0].text, d->word[0].len, &url);
	size_t i;

	if (why != NULL)
		diag_error(diag, d->word[0].at, "%s", why);
	s.https = url.tls;
	for (i = 1; i < d->word_n; i += 2)
		option(&s, &d->word[i], i + 1 < d->word_n ? &d->word[i + 1] : NULL, diag);
	*ret = s;
}

/* ---- both files ------------------------------------------------------------- */

static void
add(struct catalog_sources *list, const struct declare *d, const char *text,
    struct diag *diag)
{
	struct catalog_source s;
	size_t i;

	statement(d, text, d->at.file == 1, diag, &s);
	for (i = 0; i < list->n; i++) {
		if (strcmp(list->source[i].url, s.url) != 0)
			continue;
		/* of both files, the user's applies */
		if (list->source[i].project == s.project)
			diag_error(diag, d->at, "duplicate `catalog`: this URL has one");
		return;
	}
	if (list->n == CATALOG_SOURCES_MAX)
		diag_error(diag, d->at, "more than %d `catalog`", CATALOG_SOURCES_MAX);
	else
		list->source[list->n++] = s;
}

int
catalog_sources_merge(const struct meta_text *project, const struct meta_text *personal,
    FILE *out, struct catalog_sources *ret)
{
	const struct meta_text *const given[TEXTS] = {personal, project};
	struct policy_source source[TEXTS];
	struct diag d = {.sorted = true, .hide_all = true};
	struct catalog_sources list = {.n = 0};
	const struct declare *s;
	int r = -ENOMEM;
	size_t i;

	list.own = calloc(1, sizeof(*list.own));
	if (list.own == NULL ||
	    meta_texts_keep(given, TEXTS, CATALOG_FILE, list.own->text, source) < 0)
		goto out;
	d.out = out;
	d.source = source;
	d.source_n = TEXTS;
	r = tree_parse(source, TEXTS, &d, &list.own->tree);
	for (i = 0; r == 0 && i < list.own->tree.declare_n; i++) {
		s = &list.own->tree.declare[i];
		if (s->kw == KW_CATALOG)
			add(&list, s, source[s->at.file].text, &d);
	}
	if (r == 0 && d.error_n > 0)
		r = -EINVAL;
	diag_end(&d);
out:
	if (r == 0)
		*ret = list;
	else
		catalog_sources_free(&list);
	return r;
}

int
catalog_source_pin(const struct catalog_sources *list, const struct catalog_source *s,
    const char *digest, const char **ret_before, char **ret_after)
{
	const char *before = list->own->text[s->project ? 1 : 0];

	if (asprintf(ret_after, "%.*s sha256 %s%s", (int)s->end, before, digest,
		before + s->end) < 0)
		return -ENOMEM;
	*ret_before = before;
	return 0;
}

int
catalog_sources_read(
    const char *project, const char *config, FILE *diag, struct catalog_sources *ret)
{
	struct manifest_file own, personal;
	int r = manifest_pair_read(project, config, CATALOG_FILE,
	    META_PROJECT_DIR "/" CATALOG_FILE, diag, &own, &personal);

	if (r == 0)
		r = catalog_sources_merge(own.data != NULL ? &own.text : NULL,
		    personal.data != NULL ? &personal.text : NULL, diag, ret);
	free(own.data);
	free(personal.data);
	return r;
}

void
catalog_sources_free(struct catalog_sources *list)
{
	size_t i;

	if (list->own != NULL) {
		if (list->own->tree.arena != NULL)
			tree_free(&list->own->tree);
		for (i = 0; i < TEXTS; i++)
			free(list->own->text[i]);
	}
	free(list->own);
	memset(list, 0, sizeof(*list));
}
