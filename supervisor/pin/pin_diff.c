/*
 * kennel server pin --diff: how a server's definitions differ from the reviewed ones,
 * member by member.
 *
 * Process: kennel. Trusts nothing but the pins; what it prints of both is escaped
 * (page.c).
 */
#include <stdio.h>
#include <string.h>

#include "supervisor/base/pager.h"
#include "supervisor/pin/page.h"
#include "supervisor/pin/private.h"

#define INDENT   4
#define AROUND   48  /* bytes shown before and after a change of a text */
#define PATH_LEN 512 /* bytes of a JSON pointer; a longer one is cut */

/* ---- pins and rows ---------------------------------------------------------------- */

static bool
is_pin(const struct policy_found *f, const struct sealed_pin *pin, const struct row *row,
    bool body)
{
	const struct policy *policy = &f->policy;
	char text[MCP_NAME_MAX];
	struct json name = {row->name.data, row->name.len, JSON_IS_STRING};
	size_t len;

	if (pin->kind != (uint32_t)row->kind ||
	    json_text(name, text, sizeof(text), &len) < 0 || pin->name.len != len ||
	    memcmp(policy_str(policy, pin->name), text, len) != 0)
		return false;
	return !body || (pin->body.len == row->body.len &&
			    memcmp(policy_str(policy, pin->body), row->body.data,
				row->body.len) == 0);
}

/* body: the pin that equals the row; otherwise the one that it is to be compared with,
 * which the server sent to the same client capabilities if there is one. */
static const struct sealed_pin *
pin_of(const struct policy_found *f, const struct row *row, bool body)
{
	const struct sealed_range *range = &f->server->pins;
	const struct sealed_pin *found = NULL;

	for (uint32_t i = 0; i < range->n; i++) {
		const struct sealed_pin *pin = &f->policy.pin[range->first + i];

		if (is_pin(f, pin, row, body) &&
		    (found == NULL ||
			strcmp(policy_str(&f->policy, pin->variant), row->variant) == 0))
			found = pin;
	}
	return found;
}

/* ---- members ----------------------------------------------------------------------- */

struct comparing {
	struct page page;
	struct buf was, is; /* decoded texts */
	char path[PATH_LEN];
};

static void
put_member(struct comparing *c, enum page_style style, struct json value)
{
	page_to(&c->page, INDENT);
	page_puts(&c->page, INDENT, style, style == PAGE_OLD ? "- " : "+ ");
	page_puts(&c->page, INDENT + 2, PAGE_PLAIN, c->path);
	page_puts(&c->page, INDENT + 2, PAGE_PLAIN, c->path[0] != '\0' ? ": " : "");
	page_json(&c->page, INDENT + 2, style, value);
	page_line(&c->page);
}

static bool
decode(struct json value, struct buf *out)
{
	size_t len;

	buf_clear(out);
	if (value.type != JSON_IS_STRING || buf_reserve(out, value.len) < 0 ||
	    json_text(value, (char *)out->data, out->cap, &len) < 0)
		return false;
	out->len = len;
	return true;
}

static bool
is_blank(uint8_t c)
{
	return c == ' ' || c == '\n';
}

/* The first byte of the word that differs; the bytes from the end that do not. */
static size_t
same_before(const struct buf *a, const struct buf *b)
{
	size_t n = 0;

	while (n < a->len && n < b->len && a->data[n] == b->data[n])
		n++;
	while (n > 0 && !is_blank(a->data[n - 1]))
		n--;
	return n;
}

static size_t
same_after(const struct buf *a, const struct buf *b, size_t before)
{
	size_t most = (a->len < b->len ? a->len : b->len) - before, n = 0;

	while (n < most && a->data[a->len - 1 - n] == b->data[b->len - 1 - n])
		n++;
	while (n > 0 && !is_blank(a->data[a->len - n]))
		n--;
	return n;
}

/* Moves back to the beginning of a character. */
static size_t
at_character(const struct buf *b, size_t i)
{
	while (i > 0 && i < b->len && (b->data[i] & 0xc0) == 0x80)
		i--;
	return i;
}

/* The words that differ, between the ones around them. */
static void
put_text(struct comparing *c, enum page_style style, const struct buf *b, size_t before,
    size_t after)
{
	struct page *p = &c->page;
	size_t from = at_character(b, before > AROUND ? before - AROUND : 0);
	size_t end = b->len - after;
	size_t to = at_character(b, after > AROUND ? end + AROUND : b->len);
	const char *text = (const char *)b->data;

	page_to(p, INDENT + 2);
	page_puts(p, INDENT + 4, style, style == PAGE_OLD ? "- " : "+ ");
	page_puts(p, INDENT + 4, PAGE_PLAIN, from > 0 ? "..." : "");
	page_put(p, INDENT + 4, PAGE_PLAIN, text + from, before - from);
	page_puts(p, INDENT + 4, style, style == PAGE_OLD ? "[-" : "{+");
	page_put(p, INDENT + 4, style, text + before, end - before);
	page_puts(p, INDENT + 4, style, style == PAGE_OLD ? "-]" : "+}");
	page_put(p, INDENT + 4, PAGE_PLAIN, text + end, to - end);
	page_puts(p, INDENT + 4, PAGE_PLAIN, to < b->len ? "..." : "");
	page_line(p);
}

static void
put_change(struct comparing *c, struct json was, struct json is)
{
	size_t before, after;

	if (!decode(was, &c->was) || !decode(is, &c->is)) {
		put_member(c, PAGE_OLD, was);
		put_member(c, PAGE_NEW, is);
		return;
	}
	before = same_before(&c->was, &c->is);
	after = same_after(&c->was, &c->is, before);
	page_to(&c->page, INDENT);
	page_puts(&c->page, INDENT, PAGE_PLAIN, c->path[0] != '\0' ? c->path : "text");
	page_line(&c->page);
	put_text(c, PAGE_OLD, &c->was, before, after);
	put_text(c, PAGE_NEW, &c->is, before, after);
}

static bool
is_equal(struct json a, struct json b)
{
	return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

/* Both are in canonical form: a key is the same bytes in both. */
static struct json
member(struct json object, struct json key)
{
	struct json k, value;
	struct json_walk w;

	json_walk(&w, object);
	while (json_next(&w, &k, &value))
		if (is_equal(k, key))
			return value;
	return (struct json){0};
}

static void compare(struct comparing *, struct json was, struct json is);

/* old: the members of a that b lacks; otherwise also those that differ. */
static void
/* NOLINTNEXTLINE(misc-no-recursion): as deep as a message, MCP_DEPTH_MAX */
compare_members(struct comparing *c, struct json a, struct json b, bool old)
{
	struct json key, value, other;
	struct json_walk w;
	size_t path = strlen(c->path);

	json_walk(&w, a);
	while (json_next(&w, &key, &value)) {
		(void)snprintf(c->path + path, sizeof(c->path) - path, "/%.*s",
		    (int)(key.len - 2), (const char *)key.at + 1); /* may be cut */
		other = member(b, key);
		if (other.type == JSON_IS_NONE)
			put_member(c, old ? PAGE_OLD : PAGE_NEW, value);
		else if (old)
			compare(c, value, other);
		c->path[path] = '\0';
	}
}

/* The depth is that of a message, which the scanner has checked. */
static void
/* NOLINTNEXTLINE(misc-no-recursion): as deep as a message, MCP_DEPTH_MAX */
compare(struct comparing *c, struct json was, struct json is)
{
	if (is_equal(was, is))
		return;
	if (was.type != JSON_IS_OBJECT || is.type != JSON_IS_OBJECT) {
		put_change(c, was, is);
		return;
	}
	compare_members(c, was, is, true);
	compare_members(c, is, was, false);
}

/* ---- definitions -------------------------------------------------------------------- */

static void
put_head(struct comparing *c, const char *what, enum sealed_pin_kind kind,
    const void *name, size_t len)
{
	page_puts(&c->page, 0, PAGE_NAME, what);
	page_puts(&c->page, 0, PAGE_NAME, " ");
	page_puts(&c->page, 0, PAGE_NAME, pin_kind_word(kind));
	if (len > 0)
		page_puts(&c->page, 0, PAGE_NAME, " ");
	page_put(&c->page, 0, PAGE_NAME, name, len);
	page_line(&c->page);
}

static void
put_row(struct comparing *c, const struct policy_found *f, const struct row *row)
{
	const struct sealed_pin *pin = pin_of(f, row, false);
	struct json is = pin_value(row->body.data, row->body.len);
	const struct json name = {row->name.data, row->name.len, JSON_IS_STRING};

	if (!decode(name, &c->is))
		buf_clear(&c->is);
	put_head(c, pin != NULL ? "changed" : "new", row->kind, c->is.data, c->is.len);
	c->path[0] = '\0';
	if (pin != NULL)
		compare(
		    c, pin_value(policy_str(&f->policy, pin->body), pin->body.len), is);
	else if (is.type == JSON_IS_OBJECT)
		compare_members(c, is, (struct json){0}, false);
	else
		put_member(c, PAGE_NEW, is);
}

size_t
pin_diff(const struct policy_found *f, const struct row *row, size_t row_n, bool paged)
{
	const struct sealed_range *range = &f->server->pins;
	struct comparing c = {.path = ""};
	size_t n = 0;

	if (paged)
		pager_start();
	page_begin(&c.page);
	buf_init(&c.was, MCP_MESSAGE_MAX);
	buf_init(&c.is, MCP_MESSAGE_MAX);
	for (size_t i = 0; i < row_n; i++) {
		if (pin_of(f, &row[i], true) != NULL)
			continue;
		n++;
		put_row(&c, f, &row[i]);
	}
	for (uint32_t i = 0; i < range->n; i++) {
		const struct sealed_pin *pin = &f->policy.pin[range->first + i];
		size_t at = 0;

		while (at < row_n && !is_pin(f, pin, &row[at], false))
			at++;
		if (at < row_n)
			continue;
		n++;
		put_head(&c, "gone", (enum sealed_pin_kind)pin->kind,
		    policy_str(&f->policy, pin->name), pin->name.len);
	}
	buf_free(&c.was);
	buf_free(&c.is);
	page_free(&c.page);
	return n;
}
