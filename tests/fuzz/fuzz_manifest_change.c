/*
 * Any bytes as a project's manifest and a personal index, with a NUL between them, and a
 * change of the first secret: no crash; what is written is merged again, and differs in
 * nothing but the change.
 *
 *	make build/fuzz/manifest_change && build/fuzz/manifest_change tests/fuzz/corpus/manifest
 */
#include <stdlib.h>
#include <string.h>

#include "policy/manifests/manifest_change.h"
#include "tests/fuzz/fuzz.h"

static void
must_have(const struct manifest_texts *from, const struct manifest_new *new,
    const char *path, const char *description)
{
	const struct meta_text p = {
	    "p", (const char *)new->project.data, new->project.len};
	const struct meta_text i = {"i", (const char *)new->index.data, new->index.len};
	enum meta_error why;
	const struct meta *found;
	struct metas m;
	FILE *null = fopen("/dev/null", "w");

	if (null == NULL || metas_merge(p.len > 0 ? &p : from->project,
				i.len > 0 ? &i : from->index, 0, null, &m) != 0)
		abort();
	found = metas_find(&m, path, &why);
	if (found == NULL || strcmp(found->description, description) != 0)
		abort();
	metas_free(&m);
	(void)fclose(null);
}

static void
try(const struct manifest_texts *from, const char *path)
{
	static const struct meta_change c = {.has_description = true,
	    .has_rotate_every = true,
	    .has_expires = true,
	    .description = "\"#{\\ }",
	    .rotate_every = 7,
	    .expires = 20820};
	struct manifest_new new;

	if (manifest_change(from, path, &c, &new) == 0) {
		must_have(from, &new, path, c.description);
		manifest_new_free(&new);
	}
	if (manifest_add(from, path, &c, &new) == 0) {
		must_have(from, &new, path, c.description);
		manifest_new_free(&new);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct meta_text part[2] = {{"p", "", 0}, {"i", "", 0}};
	const struct manifest_texts from = {&part[0], &part[1]};
	char *text = malloc(len + 1);
	struct metas m;
	FILE *null = fopen("/dev/null", "w");

	if (text == NULL || null == NULL)
		abort();
	memcpy(text, data, len);
	text[len] = '\0';
	part[0].text = text;
	part[0].len = strlen(text);
	if (part[0].len < len) {
		part[1].text = text + part[0].len + 1;
		part[1].len = strnlen(part[1].text, len - part[0].len - 1);
	}
	try(&from, "a/b/c");
	if (metas_merge(&part[0], &part[1], 0, null, &m) == 0) {
		for (size_t i = 0; i < m.n && i < 4; i++)
			if (!m.meta[i].internal)
				try(&from, m.meta[i].path);
		metas_free(&m);
	}
	(void)fclose(null);
	free(text);
	return 0;
}
