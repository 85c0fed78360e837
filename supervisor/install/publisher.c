/*
 * What the registry says of a package, and names that are close to it.
 *
 * Process: kennel, as the calling user. npm asks the registry in its cell; its answer is
 * text of anyone, and is shown printable.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/help/near_word.h"
#include "supervisor/base/paths.h"
#include "supervisor/draft/npm_package.h"
#include "supervisor/draft/preset.h"
#include "supervisor/draft/script.h"
#include "supervisor/install/installer.h"
#include "supervisor/json/json.h"
#include "supervisor/launch/find/policy_files.h"

#define POLICY_MAX         (1u << 20)
#define SHORT_NAME         8 /* characters: below, one typing error makes a name close */
#define SECONDS_DAY        86400
#define PUBLISHER_LINE_MAX 512
#define TEXT_MAX           128

/* ---- what the registry says ---------------------------------------------------------- */

/* A text member, printable; "" if it is missing. */
static void
text_of(struct json object, const char *key, char ret[4 * TEXT_MAX])
{
	char text[TEXT_MAX];
	struct json value;
	size_t len;

	ret[0] = '\0';
	if (json_get(object, key, &value) == 0 &&
	    json_text(value, text, sizeof(text), &len) == 0)
		(void)log_quote(
		    ret, (size_t)4 * TEXT_MAX, text, len); /* cut, not wrong */
}

/* npm prints the publisher as "NAME <MAIL>", or as an object. */
static void
publisher_of(struct json said, char ret[4 * TEXT_MAX])
{
	struct json user;

	text_of(said, "_npmUser", ret);
	if (ret[0] == '\0' && json_get(said, "_npmUser", &user) == 0)
		text_of(user, "name", ret);
	ret[strcspn(ret, "<")] = '\0';
	for (size_t n = strlen(ret); n > 0 && ret[n - 1] == ' '; n--)
		ret[n - 1] = '\0';
}

/* ", on DATE (N days ago)", from a time of RFC 3339; "" for another text. */
static void
put_age(const char *text, long now, char *out, size_t cap)
{
	struct tm tm = {.tm_sec = 0};
	const char *end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	long age = end == NULL ? -1 : (now - timegm(&tm)) / SECONDS_DAY;

	out[0] = '\0';
	if (end != NULL && age >= 0)
		(void)snprintf(out, cap, " on %.10s (%ld day%s ago)", text, age,
		    age == 1 ? "" : "s");
}

/* The line for what `npm view --json` printed; now: seconds of Unix time. */
static void
put_line(const char *output, const char *name, const char *version, long now,
    char ret[PUBLISHER_LINE_MAX])
{
	char who[4 * TEXT_MAX] = "", when[4 * TEXT_MAX] = "", key[TEXT_MAX], age[64];
	struct json attestations, provenance;
	struct json_message m;
	bool said =
	    output != NULL && json_scan((const uint8_t *)output, strlen(output), &m) == 0;

	if (!said) {
		(void)snprintf(ret, PUBLISHER_LINE_MAX,
		    "The registry does not say who published %s %s.", name, version);
		return;
	}
	publisher_of(m.root, who);
	(void)snprintf(key, sizeof(key), "time[%.100s]", version);
	text_of(m.root, key, when);
	put_age(when, now, age, sizeof(age));
	said = json_get(m.root, "dist.attestations", &attestations) == 0 &&
	       json_get(attestations, "provenance", &provenance) == 0;
	/* the names are at most 214 and 256 bytes; cut, not wrong */
	(void)snprintf(ret, PUBLISHER_LINE_MAX,
	    "%.200s %.60s was published%s%.120s%s, %s", name, version,
	    who[0] == '\0' ? "" : " by ", who, age,
	    said ? "with a provenance, which kennel does not check."
		 : "without a provenance.");
}

static char *
ask(const struct installer *in, const char *name, const char *version)
{
	char spec[300], key[TEXT_MAX];
	struct npm_words w = {.n = 0};
	char *output = NULL;

	(void)snprintf(spec, sizeof(spec), "%.214s@%.60s", name, version);
	(void)snprintf(key, sizeof(key), "time[%.100s]", version);
	npm_word(&w, "view");
	npm_word(&w, spec);
	npm_word(&w, "name");
	npm_word(&w, "_npmUser");
	npm_word(&w, "dist.attestations");
	npm_word(&w, key);
	npm_word(&w, "--json");
	npm_word(&w, "--loglevel");
	npm_word(&w, "silent");
	if (installer_npm(in, CELL_INSTALL, &w, &output) == 0)
		return output;
	free(output);
	return NULL;
}

/* ---- names --------------------------------------------------------------------------- */

/* A base that says what it is, and not whose. */
static bool
is_common(const char *base)
{
	static const char *const words[] = {
	    "mcp-server", "server-mcp", "mcp-servers", "modelcontextprotocol"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(base, words[i]) == 0)
			return true;
	return strlen(base) < SHORT_NAME;
}

/* May one name be taken for the other? Not if they are equal. */
static bool
is_close(const char *a, const char *b)
{
	const char *base = script_base(a), *other = script_base(b);
	size_t scope = (size_t)(base - a), d;

	if (strcmp(a, b) == 0)
		return false;
	if (strcmp(base, other) == 0)
		return !is_common(base);
	if (scope != (size_t)(other - b) || strncmp(a, b, scope) != 0)
		return false;
	d = near_edits(base, other);
	return d > 0 && d <= (strlen(base) < SHORT_NAME ? 1u : 2u) && strlen(base) > 3;
}

struct close {
	const char *name;
	bool warned;
};

static void
compare(struct close *c, const char *name, const char *whose)
{
	if (c->warned || !is_close(c->name, name))
		return;
	c->warned = true;
	log_warn("the name %s is close to %s, %s: check that it is the package that you "
		 "mean",
	    c->name, name, whose);
}

/* Each package that a path in the policy names: .../node_modules/NAME or @SCOPE/NAME. */
static void
compare_text(struct close *c, const char *text, const char *whose)
{
	static const char dir[] = "/node_modules/";
	char name[256];

	for (const char *at = text; (at = strstr(at, dir)) != NULL;) {
		size_t n;

		at += sizeof(dir) - 1;
		n = strcspn(at, "/ \t\r\n\"");
		if (at[0] == '@' && at[n] == '/')
			n += 1 + strcspn(at + n + 1, "/ \t\r\n\"");
		if (n > 0 && n < sizeof(name)) {
			(void)snprintf(name, sizeof(name), "%.*s", (int)n, at);
			compare(c, name, whose);
		}
	}
}

static void
compare_policy(void *arg, const char *path, int fd)
{
	char *text = NULL;
	size_t len;

	(void)path;
	if (fd < 0 || fd_slurp(fd, POLICY_MAX, &text, &len) < 0)
		return; /* the start of its server says why */
	compare_text(arg, text, "which you have installed");
	free(text);
}

static bool
compare_preset(void *arg, const char *text)
{
	struct close *c = arg;

	compare_text(c, text, "for which kennel has a preset");
	return !c->warned;
}

void
publisher_tell(const struct installer *in, const char *name)
{
	static struct package package; /* large */
	char root[PATH_MAX], dir[PATH_MAX], line[PUBLISHER_LINE_MAX];
	struct close close_ = {.name = name};
	const char *config = paths_config_dir();
	char *output;

	(void)snprintf(root, sizeof(root), "%.3700s/tree/node_modules/%.255s",
	    in->staging.work, name); /* fits */
	if (package_read(root, &package) < 0)
		package.version[0] = '\0';
	output = ask(in, name, package.version);
	put_line(output, name, package.version, (long)time(NULL), line);
	printf("%s\n", line);
	free(output);
	if (config != NULL) {
		(void)snprintf(dir, sizeof(dir), "%.4000s/policies", config);
		(void)policies_each(
		    dir, ".kennel", compare_policy, &close_); /* or none */
	}
	presets_each(compare_preset, &close_);
}
