/*
 * secret PATH { field value ... }: what is known about a secret, never its value.
 * One row for each field; nothing of such a statement is shown in a message.
 */
#include "policy/text.h"

#include <stdio.h>
#include <string.h>

#define PATH_MAX_LEN 255
#define TEXT_MAX_LEN 1024

typedef bool value_fn(const struct word *, size_t n);

static value_fn is_text, is_url, is_date, is_rotation, is_days, is_approve, is_name,
    is_hosts;

static const struct {
	const char *name;
	value_fn *good;
	const char *takes;
} fields[] = {
    [MANIFEST_APPROVE] = {"approve", is_approve, "never, session or per-call"},
    [MANIFEST_DESCRIPTION] = {"description", is_text, "one quoted text"},
    [MANIFEST_EXPIRES] = {"expires", is_date, "one date, as in 2027-01-31"},
    [MANIFEST_HOSTS] = {"hosts", is_hosts, "hosts, or any"},
    [MANIFEST_PATTERN] = {"pattern", is_name, "the name of a shape, as in github-pat"},
    [MANIFEST_RETRIEVAL_URL] = {"retrieval-url", is_url, "one quoted https:// address"},
    [MANIFEST_ROTATE_EVERY] = {"rotate-every", is_days,
	"days from 1d to 3650d, as in 90d"},
    [MANIFEST_ROTATION] = {"rotation", is_rotation,
	"manual, provider-ui or provider-api"},
};
#define MANIFEST_N (sizeof(fields) / sizeof(fields[0]))

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

static bool
is_approve(const struct word *w, size_t n)
{
	static const char *const list[] = {"never", "session", "per-call"};

	return is_one_of(w, n, list, 3);
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

static bool
is_days(const struct word *w, size_t n)
{
	uint64_t ms;

	return n == 1 && w->len > 0 && w->text[w->len - 1] == 'd' &&
	       unit_ms(w->text, &ms) == 0 && ms >= 86400000 && ms <= 3650 * 86400000ULL;
}

static bool
is_name(const struct word *w, size_t n)
{
	size_t i;

	for (i = 0; n == 1 && i < w->len; i++)
		if (!name_byte((unsigned char)w->text[i]) && w->text[i] != '-')
			return false;
	return n == 1 && w->len > 0 && w->len <= 64;
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

/* ---- the statement ------------------------------------------------------- */

bool
secret_path_is_good(const struct word *w)
{
	size_t i, part = 0, slashes = 0;

	for (i = 0; i < w->len; i++) {
		if (w->text[i] == '/') {
			if (part == 0)
				return false;
			slashes++;
			part = 0;
		} else if (!name_byte((unsigned char)w->text[i]) &&
			   (part == 0 || strchr("._-", w->text[i]) == NULL)) {
			return false;
		} else {
			part++;
		}
	}
	return part > 0 && slashes > 0 && w->len <= PATH_MAX_LEN;
}

static void
check_field(const struct manifest *m, size_t i, struct diag *diag)
{
	static const char *list[MANIFEST_N];
	const struct field *f = &m->field[i];
	enum manifest_kind kind = manifest_field(&f->name);
	const char *near;
	size_t k;

	if (kind == MANIFEST_NONE) {
		for (k = 1; k < MANIFEST_N; k++)
			list[k] = fields[k].name;
		near = f->name.quoted ? NULL : diag_near(f->name.text, list, MANIFEST_N);
		if (near != NULL)
			diag_error(
			    diag, f->name.at, "unknown field; did you mean `%s`?", near);
		else
			diag_error(diag, f->name.at, "unknown field of a secret");
		return;
	}
	for (k = 0; k < i; k++)
		if (manifest_field(&m->field[k].name) == kind)
			diag_error(diag, f->name.at, "`%s` stands here twice",
			    fields[kind].name);
	if (f->word_n == 0 || !fields[kind].good(f->word, f->word_n))
		diag_error(diag, f->word_n > 0 ? f->word[0].at : f->name.at,
		    "`%s` takes %s", fields[kind].name, fields[kind].takes);
}

void
manifest_check(struct tree *t, struct diag *diag)
{
	const struct manifest *m;
	size_t i, k;

	diag->hide_line = true;
	for (i = 0; i < t->manifest_n; i++) {
		m = &t->manifest[i];
		if (!secret_path_is_good(&m->path))
			diag_error(diag, m->path.at,
			    "a secret's path is names with `/` between them, "
			    "as in team/github/token");
		for (k = 0; k < i; k++)
			if (strcmp(t->manifest[k].path.text, m->path.text) == 0) {
				diag_error(diag, m->path.at,
				    "this secret stands twice; the first is on line %u",
				    t->manifest[k].path.at.line);
				break;
			}
		for (k = 0; k < m->field_n; k++)
			check_field(m, k, diag);
	}
	diag->hide_line = false;
}
