/*
 * kennel policy explain --request: explains the request that standard input has, under the
 * policy with which its server starts.
 *
 *	{"server":"files","kind":"tool","words":["write_file"],"from":"/usr/bin/sh"}
 *
 * Process: kennel, as the calling user. Starts nothing. The request may come from a
 * browser: it names a server and no file.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/check/request.h"
#include "policy/cli/policy_main.h"
#include "shim/base/array.h"
#include "shim/base/cause.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/cli/cli.h"
#include "supervisor/registry/reference.h"
#include "supervisor/servers/known_policies.h"
#include "supervisor/servers/servers.h"

#define REQUEST_MAX (64u << 10) /* bytes */
#define OPTIONS_MAX 8
#define WORDS_MAX   512

/* What was given; the texts are owned. */
struct given {
	char *text[4]; /* in the order of names */
	struct args words;
};
enum { SERVER, KIND, FROM, IN };
static const char *const names[] = {"server", "kind", "from", "in"};

static void
given_free(struct given *g)
{
	for (size_t i = 0; i < ARRAY_LEN(g->text); i++)
		free(g->text[i]);
	args_free(&g->words);
}

/* ---- reading ------------------------------------------------------------------------- */

/* Below 0: *ret_field is wrong; why says how. */
static int
take_text(struct json value, char **ret)
{
	char *text = malloc(value.len + 1);
	size_t len;
	int r = text == NULL ? -ENOMEM : json_text(value, text, value.len + 1, &len);

	if (r < 0)
		free(text);
	else
		*ret = text;
	return r;
}

static int
take_words(struct json value, struct args *ret)
{
	struct buf text;
	int r;

	buf_init(&text, REQUEST_MAX);
	r = buf_put(&text, value.at, value.len);
	if (r == 0)
		r = args_read(buf_str(&text), ret);
	buf_free(&text);
	return r < 0 ? r : ret->n > WORDS_MAX ? -E2BIG : 0;
}

static int
take(struct json root, struct given *g, const char **ret_field, struct reason *why)
{
	struct json value;
	int r;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		*ret_field = names[i];
		r = json_get(root, names[i], &value);
		if (r == 0)
			r = take_text(value, &g->text[i]);
		else if (r == -ENOENT && i > KIND)
			continue;
		if (r < 0)
			return reason_set(why, r, "expected `%s`, a text", names[i]);
	}
	*ret_field = "words";
	r = json_get(root, "words", &value);
	if (r == 0)
		r = take_words(value, &g->words);
	if (r < 0 && r != -ENOENT)
		return reason_set(why, r, "expected `words`, an array of texts");
	return 0;
}

static bool
is_kind(const char *name)
{
	for (int k = REQUEST_EXEC; k <= REQUEST_ROOTS; k++)
		if (strcmp(request_kind_name((enum request_kind)k), name) == 0)
			return true;
	return false;
}

/* kind and words as the arguments of explain; a NULL is after them. */
static int
check_request(
    const struct given *g, const char **words, const char **ret_field, struct reason *why)
{
	struct request q;
	const char *wrong;

	words[0] = g->text[KIND];
	for (size_t i = 0; i < g->words.n; i++)
		words[1 + i] = g->words.v[i];
	if (request_read(words, 1 + g->words.n, &q, &wrong) == 0)
		return 0;
	*ret_field = is_kind(words[0]) ? "words" : "kind";
	return reason_set(why, -EINVAL, "%s", wrong);
}

/* ---- the answer ------------------------------------------------------------------------ */

static int
refuse(bool json, const char *field, const struct reason *why)
{
	log_error("policy explain: %s", why->text);
	return json && !server_put_refusal(field, why->text) ? EXIT_FAILED : EXIT_INPUT;
}

/* The file of the policy with which the server starts; the caller frees. */
static int
find_file(const char *server, char **ret, struct reason *why)
{
	struct known_policies all;
	const struct known_policy *known;
	char shown[256];
	int r = known_policies_read(&all);

	known = r == 0 ? known_policy_find(&all, server) : NULL;
	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): take() has checked */
	(void)log_quote(shown, sizeof(shown), server, strnlen(server, 64));
	if (r == 0 && known == NULL)
		r = reason_set(why, -ENOENT, "no policy for server `%s`", shown);
	else if (r == 0 && known->server == NULL)
		r = reason_set(why, -EINVAL,
		    "the policy of `%s` has errors: `kennel policy check %s`", shown,
		    known->file->path);
	else if (r == 0 && (*ret = strdup(known->file->path)) == NULL)
		r = reason_set(why, -ENOMEM, "out of memory");
	known_policies_free(&all);
	return r;
}

static int
explain(const struct given *g, const char *file, const char *const *words, bool json)
{
	const char *argv[OPTIONS_MAX + 2 + 1 + WORDS_MAX + 1] = {"explain"};
	int argc = 1;

	if (json)
		argv[argc++] = "--json";
	if (g->text[FROM] != NULL) {
		argv[argc++] = "--from";
		argv[argc++] = g->text[FROM];
	}
	if (g->text[IN] != NULL) {
		argv[argc++] = "--in";
		argv[argc++] = g->text[IN];
	}
	argv[argc++] = "--";
	argv[argc++] = file;
	argv[argc++] = g->text[SERVER];
	for (size_t i = 0; i <= g->words.n; i++)
		argv[argc++] = words[i];
	return policy_main(argc, (char **)(uintptr_t)argv); /* does not change them */
}

static int
read_request(struct given *g, const char **ret_field, struct reason *why)
{
	struct json_message m = {.stop = 0};
	char *text = NULL;
	size_t len = 0;
	int r = fd_slurp(STDIN_FILENO, REQUEST_MAX, &text, &len);

	*ret_field = NULL;
	if (r == 0)
		r = json_scan((const uint8_t *)text, len, &m);
	if (r < 0 || m.root.type != JSON_IS_OBJECT)
		r = reason_set(why, -EINVAL, "expected a JSON object on standard input");
	else
		r = take(m.root, g, ret_field, why);
	free(text);
	return r;
}

int
explain_request(bool json)
{
	const char *words[1 + WORDS_MAX] = {NULL}, *field;
	struct given g = {.text = {NULL}};
	char *file = NULL;
	struct reason why;
	int r = read_request(&g, &field, &why), status;

	if (r == 0)
		r = check_request(&g, words, &field, &why);
	if (r == 0) {
		field = "server";
		r = find_file(g.text[SERVER], &file, &why);
	}
	status = r < 0 ? refuse(json, field, &why) : explain(&g, file, words, json);
	free(file);
	given_free(&g);
	return status;
}
