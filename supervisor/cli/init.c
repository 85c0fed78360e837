/*
 * kennel init: makes a draft policy from the command of a server in an agent's
 * configuration, and prints the line that replaces it there. A draft is narrow:
 * anything else that the server needs is shown as refused in the log, and the user
 * adds it.
 *
 * Runs as the calling user. Uses no network; reads the installed package and the presets
 * that come with this program; starts the server only confined by its draft, to list
 * its tools.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "leash/audit/writer.h"
#include "policy/cli/verb.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/cli/cli.h"
#include "supervisor/cli/init_tools.h"
#include "supervisor/cli/mcp_client.h"
#include "supervisor/draft/draft.h"
#include "supervisor/draft/preset.h"
#include "supervisor/help/help.h"

/* The draft, and how it is made. */
struct plan {
	struct draft d;
	char *preset; /* or NULL */
	bool start;   /* the server, to list its tools */
	struct tools_found tools;
	const char *file;  /* -o */
	const char *again; /* what the user ran, with DIR for the directory; NULL: this */
	char **command;    /* as it was given */
	int command_n;
};

/* ---- output ---------------------------------------------------------------- */

static int
write_draft(const struct plan *p, FILE *out)
{
	int r;

	if (p->preset != NULL)
		return preset_write(p->preset, &p->d, out);
	r = draft_head(&p->d, out);
	init_tools_put(&p->tools, out);
	return r < 0 ? r : draft_tail(&p->d, out);
}

static int
write_file(const struct plan *p, const char *path)
{
	FILE *out;
	int r,
	    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return -errno;
	out = fdopen(fd, "w");
	if (out == NULL) {
		fd_close(&fd);
		(void)unlink(path);
		return -ENOMEM;
	}
	r = write_draft(p, out);
	if (fclose(out) != 0 && r == 0)
		r = -EIO;
	if (r < 0)
		(void)unlink(path); /* leave no partial draft */
	return r;
}

/* Replaces the draft by one with the server's tools; a preset has them already. */
static void
ask_tools(struct plan *p, const char *path)
{
	char *text = NULL;
	size_t len = 0;
	bool known;
	FILE *out;
	int r;

	printf("Starting %s once, confined by its draft, to list its tools ...\n",
	    p->d.name);
	(void)fflush(stdout); /* before the messages of the start */
	known = init_tools_list(PURPOSE_INIT, path, p->d.name, &p->tools) == 0;
	out = open_memstream(&text, &len);
	r = out == NULL ? -ENOMEM : write_draft(p, out);
	if (out != NULL && fclose(out) != 0 && r == 0)
		r = -ENOMEM;
	if (r == 0)
		r = verb_write(path, text, len, 0600);
	free(text);
	if (r < 0)
		log_error("unable to write the tools to %s: %s", path, strerror(-r));
	else if (!known) {
		printf("Its tools are not known");
		client_put_why(stdout, "    ", p->tools.why);
		printf("Correct the draft, and name the tools in place of `tool "
		       "by-annotations`.\n");
	} else
		printf("%zu of its tools only read and are allowed; %zu ask a person "
		       "first.\n",
		    p->tools.allowed, p->tools.asked);
}

static bool
has_variable(const struct draft *d, const char *name)
{
	for (size_t i = 0; i < d->variable_n; i++)
		if (strcmp(d->variable[i].name, name) == 0)
			return true;
	return false;
}

/* The secrets of a preset that it starts without. */
static void
tell_without(const struct plan *p)
{
	char name[PRESET_NAME_CAP];

	for (const char *line = p->preset; line != NULL && line[0] != '\0';
	     line += line[0] == '\n') {
		if (preset_leaves_out(&p->d, line, name))
			printf("\nThe draft starts without %s, which is not set here. To "
			       "give the server its value,\nremove the # before its line "
			       "in the draft, and keep it in the \"env\" of the entry.\n",
			    name);
		line += strcspn(line, "\n");
	}
}

static void
tell_snippet(const struct plan *p)
{
	const struct draft *d = &p->d;
	const char *line;
	char name[PRESET_NAME_CAP];
	size_t kept = 0;
	bool left;

	printf("\nIn the agent's configuration, in place of the server's command:\n\n"
	       "    \"mcpServers\": {\n"
	       "        \"%s\": {\n"
	       "            \"command\": \"kennel\",\n"
	       "            \"args\": [\"run\", \"%s\"]\n"
	       "        }\n"
	       "    }\n",
	    d->name, d->name);
	for (size_t i = 0; i < d->variable_n; i++)
		if (d->variable[i].value == NULL && d->variable[i].vault == NULL)
			printf("%s %s", kept++ == 0 ? "\nKeep in its \"env\":" : "",
			    d->variable[i].name);
	for (line = p->preset; line != NULL && line[0] != '\0'; line += line[0] != '\0') {
		left = preset_leaves_out(&p->d, line, name);
		line += strspn(line, " \t");
		if (!left && sscanf(line, "secret %64[A-Z0-9_] from env", name) == 1 &&
		    !has_variable(d, name))
			printf(
			    "%s %s", kept++ == 0 ? "\nKeep in its \"env\":" : "", name);
		line += strcspn(line, "\n");
	}
	printf("%s", kept > 0 ? "\n" : "");
}

static const char *
vault_first(void)
{
	switch (vault_state_now()) {
	case VAULT_NONE:
		return "    kennel secret init\n";
	case VAULT_LOCKED:
		return "    kennel secret unlock\n";
	default:
		return "";
	}
}

/* What gives the secrets of --vault their values, and the server these. */
static void
tell_vault(const struct plan *p)
{
	const struct draft *d = &p->d;
	size_t n = 0;

	for (size_t i = 0; i < d->variable_n; i++) {
		if (d->variable[i].vault == NULL)
			continue;
		if (n++ == 0)
			printf("\nIts secrets come from the vault; it starts once they "
			       "are stored and granted:\n\n%s",
			    vault_first());
		printf("    kennel secret set %s\n", d->variable[i].vault);
	}
	if (n > 0)
		printf("    kennel secret grant --server %s\n", d->name);
}

/* The command that drafts it, with this directory. */
static void
tell_again(const struct plan *p, const char *work, FILE *to)
{
	if (p->again != NULL) {
		fprintf(to, "\n    %s\n", p->again);
		return;
	}
	fprintf(to, "\n    kennel init %s --work", p->d.name);
	draft_shell_word(to, work);
	draft_options(&p->d, to);
	if (!p->start)
		fputs(" --no-start", to);
	if (p->file != NULL) {
		fputs(" -o", to);
		draft_shell_word(to, p->file);
	}
	fputs(" --", to);
	for (int i = 0; i < p->command_n; i++)
		draft_shell_word(to, p->command[i]);
	fputs("\n", to);
}

/* Names each line that still has a directory which does not exist on this machine. */
static void
tell_placeholders(const struct plan *p, FILE *to)
{
	char *text = NULL;
	const char *at, *line;
	size_t len = 0, n = 0;
	FILE *out = open_memstream(&text, &len);
	int r = out == NULL ? -ENOMEM : write_draft(p, out);

	if (out != NULL && fclose(out) != 0)
		r = -ENOMEM;
	at = r < 0 ? "" : text;
	while ((line = preset_missing(&at, &len)) != NULL) {
		if (n++ == 0)
			fprintf(to, "\nReplace first what does not exist here:\n\n");
		fprintf(to, "    %.*s\n", (int)len, line);
	}
	free(text);
}

static int
finish(struct plan *p)
{
	char path[PATH_MAX];
	int r;

	if (p->file != NULL && strcmp(p->file, "-") == 0) {
		r = write_draft(p, stdout);
		tell_placeholders(p, stderr);
		return r < 0 || fflush(stdout) != 0 ? EXIT_FAILED : 0;
	}
	r = draft_place(p->file, p->d.name, path);
	if (r != 0)
		return r;
	r = write_file(p, path);
	if (r < 0) {
		log_error("unable to write %s: %s%s", path, strerror(-r),
		    r == -EEXIST
			? "; remove it to draft again, or name another with -o FILE"
			: "");
		return EXIT_CONFIG;
	}
	if (p->preset != NULL)
		printf("The draft is made from the preset for %s.\n", preset_name(&p->d));
	if (p->start && p->preset == NULL)
		ask_tools(p, path);
	printf("A draft is in %s: review it, then:\n\n"
	       "    kennel policy check %s\n"
	       "    kennel policy show %s\n",
	    path, path, path);
	tell_snippet(p);
	tell_without(p);
	tell_vault(p);
	tell_placeholders(p, stdout);
	return 0;
}

/* ---- the directory to work in ---------------------------------------------- */

/* One of kennel's own for the server. */
static int
own_work(struct draft *d)
{
	char own[PATH_MAX], shown[4 * PATH_MAX];
	int r;

	draft_work_own(d->name, own);
	r = draft_work_make(own);
	if (r == 0)
		r = draft_work(d, own);
	if (r < 0)
		log_error("unable to create %s: %s", own, strerror(-r));
	else
		log_warn("%s works in %s, which was created for it", d->name,
		    log_quote(shown, sizeof(shown), own, strlen(own)));
	return r < 0 ? EXIT_CONFIG : 0;
}

/* Sets it to the directory that the user is in, where the user's own files can be. */
static bool
here(struct draft *d)
{
	char dir[PATH_MAX];

	return realpath(".", dir) != NULL && draft_dir_refused(dir) == NULL &&
	       access(dir, W_OK) == 0 && draft_work(d, dir) == 0;
}

/* The directory that a preset works in: 0, or an exit status after printing the command. */
static int
find_work(struct plan *p)
{
	enum preset_wants wants = preset_wants(p->preset, &p->d);
	char own[PATH_MAX], shown[4 * PATH_MAX];

	if (wants == PRESET_NONE)
		return 0;
	if (isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1) {
		draft_work_own(p->d.name, own);
		draft_work_ask(&p->d, own);
		return p->d.work[0] != '\0' ? 0 : own_work(&p->d);
	}
	if (wants == PRESET_OWN)
		return own_work(&p->d);
	if (here(&p->d)) {
		log_warn("%s works in the current directory, %s: --work names another",
		    p->d.name,
		    log_quote(shown, sizeof(shown), p->d.work, strlen(p->d.work)));
		return 0;
	}
	log_error("%s needs a directory with your files, and its command names none: "
		  "replace DIR in",
	    p->d.name);
	tell_again(p, "DIR", stderr);
	return EXIT_INPUT;
}

/* ---- the verb -------------------------------------------------------------- */

/* Takes one option and its value: the number of words; 0 if it is none; a negative exit
 * status. */
static int
take_option(struct plan *p, char **argv, int left)
{
	if (strcmp(argv[0], "--no-start") == 0) {
		p->start = false;
		return 1;
	}
	if (left < 2)
		return 0;
	if (strcmp(argv[0], "-o") == 0) {
		p->file = argv[1];
		return 2;
	}
	if (strcmp(argv[0], "--again") == 0) { /* of other verbs */
		p->again = argv[1];
		return 2;
	}
	return draft_option(&p->d, argv);
}

int
init_main(int argc, char **argv)
{
	static struct plan p = {.start = true};
	const char *refused;
	int i, n, status;

	for (i = 1; i < argc && strcmp(argv[i], "--") != 0; i += n) {
		n = take_option(&p, argv + i, argc - i);
		if (n < 0)
			return -n;
		if (n > 0)
			continue;
		if (p.d.name != NULL && argv[i][0] != '-')
			return help_usage(&kennel_help, argv[0],
			    "expected -- between the name and the command");
		if (argv[i][0] == '-')
			return help_refuse(&kennel_help, argv[0], argv[i]);
		refused = draft_name_refused(argv[i]);
		if (refused != NULL)
			return help_usage(&kennel_help, argv[0], refused);
		p.d.name = argv[i];
		n = 1;
	}
	if (p.d.name == NULL || i + 1 >= argc)
		return help_usage(&kennel_help, argv[0],
		    "expected a name for the server, then -- and its command");
	if (paths_config_dir() == NULL || paths_data_dir() == NULL) {
		log_error("%s", paths_why());
		return EXIT_CONFIG;
	}
	p.command = argv + i + 1;
	p.command_n = argc - i - 1;
	status = draft_take(&p.d, p.command_n, p.command);
	if (status != 0)
		return status;
	p.preset = preset_for(&p.d);
	if (p.preset != NULL)
		status = find_work(&p);
	if (status == 0)
		status = finish(&p);
	free(p.preset);
	return status;
}
