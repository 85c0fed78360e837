/*
 * kennel learn NAME [-- COMMAND]: runs a server in a cell that has its package and the
 * project, has its tools called, and drafts the smallest policy for what it wanted.
 *
 *	rounds: what the server was refused, and may have here, is granted in the next
 *	learning cell: programs of this machine, and hosts with --net.  Until nothing is new.
 *
 * Runs as the calling user.  The server runs only in cells: the learning cell has no
 * credentials, whatever the server asks for, and placeholders for its secrets (reach.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "leash/audit/writer.h"
#include "policy/cli/verb.h"
#include "policy/lang/scalar.h"
#include "policy/sealed/lib_dirs.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/cli/cli.h"
#include "supervisor/cli/init_tools.h"
#include "supervisor/help/help.h"
#include "supervisor/launch/launch.h"
#include "supervisor/learn/credentials.h"
#include "supervisor/learn/fold.h"
#include "supervisor/learn/from_log.h"
#include "supervisor/learn/learned_command.h"
#include "supervisor/learn/learned_policy.h"
#include "supervisor/learn/learn_session.h"
#include "supervisor/learn/reach.h"
#include "supervisor/learn/roots.h"

#define ROUNDS_MAX 6
#define HTTPS      443

struct plan {
	struct draft d;
	struct learn l;
	const char *file; /* -o */
	struct reach reach;
	bool stdio;
	bool again;                     /* the command is that of the server's policy */
	struct learned_command command; /* again */
	char cell[PATH_MAX];            /* the policy of the learning cell */
	char example[PATH_MAX];         /* a file of the project, for arguments */
	struct policy_found found[2];   /* of the learning cell, and room for the next */
	size_t now;                     /* which is that of the cell */
	const char *rejected[LEARN_PROGRAMS_MAX]; /* programs that no cell may have */
	size_t rejected_n;
	struct tools_found tools;
};

/* ---- the learning cell --------------------------------------------------------------- */

static bool
sees_one(const struct policy_found *f, const char *path)
{
	struct sealed_range rows = f->server->mounts;
	size_t len = strlen(path);

	for (uint32_t i = rows.first; i < rows.first + rows.n; i++) {
		const struct sealed_mount *m = &f->policy.mount[i];
		const char *target = policy_str(&f->policy, m->target);

		if (strcmp(path, target) == 0 ||
		    (m->kind != MOUNT_DIR && m->kind != MOUNT_SYMLINK &&
			m->kind != MOUNT_ETC && m->kind != MOUNT_HIDE &&
			policy_under(path, len, target, strlen(target))))
			return true;
	}
	return false;
}

/* Callback of the draft. */
static bool
sees(void *arg, const char *path)
{
	static const char *const synthetic[] = {"/etc/passwd", "/etc/group", "/etc/hosts",
	    "/etc/resolv.conf", "/etc/nsswitch.conf", "/etc/ld.so.cache"};
	const struct plan *p = arg;
	const struct policy_found *f = &p->found[p->now];
	char real[PATH_MAX];

	for (size_t i = 0; i < ARRAY_LEN(synthetic); i++)
		if (strcmp(path, synthetic[i]) == 0)
			return true;
	return sees_one(f, path) ||
	       (learn_may_look(&p->l, path) && realpath(path, real) != NULL &&
		   sees_one(f, real));
}

/* Callback of the facts. */
static bool
may_look(void *arg, const char *path)
{
	const struct plan *p = arg;

	return learn_may_look(&p->l, path);
}

/* Writes its policy next to kennel's sockets, where no server may write, and compiles it:
 * 0 or an exit status; the reason is printed, and what is known of the last cell stays. */
static int
make_cell(struct plan *p)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int r = out == NULL ? -ENOMEM : learn_cell_put(&p->l, out);

	if (out != NULL && fclose(out) != 0 && r == 0)
		r = -ENOMEM;
	if (r == 0)
		r = verb_write(p->cell, text, len, 0600);
	free(text);
	if (r < 0) {
		log_error("unable to write the policy of the learning cell to %s: %s",
		    p->cell, strerror(-r));
		return EXIT_FAILED;
	}
	r = find_policy(p->cell, p->d.name, &p->found[1 - p->now], NULL, 0);
	if (r != 0)
		return r;
	policy_found_free(&p->found[p->now]);
	p->now = 1 - p->now;
	return 0;
}

/* The compiler refuses some programs that a server may ask for, such as a loader: then each
 * new one is tried alone, and what was refused stays a comment. */
static int
make_wider_cell(struct plan *p, size_t had_programs, size_t had_hosts)
{
	struct learn *l = &p->l;
	size_t n = l->program_n;

	if (make_cell(p) == 0)
		return 0;
	l->host_n = had_hosts;
	l->program_n = had_programs;
	for (size_t i = had_programs; i < n; i++) {
		const char *program = l->program[i];

		l->program[l->program_n++] = program;
		if (make_cell(p) == 0)
			continue;
		l->program_n--;
		log_warn("%s is not granted in the learning cell; it is in a comment of "
			 "the draft if the server asks for it again",
		    program);
		if (p->rejected_n < ARRAY_LEN(p->rejected))
			p->rejected[p->rejected_n++] = program;
	}
	return make_cell(p);
}

/* May the learning cell start this program?  One that is installed where no project is, and
 * can be named by a line.  The compiler decides about links on the way. */
static bool
may_start(const struct plan *p, const char *program)
{
	struct stat st;

	if (!path_is_normal(program) || stat(program, &st) < 0 || !S_ISREG(st.st_mode) ||
	    access(program, X_OK) < 0 || credential_is(program, p->l.home))
		return false;
	for (size_t i = 0; i < p->l.root_n; i++)
		if (p->l.root[i].write && fold_below(program, p->l.root[i].path))
			return false;
	return true;
}

/* May the server itself choose it?  One beside its script, or of the system: a program that a
 * user installed elsewhere is granted by a person, with --exec. */
static bool
may_choose(const struct plan *p, const char *program)
{
	static const char *const dirs[] = {SYSTEM_DIRS};
	char real[PATH_MAX];
	struct stat st;

	if (!may_start(p, program) || realpath(program, real) == NULL ||
	    stat(real, &st) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(dirs); i++)
		if (st.st_uid == 0 && fold_below(real, dirs[i]))
			return true;
	for (size_t i = 0; i < p->l.root_n; i++)
		if ((p->l.root[i].whole || fold_below(p->d.script, p->l.root[i].path)) &&
		    fold_below(real, p->l.root[i].path))
			return true;
	return false;
}

static bool
add_program(struct plan *p, const char *program)
{
	struct learn *l = &p->l;

	for (size_t i = 0; i < l->program_n; i++)
		if (strcmp(l->program[i], program) == 0)
			return false;
	for (size_t i = 0; i < p->rejected_n; i++)
		if (strcmp(p->rejected[i], program) == 0)
			return false;
	if (l->program_n == LEARN_PROGRAMS_MAX)
		return false;
	l->program[l->program_n++] = program;
	return true;
}

/* A name that was looked up is granted at the port of HTTPS, until a port is known. */
static bool
add_host(struct plan *p, const struct seen_host *h)
{
	struct learn *l = &p->l;
	uint32_t port = h->port == 0 ? HTTPS : h->port;
	size_t at = l->host_n;

	for (size_t i = 0; i < l->host_n; i++) {
		if (strcmp(l->host[i].name, h->name) != 0)
			continue;
		if (l->host[i].port == port || h->port == 0)
			return false;
		if (l->guess[i])
			at = i;
	}
	if (at == LEARN_HOSTS_MAX || !learn_host_named(h->name))
		return false;
	l->host[at] = (struct seen_host){h->name, port};
	l->guess[at] = h->port == 0;
	l->host_n += at == l->host_n;
	return true;
}

/* Grants, in the next learning cell, what was refused in this one and may be had there. */
static bool
grant_more(struct plan *p)
{
	const struct seen *s = &p->l.seen;
	bool more = false;

	for (size_t i = 0; i < s->exec_n; i++)
		if (!s->exec[i].allowed && may_choose(p, s->exec[i].program))
			more |= add_program(p, s->exec[i].program);
	for (size_t i = 0; p->reach.net && i < s->host_n; i++)
		more |= add_host(p, &s->host[i]);
	return more;
}

static int
learn_rounds(struct plan *p)
{
	struct learn_session session = {.file = p->cell,
	    .name = p->d.name,
	    .stdio = p->stdio,
	    .placeholders = &p->reach.placeholders,
	    .values = {.dir = p->d.work, .file = p->example}};
	const char *not_searched, *why;
	size_t programs = 0, hosts = 0;
	int r = 0, status;
	bool more = true;

	for (int i = 1; more && i <= ROUNDS_MAX; i++) {
		status = i == 1 ? make_cell(p) : make_wider_cell(p, programs, hosts);
		if (status != 0 && i == 1)
			return status;
		if (status != 0)
			break; /* what was refused is known, and in comments */
		programs = p->l.program_n;
		hosts = p->l.host_n;
		seen_forget_refused(&p->l.seen);
		if (!p->stdio)
			printf(
			    "Round %d: %s runs in its learning cell, and its tools that "
			    "only read are called:\n",
			    i, p->d.name);
		r = learn_session(&session, &p->l.seen);
		if (r < 0 && r != -ECANCELED)
			log_error("unable to run %s: %s", p->d.name, strerror(-r));
		/* a server that fails without a program may work in the next round */
		more = !p->stdio && grant_more(p);
	}
	if (r < 0 && p->l.seen.file_n == 0)
		return EXIT_FAILED;
	not_searched = learn_hide(&p->l, &why);
	if (not_searched != NULL) {
		log_error("unable to draft a policy: %s was not searched for "
			  "credentials: %s",
		    not_searched, why);
		return EXIT_FAILED;
	}
	seen_look(&p->l.seen, may_look, p);
	learn_assign(&p->l);
	return 0;
}

/* ---- the draft ------------------------------------------------------------------------- */

static int
make_text(const struct plan *p, bool trial, char **ret, size_t *ret_len)
{
	FILE *out = open_memstream(ret, ret_len);
	int r = out == NULL ? -ENOMEM : learn_policy_put(&p->l, trial, out);

	if (r == 0)
		init_tools_put(&p->tools, out);
	if (r == 0)
		r = draft_tail(&p->d, out);
	if (out != NULL && fclose(out) != 0 && r == 0)
		r = -ENOMEM;
	return r;
}

static int
write_draft(const struct plan *p, const char *path)
{
	char *text = NULL;
	size_t len = 0;
	int r = make_text(p, strcmp(path, p->cell) == 0, &text, &len);

	if (r == 0 && strcmp(path, "-") == 0)
		(void)fwrite(text, 1, len, stdout); /* the caller flushes */
	else if (r == 0)
		r = verb_write(path, text, len, 0600);
	free(text);
	if (r < 0)
		log_error("unable to write the draft to %s: %s", path, strerror(-r));
	return r;
}

static void
tell_next(const struct plan *p, const char *path, FILE *to)
{
	fprintf(to,
	    "A draft is in %s: review it, then:\n\n"
	    "    kennel policy check %s\n",
	    path, path);
	if (p->again && p->file == NULL)
		fprintf(to,
		    p->command.found.text ? "    mv %s %s\n"
					  : "    kennel policy compile %s -o %s\n",
		    path, p->command.found.file);
	fprintf(to,
	    "    kennel run %s\n\n"
	    "What it asked for and did not get is in comments.  Lines for what is "
	    "refused later:\n\n"
	    "    kennel learn --from-log %s\n",
	    p->d.name, p->d.name);
}

/* The draft is tried at once: the server starts under it, with placeholders, and lists its
 * tools. */
static int
finish(struct plan *p, const char *path)
{
	FILE *to = p->stdio ? stderr : stdout;
	bool known;

	if (write_draft(p, path) < 0)
		return EXIT_FAILED;
	if (strcmp(path, "-") == 0)
		return fflush(stdout) != 0 ? EXIT_FAILED : 0;
	if (write_draft(p, p->cell) < 0)
		return EXIT_FAILED;
	known = init_tools_list(PURPOSE_LEARN, p->cell, p->d.name, &p->tools) == 0;
	if (write_draft(p, path) < 0)
		return EXIT_FAILED;
	if (!known)
		fprintf(to,
		    "Under the draft, its tools are not known: %s.  Correct the draft.\n",
		    p->tools.why);
	tell_next(p, path, to);
	return 0;
}

/* ---- the verb --------------------------------------------------------------------------- */

/* The first regular file of the project, in the order of the directory. */
static void
find_example(struct plan *p)
{
	DIR *dir = p->d.work[0] == '\0' ? NULL : opendir(p->d.work);
	struct dirent *e;
	struct stat st;

	while (dir != NULL && p->example[0] == '\0' && (e = readdir(dir)) != NULL) {
		char path[PATH_MAX + NAME_MAX + 2];

		(void)snprintf(path, sizeof(path), "%s/%s", p->d.work, e->d_name);
		if (e->d_name[0] != '.' && strlen(path) < PATH_MAX &&
		    lstat(path, &st) == 0 && S_ISREG(st.st_mode))
			memcpy(p->example, path, strlen(path) + 1);
	}
	if (dir != NULL)
		(void)closedir(dir);
}

/* As take_option of init.c. */
static int
take_option(struct plan *p, char **argv, int left)
{
	int n = reach_option(&p->reach, &p->d, &p->l, argv, left);

	if (n != 0)
		return n;
	if (strcmp(argv[0], "--stdio") == 0) {
		p->stdio = true;
		return 1;
	}
	if (left < 2)
		return 0;
	if (strcmp(argv[0], "-o") == 0) {
		p->file = argv[1];
		return 2;
	}
	if (strcmp(argv[0], "--exec") == 0) {
		if (!may_start(p, argv[1])) {
			log_error(
			    "unable to use %s: expected the path of a program", argv[1]);
			return -EXIT_INPUT;
		}
		(void)add_program(p, argv[1]); /* or it was named twice */
		return 2;
	}
	return draft_option(&p->d, argv);
}

/* Finds out what to learn, and where the draft goes: 0 or an exit status. */
static int
begin(struct plan *p, int argc, char **argv, char path[PATH_MAX])
{
	const char *why = NULL, *not_granted;
	int status = draft_take(&p->d, argc, argv);

	if (status == 0)
		status = reach_ready(&p->reach, &p->d, &p->l);
	if (status != 0)
		return status;
	p->l.asks |= p->again && p->command.found.server->secrets.n > 0;
	for (size_t i = 0; i < p->d.path_n && p->d.work[0] == '\0'; i++)
		if (p->d.path[i].is == PATH_IS_DIR)
			(void)draft_work(&p->d, p->d.path[i].path); /* or it is gone */
	p->l.d = &p->d;
	p->l.sees = sees;
	p->l.sees_arg = p;
	not_granted = learn_roots(&p->l, &why);
	if (not_granted != NULL) {
		log_error("%s is not granted to a server that is learned: %s",
		    not_granted, why);
		return EXIT_INPUT;
	}
	find_example(p);
	status = draft_place(p->file, p->d.name, path);
	/* beside the policy that is in use, and not taken for one */
	if (status == 0 && p->again && p->file == NULL)
		memcpy(path + strlen(path) - strlen(".kennel"), ".learned",
		    sizeof(".learned"));
	if (status == 0 && strcmp(path, "-") != 0 && access(path, F_OK) == 0) {
		log_error("%s exists; remove it to draft again, or name another with -o "
			  "FILE",
		    path);
		return EXIT_CONFIG;
	}
	return status;
}

static int
learn_command(struct plan *p, int argc, char **argv)
{
	char path[PATH_MAX];
	int status = 0;

	if (p->again)
		status = learned_command_read(&p->command, p->d.name, &p->d);
	if (status == 0)
		status = begin(p, p->again ? p->command.argc : argc,
		    p->again ? p->command.argv : argv, path);
	if (status != 0)
		return status;
	if (paths_run_dir() == NULL || fd_make_dirs(paths_run_dir()) < 0) {
		log_error("unable to create the directory of kennel's sockets");
		return EXIT_CONFIG;
	}
	(void)snprintf(p->cell, sizeof(p->cell), "%.3000s/learn-%d.kennel",
	    paths_run_dir(), (int)getpid());
	(void)signal(SIGPIPE, SIG_IGN); /* cannot fail: valid signal */
	if (seen_new(&p->l.seen) < 0) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	status = learn_rounds(p);
	if (status == 0)
		status = finish(p, path);
	(void)unlink(p->cell); /* it may not have been written */
	reach_free(&p->reach);
	buf_free(&p->tools.lines);
	policy_found_free(&p->found[p->now]);
	seen_free(&p->l.seen);
	learned_command_free(&p->command);
	return status;
}

int
learn_main(int argc, char **argv)
{
	static struct plan p = {.found = {{.fd = -1}, {.fd = -1}}}; /* large */
	static char home[PATH_MAX];
	const char *refused;
	int i, n;

	/* the paths of the roots have no links */
	p.l.home =
	    getenv("HOME") != NULL && realpath(getenv("HOME"), home) != NULL ? home : "";
	if (argc > 1 && strcmp(argv[1], "--from-log") == 0)
		return learn_from_log(argc - 1, argv + 1);
	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i += n) {
		n = take_option(&p, argv + i, argc - i);
		if (n < 0)
			return -n;
		if (n > 0)
			continue;
		if (argv[i][0] == '-')
			return help_refuse(&kennel_help, argv[0], argv[i]);
		refused = p.d.name != NULL
			      ? "expected -- between the name and the command"
			      : draft_name_refused(argv[i]);
		if (refused != NULL)
			return help_usage(&kennel_help, argv[0], refused);
		p.d.name = argv[i];
		n = 1;
	}
	p.again = i >= argc;
	if (p.d.name == NULL || i + 1 == argc)
		return help_usage(&kennel_help, argv[0],
		    "expected a name for the server, then -- and its command");
	if (paths_config_dir() == NULL || paths_data_dir() == NULL) {
		log_error("%s", paths_why());
		return EXIT_CONFIG;
	}
	return learn_command(&p, p.again ? 0 : argc - i - 1, argv + i + 1);
}
