#include "supervisor/learn/reach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/tokens/secret_shaped.h"
#include "shim/base/array.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"

/* ---- the options ----------------------------------------------------------------------- */

/* NAME:PORT; the text is kept and changed. */
static int
take_host(struct learn *l, char *text)
{
	char *colon = strrchr(text, ':'), *end = NULL;
	unsigned long port = 0;

	if (colon != NULL) {
		*colon = '\0';
		port = strtoul(colon + 1, &end, 10);
	}
	if (colon == NULL || colon[1] < '1' || colon[1] > '9' || *end != '\0' ||
	    port > 65535 || !learn_host_named(text)) {
		if (colon != NULL)
			*colon = ':';
		log_error("invalid --host %s: expected NAME:PORT, a name in lower case "
			  "and a number",
		    text);
		return -EXIT_USAGE;
	}
	if (l->host_n == LEARN_HOSTS_MAX) {
		log_error("more than %d hosts after --host", LEARN_HOSTS_MAX);
		return -EXIT_USAGE;
	}
	l->host[l->host_n] = (struct seen_host){text, (uint32_t)port};
	l->named[l->host_n++] = true;
	return 2;
}

static int
take_real(struct reach *r, struct draft *d, char *text)
{
	size_t n = r->placeholders.real_n;

	if (n == REACH_REAL_MAX || draft_variable(d, text, true) < 0) {
		/* without the word, which may be a value by mistake */
		log_error("invalid variable after --real-secret: expected a name of "
			  "letters, digits and _, and at most %d of them",
		    REACH_REAL_MAX);
		return -EXIT_USAGE;
	}
	r->real[n] = text;
	r->placeholders.real = r->real;
	r->placeholders.real_n = n + 1;
	return 2;
}

int
reach_option(struct reach *r, struct draft *d, struct learn *l, char **argv, int left)
{
	if (strcmp(argv[0], "--net") == 0) {
		r->net = true;
		return 1;
	}
	if (left >= 2 && strcmp(argv[0], "--host") == 0)
		return take_host(l, argv[1]);
	if (left >= 2 && strcmp(argv[0], "--real-secret") == 0)
		return take_real(r, d, argv[1]);
	return 0;
}

/* ---- all of them ------------------------------------------------------------------------- */

static bool
is_real(const struct reach *r, const char *name)
{
	for (size_t i = 0; i < r->placeholders.real_n; i++)
		if (strcmp(r->real[i], name) == 0)
			return true;
	return false;
}

/* The compiler refuses every host that is not in the line of such a secret. */
static int
name_hosts(struct reach *r, struct draft *d, const struct learn *l)
{
	size_t len = 0;
	FILE *out = open_memstream(&r->hosts, &len);

	if (out == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < l->host_n; i++)
		fprintf(
		    out, "%s%s:%u", i == 0 ? "" : " ", l->host[i].name, l->host[i].port);
	if (fclose(out) != 0)
		return -ENOMEM;
	for (size_t i = 0; i < d->variable_n; i++)
		if (is_real(r, d->variable[i].name))
			d->variable[i].hosts = r->hosts;
	return 0;
}

/* One variable cannot have both. */
static const char *
named_twice(const struct reach *r, const struct draft *d)
{
	for (size_t i = 0; i < d->variable_n; i++)
		for (size_t k = i + 1; k < d->variable_n; k++)
			if (strcmp(d->variable[i].name, d->variable[k].name) == 0 &&
			    is_real(r, d->variable[i].name))
				return d->variable[i].name;
	return NULL;
}

static int
check_real(struct reach *r, struct draft *d, const struct learn *l)
{
	const char *twice = named_twice(r, d);

	if (r->net) {
		log_error("--real-secret is not used with --net: the server would choose "
			  "the hosts that get the value; name them with --host "
			  "NAME:PORT");
		return EXIT_USAGE;
	}
	if (l->host_n == 0) {
		log_error("--real-secret needs --host NAME:PORT: the hosts that may get "
			  "the value");
		return EXIT_USAGE;
	}
	if (twice != NULL) {
		log_error("duplicate variable %s: after --real-secret, it is named by no "
			  "other option",
		    twice);
		return EXIT_USAGE;
	}
	if (name_hosts(r, d, l) < 0) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	return 0;
}

/* With --net, what the server is given can be sent to any host: no secret may be in it. A
 * variable whose value looks like one has a placeholder (draft_variable). */
static int
check_given(const struct draft *d)
{
	int at = secret_shaped_args(d->argv, (size_t)d->argc);

	if (at >= 0) {
		log_error("argument %d of the command looks like a secret, and with "
			  "--net the server can send it to any host: give it as a "
			  "variable with --secret, or learn without --net",
		    at);
		return EXIT_INPUT;
	}
	return 0;
}

int
reach_ready(struct reach *r, struct draft *d, struct learn *l)
{
	int status = r->net ? check_given(d) : 0;

	if (status == 0 && r->placeholders.real_n > 0)
		status = check_real(r, d, l);
	if (status == 0 && child_placeholders_draw(&r->placeholders) < 0) {
		log_error("unable to draw random numbers");
		status = EXIT_FAILED;
	}
	for (size_t i = 0; i < d->variable_n; i++)
		l->asks |= d->variable[i].secret;
	return status;
}

void
reach_free(struct reach *r)
{
	free(r->hosts);
	r->hosts = NULL;
}
