/*
 * Markup that pretends to be of the system, names of files with credentials, and URLs that
 * carry a credential or collect data.
 */
#include <stdio.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/lint/private.h"

#define CLOSED_MAX (16u << 10) /* bytes between a tag and its end */

/* A cursor on the folded text: what it holds is in lower case. */
struct at {
	const char *p, *end;
};

static bool
starts(struct at a, const char *text)
{
	size_t n = strlen(text);

	return (size_t)(a.end - a.p) >= n && memcmp(a.p, text, n) == 0;
}

static bool
is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
	       (unsigned char)c == 0x80;
}

static bool
is_in(const char *text, size_t len, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(list[i]) == len && memcmp(list[i], text, len) == 0)
			return true;
	return false;
}

static size_t
span(struct at a, const char *set)
{
	size_t n = 0;

	while (a.p + n < a.end && a.p[n] != '\0' && strchr(set, a.p[n]) != NULL)
		n++;
	return n;
}

/* ---- markup ---------------------------------------------------------------------- */

#define NAME "abcdefghijklmnopqrstuvwxyz0123456789_-"

/* No placeholder has these names. */
static const char *const pretends[] = {"important", "system", "system-reminder",
    "system_prompt", "system-prompt", "systemprompt", "instruction", "instructions",
    "secret", "secrets", "hidden", "critical", "urgent", "admin", "developer", "override",
    "assistant", "human", "internal", "mandatory", "directive", "directives", "reminder",
    "function_calls", "tool_call", "tool_calls", "tool_use", "tool_result", "thinking",
    "think", "rules", "security", "agent", "agent_instructions", "attention", "prompt"};
/* These are placeholders too, as in https://github.com/<user>: a pair of tags counts. */
static const char *const may_pretend[] = {"user", "tool", "tools", "context", "note",
    "warning", "info", "info_for_model", "policy", "task", "command", "message", "data"};

static const struct beginning {
	const char *text, *reason;
} beginnings[] = {
    {"<!--", "a comment of HTML is not shown"},
    {"<|im_start|>", "the beginning of a message of a model's own format"},
    {"<|im_end|>", "the end of one"},
    {"<|system|>", "a mark of a model's own format"},
    {"<|endoftext|>", "a mark of a model's own format"},
    {"[inst]", "a mark of a model's own format"},
    {"[/inst]", "a mark of a model's own format"},
    {"<<sys>>", "a mark of a model's own format"},
    {"[system]", "a heading in the system's name"},
    {"[important]", "a heading in the system's name"},
    {"### system:", "a heading in the system's name"},
    {"### instruction:", "a heading in the system's name"},
    {"\nsystem:", "a heading in the system's name"},
    {"\nassistant:", "a heading in the system's name"},
};

/* The end of this tag is near, after it. */
static bool
is_closed(struct at a, const char *name, size_t len)
{
	char end[64];
	size_t left = (size_t)(a.end - a.p);
	int n = snprintf(end, sizeof(end), "</%.*s>", (int)len, name);

	return n > 0 && (size_t)n < sizeof(end) &&
	       memmem(a.p, left < CLOSED_MAX ? left : CLOSED_MAX, end, (size_t)n) != NULL;
}

/* The tag was written in capitals. */
static bool
is_capitals(const struct lint_text *t, struct at a, size_t len)
{
	size_t letters = 0;

	for (size_t i = 0; i < len; i++) {
		char c = t->at[t->map[a.p + i - t->folded]];

		if (c >= 'a' && c <= 'z')
			return false;
		letters += c >= 'A' && c <= 'Z';
	}
	return letters >= 3;
}

/* a is at a '<': the length of a tag that pretends, or 0. */
static size_t
pretending_tag(const struct lint_text *t, struct at a)
{
	struct at name = {a.p + 1, a.end}, after;
	size_t len, blank;

	if (starts(name, "/"))
		return 0; /* its beginning counts */
	name.p += span(name, " ");
	len = span(name, NAME);
	after = (struct at){name.p + len, a.end};
	blank = span(after, " /");
	if (len == 0 || after.p + blank >= a.end)
		return 0;
	if (after.p[blank] != '>' && (blank == 0 || !is_closed(after, name.p, len)))
		return 0;
	after.p += blank;
	if (is_in(name.p, len, pretends, ARRAY_LEN(pretends)) ||
	    ((is_capitals(t, name, len) ||
		 is_in(name.p, len, may_pretend, ARRAY_LEN(may_pretend))) &&
		is_closed(after, name.p, len)))
		return (size_t)(after.p + (*after.p == '>') - a.p);
	return 0;
}

static size_t
markup(const struct lint_text *t, struct at a)
{
	if (strchr("<[#\n", *a.p) == NULL)
		return 0;
	/* an index, as in array[system] */
	if (*a.p == '[' && a.p > t->folded && is_letter(a.p[-1]))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(beginnings); i++)
		if (starts(a, beginnings[i].text))
			return strlen(beginnings[i].text);
	return *a.p == '<' ? pretending_tag(t, a) : 0;
}

/* ---- files ------------------------------------------------------------------------ */

static const struct file {
	const char *name, *reason;
} files[] = {
    {"~/.ssh", "keys"},
    {".ssh/", "keys"},
    {"id_rsa", "a key"},
    {"id_ed25519", "a key"},
    {"id_ecdsa", "a key"},
    {"authorized_keys", "who may log in"},
    {".gnupg", "keys"},
    {".aws/credentials", "credentials"},
    {".git-credentials", "credentials"},
    {".netrc", "credentials"},
    {".pgpass", "credentials"},
    {".docker/config.json", "credentials"},
    {".npmrc", "credentials"},
    {".pypirc", "credentials"},
    {".env", "secrets of a project"},
    {"/etc/passwd", "the users"},
    {"/etc/shadow", "their passwords"},
    {"/proc/self/environ", "the environment"},
    {".bash_history", "what the user has typed"},
    {".zsh_history", "what the user has typed"},
    {"mcp.json", "the servers, and often their secrets"},
    {"mcp_config.json", "the servers, and often their secrets"},
    {"claude_desktop_config.json", "the servers, and often their secrets"},
    {".claude.json", "the servers, and often their secrets"},
    {".cursor/", "the servers, and often their secrets"},
    {"login.keychain", "passwords"},
};

/* A name of a file, alone or at the end of a path. */
static size_t
file(struct at a, const struct lint_text *t)
{
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		const char *name = files[i].name;
		size_t n = strlen(name);

		if (!starts(a, name))
			continue;
		if (a.p > t->folded && (is_letter(a.p[-1]) || a.p[-1] == '.' ||
					   (a.p[-1] == '-' && name[0] != '.')))
			continue;
		/* ".env" is not the beginning of another word, or ".env.example" */
		if (name[n - 1] != '/' && a.p + n < a.end &&
		    (is_letter(a.p[n]) || a.p[n] == '-' ||
			(a.p[n] == '.' && a.p + n + 1 < a.end && is_letter(a.p[n + 1]))))
			continue;
		return n;
	}
	return 0;
}

/* ---- URLs ------------------------------------------------------------------------- */

#define URL_MAX 4096 /* bytes of one that are checked */
#define URL_END " \t\r\n\"'`<>)]}|\\,"

static const char *const schemes[] = {"http://", "https://", "ftp://", "ws://", "wss://"};
/* Hosts that show their owner every request. */
static const char *const collectors[] = {"webhook.site", "requestbin", "pipedream.net",
    "burpcollaborator", "oastify.com", "interact.sh", "beeceptor.com", "hookb.in",
    "dnslog.cn", "ngrok.io", "ngrok-free.app", "requestcatcher.com", "trycloudflare.com"};
/* Parameters of a URL that the model is to fill in with what it knows. */
static const char *const carriers[] = {"data", "payload", "content", "secret", "secrets",
    "token", "exfil", "leak", "conversation", "history", "context", "env", "cookie",
    "cookies", "password", "credentials", "stolen", "d", "info", "memory", "key",
    "apikey", "api_key", "prompt"};
static const char *const examples[] = {"password", "pass", "passwd", "pwd", "secret",
    "token", "xxx", "xxxx", "your_password", "mypassword", "userpass", "pw"};

/* userinfo with a password that is no example. */
static bool
has_password(struct at host)
{
	const char *at = memchr(host.p, '@', (size_t)(host.end - host.p));
	const char *colon =
	    at == NULL ? NULL : memchr(host.p, ':', (size_t)(at - host.p));

	return colon != NULL && at - colon > 1 && strchr("{$[%*.", colon[1]) == NULL &&
	       !is_in(colon + 1, (size_t)(at - colon - 1), examples, ARRAY_LEN(examples));
}

static bool
has_collector(struct at host)
{
	for (size_t i = 0; i < ARRAY_LEN(collectors); i++)
		if (memmem(host.p, (size_t)(host.end - host.p), collectors[i],
			strlen(collectors[i])) != NULL)
			return true;
	return false;
}

/* A parameter whose value is to be filled in: "?data={", "&secret=<", "?token=" at the
 * end. */
static bool
has_carrier(struct at url, const char *text_end)
{
	const char *p = memchr(url.p, '?', (size_t)(url.end - url.p));

	while (p != NULL && p + 1 < url.end) {
		struct at name = {p + 1, url.end};
		size_t n = span(name, NAME);
		const char *value = name.p + n + 1;

		if (name.p + n < url.end && name.p[n] == '=' &&
		    is_in(name.p, n, carriers, ARRAY_LEN(carriers)) &&
		    (value >= url.end
			    ? value >= text_end || strchr("<{[ ", *value) != NULL
			    : strchr("{<[$%", *value) != NULL))
			return true;
		p = memchr(name.p, '&', (size_t)(url.end - name.p));
	}
	return false;
}

static size_t
url(struct at a)
{
	struct at u = a, host;

	if (*a.p != 'h' && *a.p != 'f' && *a.p != 'w')
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
		if (starts(a, schemes[i]))
			u.p = a.p + strlen(schemes[i]);
	if (u.p == a.p)
		return 0;
	for (u.end = u.p; u.end < a.end && u.end - u.p < URL_MAX && *u.end != '\0' &&
			  strchr(URL_END, *u.end) == NULL;)
		u.end++;
	host = u;
	for (host.end = host.p; host.end < u.end && strchr("/?#", *host.end) == NULL;)
		host.end++;
	if (has_password(host) || has_collector(host) || has_carrier(u, a.end))
		return (size_t)(u.end - a.p);
	return 0;
}

/* ---- all of them ------------------------------------------------------------------- */

void
lint_marks(struct lint *l, const struct lint_text *t)
{
	struct at a = {t->folded, t->folded + t->folded_len};

	for (; a.p < a.end; a.p++) {
		const size_t len[] = {markup(t, a), file(a, t), url(a)};
		static const enum lint_rule rule[] = {LINT_MARKUP, LINT_FILE, LINT_URL};
		size_t from = (size_t)(a.p - t->folded);

		for (size_t i = 0; i < ARRAY_LEN(len); i++)
			if (len[i] > 0)
				lint_hit(l, rule[i], t, from, from + len[i]);
	}
}
