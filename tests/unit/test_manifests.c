/*
 * Manifests: their merge, their records, what is said of broken ones, the
 * catalog and the shapes.  No value is in any of them, and none gets out that
 * somebody wrote into one.
 * S1-18 S1-23 S1-24 S1-25 S1-26 S1-27 S1-28 S1-29 S1-30 S1-32
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "policy/base/output.h"
#include "policy/lang/scalar.h"
#include "policy/manifests/catalog.h"
#include "policy/manifests/catalog_source.h"
#include "policy/tokens/token_format.h"
#include "shim/base/array.h"

#define SENTINEL "hunter2-sentinel"
#define TOKEN    "team/github/token"
#define INDEX_ROW \
	"secret " TOKEN " { description \"d\" expires 2030-06-15 rotate-every 90d " \
	"rotation provider-ui last-rotated 2030-01-01 pattern github-pat approve " \
	"session\nretrieval-url \"https://x.example/t\" }\n"

static char *said; /* what the last merge said */
static struct metas metas;

static struct meta_text *
text(struct meta_text *t, const char *shown, const char *s)
{
	*t = (struct meta_text){shown, s, s == NULL ? 0 : strlen(s)};
	return s == NULL ? NULL : t;
}

static void
forget(void)
{
	metas_free(&metas);
	free(said);
	said = NULL;
}

static int
merge_how(const char *project, const char *index, unsigned int how)
{
	struct meta_text a, b;
	size_t len;
	FILE *f;
	int r;

	forget();
	f = open_memstream(&said, &len);
	assert_non_null(f);
	r = metas_merge(
	    text(&a, "p", project), text(&b, "i", index), how | META_WARN, f, &metas);
	assert_int_equal(fclose(f), 0);
	return r;
}

static int
merge(const char *project, const char *index)
{
	return merge_how(project, index, 0);
}

/* It is a mistake, and this is what is told of it. */
static void
wrong(const char *project, const char *index, const char *why)
{
	assert_int_equal(merge(project, index), -EINVAL);
	if (strstr(said, why) == NULL)
		fail_msg("said: %s, not: %s", said, why);
}

static const struct meta *
found(const char *path)
{
	enum meta_error why;
	const struct meta *m = metas_find(&metas, path, &why);

	assert_non_null(m);
	return m;
}

static uint32_t
day(const char *date)
{
	uint32_t d;

	assert_int_equal(unit_date(date, &d), 0);
	return d;
}

static int
over(void **state)
{
	(void)state;
	forget();
	return 0;
}

/* ---- merge ---- */

static void
no_manifest_is_an_empty_list(void **state)
{
	char *out = NULL;
	size_t len;
	FILE *f = open_memstream(&out, &len);
	const struct meta_filter all = {.contains = NULL};

	(void)state;
	assert_int_equal(merge(NULL, NULL), 0);
	assert_string_equal(said, "");
	metas_json(&metas, &all, 0, f);
	assert_int_equal(fclose(f), 0);
	assert_string_equal(out, "[]\n");
	free(out);
	assert_int_equal(merge("", ""), 0);
	/* the index alone shows a project nothing */
	assert_int_equal(merge(NULL, INDEX_ROW), 0);
	for (size_t i = 0; i < metas.n; i++)
		assert_false(meta_passes(&metas.meta[i], &all, 0));
}

static void
only_what_is_declared_is_seen(void **state) /* S1-18 S1-37 S1-40 */
{
	enum meta_error why = META_MERGE_FAILED;

	(void)state;
	assert_int_equal(merge("required " TOKEN "\n",
			     INDEX_ROW "secret team/other/token { description \"o\" }\n"),
	    0);
	assert_true(found(TOKEN)->required);
	assert_null(metas_find(&metas, "team/other/token", &why));
	assert_int_equal(why, META_NOT_FOUND);
	assert_null(metas_find(&metas, "team/none/token", &why));
	assert_int_equal(why, META_NOT_FOUND);
	assert_string_equal(meta_error_name(why), "not-found");
	assert_null(metas_find(&metas, "Team", &why)); /* S1-38 */
	assert_int_equal(why, META_INVALID_PATH);
	assert_string_equal(meta_error_name(why), "invalid-path");
	assert_null(metas_find(&metas, "__sources/env", &why));
	assert_int_equal(why, META_INVALID_PATH);
}

static void
the_projects_own_word_stands_alone(void **state)
{
	const struct meta *m;

	(void)state;
	assert_int_equal(
	    merge("required " TOKEN "\nsecret " TOKEN " { description \"own\" }\n",
		INDEX_ROW),
	    0);
	m = found(TOKEN);
	assert_string_equal(m->description, "own");
	assert_null(m->pattern); /* nothing of the index */
	assert_int_equal(m->expires, 0);
	assert_true(m->local);
	/* but for the question that a person is asked */
	assert_int_equal(m->approve, META_SESSION);
	assert_non_null(
	    strstr(said, "takes precedence over the entry in the personal index"));
}

static void
overrides_change_what_they_may(void **state)
{
	const struct meta *m;

	(void)state;
	assert_int_equal(merge("required " TOKEN "\noverride " TOKEN
			       " { description \"e\" rotate-every 30d approve per-call }",
			     INDEX_ROW),
	    0);
	m = found(TOKEN);
	assert_string_equal(m->description, "e");
	assert_int_equal(m->rotate_every, 30);
	assert_int_equal(m->approve, META_PER_CALL);
	assert_string_equal(m->pattern, "github-pat"); /* the index's */
	assert_string_equal(said, "");
	assert_int_equal(meta_rotate_by(m), day("2030-01-31"));
	/* a project does not take a question away */
	assert_int_equal(
	    merge("required " TOKEN "\noverride " TOKEN " { approve never }", INDEX_ROW),
	    0);
	assert_int_equal(found(TOKEN)->approve, META_SESSION);
	assert_non_null(strstr(said, "can only be made stricter"));
	wrong("required " TOKEN "\noverride " TOKEN " { expires 2999-01-01 }", INDEX_ROW,
	    "p:2:30: error: `expires` is not allowed in `override`");
}

static void
odd_manifests_are_told_and_taken(void **state)
{
	(void)state;
	assert_int_equal(
	    merge(
		"required " TOKEN "\noverride " TOKEN " { rotate-every 90d }", INDEX_ROW),
	    0);
	assert_non_null(strstr(said, "no effect: `rotate-every`"));
	assert_int_equal(merge("override " TOKEN " { approve session }", INDEX_ROW), 0);
	assert_non_null(strstr(said, "does not declare"));
	assert_int_equal(merge("secret a/b/c { description \"x\" }", NULL), 0);
	assert_non_null(strstr(said, "neither `required` nor `optional`"));
	assert_false(found("a/b/c")->required);
	/* the same list twice says the same */
	assert_int_equal(merge("required " TOKEN " " TOKEN, INDEX_ROW), 0);
	assert_string_equal(said, "");
	/* both lists: required, unless strict */
	assert_int_equal(merge("optional " TOKEN "\nrequired " TOKEN, INDEX_ROW), 0);
	assert_true(found(TOKEN)->required);
	assert_non_null(strstr(said, "warning: this path is both"));
	assert_int_equal(
	    merge_how("optional " TOKEN "\nrequired " TOKEN, INDEX_ROW, META_STRICT),
	    -EINVAL);
	assert_non_null(strstr(said, "error: this path is both"));
}

static void
broken_manifests_are_refused(void **state) /* S1-39 */
{
	(void)state;
	wrong("required a/b/c", NULL,
	    "p:1:10: error: unknown path: neither this manifest nor");
	wrong("secret a/b/c { }\nsecret a/b/c { }", NULL,
	    "p:2:8: error: duplicate secret: first defined on line 1");
	wrong("override a/b/c { }\noverride a/b/c { }", NULL, "duplicate override");
	wrong("secret a/b/c { }\noverride a/b/c { approve session }", NULL,
	    "p:2:10: error: this path has both `secret` and `override` here");
	wrong(NULL, "required a/b/c",
	    "i:1:1: error: `required` is only allowed in a project's");
	wrong(NULL, "override a/b/c { }",
	    "i:1:1: error: `override` is only allowed in a project's");
	wrong("token a/b { }", NULL, "`token` is only allowed in a catalog");
	wrong("server x { run /bin/sh }", NULL,
	    "`server` is only allowed in a policy file");
	wrong("block x { }", NULL, "`block` is only allowed in a policy file");
	wrong("let x = /y", NULL, "`let` is only allowed in a policy file");
	wrong("include \"x\"", NULL, "error");
	wrong("never write /etc", NULL, "`never` is only allowed in a policy file");
	/* one bad line anywhere: nothing is read */
	wrong("required " TOKEN, INDEX_ROW "secret x {\n", "i:3:10: error");
	assert_string_equal(meta_error_name(META_MERGE_FAILED), "merge-failed");
}

/* ---- paths ---- */

static void
paths_have_three_parts(void **state) /* S1-23 S1-38 */
{
	static const char *const good[] = {
	    "a/b/c", "a/b/c/d/e/f", "team/github/token-2", "api-/b-/c-"};
	static const struct {
		const char *path, *why;
	} bad[] = {
	    {"", "three or more parts"},
	    {"a", "three or more parts"},
	    {"a/b", "three or more parts"},
	    {"/b", "three or more parts"}, /* how many comes first */
	    {"/b/c", "first part of the path is empty"},
	    {"a//c", "second part of the path is empty"},
	    {"a/b/", "third part of the path is empty"},
	    {"a/b/c/d//", "a part of the path is empty"},
	    {"__sys//A", "second part of the path is empty"}, /* before what is ours */
	    {"__sys/a/b", "reserved for kennel"},
	    {"_test/A/b", "reserved for kennel"}, /* before its letters */
	    {"A/b/c", "invalid first part of the path"},
	    {"a/B/c", "invalid second part of the path"},
	    {"a/b/c_d", "invalid third part of the path"},
	    {"a/b/1c", "invalid third part of the path"},
	    {"a/b/-c", "invalid third part of the path"},
	    {"a/b/c/d/E", "invalid part of the path"},
	    {"a/b/c d", "invalid third part of the path"},
	    {"a/b/\xc3\xa9", "invalid third part of the path"},
	};
	char big[SECRET_PATH_MAX + 2];
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_LEN(good); i++)
		assert_null(secret_path_wrong(good[i], strlen(good[i])));
	for (i = 0; i < ARRAY_LEN(bad); i++) {
		const char *why = secret_path_wrong(bad[i].path, strlen(bad[i].path));

		assert_non_null(why);
		assert_non_null(strstr(why, bad[i].why));
	}
	memset(big, 'a', sizeof(big));
	big[1] = big[3] = '/';
	assert_null(secret_path_wrong(big, SECRET_PATH_MAX));
	assert_non_null(secret_path_wrong(big, SECRET_PATH_MAX + 1));
	assert_non_null(secret_path_wrong("a/b/c\0d", 7));
}

/* ---- records ---- */

static void
status_follows_from_dates(void **state) /* S1-24 S1-25 S1-26 */
{
	static const struct {
		const char *today;
		enum meta_status is;
	} rows[] = {
	    {"2030-06-16", META_EXPIRED},
	    {"2030-06-15", META_EXPIRING}, /* today */
	    {"2030-06-01", META_EXPIRING}, /* 14 days */
	    {"2030-05-31", META_REGISTERED},
	    {"2000-01-01", META_REGISTERED},
	};
	struct meta m = {.path = TOKEN, .expires = day("2030-06-15")};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(meta_status(&m, day(rows[i].today)), rows[i].is);
	m.expires = 0;
	assert_int_equal(meta_status(&m, day("2999-01-01")), META_REGISTERED);
	assert_int_equal(meta_status_find("expiring"), META_EXPIRING);
	assert_int_equal(meta_status_find("gone"), -1);
	assert_true(meta_today() > day("2020-01-01"));
}

static char *
card_of(const char *path, bool card)
{
	char *out = NULL;
	struct out o;
	size_t len;
	FILE *f = open_memstream(&out, &len);

	out_init(&o, f);
	meta_json(found(path), card, day("2030-06-10"), &o);
	assert_int_equal(fclose(f), 0);
	return out;
}

/* S1-02: no record has a place for a value.
 * S1-22 S1-23 S1-27 S1-28 S1-29 S1-30 S1-31 S1-34 S1-35 S1-36 S1-41 */
static void
records_are_as_agents_know_them(void **state)
{
	char *list, *card;

	(void)state;
	assert_int_equal(
	    merge("required " TOKEN " a/b/c", INDEX_ROW "secret a/b/c { }\n"), 0);
	list = card_of(TOKEN, false);
	assert_string_equal(list,
	    "{\"path\":\"" TOKEN
	    "\",\"status\":\"expiring\",\"expires_at\":\"2030-06-15\","
	    "\"source_name\":null,\"capabilities_hint\":\"read,rotate\","
	    "\"approve_on_use\":\"session\"}\n");
	card = card_of(TOKEN, true);
	assert_string_equal(card,
	    "{\"path\":\"" TOKEN
	    "\",\"status\":\"expiring\",\"expires_at\":\"2030-06-15\","
	    "\"source_name\":null,\"capabilities_hint\":\"read,rotate\","
	    "\"description\":\"d\",\"retrieval_url\":\"https://x.example/t\","
	    "\"rotation_method\":\"provider-ui\",\"last_rotated_at\":\"2030-01-01\","
	    "\"rotate_every_days\":90,\"pattern_id\":\"github-pat\","
	    "\"approve_on_use\":\"session\"}\n");
	free(list);
	free(card);
	card = card_of("a/b/c", true);
	assert_string_equal(card,
	    "{\"path\":\"a/b/c\",\"status\":\"registered\",\"expires_at\":null,"
	    "\"source_name\":null,\"capabilities_hint\":\"read\",\"description\":null,"
	    "\"retrieval_url\":null,\"rotation_method\":\"manual\","
	    "\"last_rotated_at\":null,\"rotate_every_days\":null,\"pattern_id\":null}\n");
	free(card);
}

static size_t
count(const struct meta_filter *f)
{
	size_t n = 0;

	for (size_t i = 0; i < metas.n; i++)
		n += meta_passes(&metas.meta[i], f, day("2030-06-10")) ? 1 : 0;
	return n;
}

static void
filters_all_hold(void **state) /* S1-19 S1-20 S1-21 S1-32 C1 */
{
	struct meta_filter f = {.contains = NULL};

	(void)state;
	assert_int_equal(merge("required " TOKEN "\noptional a/b/c",
			     INDEX_ROW "secret a/b/c { }\nsecret a/b/hidden { }\n"),
	    0);
	assert_int_equal(count(&f), 2);
	f.contains = "github";
	assert_int_equal(count(&f), 1);
	f.scope = "a";
	assert_int_equal(count(&f), 0); /* both hold, or neither shows */
	f.contains = NULL;
	assert_int_equal(count(&f), 1);
	f.scope = "te"; /* a scope is a whole part */
	assert_int_equal(count(&f), 0);
	f.scope = NULL;
	f.status = "expiring";
	assert_int_equal(count(&f), 1);
	f.status = "expired";
	assert_int_equal(count(&f), 0);
	f.status = NULL;
	f.all = true; /* for people */
	assert_int_equal(count(&f), 3);
	f.all = false;
	f.internal = true;
	f.contains = "__s";
	assert_true(count(&f) >= 2);
	f.internal = false;
	assert_int_equal(count(&f), 0);
	for (size_t i = 1; i < metas.n; i++)
		assert_true(strcmp(metas.meta[i - 1].path, metas.meta[i].path) < 0);
}

/* ---- what is said ---- */

/* A sentinel in every place of a manifest where somebody may have written it. */
static const char *const stray[] = {
    "value \"" SENTINEL "\"",
    "value " SENTINEL,
    "values = \"" SENTINEL "\"",
    "secret " SENTINEL,
    SENTINEL,
    "\"" SENTINEL "\"",
    "description " SENTINEL,
    "description \"" SENTINEL,
    "description \"" SENTINEL "\" \"" SENTINEL "\"",
    "retrieval-url \"" SENTINEL "\"",
    "retrieval-url \"http://" SENTINEL "\"",
    "expires " SENTINEL,
    "last-rotated " SENTINEL,
    "rotation " SENTINEL,
    "rotate-every " SENTINEL,
    "approve " SENTINEL,
    "pattern \"" SENTINEL " x\"",
    "hosts " SENTINEL "/",
    "scopes \"" SENTINEL " x\"",
    "descriptionn " SENTINEL,
    "expires 2030-01-01 " SENTINEL,
    "$" SENTINEL,
    "description \"\\x" SENTINEL "\"",
    SENTINEL " {",
    "} " SENTINEL,
    "}\n" SENTINEL " {",
    "}\nservr " SENTINEL "\n",
    "}\nrequird " SENTINEL "\n",
    "}\nrequired " SENTINEL "\n",
    "}\noverride " SENTINEL " {}\n",
    "}\nsecret " SENTINEL " {}\n",
    "}\nlet " SENTINEL " " SENTINEL "\n",
    "}\nenv X = " SENTINEL "\n",
    "}\nserver x { " SENTINEL " }\n",
    "}\ninclude \"" SENTINEL "\"\n",
    "}\nexpect x { " SENTINEL " }\n",
    "\x01" SENTINEL,
    "\xff" SENTINEL,
};

/* File, line and column are told, and never the line.  C24 */
static void
no_value_is_ever_said(void **state)
{
	char file[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stray); i++) {
		(void)snprintf(file, sizeof(file), "secret a/b/c {\n\t%s\n}\n", stray[i]);
		if (merge(file, NULL) != -EINVAL)
			fail_msg("taken: %s", stray[i]);
		assert_null(strstr(said, SENTINEL));
		if (strncmp(said, "p:", 2) != 0 || strstr(said, ": error: ") == NULL)
			fail_msg("no place: %s", said);
		assert_int_equal(merge(NULL, file), -EINVAL);
		assert_null(strstr(said, SENTINEL));
		assert_int_equal(strncmp(said, "i:", 2), 0);
		(void)snprintf(file, sizeof(file), "secret a/b/c {\n\t%s\n}\n", stray[i]);
		assert_int_equal(merge_how(file, NULL, META_JSON), -EINVAL);
		assert_null(strstr(said, SENTINEL));
	}
	/* the control: a value that stands where a description may is shown */
	assert_int_equal(
	    merge("secret a/b/c { description \"" SENTINEL "\" }\n", NULL), 0);
	assert_string_equal(found("a/b/c")->description, SENTINEL);
}

static void
sizes_have_a_limit(void **state)
{
	size_t cap = (size_t)(META_N_MAX + 2) * 32, at = 0, i;
	char *big = malloc(cap);

	(void)state;
	assert_non_null(big);
	for (i = 0; i <= META_N_MAX; i++)
		at += (size_t)snprintf(big + at, cap - at, "secret a/b/c%zu { }\n", i);
	wrong(NULL, big, "more than 4096 secrets");
	free(big);
}

/* ---- the catalog ---- S1-122 */

static int
catalog_of(const char *project, const char *personal, struct catalog *ret)
{
	struct meta_text a, b;
	size_t len;
	FILE *f;
	int r;

	forget();
	f = open_memstream(&said, &len);
	r = catalog_merge(&(struct catalog_texts){.project = text(&a, "p", project),
			      .personal = text(&b, "u", personal)},
	    f, ret);
	assert_int_equal(fclose(f), 0);
	return r;
}

static void
the_bundled_catalog_is_whole(void **state)
{
	const struct catalog_row *row;
	struct catalog c;

	(void)state;
	assert_int_equal(catalog_of(NULL, NULL, &c), 0);
	assert_string_equal(said, "");
	assert_true(c.n >= 11);
	for (size_t i = 0; i < c.n; i++) {
		row = &c.row[i];
		assert_int_equal(row->origin, CATALOG_BUNDLED);
		assert_non_null(row->meta.description);
		assert_non_null(row->meta.retrieval_url);
		assert_true(row->step_n > 0);
		assert_true(row->meta.host_n > 0);
		if (row->meta.pattern != NULL)
			assert_non_null(token_format_find(row->meta.pattern));
	}
	assert_non_null(catalog_of_pattern(&c, "github-pat"));
	assert_null(catalog_of_pattern(&c, "nothing"));
	catalog_free(&c);
}

static void
the_nearer_catalog_stands_before(void **state)
{
	struct catalog c;

	(void)state;
	assert_int_equal(
	    catalog_of("token github/classic { description \"p\" }\n",
		"token github/classic { description \"u\" }\ntoken own/thing { }\n", &c),
	    0);
	assert_string_equal(catalog_find(&c, "github/classic")->meta.description, "p");
	assert_null(catalog_find(&c, "github/classic")->meta.pattern); /* whole */
	assert_int_equal(catalog_find(&c, "github/classic")->origin, CATALOG_PROJECT);
	assert_int_equal(catalog_find(&c, "own/thing")->origin, CATALOG_PERSONAL);
	assert_null(catalog_find(&c, "github"));
	catalog_free(&c);
	assert_int_equal(catalog_of(NULL, "token a { }", &c), -EINVAL);
	assert_int_equal(
	    catalog_of(NULL, "token a/b { expires 2030-01-01 }", &c), -EINVAL);
	assert_non_null(strstr(said, "`expires` is not allowed in `token`"));
	assert_int_equal(
	    catalog_of(NULL, "token a/b { value " SENTINEL " }", &c), -EINVAL);
	assert_null(strstr(said, SENTINEL));
	assert_int_equal(catalog_of(NULL, "secret a/b/c { }", &c), -EINVAL);
	assert_int_equal(catalog_of("token a/b { }\ntoken a/b { }", NULL, &c), -EINVAL);
}

/* ---- catalogs by URL ---- S1-123 */

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static int
sources_of(const char *project, const char *personal, struct catalog_sources *ret)
{
	struct meta_text a, b;
	size_t len;
	FILE *f;
	int r;

	forget();
	f = open_memstream(&said, &len);
	r = catalog_sources_merge(
	    text(&a, "p", project), text(&b, "u", personal), f, ret);
	assert_int_equal(fclose(f), 0);
	return r;
}

static void
a_catalog_has_a_url_and_perhaps_a_digest(void **state)
{
	static struct catalog_sources l;

	(void)state;
	assert_int_equal(
	    sources_of("catalog \"https://c.example/p\" sha256 " DIGEST,
		"# mine\ncatalog \"https://a.example/x\" to private ca /ca.pem\n"
		"catalog https://b.example sha256 " DIGEST " # why\n"
		"catalog \"http://d.example/\"\n",
		&l),
	    0);
	assert_int_equal(l.n, 4);
	assert_string_equal(l.source[0].url, "https://a.example/x");
	assert_string_equal(l.source[0].to, "private");
	assert_string_equal(l.source[0].ca, "/ca.pem");
	assert_null(l.source[0].sha256);
	assert_false(l.source[0].project);
	assert_string_equal(l.source[1].sha256, DIGEST);
	assert_null(l.source[1].to);
	assert_true(l.source[1].https);
	assert_false(l.source[2].https);
	assert_true(l.source[3].project);
	catalog_sources_free(&l);
}

static void
a_first_digest_is_written_after_its_url(void **state)
{
	static struct catalog_sources l;
	const char *before;
	char *after;

	(void)state;
	assert_int_equal(sources_of(NULL,
			     "catalog \"https://a.example/x\" \\\n  to private # why\n"
			     "catalog https://b.example",
			     &l),
	    0);
	assert_int_equal(
	    catalog_source_pin(&l, &l.source[0], DIGEST, &before, &after), 0);
	assert_string_equal(after,
	    "catalog \"https://a.example/x\" \\\n  to private sha256 " DIGEST
	    " # why\ncatalog https://b.example");
	free(after);
	assert_int_equal(
	    catalog_source_pin(&l, &l.source[1], DIGEST, &before, &after), 0);
	assert_string_equal(after + strlen(before), " sha256 " DIGEST);
	free(after);
	catalog_sources_free(&l);
}

static void
what_is_no_catalog_by_url_is_refused(void **state)
{
	static const struct {
		const char *project, *personal, *why;
	} bad[] = {
	    {NULL, "catalog", "`catalog` takes one quoted URL"},
	    {NULL, "catalog ftp://a.example/", "begins with https://"},
	    {NULL, "catalog https://a@b.example/", "user name"},
	    {NULL, "catalog https://a.example/ sha256", "`catalog` takes"},
	    {NULL, "catalog https://a.example/ md5 x", "`catalog` takes"},
	    {NULL, "catalog https://a.example/ sha256 0123", "64 lower-case"},
	    {NULL, "catalog https://a.example/ to public", "`to` takes"},
	    {NULL, "catalog https://a.example/ ca ca.pem", "absolute path"},
	    {NULL, "catalog https://a.example/ to private to private", "duplicate `to`"},
	    {NULL, "catalog https://a.example/ { }", "`catalog` takes"},
	    {NULL, "catalog https://a.example/\ncatalog https://a.example/",
		"duplicate `catalog`"},
	    {"catalog https://a.example/ to loopback", NULL, "only allowed in your own"},
	    {"catalog https://a.example/ ca /ca.pem", NULL, "only allowed in your own"},
	};
	static struct catalog_sources l;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(
		    sources_of(bad[i].project, bad[i].personal, &l), -EINVAL);
		if (strstr(said, bad[i].why) == NULL)
			fail_msg("%s: %s", bad[i].why, said);
	}
	/* the same in both files: the user's applies */
	assert_int_equal(sources_of("catalog https://a.example/ sha256 " DIGEST,
			     "catalog https://a.example/ to private", &l),
	    0);
	assert_int_equal(l.n, 1);
	assert_string_equal(l.source[0].to, "private");
	catalog_sources_free(&l);
	wrong(
	    "catalog https://a.example/", NULL, "`catalog` is only allowed in a catalog");
}

static void
a_fetched_catalog_is_between_the_bundled_one_and_the_users(void **state)
{
	static const char tokens[] = "token github/classic { description \"f\" }\n"
				     "token own/thing { description \"f\" }\n"
				     "token far/thing { }\n";
	struct meta_text fetched = {"https://a.example/", tokens, strlen(tokens)};
	const char mine[] = "token own/thing { description \"u\" }\n";
	struct meta_text personal = {"u", mine, strlen(mine)};
	struct catalog_texts texts = {
	    .personal = &personal, .fetched = &fetched, .fetched_n = 1};
	struct catalog c;

	(void)state;
	assert_int_equal(catalog_merge(&texts, stderr, &c), 0);
	assert_string_equal(catalog_find(&c, "github/classic")->meta.description, "f");
	assert_int_equal(catalog_find(&c, "github/classic")->origin, CATALOG_FETCHED);
	assert_string_equal(catalog_find(&c, "own/thing")->meta.description, "u");
	assert_int_equal(catalog_find(&c, "own/thing")->origin, CATALOG_PERSONAL);
	assert_int_equal(catalog_find(&c, "far/thing")->origin, CATALOG_FETCHED);
	assert_non_null(catalog_find(&c, "npm/granular"));
	catalog_free(&c);
}

/* ---- shapes ---- */

static void
shapes_are_judged_with_their_sum(void **state)
{
	/* zeros, and the sum that thirty of them have */
	char good[] = "ghp_000000000000000000000000000000000000";
	const struct token_format *s = token_format_find("github-pat");
	size_t len = strlen(good), fit = 0, n;

	(void)state;
	assert_null(token_format_find("none"));
	assert_non_null(s);
	/* of all sums that end in one digit more, one fits: found by trying */
	assert_non_null(token_format_wrong(s, good, len));
	memcpy(good + len - 6, "0mLq17", 6);
	memcpy(good + 4, "zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ", 30); /* as published */
	assert_null(token_format_wrong(s, good, len));
	for (size_t i = 0; i < len; i++) { /* any one byte else, and it is none */
		char was = good[i];

		good[i] = was == 'x' ? 'y' : 'x';
		fit += token_format_wrong(s, good, len) == NULL ? 1 : 0;
		good[i] = was;
	}
	assert_int_equal(fit, 0);
	assert_non_null(token_format_wrong(s, good, len - 1));
	assert_non_null(token_format_wrong(s, "", 0));
	assert_null(token_format_wrong(
	    token_format_find("aws-access-key"), "AKIAABCDEFGHIJKLMN27", 20));
	assert_non_null(token_format_wrong(
	    token_format_find("aws-access-key"), "AKIAABCDEFGHIJKLMN21", 20));
	s = token_formats(&n);
	for (size_t i = 1; i < n; i++)
		assert_true(strcmp(s[i - 1].name, s[i].name) < 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(no_manifest_is_an_empty_list),
	    cmocka_unit_test(only_what_is_declared_is_seen),
	    cmocka_unit_test(the_projects_own_word_stands_alone),
	    cmocka_unit_test(overrides_change_what_they_may),
	    cmocka_unit_test(odd_manifests_are_told_and_taken),
	    cmocka_unit_test(broken_manifests_are_refused),
	    cmocka_unit_test(paths_have_three_parts),
	    cmocka_unit_test(status_follows_from_dates),
	    cmocka_unit_test(records_are_as_agents_know_them),
	    cmocka_unit_test(filters_all_hold),
	    cmocka_unit_test(no_value_is_ever_said),
	    cmocka_unit_test(sizes_have_a_limit),
	    cmocka_unit_test(the_bundled_catalog_is_whole),
	    cmocka_unit_test(the_nearer_catalog_stands_before),
	    cmocka_unit_test(a_catalog_has_a_url_and_perhaps_a_digest),
	    cmocka_unit_test(a_first_digest_is_written_after_its_url),
	    cmocka_unit_test(what_is_no_catalog_by_url_is_refused),
	    cmocka_unit_test(a_fetched_catalog_is_between_the_bundled_one_and_the_users),
	    cmocka_unit_test(shapes_are_judged_with_their_sum),
	};

	return cmocka_run_group_tests(tests, NULL, over);
}
