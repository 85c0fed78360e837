/*
 * Any bytes as a project's manifest, a personal index and a catalog, with a NUL
 * between them: no crash; every message is printable and names one of the files;
 * what is taken has good paths, and its records are printed.
 *
 *	make build/fuzz/manifest && build/fuzz/manifest tests/fuzz/corpus/manifest
 */
#include <stdlib.h>
#include <string.h>

#include "policy/manifests/catalog.h"
#include "policy/manifests/catalog_source.h"
#include "tests/fuzz/fuzz.h"

#define PARTS 3

static void
judge(const struct metas *m)
{
	const struct meta_filter all = {.all = true, .internal = true};
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (f == NULL)
		abort();
	for (size_t i = 0; i < m->n; i++) {
		const struct meta *x = &m->meta[i];

		if (!x->internal && secret_path_wrong(x->path, strlen(x->path)) != NULL)
			abort();
		if (i > 0 && strcmp(m->meta[i - 1].path, x->path) >= 0)
			abort();
		meta_show(x, 20000, f);
	}
	metas_json(m, &all, 20000, f);
	if (fclose(f) != 0)
		abort();
	free(text);
}

/* What is taken has good URLs, and with a digest it is taken again. */
static void
sources(const struct meta_text *catalog, FILE *f)
{
	static const char digest[] =
	    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
	struct catalog_sources list, again;
	struct meta_text pinned = {.shown = "c"};
	const char *before;
	char *after;

	if (catalog_sources_merge(NULL, catalog, f, &list) != 0)
		return;
	for (size_t i = 0; i < list.n; i++) {
		if (list.source[i].sha256 != NULL)
			continue;
		if (catalog_source_pin(&list, &list.source[i], digest, &before, &after) <
		    0)
			abort();
		pinned.text = after;
		pinned.len = strlen(after);
		if (catalog_sources_merge(NULL, &pinned, f, &again) != 0 ||
		    again.n != list.n || again.source[i].sha256 == NULL ||
		    strcmp(again.source[i].sha256, digest) != 0 ||
		    strcmp(again.source[i].url, list.source[i].url) != 0)
			abort();
		catalog_sources_free(&again);
		free(after);
	}
	catalog_sources_free(&list);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct meta_text part[PARTS] = {{"p", "", 0}, {"i", "", 0}, {"c", "", 0}};
	size_t from = 0, n = 0, said_len;
	struct catalog c;
	struct metas m;
	char *said = NULL, *text = malloc(len + 1);
	FILE *f = open_memstream(&said, &said_len);

	if (text == NULL || f == NULL)
		abort();
	memcpy(text, data, len);
	text[len] = '\0';
	for (size_t i = 0; i <= len && n < PARTS; i++)
		if (text[i] == '\0') {
			part[n].text = text + from;
			part[n++].len = i - from;
			from = i + 1;
		}
	if (metas_merge(&part[0], &part[1], META_WARN, f, &m) == 0) {
		judge(&m);
		metas_free(&m);
	}
	if (catalog_merge(&(struct catalog_texts){.personal = &part[2]}, f, &c) == 0) {
		catalog_show(&c, f);
		catalog_free(&c);
	}
	sources(&part[2], f);
	if (fclose(f) != 0)
		abort();
	if (n < PARTS) /* what catalogs say of themselves may be UTF-8 */
		printable(said, said_len);
	free(said);
	free(text);
	return 0;
}
