/*
 * Checks the statements of manifests: metadata of secrets, never a value.  One
 * row for each field.  No message shows any part of such a statement.
 */
#define DIAG_CODE "manifest"

#include "policy/lang/expand.h"
#include "policy/lang/host.h"
#include "policy/lang/manifest.h"
#include "policy/lang/scalar.h"
#include "policy/lang/secret_path.h"
#include "shim/base/array.h"
#include "shim/help/near_word.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX_LEN 1024
#define NAME_LEN_MAX 64
#define DAYS_MAX     3650

typedef bool value_fn(const struct word *, size_t n);

static value_fn is_text, is_texts, is_url, is_date, is_rotation, is_days, is_approve,
    is_name, is_names, is_hosts;

/* The statements that may have this field. */
enum {
	OF_SECRET = 1,
	OF_OVERRIDE = 2,
	OF_TOKEN = 4,
};

static const struct {
	const char *name;
	value_fn *good;
	unsigned int of; /* OF_*, or'ed */
	bool many;       /* may have several values */
	const char *takes;
} fields[] = {
    [MANIFEST_APPROVE] = {"approve", is_approve, OF_SECRET | OF_OVERRIDE, false,
	"never, session or per-call, the last two perhaps with passphrase or with key"},
    [MANIFEST_DESCRIPTION] = {"description", is_text, OF_SECRET | OF_OVERRIDE | OF_TOKEN,
	false, "one quoted string"},
    [MANIFEST_EXPIRES] = {"expires", is_date, OF_SECRET, false,
	"one date, as in 2027-01-31"},
    [MANIFEST_HOSTS] = {"hosts", is_hosts, OF_SECRET | OF_TOKEN, true, "hosts, or any"},
    [MANIFEST_LAST_ROTATED] = {"last-rotated", is_date, OF_SECRET, false,
	"one date, as in 2027-01-31"},
    [MANIFEST_LIVENESS] = {"liveness", is_url, OF_TOKEN, false,
	"one quoted https:// address"},
    [MANIFEST_PATTERN] = {"pattern", is_name, OF_SECRET | OF_TOKEN, false,
	"the name of a token format, as in github-pat"},
    [MANIFEST_RETRIEVAL_URL] = {"retrieval-url", is_url, OF_SECRET | OF_TOKEN, false,
	"one quoted https:// address"},
    [MANIFEST_ROTATE_EVERY] = {"rotate-every", is_days,
	OF_SECRET | OF_OVERRIDE | OF_TOKEN, false,
	"a number of days from 1d to 3650d, as in 90d"},
    [MANIFEST_ROTATION] = {"rotation", is_rotation, OF_SECRET | OF_TOKEN, false,
	"manual, provider-ui or provider-api"},
    [MANIFEST_SCOPES] = {"scopes", is_names, OF_SECRET | OF_TOKEN, true,
	"the permissions of the token, as its provider names them"},
    [MANIFEST_STEPS] = {"steps", is_texts, OF_TOKEN, true, "quoted strings"},
};
#define MANIFEST_N (ARRAY_LEN(fields))

enum manifest_kind
manifest_field(const struct word *w)
{
	size_t i;

	for (i = 1; !w->quoted && i < MANIFEST_N; i++)
		if (strlen(fields[i].name) == w->raw_len &&
		    memcmp(fields[i].name, w->raw, w->raw_len) == 0)
			return (enum manifest_kind)i;
	return MANIFEST_NONE;
}

bool
manifest_takes_one(enum manifest_kind kind)
{
	return kind != MANIFEST_NONE && !fields[kind].many;
}

bool
manifest_is_value_word(const struct word *w)
{
	static const char *const list[] = {"value", "values", "secret", "password"};
	size_t i;

	for (i = 0; !w->quoted && i < ARRAY_LEN(list); i++)
		if (strlen(list[i]) == w->raw_len &&
		    memcmp(list[i], w->raw, w->raw_len) == 0)
			return true;
	return false;
}

/* ---- values -------------------------------------------------------------- */

static bool
is_one_of(const struct word *w, size_t n, const char *const *list, size_t list_n)
{
	size_t i;

	for (i = 0; n == 1 && i < list_n; i++)
		if (strcmp(w->text, list[i]) == 0)
			return true;
	return false;
}

const char *
manifest_factor(const struct word *w, size_t n)
{
	static const char *const list[] = {"passphrase", "key"};
	size_t i;

	for (i = 0; n == 3 && strcmp(w[1].text, "with") == 0 && i < 2; i++)
		if (strcmp(w[2].text, list[i]) == 0)
			return list[i];
	return NULL;
}

static bool
is_approve(const struct word *w, size_t n)
{
	static const char *const list[] = {"never", "session", "per-call"};

	return n > 0 && is_one_of(w, 1, list, 3) &&
	       (n == 1 ||
		   (strcmp(w->text, "never") != 0 && manifest_factor(w, n) != NULL));
}

static bool
is_rotation(const struct word *w, size_t n)
{
	static const char *const list[] = {"manual", "provider-ui", "provider-api"};

	return is_one_of(w, n, list, 3);
}

static bool
is_text(const struct word *w, size_t n)
{
	return n == 1 && w->quoted && w->len <= TEXT_MAX_LEN;
}

static bool
is_texts(const struct word *w, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!is_text(&w[i], 1))
			return false;
	return n > 0;
}

static bool
is_url(const struct word *w, size_t n)
{
	return n == 1 && w->quoted && w->len <= TEXT_MAX_LEN &&
	       strncmp(w->text, "https://", 8) == 0 &&
	       strpbrk(w->text, " \"<>\\") == NULL;
}

static bool
is_date(const struct word *w, size_t n)
{
	uint32_t day;

	return n == 1 && unit_date(w->text, &day) == 0;
}

int
manifest_days(const struct word *w, uint32_t *ret)
{
	uint64_t ms;

	if (w->len == 0 || w->text[w->len - 1] != 'd' || unit_ms(w->text, &ms) != 0 ||
	    ms < 86400000 || ms > DAYS_MAX * 86400000ULL)
		return -EINVAL;
	*ret = (uint32_t)(ms / 86400000);
	return 0;
}

static bool
is_days(const struct word *w, size_t n)
{
	uint32_t days;

	return n == 1 && manifest_days(w, &days) == 0;
}

static bool
is_name(const struct word *w, size_t n)
{
	size_t i;

	for (i = 0; n == 1 && i < w->len; i++)
		if (!name_byte((unsigned char)w->text[i]) && w->text[i] != '-')
			return false;
	return n == 1 && w->len > 0 && w->len <= NAME_LEN_MAX;
}

/* Providers choose the form of their scopes: repo, admin:org, read_api... */
static bool
is_names(const struct word *w, size_t n)
{
	size_t i, k;

	for (i = 0; i < n; i++)
		for (k = 0; k < w[i].len; k++)
			if (w[i].len > NAME_LEN_MAX ||
			    (!name_byte((unsigned char)w[i].text[k]) &&
				strchr("-:./*", w[i].text[k]) == NULL))
				return false;
	return n > 0;
}

static bool
is_hosts(const struct word *w, size_t n)
{
	struct host h;
	size_t i;

	if (n == 1 && strcmp(w->text, "any") == 0)
		return true;
	for (i = 0; i < n; i++)
		if (host_read(&w[i], false, &h) != NULL)
			return false;
	return n > 0;
}

/* ---- the statements ------------------------------------------------------- */

static unsigned int
statement_of(enum keyword kw)
{
	return kw == KW_SECRET ? OF_SECRET : kw == KW_OVERRIDE ? OF_OVERRIDE : OF_TOKEN;
}

/*
 * A name that is not a field of this statement.  The message suggests the field
 * that was meant and never shows the word, which may be a secret.
 */
static void
unknown_field(const struct manifest *m, const struct field *f, struct diag *diag)
{
	static const char *list[MANIFEST_N];
	const char *near;
	size_t k;

	if (manifest_is_value_word(&f->name)) {
		diag_error(diag, f->name.at,
		    "a manifest never holds a value; `kennel secret set PATH` stores it");
		return;
	}
	for (k = 1; k < MANIFEST_N; k++)
		list[k] = (fields[k].of & statement_of(m->kw)) != 0 ? fields[k].name : "";
	near = f->name.quoted ? NULL : near_word(f->name.text, list, MANIFEST_N);
	if (near != NULL)
		diag_error(diag, f->name.at, "unknown field: did you mean `%s`?", near);
	else
		diag_error(diag, f->name.at, "unknown field in %s",
		    m->kw == KW_TOKEN ? "a token" : "a secret");
}

static void
check_field(const struct manifest *m, size_t i, struct diag *diag)
{
	const struct field *f = &m->field[i];
	enum manifest_kind kind = manifest_field(&f->name);
	size_t k;

	if (kind == MANIFEST_NONE) {
		unknown_field(m, f, diag);
		return;
	}
	if ((fields[kind].of & statement_of(m->kw)) == 0)
		diag_error(diag, f->name.at, "`%s` is not allowed in `%s`",
		    fields[kind].name, keyword_name(m->kw));
	for (k = 0; k < i; k++)
		if (manifest_field(&m->field[k].name) == kind)
			diag_error(diag, f->name.at, "duplicate `%s`", fields[kind].name);
	if (f->word_n == 0 || !fields[kind].good(f->word, f->word_n))
		diag_error(diag, f->word_n > 0 ? f->word[0].at : f->name.at,
		    "`%s` takes %s", fields[kind].name, fields[kind].takes);
}

/* PROVIDER/KIND of the catalog. */
static bool
is_token_name(const struct word *w)
{
	const char *slash = memchr(w->text, '/', w->len);
	size_t len = slash == NULL ? 0 : (size_t)(slash - w->text);

	return slash != NULL && w->len <= NAME_LEN_MAX &&
	       secret_path_part(w->text, len) &&
	       secret_path_part(slash + 1, w->len - len - 1);
}

static void
check_path(const struct manifest *m, struct diag *diag)
{
	const char *why = NULL;

	if (m->kw != KW_TOKEN)
		why = secret_path_wrong(m->path.text, m->path.len);
	else if (!is_token_name(&m->path))
		why = "invalid token name: expected PROVIDER/KIND in lower-case letters, "
		      "digits and `-`, as in github/classic";
	if (why != NULL)
		diag_error(diag, m->path.at, "%s", why);
}

/*
 * The same statement about the same path twice in a file: reported once, at the
 * second.
 */
static void
check_twice(const struct tree *t, size_t i, struct diag *diag)
{
	const struct manifest *m = &t->manifest[i], *old;
	size_t k;

	for (k = 0; k < i; k++) {
		old = &t->manifest[k];
		if (old->kw == m->kw && old->at.file == m->at.file &&
		    strcmp(old->path.text, m->path.text) == 0) {
			diag_error(diag, m->path.at,
			    "duplicate %s: first defined on line %u", keyword_name(m->kw),
			    old->path.at.line);
			return;
		}
	}
}

void
manifest_check(struct tree *t, struct diag *diag)
{
	const char *why;
	size_t i, k;

	diag->hide_line = true;
	for (i = 0; i < t->manifest_n; i++) {
		check_path(&t->manifest[i], diag);
		check_twice(t, i, diag);
		for (k = 0; k < t->manifest[i].field_n; k++)
			check_field(&t->manifest[i], k, diag);
	}
	for (i = 0; i < t->declare_n; i++)
		for (k = 0; k < t->declare[i].word_n && t->declare[i].kw != KW_CATALOG;
		     k++) {
			const struct word *w = &t->declare[i].word[k];

			why = secret_path_wrong(w->text, w->len);
			if (why != NULL)
				diag_error(diag, w->at, "%s", why);
		}
	diag->hide_line = false;
}

static void
not_in_policy(enum keyword kw, struct at at, struct diag *diag)
{
	diag_error(diag, at, "`%s` is only allowed in a %s", keyword_name(kw),
	    kw == KW_CATALOG ? "catalog" : "manifest");
}

/* A line that reads as a protection, and in this file protects nothing. */
static void
no_protection(const struct manifest *m, struct diag *diag)
{
	for (size_t i = 0; i < m->field_n; i++)
		if (strcmp(m->field[i].name.text, "approve") == 0)
			diag_warning(diag, m->field[i].name.at,
			    "this `approve` has no effect: write it in the `secret` line "
			    "of the server, or this statement in a manifest of the "
			    "project or in the index (kennel-secret(1))");
}

void
manifest_check_policy(struct tree *t, struct diag *diag)
{
	size_t i;

	for (i = 0; i < t->manifest_n; i++)
		if (t->manifest[i].kw != KW_SECRET)
			not_in_policy(t->manifest[i].kw, t->manifest[i].at, diag);
		else
			no_protection(&t->manifest[i], diag);
	for (i = 0; i < t->declare_n; i++)
		not_in_policy(t->declare[i].kw, t->declare[i].at, diag);
}
