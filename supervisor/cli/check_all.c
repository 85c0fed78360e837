/*
 * "kennel policy check --all": checks every policy that a start would find, alone and
 * against the others. A start reads one policy; only this check knows what a server
 * of another policy may write.
 *
 * Process: kennel, as the calling user. Starts nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/base/arena.h"
#include "policy/base/output.h"
#include "policy/base/source.h"
#include "policy/check/agent_files.h"
#include "policy/check/trusted.h"
#include "policy/cli/policy_main.h"
#include "policy/compile/compile.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"
#include "shim/base/buf.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/host/path_open.h"
#include "supervisor/audit/audit.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/cli/cli.h"
#include "supervisor/help/help.h"
#include "supervisor/launch/find/changed_source.h"
#include "supervisor/launch/find/duplicate_server.h"
#include "supervisor/launch/launch.h"
#include "supervisor/launch/find/policy_files.h"

#define TEXT_LEN_MAX (16u << 20)
#define OWN_GROUP    UINT_MAX

struct all {
	FILE *out;
	struct trusted *known;
	unsigned int group; /* number of policies so far */
	size_t error_n;
	struct servers_seen seen;
	/* The pair reported last: a path may have several names. */
	struct trusted_line file, grant;
};

/* ---- reading --------------------------------------------------------------- */

static void
all_error(struct all *a, const char *path, const char *why)
{
	char shown[DIAG_TEXT_CAP];

	(void)fprintf(
	    a->out, "%s: error: %s\n", diag_text(shown, path, strlen(path)), why);
	a->error_n++;
}

static void
read_text(struct all *a, const char *path, const char *text, size_t len)
{
	struct policy_source source = {path, text, len, &policy_files};
	struct buf bytes;
	int r;

	buf_init(&bytes, SEALED_LEN_MAX);
	r = policy_compile_known(&source, 1, &bytes, a->out, a->known, a->group);
	buf_free(&bytes);
	if (r == -EINVAL)
		a->error_n++; /* already reported */
	else if (r < 0)
		all_error(a, path, strerror(-r));
}

/* A start refuses the sealed file only if both are the user's. */
static void
say_changed(struct all *a, const char *path, const struct changed_source *changed)
{
	static char text[CHANGED_TEXT_MAX];
	char shown[DIAG_TEXT_CAP];

	changed_source_text(text, changed);
	if (changed->own)
		all_error(a, path, text);
	else
		(void)fprintf(a->out, "%s: warning: %s\n",
		    diag_text(shown, path, strlen(path)), text);
}

static void
read_sealed(struct all *a, const char *path, int fd)
{
	struct changed_source changed;
	char why[TRUSTED_TEXT_MAX] = "";
	struct policy policy;
	int memfd = -1, r;

	r = policy_seal_fd(fd, &memfd);
	if (r == 0)
		r = policy_load(memfd, &policy, why, sizeof(why));
	if (r < 0) {
		all_error(a, path, why[0] != '\0' ? why : strerror(-r));
	} else {
		if (trusted_admit(&policy, why, sizeof(why)) < 0)
			all_error(a, path, why);
		if (trusted_policy(a->known, &policy, a->group) < 0)
			all_error(a, path, "out of memory");
		if (changed_source_find(&policy, path, &changed))
			say_changed(a, path, &changed);
		policy_unload(&policy);
	}
	fd_close(&memfd);
}

static void
read_file(void *arg, const char *path, int fd)
{
	struct all *a = arg;
	char magic[8] = "", *text = NULL;
	size_t len = 0;
	char why[PATH_WHY_MAX];
	const char *refused;
	int r;

	a->group++;
	if (fd < 0) {
		all_error(a, path, path_why(path, fd, why, sizeof(why)));
		return;
	}
	if ((refused = policy_file_refused(fd, path)) != NULL) {
		all_error(a, path, refused);
		return;
	}
	if (pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	    memcmp(magic, SEALED_MAGIC, sizeof(magic)) == 0) {
		read_sealed(a, path, fd);
	} else {
		r = fd_slurp(fd, TEXT_LEN_MAX, &text, &len);
		if (r < 0)
			all_error(a, path, strerror(-r));
		else
			read_text(a, path, text, len);
		free(text);
	}
}

static void
read_dir(struct all *a, const char *dir, const char *suffix)
{
	int r = policies_each(dir, suffix, read_file, a);

	if (r < 0)
		all_error(a, dir,
		    r == -E2BIG   ? "too many policies"
		    : r == -EPERM ? "not used: it is another user's, or any user may "
				    "write it (`chmod o-w`)"
				  : strerror(-r));
}

/* Callback of server_names(), which has their order. */
static void
read_name(void *arg, const struct policy_name *n)
{
	char text[DUPLICATE_TEXT_MAX], shown[DIAG_TEXT_CAP], line[16] = "";
	enum duplicate is = DUPLICATE_NONE;
	struct all *a = arg;

	if (duplicate_server(&a->seen, n, true, &is, text) < 0)
		all_error(a, n->path, "out of memory");
	if (is == DUPLICATE_NONE)
		return;
	if (n->line > 0)
		(void)snprintf(line, sizeof(line), ":%u", n->line); /* fits */
	(void)fprintf(a->out, "%s%s: %s: %s\n",
	    diag_text(shown, n->path, strlen(n->path)), line,
	    is == DUPLICATE_REFUSED ? "error" : "warning", text);
	a->error_n += is == DUPLICATE_REFUSED;
}

/* ---- findings -------------------------------------------------------------- */

static bool
is_same(const struct trusted_line *x, const struct trusted_line *y)
{
	return x->line == y->line && x->group == y->group &&
	       (x->file == y->file ||
		   (x->file != NULL && y->file != NULL && strcmp(x->file, y->file) == 0));
}

/* Conflicts within one policy were reported when it was compiled. */
static bool
across(void *arg, const struct trusted_file *f, const char *real,
    const struct trusted_grant *g)
{
	const struct trusted_line *at = f->by.line > 0 ? &f->by : &g->by;
	bool warns = f->use == USE_ARGUMENT;
	static char text[TRUSTED_TEXT_MAX];
	struct all *a = arg;
	char shown[DIAG_TEXT_CAP];

	if (f->by.group == g->by.group)
		return false;
	if (is_same(&a->file, &f->by) && is_same(&a->grant, &g->by) && f->use != USE_OWN)
		return false;
	a->file = f->by;
	a->grant = g->by;
	trusted_text(text, f, real, g);
	(void)fprintf(a->out, "%s:%u: %s: %s\n",
	    diag_text(shown, at->file, strlen(at->file)), at->line,
	    warns ? "warning" : "error", text);
	a->error_n += warns ? 0 : 1;
	/* one grant may reach a dozen of kennel's own files */
	return f->use == USE_OWN;
}

static int
policies_check(
    FILE *out, size_t *ret_policies, struct trusted **ret_known, struct arena **ret_arena)
{
	const struct audit_place place = {
	    .log_dir = paths_audit_dir(), .run_dir = paths_run_dir()};
	const char *config = paths_config_dir();
	struct arena *arena = arena_new();
	struct all a = {.out = out};
	char dir[PATH_MAX];
	int r;

	a.known = arena == NULL ? NULL : trusted_new(arena);
	if (a.known == NULL) {
		arena_free(arena);
		return -ENOMEM;
	}
	if (paths_refused())
		all_error(&a, "kennel", paths_why());
	read_dir(&a, "/etc/kennel/sealed", ".sealed");
	if (config != NULL) {
		(void)snprintf(dir, sizeof(dir), "%.4000s/sealed", config);
		read_dir(&a, dir, ".sealed");
		(void)snprintf(dir, sizeof(dir), "%.4000s/policies", config);
		read_dir(&a, dir, ".kennel");
	}
	(void)server_names(read_name, &a); /* its errors are those of read_dir */
	servers_seen_free(&a.seen);
	r = place.log_dir != NULL && place.run_dir != NULL
		? self_protect_files(a.known, &place, OWN_GROUP, RIGHT_READ | RIGHT_WRITE)
		: 0;
	if (r == 0)
		trusted_pairs(a.known, across, &a);
	*ret_policies = a.group;
	if (r == 0 && ret_known != NULL) {
		*ret_known = a.known;
		*ret_arena = arena;
	} else {
		arena_free(arena);
	}
	return r < 0 ? r : (a.error_n > INT_MAX ? INT_MAX : (int)a.error_n);
}

/* ---- for "kennel doctor" ---------------------------------------------------- */

char *
error_lines(char *said)
{
	char *line, *next, *to = said;
	size_t len;

	for (line = said; *line != '\0'; line = next) {
		len = strcspn(line, "\n");
		next = line + len + (line[len] == '\n');
		line[len] = '\0';
		if (strstr(line, ": error: ") == NULL)
			continue;
		memmove(to, line, len);
		to += len;
		*to++ = '\n';
	}
	*to = '\0';
	return said;
}

/* Prints one line for each grant on a directory in which agents look for programs to
 * start. */
static void
agents_tell(const struct trusted *known, FILE *out)
{
	const struct trusted_grant *g, *last = NULL;
	char path[PATH_MAX], shown[3][DIAG_TEXT_CAP];
	size_t n = 0;
	int r;

	g = trusted_grants(known, &n);
	for (size_t i = 0; i < n; i++) {
		if ((g[i].right & RIGHT_WRITE) == 0 ||
		    (last != NULL && is_same(&last->by, &g[i].by)))
			continue;
		/* the compiler has reported what cannot be searched */
		r = agent_files_warn(g[i].path, path);
		if (r <= AGENT_FILE_NONE)
			continue;
		last = &g[i];
		(void)fprintf(out, "%s:%u: server `%s` may %s %s\n",
		    diag_text(shown[0], g[i].by.file, strlen(g[i].by.file)), g[i].by.line,
		    diag_text(shown[1], g[i].by.server, strlen(g[i].by.server)),
		    r == AGENT_FILE_EXISTS ? "write where an agent reads" : "create",
		    diag_text(shown[2], path, strlen(path)));
	}
}

int
policies_report(char **ret_errors, char **ret_agents, size_t *ret_policies)
{
	size_t errors_len = 0, agents_len = 0;
	FILE *errors = open_memstream(ret_errors, &errors_len);
	FILE *agents = open_memstream(ret_agents, &agents_len);
	struct trusted *known = NULL;
	struct arena *arena = NULL;
	int r = -ENOMEM;

	if (errors != NULL && agents != NULL)
		r = policies_check(errors, ret_policies, &known, &arena);
	if (r >= 0)
		agents_tell(known, agents);
	arena_free(arena);
	if (errors != NULL && fclose(errors) == 0)
		error_lines(*ret_errors);
	if (agents != NULL)
		(void)fclose(agents); /* in memory: a loss affects only the output */
	return r;
}

/* ---- the verb -------------------------------------------------------------- */

/* The digits after the last ':' of a text; 0: there are none. */
static size_t
trailing_digits(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && text[len - 1 - n] >= '0' && text[len - 1 - n] <= '9')
		n++;
	return n > 0 && n < len && text[len - 1 - n] == ':' ? n : 0;
}

enum severity { AN_ERROR, A_WARNING, SEVERITIES };
static const char *const severities[SEVERITIES] = {"error", "warning"};

/* Where the severity is in a line of the report; NULL: the line shows a part of a file. */
static const char *
severity_find(const char *line, size_t len, enum severity *ret)
{
	static const char *const mark[SEVERITIES] = {": error: ", ": warning: "};
	const char *at = NULL;

	for (int k = 0; at == NULL && k < SEVERITIES && line[0] != ' '; k++)
		if ((at = memmem(line, len, mark[k], strlen(mark[k]))) != NULL)
			*ret = (enum severity)k;
	return at;
}

/* One line of the report: FILE[:LINE[:COLUMN]]: error: MESSAGE, or a warning. */
static void
put_finding(struct out *o, const char *line, size_t len)
{
	enum severity k = AN_ERROR;
	const char *at = severity_find(line, len, &k);
	size_t file_len, digits;
	uint64_t number = 0;

	if (at == NULL)
		return;
	file_len = (size_t)(at - line);
	/* the column, then the line */
	while ((digits = trailing_digits(line, file_len)) > 0) {
		number = strtoull(line + file_len - digits, NULL, 10);
		file_len -= digits + 1;
	}
	at += strlen(severities[k]) + 4; /* `: ` on both sides */
	out_object(o, NULL);
	out_text(o, "severity", severities[k]);
	out_bytes(o, "file", line, file_len);
	out_number(o, "line", number);
	out_bytes(o, "message", at, len - (size_t)(at - line));
	out_end(o);
}

static void
count_findings(const char *report, size_t n[SEVERITIES])
{
	enum severity k;

	for (size_t len; *report != '\0'; report += len + (report[len] == '\n')) {
		len = strcspn(report, "\n");
		if (severity_find(report, len, &k) != NULL)
			n[k]++;
	}
}

static void
put_findings(const char *report, size_t policies)
{
	size_t n[SEVERITIES] = {0}, len;
	struct out o;

	count_findings(report, n);
	out_init(&o, stdout);
	out_object(&o, NULL);
	out_list(&o, "diagnostics");
	for (; *report != '\0'; report += len + (report[len] == '\n')) {
		len = strcspn(report, "\n");
		put_finding(&o, report, len);
	}
	out_end(&o);
	out_number(&o, "errors", n[AN_ERROR]);
	out_number(&o, "warnings", n[A_WARNING]);
	out_number(&o, "policies", policies);
	out_end(&o);
}

static int
say_findings(const char *report, size_t policies)
{
	size_t n[SEVERITIES] = {0};

	if (policies == 0 && report[0] == '\0') {
		fprintf(stderr,
		    "kennel policy: no policy found in %s: `kennel init NAME -- COMMAND` "
		    "drafts one\n",
		    paths_config_dir() != NULL ? paths_config_dir() : "/etc/kennel");
		return EXIT_MISSING;
	}
	fputs(report, stderr);
	count_findings(report, n);
	printf("%zu %s checked, %zu %s, %zu %s\n", policies,
	    policies == 1 ? "policy" : "policies", n[AN_ERROR],
	    n[AN_ERROR] == 1 ? "error" : "errors", n[A_WARNING],
	    n[A_WARNING] == 1 ? "warning" : "warnings");
	return 0;
}

static int
check_every(bool json)
{
	char *report = NULL;
	size_t len = 0, n = 0;
	FILE *out = open_memstream(&report, &len);
	int found = out == NULL ? -ENOMEM : policies_check(out, &n, NULL, NULL),
	    status = 0;

	if (out != NULL && fclose(out) != 0)
		found = -ENOMEM;
	if (found < 0)
		fprintf(stderr, "kennel policy: unable to check: %s\n", strerror(-found));
	else if (json)
		put_findings(report, n);
	else
		status = say_findings(report, n);
	free(report);
	if (found < 0 || fflush(stdout) != 0)
		return EXIT_FAILED;
	return found > 0 ? EXIT_INPUT : status;
}

/* What each verb does with all policies that a start would find. */
static const struct {
	const char *verb, *option;
	int (*fn)(bool json);
} every[] = {
    {"check", "--all", check_every},
    {"score", "--all", score_all},
    {"explain", "--request", explain_request},
};

/* VERB OPTION [--json], in either order. */
int
policy_family_main(int argc, char **argv)
{
	bool json = false, asked = false;
	size_t k;

	for (k = 0; argc > 0 && k < ARRAY_LEN(every); k++)
		if (strcmp(argv[0], every[k].verb) == 0)
			break;
	if (argc == 0 || k == ARRAY_LEN(every))
		return policy_main(argc, argv);
	for (int i = 1; i < argc && i <= 2; i++) {
		json |= strcmp(argv[i], "--json") == 0;
		asked |= strcmp(argv[i], every[k].option) == 0;
	}
	if (!asked)
		return policy_main(argc, argv);
	if (argc > 2 + json)
		return help_refuse(&policy_help, argv[0], argv[argc - 1]);
	return every[k].fn(json);
}
