#include "supervisor/learn/learned_command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"

static int
take_argv(struct learned_command *c, const char *name)
{
	const struct policy *p = &c->found.policy;
	const struct sealed_exec *run;

	if (policy_remote_url(p, c->found.server) != NULL) {
		log_error(
		    "unable to learn %s: it is a server at a URL, and only programs "
		    "of this machine are learned",
		    name);
		return EXIT_INPUT;
	}
	run = &p->exec[c->found.server->run];
	c->argv[c->argc++] = (char *)policy_str(p, p->image[run->asked].path);
	for (uint32_t i = 0; i < run->args.n; i++) {
		const struct sealed_arg *arg = &p->arg[run->args.first + i];

		if (arg->kind != ARG_LITERAL)
			continue; /* a start leaves it out, too */
		if (c->argc == DRAFT_ARGS_MAX) {
			log_error("unable to learn %s: the command of its policy has too "
				  "many arguments; name the command after --",
			    name);
			return EXIT_INPUT;
		}
		c->argv[c->argc++] = (char *)policy_str(p, arg->text);
	}
	return 0;
}

/* What the command line has named itself is not added. */
static bool
is_named(const struct draft *d, const char *name)
{
	for (size_t i = 0; i < d->variable_n; i++)
		if (strcmp(d->variable[i].name, name) == 0)
			return true;
	return false;
}

static int
take_variables(struct learned_command *c, struct draft *d)
{
	const struct policy *p = &c->found.policy;
	struct sealed_range rows = c->found.server->envs;

	for (uint32_t i = rows.first; i < rows.first + rows.n; i++) {
		const struct sealed_env *e = &p->env[i];
		const char *name = policy_str(p, e->name);
		char **text = &c->variable[c->variable_n];
		int r;

		if (e->fixed != 0 || is_named(d, name))
			continue;
		if (c->variable_n == DRAFT_VARIABLES_MAX)
			return -E2BIG;
		if (asprintf(text, "%s%s%s", name, e->passed != 0 ? "" : "=",
			e->passed != 0 ? "" : policy_str(p, e->value)) < 0)
			return -ENOMEM;
		c->variable_n++;
		r = draft_variable(d, *text, false);
		if (r < 0)
			return r;
	}
	return 0;
}

int
learned_command_read(struct learned_command *c, const char *name, struct draft *d)
{
	char why[LEASH_TEXT_MAX] = "";
	int status, r;

	*c = (struct learned_command){.found = {.fd = -1}};
	status = find_policy(NULL, name, &c->found, why, sizeof(why));
	if (status != 0) {
		log_error("unable to learn %s: %s", name, why);
		return status;
	}
	status = take_argv(c, name);
	if (status != 0)
		return status;
	r = take_variables(c, d);
	if (r < 0) {
		log_error("unable to learn %s: its policy has variables that cannot be "
			  "drafted: %s; name the command after --",
		    name, strerror(-r));
		return EXIT_INPUT;
	}
	if (c->found.server->secrets.n > 0)
		log_warn("%s gets no secret while it is learned: copy the `secret` lines "
			 "of %s into the draft",
		    name, c->found.file);
	return 0;
}

void
learned_command_free(struct learned_command *c)
{
	for (size_t i = 0; i < c->variable_n; i++)
		free(c->variable[i]);
	c->variable_n = 0;
	policy_found_free(&c->found);
}
