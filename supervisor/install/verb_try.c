/*
 * kennel try: installs a server, drafts and pins it, shows its policy, and calls its tools
 * for a person. The policy is in a directory that is removed at the end; the package stays
 * in the store.
 *
 * Process: kennel, the user's. What the server and the package print is shown printable.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "leash/audit/writer.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "shim/help/near_word.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/other_verb.h"
#include "supervisor/base/paths.h"
#include "supervisor/cli/cli.h"
#include "supervisor/cli/mcp_client.h"
#include "supervisor/draft/draft.h"
#include "supervisor/draft/preset.h"
#include "supervisor/help/help.h"
#include "supervisor/install/file_tree.h"
#include "supervisor/install/package.h"
#include "supervisor/install/store.h"
#include "supervisor/lint/lint.h"
#include "supervisor/registry/reference.h"

#define WORDS_MAX   600
#define LINES_SHOWN 10
#define INPUT_MAX   65536
#define SHOWN_MAX   2000 /* bytes of a line */
#define POLICY_MAX  (1u << 20)
#define NAMES_MAX   1024

struct trial {
	char name[65];
	char dir[PATH_MAX];    /* removed at the end */
	char policy[PATH_MAX]; /* in it: the draft */
	char run[PATH_MAX];    /* the same, for the person at the prompt */
	char **option, **command;
	int option_n, command_n;
};

/* The tools that were listed, to suggest one for a name that was not. */
struct names {
	char *name[NAMES_MAX];
	size_t n;
	struct first_look *look; /* while they are listed */
};

/* ---- output ------------------------------------------------------------------------ */

static void
put_lines(const char *before, const char *text)
{
	char shown[4 * SHOWN_MAX + 1];

	while (*text != '\0') {
		size_t n = strcspn(text, "\n");

		printf("%s%s\n", before,
		    log_quote(shown, sizeof(shown), text, n > SHOWN_MAX ? SHOWN_MAX : n));
		text += n + (text[n] == '\n');
	}
}

/* The lines that decide; comments are for the review of a draft. */
static void
show_policy(const char *text)
{
	char shown[4 * SHOWN_MAX + 1];
	size_t lines = 0;

	printf("\nIts policy; what it does not name is refused:\n\n");
	while (*text != '\0') {
		size_t n = strcspn(text, "\n"), blank = strspn(text, " \t");

		if (n > blank && text[blank] != '#' && lines++ < LINES_SHOWN)
			printf("    %s%s\n", blank > 0 ? "    " : "",
			    log_quote(shown, sizeof(shown), text + blank,
				n - blank > SHOWN_MAX ? SHOWN_MAX : n - blank));
		text += n + (text[n] == '\n');
	}
	if (lines > LINES_SHOWN)
		printf("    ... and %zu more\n", lines - LINES_SHOWN);
}

/* ---- the policy of the prompt ----------------------------------------------------------- */

static char *
read_text(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char *text = NULL;
	size_t len;

	if (fd >= 0 && fd_slurp(fd, POLICY_MAX, &text, &len) < 0)
		text = NULL;
	fd_close(&fd);
	return text;
}

/* Who types a call at the prompt is the person who would be asked: `ask` is `allow` here. */
static int
write_run(const struct trial *t, const char *text)
{
	static const char by[] = "tool by-annotations", ask[] = "tool ask ";
	int fd = open(t->run, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (out == NULL) {
		fd_close(&fd);
		return -EIO;
	}
	while (*text != '\0') {
		size_t n = strcspn(text, "\n"), blank = strspn(text, " \t");
		const char *word = text + blank;

		if (strncmp(word, by, sizeof(by) - 1) == 0)
			fprintf(out, "tool allow *\n");
		else if (strncmp(word, ask, sizeof(ask) - 1) == 0)
			fprintf(out, "tool allow %.*s\n",
			    (int)(n - blank - sizeof(ask) + 1), word + sizeof(ask) - 1);
		else
			fprintf(out, "%.*s\n", (int)n, text);
		text += n + (text[n] == '\n');
	}
	return fclose(out) != 0 ? -EIO : 0;
}

/* ---- the prompt -------------------------------------------------------------------------- */

static int
show_tool(void *arg, struct json item)
{
	struct names *names = arg;
	char name[256], about[4096];
	struct json text;
	size_t len;

	first_look_add(names->look, item);
	if (json_get(item, "name", &text) < 0 ||
	    json_text(text, name, sizeof(name), &len) < 0)
		return 0;
	if (json_get(item, "description", &text) < 0 ||
	    json_text(text, about, sizeof(about), &len) < 0)
		about[0] = '\0';
	about[strcspn(about, "\n")] = '\0';
	if (names->n < NAMES_MAX && (names->name[names->n] = strdup(name)) != NULL)
		names->n++;
	put_lines("    ", name);
	if (about[0] != '\0')
		put_lines("        ", about);
	return 0;
}

static void
show_result(struct client *c)
{
	static char text[1u << 20]; /* longer texts are not shown */
	struct json content, key, item, one;
	struct json_walk w;
	size_t len;

	if (json_get(c->m.top[TOP_RESULT], "content", &content) < 0)
		return;
	json_walk(&w, content);
	while (json_next(&w, &key, &item)) {
		if (json_get(item, "text", &one) == 0 &&
		    json_text(one, text, sizeof(text), &len) == 0)
			put_lines("    ", text);
		else
			printf("    (a result that is no text)\n");
	}
}

/* Visible ASCII: what a policy can name, too. */
static bool
is_plain(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (name[i] <= ' ' || name[i] > '~')
			return false;
	return len > 0;
}

static void
put_near(const char *name, const struct names *names)
{
	const char *near;

	for (size_t i = 0; i < names->n; i++)
		if (strcmp(names->name[i], name) == 0)
			return;
	near = near_word(name, (const char *const *)names->name, names->n);
	if (near != NULL && is_plain(near, strlen(near)))
		printf("    did you mean `%s`?\n", near);
}

/* TOOL, or TOOL and its arguments as a JSON object. */
static int
call(struct client *c, const struct names *names, char *line)
{
	size_t n = strcspn(line, " \t");
	const char *arguments = line + n + strspn(line + n, " \t");
	struct json object;
	struct buf params;
	int r;

	if (arguments[0] == '\0')
		arguments = "{}";
	if (!is_plain(line, n) || json_of(arguments, &object) < 0 ||
	    arguments[0] != '{') {
		printf("    expected TOOL {\"ARGUMENT\": VALUE, ...}\n");
		return 0;
	}
	buf_init(&params, (size_t)2 * INPUT_MAX);
	r = buf_puts(&params, "\"name\":");
	if (r == 0)
		r = json_quote(&params, line, n);
	if (r == 0)
		r = buf_printf(&params, ",\"arguments\":%s", arguments);
	if (r == 0)
		r = client_ask(c, "tools/call", buf_str(&params));
	buf_free(&params);
	if (r == 0)
		show_result(c);
	if (r == -EREMOTEIO)
		put_lines("    ", c->why);
	line[n] = '\0';
	put_near(line, names);
	return r == -EREMOTEIO ? 0 : r;
}

static int
prompt(struct client *c, const struct names *names)
{
	static char line[INPUT_MAX];
	int r = 0;

	printf("\nCall one: TOOL {\"ARGUMENT\": VALUE, ...}. An empty line ends.\n");
	while (r == 0) {
		printf("> ");
		(void)fflush(stdout); /* before it waits */
		if (fgets(line, sizeof(line), stdin) == NULL)
			break;
		line[strcspn(line, "\n")] = '\0';
		if (line[strspn(line, " \t")] == '\0')
			break;
		r = call(c, names, line + strspn(line, " \t"));
	}
	printf("\n");
	return r;
}

static int
serve(const struct trial *t)
{
	const char *const argv[] = {"kennel", "run", t->name, "--policy", t->run, NULL};
	int to = -1, from = -1, r;
	struct names names = {.n = 0};
	struct client c;
	pid_t pid = 0;

	(void)signal(SIGPIPE, SIG_IGN); /* cannot fail: valid signal */
	r = client_spawn(PURPOSE_TRY, argv, &pid, &to, &from);
	if (r < 0) {
		log_error("unable to start kennel: %s", strerror(-r));
		return EXIT_FAILED;
	}
	r = client_open(&c, to, from, "{}", CLIENT_START_OF_RUN);
	if (r == 0) {
		printf("\nIts tools:\n\n");
		names.look = first_look_new(t->name);
		r = client_tools(&c, show_tool, &names);
		(void)fflush(stdout); /* before the warnings */
		(void)first_look_end(names.look);
	}
	if (r == 0)
		r = prompt(&c, &names);
	for (size_t i = 0; i < names.n; i++)
		free(names.name[i]);
	if (r < 0)
		client_log("unable to use it", c.why);
	client_free(&c);
	(void)client_reap(pid); /* its input is closed */
	return r < 0 ? EXIT_INPUT : 0;
}

/* ---- the steps ----------------------------------------------------------------------------- */

static void
put_command(const struct trial *t, FILE *out)
{
	fputs(" --", out);
	for (int i = 0; i < t->command_n; i++)
		draft_shell_word(out, t->command[i]);
}

/* The command that was run, with DIR for a directory that it lacks: the caller frees; NULL. */
static char *
with_directory(const struct trial *t)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (out == NULL)
		return NULL;
	fprintf(out, "kennel try --work DIR");
	for (int i = 0; i < t->option_n; i++)
		draft_shell_word(out, t->option[i]);
	put_command(t, out);
	return fclose(out) == 0 ? text : NULL;
}

static int
install_quietly(const struct trial *t)
{
	const struct other_verb quiet = {.quiet = true};
	char *word[WORDS_MAX], *again;
	int n = 0, status;

	if (t->option_n + t->command_n + 10 > WORDS_MAX)
		return EXIT_USAGE;
	again = with_directory(t);
	word[n++] = (char *)"install";
	word[n++] = (char *)t->name;
	word[n++] = (char *)"-o";
	word[n++] = (char *)t->policy;
	if (again != NULL) {
		word[n++] = (char *)"--again";
		word[n++] = again;
	}
	for (int i = 0; i < t->option_n; i++)
		word[n++] = t->option[i];
	word[n++] = (char *)"--";
	for (int i = 0; i < t->command_n; i++)
		word[n++] = t->command[i];
	status = other_verb_run(&quiet, install_main, n, word);
	free(again);
	return status;
}

/* In its child: its pins file is removed with the trial, so only warnings are shown. */
static int
pin_with_warnings(int argc, char **argv)
{
	log_open("kennel", LOG_WARN);
	return pin_main(argc, argv);
}

static int
pin_quietly(const struct trial *t)
{
	const struct other_verb quiet = {.quiet = true};
	char pins[PATH_MAX];
	char *word[] = {(char *)"pin", (char *)t->name, (char *)"--policy",
	    (char *)t->policy, (char *)"-o", pins, (char *)"--add-line"};

	(void)snprintf(pins, sizeof(pins), "%.3900s/%s.pins", t->dir, t->name); /* fits */
	return other_verb_run(&quiet, pin_with_warnings, 7, word);
}

/* Has the draft a path that does not exist, as a preset has for the directory that its
 * server works in? Then the server would not start. 0, or an exit status. */
static int
check_paths(const struct trial *t, const char *text)
{
	size_t len;
	const char *line = preset_missing(&text, &len);

	if (line == NULL)
		return 0;
	log_error("unable to start %s: what its policy defines by `%.*s` does not exist "
		  "here: create it, and run this again",
	    t->name, (int)len, line);
	return EXIT_INPUT;
}

static int
show_and_serve(const struct trial *t)
{
	char *text;
	int status;

	printf("Pinning the definitions of its tools ...\n");
	(void)fflush(stdout); /* before it waits */
	status = pin_quietly(t);
	text = read_text(t->policy); /* with the pins */
	if (text == NULL)
		return EXIT_FAILED;
	show_policy(text);
	if (status == 0)
		status = write_run(t, text) < 0 ? EXIT_FAILED : serve(t);
	free(text);
	return status;
}

static int
run_trial(const struct trial *t)
{
	char *text;
	int status;

	printf("Installing it in a sandbox ...\n");
	(void)fflush(stdout); /* before it waits */
	status = install_quietly(t);
	if (status != 0)
		return status;
	text = read_text(t->policy);
	if (text == NULL)
		return EXIT_FAILED;
	status = check_paths(t, text);
	free(text);
	if (status == 0)
		status = show_and_serve(t);
	printf("To keep it: kennel install %s", t->name);
	for (int i = 0; i < t->option_n; i++)
		draft_shell_word(stdout, t->option[i]);
	put_command(t, stdout);
	printf("\nTo remove its package: kennel install --gc\n");
	return status;
}

/* ---- the verb --------------------------------------------------------------------------------- */

/* A name for it, from that of its package: the last part, in a server's characters. */
static void
name_it(struct trial *t, const char *package)
{
	const char *slash = strrchr(package, '/');
	size_t n = 0;

	for (const char *p = slash == NULL ? package : slash + 1;
	     *p != '\0' && n < sizeof(t->name) - 1; p++) {
		int c = tolower((unsigned char)*p);

		t->name[n++] = (char)(isascii(c) && isalnum(c) ? c : '-');
	}
	t->name[n] = '\0';
	if (draft_name_refused(t->name) != NULL)
		(void)snprintf(t->name, sizeof(t->name), "server"); /* fits */
}

static int
make_dir(struct trial *t)
{
	const char *data = store_staging_dir();
	int r = data == NULL ? -ENOENT : fd_make_dirs(data);

	if (r == 0) {
		(void)snprintf(t->dir, sizeof(t->dir), "%.3900s/try-XXXXXX", data);
		r = mkdtemp(t->dir) == NULL ? -errno : 0;
	}
	if (r < 0) {
		t->dir[0] = '\0';
		log_error("unable to create a directory: %s", strerror(-r));
		return EXIT_CONFIG;
	}
	(void)snprintf(
	    t->policy, sizeof(t->policy), "%.3900s/%s.kennel", t->dir, t->name);
	(void)snprintf(t->run, sizeof(t->run), "%.3900s/run.kennel", t->dir); /* fits */
	return 0;
}

/* An option of `kennel install`, with its value: the number of words; 0: none of those. */
static int
option_words(char *const *argv, int left)
{
	static const struct {
		const char *name;
		int words;
	} option[] = {{"--scripts", 1}, {"--require-signatures", 1}, {"--to", 2},
	    {"--work", 2}, {"--env", 2}, {"--secret", 2}, {"--vault", 2}};

	for (size_t i = 0; i < ARRAY_LEN(option); i++)
		if (strcmp(argv[0], option[i].name) == 0 && left >= option[i].words)
			return option[i].words;
	return 0;
}

int
try_main(int argc, char **argv)
{
	static struct package_source from; /* large */
	static struct trial t;
	int i, n, status, hold;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i += n) {
		n = option_words(argv + i, argc - i);
		if (n == 0)
			return help_refuse(&kennel_help, argv[0], argv[i]);
		if (strcmp(argv[i], "--to") == 0 && !draft_scope_ok(argv[i + 1]))
			return EXIT_USAGE;
	}
	t.option = argv + 1;
	t.option_n = i - 1;
	t.command = argv + i + 1;
	t.command_n = i < argc ? argc - i - 1 : 0;
	if (t.command_n == 0)
		return help_usage(
		    &kennel_help, argv[0], "expected -- and the command of a server");
	status = package_source(t.command_n, t.command, &from);
	if (status != 0)
		return status;
	name_it(&t, from.name);
	hold = store_hold(false); /* no --gc before the end */
	if (hold < 0) {
		log_error("unable to use the store: %s", strerror(-hold));
		return EXIT_CONFIG;
	}
	status = make_dir(&t);
	if (status == 0)
		status = run_trial(&t);
	if (t.dir[0] != '\0' && file_tree_remove(AT_FDCWD, t.dir) < 0)
		log_warn("unable to remove %s", t.dir);
	fd_close(&hold);
	return status;
}
