/*
 * What a server asks of a person, as the agent gets it: with the server's name. A client
 * shows the text as one of kennel's, so a text that has no place for a name, or that could
 * be read as another server's, does not pass.
 *
 *	message, title, description	"[SERVER] " on each line
 *	systemPrompt			a first line that names the server
 *	url				https, without user info
 *	includeContext			this server's, or none
 *	keys, choices, defaults		as they are; no line has a bracket before its first
 *					letter or digit
 *
 * Trusts nothing of the request.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/sealed/sealed.h"
#include "shim/base/array.h"
#include "shim/base/utf8.h"
#include "shim/host/codepoint.h"
#include "supervisor/serve/asked/asked_text.h"

#define FORM_DEPTH_MAX 16 /* of a requested schema; the specification's has 3 */

/* False for an item of an array. */
static bool
key_is_in(struct json key, const char *const *names, size_t n)
{
	for (size_t i = 0; key.type != JSON_IS_NONE && i < n; i++)
		if (json_key_is(key, names[i]) == 1)
			return true;
	return false;
}

/* The text of a JSON string; "": it has no plain text, or the value is another type. */
static void
text_put(struct json value, char *out, size_t cap)
{
	size_t len;

	if (json_text(value, out, cap, &len) < 0)
		out[0] = '\0';
}

/* ---- a text ---------------------------------------------------------------------- */

/* "[SERVER] ", of the text that also has its quotation mark. */
static const char *
tag_of(const struct task_texts *texts)
{
	return texts->asks + 1;
}

static bool
is_break(uint32_t c)
{
	return (c >= '\n' && c <= '\r') || c == 0x85 || c == 0x2028 || c == 0x2029;
}

/* Moves the cursor, or makes what is before it read otherwise. */
static bool
is_effect(uint32_t c)
{
	enum codepoint_class is = codepoint_class(c);

	return c != '\t' && (is == CODEPOINT_CONTROL || is == CODEPOINT_ESCAPE ||
				is == CODEPOINT_BIDI || is == CODEPOINT_TAG);
}

static bool
is_blank(uint32_t c)
{
	enum codepoint_class is = codepoint_class(c);

	return c == ' ' || c == '\t' || is == CODEPOINT_SPACE ||
	       is == CODEPOINT_ZERO_WIDTH;
}

/* Text without effects on a terminal; each line that has some begins with the tag, if
 * there is one. Blanks and line ends at both ends are left out. */
static int
put_lines(struct buf *out, const char *text, size_t len, const char *tag)
{
	const char *p = text, *end = text + len, *at;
	size_t breaks = 0, written = 0;
	int r = buf_puts(out, tag);

	while (r == 0 && (at = p) < end) {
		uint32_t c = utf8_take(&p, end);

		if (c == '\r' && p < end && *p == '\n')
			p++;
		if (is_break(c))
			breaks += written > 0;
		else if (!is_effect(c) && (written > 0 || !is_blank(c))) {
			for (; r == 0 && breaks > 0; breaks--) {
				r = buf_putc(out, '\n');
				if (r == 0 && breaks == 1)
					r = buf_puts(out, tag);
			}
			if (r == 0)
				r = buf_put(out, at, (size_t)(p - at));
			written++;
		}
	}
	return r;
}

/* Replaces the text of a member. first: a line before it, or "". */
static void
edit_text(struct edits *e, struct json value, const char *first, const char *tag)
{
	char *text = malloc(value.len + 1);
	struct buf lines, quoted;
	size_t len;
	int r = text == NULL ? -ENOMEM : json_text(value, text, value.len + 1, &len);

	buf_init(&lines, MCP_MESSAGE_MAX);
	buf_init(&quoted, (size_t)2 * MCP_MESSAGE_MAX);
	if (r == 0)
		r = buf_puts(&lines, first);
	if (r == 0)
		r = put_lines(&lines, text, len, tag);
	if (r == 0)
		r = json_quote(&quoted, buf_str(&lines), lines.len);
	if (r == 0)
		edit_take(e, value.at, value.len, &quoted);
	else
		edit_refuse(e, r == -ENOMEM || r == -EMSGSIZE
				   ? "a text that a person would read is too long"
				   : "a text that a person would read is not plain text");
	buf_free(&quoted);
	buf_free(&lines);
	free(text);
}

void
asked_name(struct edits *e, struct json value, const struct task_texts *texts)
{
	if (value.type == JSON_IS_STRING)
		edit_text(e, value, "", tag_of(texts));
}

/* ---- a form ---------------------------------------------------------------------- */

struct range {
	uint32_t first, last;
};

static bool
is_in(uint32_t c, const struct range *range, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (c >= range[i].first && c <= range[i].last)
			return true;
	return false;
}

/*
 * Could it be read as the bracket of a name? Outside of ASCII: all punctuation of Unicode that
 * opens, closes or quotes (Ps, Pe, Pi, Pf; 15.0), parts of brackets, frames and square
 * signs. Of ASCII only "[": a choice may be "(none)".
 */
static bool
is_bracket(uint32_t c)
{
	static const struct range range[] = {{'[', '['}, {0xab, 0xab}, {0xbb, 0xbb},
	    {0xf3a, 0xf3d}, {0x169b, 0x169c}, {0x2018, 0x201f}, {0x2039, 0x203a},
	    {0x2045, 0x2046}, {0x207d, 0x207e}, {0x208d, 0x208e}, {0x228f, 0x2292},
	    {0x2308, 0x230b}, {0x2329, 0x232a}, {0x239b, 0x23b5}, {0x2500, 0x257f},
	    {0x2768, 0x2775}, {0x27c5, 0x27c6}, {0x27e6, 0x27ef}, {0x2983, 0x2998},
	    {0x29d8, 0x29db}, {0x29fc, 0x29fd}, {0x2e02, 0x2e05}, {0x2e09, 0x2e0a},
	    {0x2e0c, 0x2e0d}, {0x2e1c, 0x2e1d}, {0x2e20, 0x2e29}, {0x2e42, 0x2e42},
	    {0x2e55, 0x2e5c}, {0x3008, 0x3011}, {0x3014, 0x301b}, {0x301d, 0x301f},
	    {0xfd3e, 0xfd3f}, {0xfe17, 0xfe18}, {0xfe35, 0xfe44}, {0xfe47, 0xfe48},
	    {0xfe59, 0xfe5e}, {0xff08, 0xff09}, {0xff3b, 0xff3b}, {0xff3d, 0xff3d},
	    {0xff5b, 0xff5b}, {0xff5d, 0xff5d}, {0xff5f, 0xff60}, {0xff62, 0xff63}};
	char memory[2];
	const char *like = codepoint_ascii(c, memory);

	return is_in(c, range, ARRAY_LEN(range)) || (like != NULL && like[0] == '[');
}

/* Can a line before a name have it? All but letters and digits, by blocks. */
static bool
is_before(uint32_t c)
{
	static const struct range range[] = {{0, '0' - 1}, {'9' + 1, 'A' - 1},
	    {'Z' + 1, 'a' - 1}, {'z' + 1, 0xa9}, {0xab, 0xb4}, {0xb6, 0xb9}, {0xbb, 0xbf},
	    {0xd7, 0xd7}, {0xf7, 0xf7}, {0x2b0, 0x36f}, {0x483, 0x489}, {0x1ab0, 0x1aff},
	    {0x1dc0, 0x1dff}, {0x2000, 0x2070}, {0x2074, 0x207e}, {0x20a0, 0x2bff},
	    {0x2e00, 0x2e7f}, {0x3000, 0x303f}, {0xe000, 0xf8ff}, {0xfe00, 0xfe6f},
	    {0xff00, 0xff0f}, {0xff1a, 0xff20}, {0xff3b, 0xff40}, {0xff5b, 0xff65},
	    {0xffe0, 0xffff}, {0x1f000, 0x1faff}, {0xe0000, 0x10ffff}};

	return is_in(c, range, ARRAY_LEN(range)) || codepoint_class(c) != CODEPOINT_PLAIN;
}

/* What has no place for a name: it must not look as if it had one. */
static bool
is_nameless(struct json value)
{
	char *text = malloc(value.len + 1);
	const char *p = text, *end;
	bool begins = true, fits;
	size_t len = 0;

	fits = text != NULL && json_text(value, text, value.len + 1, &len) == 0;
	end = text + len;
	while (fits && p < end) {
		uint32_t c = utf8_take(&p, end);

		fits = c == '\n' ||
		       !(is_effect(c) || is_break(c) || (begins && is_bracket(c)));
		begins = is_break(c) || (begins && is_before(c));
	}
	free(text);
	return fits;
}

static void
name_member(struct edits *e, struct json key, struct json value, bool labels,
    const struct task_texts *texts)
{
	static const char *const shown[] = {"title", "description"};
	static const char *const unseen[] = {"pattern"};

	if (key.type != JSON_IS_NONE && !is_nameless(key))
		edit_refuse(e, "a field has a name that could be read as another's");
	if (value.type != JSON_IS_STRING)
		return;
	if (labels || key_is_in(key, shown, ARRAY_LEN(shown)))
		asked_name(e, value, texts);
	else if (!key_is_in(key, unseen, ARRAY_LEN(unseen)) && !is_nameless(value))
		edit_refuse(e, "a choice or a default could be read as another's text");
}

/* The form, and what else a client may show of the request. */
static void
name_form(struct edits *e, struct json params, const struct task_texts *texts)
{
	static const char *const other[] = {
	    "message", "url", "mode", "elicitationId", "_meta", "task"};
	static const char *const lists[] = {"enumNames"};
	struct json_walk walk[FORM_DEPTH_MAX];
	bool labels[FORM_DEPTH_MAX] = {false};
	struct json key, value;
	int at = 0;

	json_walk(&walk[0], params);
	while (at >= 0 && e->wrong == NULL) {
		if (!json_next(&walk[at], &key, &value)) {
			at--;
			continue;
		}
		if (at == 0 && key_is_in(key, other, ARRAY_LEN(other)))
			continue;
		name_member(e, key, value, labels[at], texts);
		if (value.type != JSON_IS_OBJECT && value.type != JSON_IS_ARRAY)
			continue;
		if (++at == FORM_DEPTH_MAX) {
			edit_refuse(e, "the form is nested too deeply");
			return;
		}
		json_walk(&walk[at], value);
		labels[at] = key_is_in(key, lists, ARRAY_LEN(lists));
	}
}

/* ---- an elicitation ---------------------------------------------------------------- */

/* A page that a person opens: https, and a host that is what it looks like. http is refused
 * for loopback too: the servers there are not in this server's cell, but the person's. */
static bool
is_page(struct json url)
{
	static const char https[] = "https://";
	char text[MCP_NAME_MAX];
	size_t n = sizeof(https) - 1, host;

	text_put(url, text, sizeof(text));
	if (strncmp(text, https, n) != 0)
		return false;
	for (const char *p = text; *p != '\0'; p++)
		if (*p <= ' ' || *p > '~' || strchr("\"<>\\^`{|}", *p) != NULL)
			return false;
	host = strcspn(text + n, "/?#");
	return host > 0 && memchr(text + n, '@', host) == NULL &&
	       memchr(text + n, '%', host) == NULL;
}

static void
name_elicitation(struct edits *e, struct json params, const struct task_texts *texts)
{
	struct json message, url, mode;
	bool form = true;
	char text[8];

	if (!edit_find(e, params, "message", &message) ||
	    message.type != JSON_IS_STRING) {
		edit_refuse(e, "the request has no text `message`");
		return;
	}
	asked_name(e, message, texts);
	if (edit_find(e, params, "mode", &mode)) {
		text_put(mode, text, sizeof(text));
		form = strcmp(text, "form") == 0;
		if (!form && strcmp(text, "url") != 0)
			edit_refuse(e, "`mode` is neither form nor url");
	}
	if (edit_find(e, params, "url", &url) ? !is_page(url) : !form)
		edit_refuse(e, "`url` is not https, or has user info");
	name_form(e, params, texts);
	prefix_id(e, texts, params, "elicitationId");
}

/* ---- a sampling request -------------------------------------------------------------- */

static void
name_sampling(struct edits *e, struct json params, const struct task_texts *texts)
{
	static const char own[] = "\"thisServer\"", none[] = "\"none\"";
	struct json prompt, scope, key, value;
	char first[LAUNCHER_NAME_MAX * 2 + 128], text[16];
	struct json_walk w;
	struct buf insert;

	(void)snprintf(first, sizeof(first),
	    "%sThis request, with all of its text, is of the MCP server %.*s.\n",
	    tag_of(texts), (int)strlen(texts->prefix) - 2, texts->prefix + 1); /* fits */
	if (edit_find(e, params, "systemPrompt", &prompt)) {
		if (prompt.type == JSON_IS_STRING)
			edit_text(e, prompt, first, "");
		else
			edit_refuse(e, "`systemPrompt` is not a text");
	} else {
		first[strlen(first) - 1] = '\0';
		json_walk(&w, params);
		buf_init(&insert, 1024);
		(void)buf_printf(&insert, "{\"systemPrompt\":\"%s\"%s", first,
		    json_next(&w, &key, &value) ? "," : ""); /* fits */
		edit_take(e, params.at, 1, &insert);
	}
	if (!edit_find(e, params, "includeContext", &scope))
		return;
	text_put(scope, text, sizeof(text));
	if (strcmp(text, "allServers") == 0)
		edit_put(e, scope.at, scope.len, own, strlen(own));
	else if (strcmp(text, "thisServer") != 0 && strcmp(text, "none") != 0)
		edit_put(e, scope.at, scope.len, none, strlen(none));
}

/* ---- a request ------------------------------------------------------------------------ */

void
asked_request(struct edits *e, const struct method *method, struct json params,
    const struct task_texts *texts)
{
	uint32_t needs = method == NULL ? 0 : method->needs;

	if (needs != SERVER_MCP_ROOTS && params.type != JSON_IS_OBJECT) {
		edit_refuse(e, "the request has no params");
		return;
	}
	if (needs == SERVER_MCP_ELICITATION)
		name_elicitation(e, params, texts);
	else if (needs == SERVER_MCP_SAMPLING)
		name_sampling(e, params, texts);
	else if (needs != SERVER_MCP_ROOTS) /* it has no text */
		edit_refuse(e, "the request has an unknown method");
	tasks_rename(e, params, texts);
}

void
asked_error(struct edits *e, struct json error, const struct task_texts *texts)
{
	struct json data, list, key, item;
	struct json_walk w;

	if (!edit_find(e, error, "data", &data) ||
	    !edit_find(e, data, "elicitations", &list) || list.type != JSON_IS_ARRAY)
		return;
	json_walk(&w, list);
	while (e->wrong == NULL && json_next(&w, &key, &item))
		if (item.type == JSON_IS_OBJECT) /* another has no text */
			name_elicitation(e, item, texts);
}

/* What this object asks for itself: a result, a status, or a task in it. */
static void
name_inputs(struct edits *e, struct json object, const struct task_texts *texts)
{
	struct json inputs, error, key, input, params = {0}, method = {0};
	char name[MCP_METHOD_MAX];
	struct json_walk w;

	if (edit_find(e, object, "error", &error))
		asked_error(e, error, texts);
	if (!edit_find(e, object, "inputRequests", &inputs) ||
	    inputs.type != JSON_IS_OBJECT)
		return;
	json_walk(&w, inputs);
	while (e->wrong == NULL && json_next(&w, &key, &input)) {
		if (input.type != JSON_IS_OBJECT)
			continue; /* it has no text */
		if (!edit_find(e, input, "params", &params))
			params = (struct json){0};
		if (!edit_find(e, input, "method", &method))
			method = (struct json){0};
		text_put(method, name, sizeof(name));
		asked_request(e, method_find(name, strlen(name)), params, texts);
	}
}

void
asked_inputs(struct edits *e, struct json object, const struct task_texts *texts)
{
	struct json task;

	name_inputs(e, object, texts);
	if (edit_find(e, object, "task", &task))
		name_inputs(e, task, texts);
}
