/*
 * Changes of manifests: only the lines of what changes, in the statement that the value
 * comes from; whatever else the texts contain stays, and what cannot be edited is refused.
 * S1-53 S1-55 S1-56 S1-59 S1-61 S1-63
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "policy/manifests/manifest_change.h"
#include "shim/base/array.h"

#define PATH "team/github/token"

static struct manifest_new new;

static const struct meta_text *
text(struct meta_text *t, const char *s)
{
	*t = (struct meta_text){META_FILE, s, s == NULL ? 0 : strlen(s)};
	return s == NULL ? NULL : t;
}

typedef int fn(const struct manifest_texts *, const char *, const struct meta_change *,
    struct manifest_new *);

static int
run(fn *f, const char *project, const char *index, const struct meta_change *c)
{
	struct meta_text p, i;
	const struct manifest_texts from = {text(&p, project), text(&i, index)};

	return f(&from, PATH, c, &new);
}

static struct meta_change
description(const char *s)
{
	struct meta_change c = {.has_description = true};

	(void)snprintf(c.description, sizeof(c.description), "%s", s);
	return c;
}

/* The new texts; NULL: the file does not change. */
static void
becomes(const char *project, const char *index)
{
	assert_string_equal(
	    new.project.len > 0 ? buf_str(&new.project) : "-", project ? project : "-");
	assert_string_equal(
	    new.index.len > 0 ? buf_str(&new.index) : "-", index ? index : "-");
	manifest_new_free(&new);
}

static void
replaced(void **state)
{
	struct meta_change c = description("new \"and\" \\quoted");

	(void)state;
	assert_int_equal(run(manifest_change,
			     "# of the team\nrequired " PATH "\nsecret " PATH
			     " {\n\tapprove session # strict\n"
			     "\tdescription   \"old\"   # a note\n}\nsecret a/b/c { }\n",
			     NULL, &c),
	    0);
	becomes("# of the team\nrequired " PATH "\nsecret " PATH
		" {\n\tapprove session # strict\n"
		"\tdescription \"new \\\"and\\\" \\\\quoted\"   # a note\n}\n"
		"secret a/b/c { }\n",
	    NULL);
}

static void
added(void **state)
{
	static const struct {
		const char *from, *to;
	} row[] = {
	    {"secret " PATH " {\n  approve session # note\n}\n",
		"secret " PATH " {\n  approve session # note\n  description \"d\"\n}\n"},
	    {"secret " PATH " { approve session }\n",
		"secret " PATH " { approve session  description \"d\" }\n"},
	    {"secret " PATH " {\n}\n", "secret " PATH " {\n    description \"d\"\n}\n"},
	    {"secret " PATH " {}\n", "secret " PATH " { description \"d\" }\n"},
	    {"secret " PATH " { # {\n\n}\n",
		"secret " PATH " { # {\n    description \"d\"\n\n}\n"},
	    {"secret " PATH " {\n\tapprove session }",
		"secret " PATH " {\n\tapprove session  description \"d\" }"},
	    {"secret " PATH " {\n\tapprove session \\\n\texpires 2030-01-01\n}\n",
		"secret " PATH " {\n\tapprove session \\\n\texpires 2030-01-01\n"
		"\tdescription \"d\"\n}\n"},
	    {"secret " PATH " {\n\thosts a.example\n\t\tb.example\n}\n",
		"secret " PATH
		" {\n\thosts a.example\n\t\tb.example\n\tdescription \"d\"\n}\n"},
	};
	struct meta_change c = description("d");

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		assert_int_equal(run(manifest_change, row[i].from, NULL, &c), 0);
		becomes(row[i].to, NULL);
	}
}

/* All five at once, and the date that goes. */
static void
all_fields(void **state)
{
	struct meta_change c = {.has_description = true,
	    .has_retrieval_url = true,
	    .has_pattern = true,
	    .has_rotate_every = true,
	    .has_expires = true,
	    .description = "d",
	    .retrieval_url = "https://x.example/t",
	    .pattern = "github-pat",
	    .rotate_every = 60,
	    .expires = 20820};

	(void)state;
	assert_int_equal(run(manifest_change,
			     "secret " PATH " {\n    rotate-every 90d\n}\n", NULL, &c),
	    0);
	becomes("secret " PATH " {\n    rotate-every 60d\n    description \"d\"\n"
		"    retrieval-url \"https://x.example/t\"\n    pattern github-pat\n"
		"    expires 2027-01-02\n}\n",
	    NULL);
	c = (struct meta_change){.has_expires = true};
	assert_int_equal(
	    run(manifest_change,
		"secret " PATH " {\n    expires 2027-01-02\n    approve session\n}\n",
		NULL, &c),
	    0);
	becomes("secret " PATH " {\n    approve session\n}\n", NULL);
	assert_int_equal(
	    run(manifest_change,
		"secret " PATH " { expires 2027-01-02 approve session }\n", NULL, &c),
	    0);
	becomes("secret " PATH " { approve session }\n", NULL);
}

/* Each field goes where its value comes from. */
static void
places(void **state)
{
	static const char index[] = "secret " PATH " { description \"i\" }\n";
	struct meta_change c = description("d");

	(void)state;
	assert_int_equal(run(manifest_change, "required " PATH "\n", index, &c), 0);
	becomes(NULL, "secret " PATH " { description \"d\" }\n");
	assert_int_equal(
	    run(manifest_change,
		"required " PATH "\noverride " PATH " { rotate-every 9d }\n", index, &c),
	    0);
	becomes(NULL, "secret " PATH " { description \"d\" }\n");
	c.has_rotate_every = true;
	c.rotate_every = 8;
	assert_int_equal(
	    run(manifest_change,
		"required " PATH "\noverride " PATH " { rotate-every 9d }\n", index, &c),
	    0);
	becomes("required " PATH "\noverride " PATH " { rotate-every 8d }\n",
	    "secret " PATH " { description \"d\" }\n");
	/* the project's own statement is used alone */
	assert_int_equal(run(manifest_change, "secret " PATH " {}\n", index, &c), 0);
	becomes("secret " PATH " { description \"d\"  rotate-every 8d }\n", NULL);
	c = description("i");
	assert_int_equal(run(manifest_change, "required " PATH "\n", index, &c), 0);
	becomes(NULL, NULL); /* it is so already */
}

static void
declared(void **state)
{
	struct meta_change c = description("d");

	(void)state;
	c.has_expires = true; /* no date */
	assert_int_equal(run(manifest_add, NULL, NULL, &c), 0);
	becomes("required " PATH "\nsecret " PATH " {\n    description \"d\"\n}\n", NULL);
	assert_int_equal(
	    run(manifest_add, "required a/b/c\nsecret a/b/c {}", NULL, &c), 0);
	becomes("required a/b/c\nsecret a/b/c {}\n\nrequired " PATH "\nsecret " PATH
		" {\n    description \"d\"\n}\n",
	    NULL);
	/* of the index, the stricter approval stays */
	assert_int_equal(
	    run(manifest_add, "", "secret " PATH " { approve session }\n", &c), 0);
	becomes("required " PATH "\nsecret " PATH " {\n    description \"d\"\n}\n", NULL);
	assert_int_equal(run(manifest_add, "secret " PATH " {}\n", NULL, &c), -EEXIST);
	/* this would be both `secret` and `override` */
	assert_int_equal(
	    run(manifest_add, "override " PATH " { approve session }\n", NULL, &c),
	    -EINVAL);
	/* the last line goes on in the first new one */
	assert_int_equal(
	    run(manifest_add, "required a/b/c \\", "secret a/b/c {}\n", &c), -EINVAL);
}

static void
refused(void **state)
{
	struct meta_change c = description("d");

	(void)state;
	assert_int_equal(run(manifest_change, NULL, NULL, &c), -ENOENT);
	assert_int_equal(run(manifest_change, NULL, "secret " PATH " {}\n", &c), -ENOENT);
	assert_int_equal(run(manifest_change, "secret " PATH " {\n", NULL, &c), -EINVAL);
	c = description("two\nlines");
	assert_int_equal(run(manifest_change, "secret " PATH " {}\n", NULL, &c), -EINVAL);
	assert_int_equal(run(manifest_add, NULL, NULL, &c), -EINVAL);
}

static void
wrong(void **state)
{
	static const char *const urls[] = {"", "http://x.example", "https://",
	    "https://u@x.example/", "https://u:p@x.example", "https:///x", "https://:8/",
	    "https://x.example/ y", "https://x.example/\"", "HTTPS://x.example",
	    "https://b\xc3\xbc.example", "javascript:alert(1)"};
	static const char *const good[] = {
	    "https://x.example", "https://x.example:8/a?b=c@d#e"};
	struct meta_change c = {.has_retrieval_url = true};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
		(void)snprintf(c.retrieval_url, sizeof(c.retrieval_url), "%s", urls[i]);
		assert_non_null(meta_change_wrong(&c));
	}
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		(void)snprintf(c.retrieval_url, sizeof(c.retrieval_url), "%s", good[i]);
		assert_null(meta_change_wrong(&c));
	}
	c = description("");
	assert_non_null(meta_change_wrong(&c));
	c = description("a\xe2\x80\xae"
			"b");
	assert_non_null(meta_change_wrong(&c));
	c = description("b\xc3\xbc");
	assert_null(meta_change_wrong(&c));
	c = (struct meta_change){.has_rotate_every = true};
	assert_non_null(meta_change_wrong(&c));
	c.rotate_every = 3651;
	assert_non_null(meta_change_wrong(&c));
	c.rotate_every = 3650;
	assert_null(meta_change_wrong(&c));
	c = (struct meta_change){.has_pattern = true, .pattern = "none"};
	assert_non_null(meta_change_wrong(&c));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(replaced),
	    cmocka_unit_test(added),
	    cmocka_unit_test(all_fields),
	    cmocka_unit_test(places),
	    cmocka_unit_test(declared),
	    cmocka_unit_test(refused),
	    cmocka_unit_test(wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
