/*
 * The policy's decision about an argv of the registry (argv_authority.h). One matcher
 * answers here and in the leash, which decides again when the program starts.
 *
 * The caller of the program is unknown to every grant with `from`: kennel starts it,
 * not a program of the cell.
 */
#include "supervisor/hub/argv_authority.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool
is_called(const struct policy *p, uint32_t image, const char *name)
{
	const char *path = policy_str(p, p->image[image].path);
	const char *base = strrchr(path, '/');

	if (strchr(name, '/') == NULL)
		return base != NULL && name[0] != '\0' && strcmp(base + 1, name) == 0;
	return strcmp(path, name) == 0 ||
	       strcmp(policy_str(p, p->image[image].real), name) == 0;
}

/* Exactly what `run` starts: its program and its literal arguments. */
static bool
is_run(const struct policy *p, const struct sealed_server *s, uint32_t image,
    const char *const *argv, size_t n)
{
	const struct sealed_exec *run = &p->exec[s->run];
	size_t at = 1;

	if (run->asked != image)
		return false;
	for (uint32_t i = 0; i < run->args.n; i++) {
		const struct sealed_arg *arg = &p->arg[run->args.first + i];

		if (arg->kind != ARG_LITERAL)
			continue; /* it adds nothing to the start */
		if (at == n || strcmp(argv[at++], policy_str(p, arg->text)) != 0)
			return false;
	}
	return at == n;
}

static enum argv_authority
judge(const struct policy *p, const struct sealed_server *s, uint32_t image,
    const char **argv, size_t n)
{
	struct policy_exec_ask ask = {.asked = image,
	    .argv = {argv, n},
	    .caller = POLICY_NO_IMAGE,
	    .cwd = policy_str(p, s->cwd)};
	struct policy_answer answer;

	if (is_run(p, s, image, argv, n))
		return ARGV_RUN;
	argv[0] = policy_str(p, p->image[image].path);
	answer = policy_match_exec_call(p, s, &ask);
	if (answer.verdict == VERDICT_ALLOW)
		return ARGV_GRANTED;
	return answer.verdict == VERDICT_ASK ? ARGV_ASKS : ARGV_DENIED;
}

enum argv_authority
argv_authority(const struct policy *p, const struct sealed_server *s,
    const char *const *argv, size_t n, const char **ret_program)
{
	enum argv_authority found = ARGV_DENIED, one;
	const char **copy = n > 0 ? calloc(n, sizeof(*copy)) : NULL;
	size_t programs = 0;

	if (copy == NULL)
		return ARGV_DENIED;
	for (uint32_t i = s->images.first; i < s->images.first + s->images.n; i++) {
		if (!is_called(p, i, argv[0]))
			continue;
		memcpy(copy, argv, n * sizeof(*copy));
		one = judge(p, s, i, copy, n);
		if (one == ARGV_DENIED)
			continue;
		found = one;
		programs++;
		*ret_program = policy_str(p, p->image[i].path);
	}
	free(copy);
	/* one file granted under two paths, or one name of two files */
	if (programs > 1 && strchr(argv[0], '/') == NULL)
		return ARGV_DENIED;
	return found;
}

bool
url_authority(const struct policy *p, const struct sealed_server *s, const char *url)
{
	const char *granted = policy_remote_url(p, s);

	return granted != NULL && strcmp(granted, url) == 0;
}
