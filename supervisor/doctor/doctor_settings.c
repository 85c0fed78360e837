/*
 * "kennel doctor", row of settings.kennel: what kennel serve finds in it when it starts, an
 * error or more exposed tools than `budget` allows.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "supervisor/cli/cli.h"
#include "supervisor/doctor/doctor.h"
#include "supervisor/hub/hub.h"
#include "supervisor/serve/launcher/startable.h"
#include "supervisor/serve/tools/exposed.h"
#include "supervisor/serve/tools/settings.h"

#define ANY_AGENT UINT32_MAX /* one that has every capability */

static char *errors; /* of the row */

/* As exposed_count; 0 of a server that does not start, which is the row of policies. */
static bool
count(struct startables *all, struct startable *k, const struct settings *s, size_t *ret)
{
	struct exposing e = {.settings = s, .name = k->name, .can = ANY_AGENT};
	enum server_reason reason;
	struct pins *pins = NULL;
	char why[LEASH_TEXT_MAX];
	bool known = true;

	*ret = 0;
	if (k->disabled || startable_policy(all, k, &reason, why) != 0)
		return true;
	e.policy = &k->policy.policy;
	e.server = k->policy.server;
	if (pins_new(e.policy, e.server, &pins) == 0) {
		e.pins = pins;
		known = exposed_count(&e, ret);
	}
	pins_free(pins);
	return known;
}

/* Writes what is wrong with the budget of a start without arguments, or nothing. In a child:
 * the row of policies has what a reading of them prints. */
static _Noreturn void
judge_budget(const struct settings *s, int out)
{
	static struct startables all; /* large */
	const struct launcher_order order = {.file = NULL};
	const char *unknown = NULL;
	char why[sizeof((struct finding *)NULL)->said] = "";
	size_t n, sum = 0;
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null < 0 || dup2(null, STDERR_FILENO) < 0 ||
	    startables_name(&all, &order, NULL) != 0)
		_exit(1);
	for (size_t i = 0; i < all.n; i++) {
		if (!count(&all, all.all[i], s, &n) && unknown == NULL)
			unknown = all.all[i]->name;
		sum += n;
	}
	if (exposed_over(s, sum, unknown, why, sizeof(why)))
		(void)fd_write_all(out, why, strlen(why)); /* a loss is shown as cut */
	_exit(0);
}

/* 0 and "" in ret: it is kept; 0 and what is wrong; or -errno. */
static int
try_budget(const struct settings *s, char *ret, size_t ret_cap)
{
	int pipe_fd[2], status = 0;
	char *text = NULL;
	size_t len = 0;
	pid_t pid;
	int r;

	if (pipe2(pipe_fd, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid == 0)
		judge_budget(s, pipe_fd[1]);
	fd_close(&pipe_fd[1]);
	r = pid < 0 ? -EAGAIN : fd_slurp(pipe_fd[0], ret_cap - 1, &text, &len);
	fd_close(&pipe_fd[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (r == 0 && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
		r = -EIO;
	if (r == 0)
		(void)snprintf(ret, ret_cap, "%.*s", (int)len, text); /* fits */
	free(text);
	return r;
}

void
doctor_settings(struct finding *f)
{
	struct settings s = {.arena = NULL};
	size_t len = 0;
	FILE *diag = open_memstream(&errors, &len);
	int r = diag == NULL ? -ENOMEM : settings_load(diag, &s);
	char why[sizeof(f->said)] = "";

	if (diag != NULL && fclose(diag) == 0)
		f->lines = error_lines(errors);
	if (r == 0 && s.has_budget)
		r = try_budget(&s, why, sizeof(why));
	f->holds = r == 0 && why[0] == '\0';
	(void)snprintf(f->said, sizeof(f->said), "%s", /* may be cut */
	    r == -EINVAL     ? "kennel serve does not start"
	    : r < 0          ? strerror(-r)
	    : why[0] != '\0' ? why
	    : s.file != NULL ? s.file
			     : "no settings.kennel; the defaults hold");
	(void)snprintf(f->fix, sizeof(f->fix), "%s",
	    why[0] != '\0'
		? "kennel serve does not start: change `expose` or `budget` in "
		  "settings.kennel, or pin the server (man 5 kennel-settings)"
		: "correct these lines of settings.kennel (man 5 kennel-settings)");
	settings_free(&s);
}

void
doctor_settings_forget(void)
{
	free(errors);
	errors = NULL;
}
