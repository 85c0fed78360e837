#include "supervisor/install/installer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/cli/verb.h"
#include "policy/lang/host.h"
#include "shim/base/array.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/cli/cli.h"
#include "supervisor/base/other_verb.h"
#include "supervisor/draft/draft.h"
#include "supervisor/draft/signed_set.h"

#define OUTPUT_MAX (64u << 10)
#define CELL_NAME  "npm-install"
#define SCOPE_MAX  64 /* with a NUL: of an address block */

/* ---- the policy of the cell ---------------------------------------------------- */

/* Debian has npm's modules beside npm. */
static const char *const beside[] = {"/usr/share/nodejs", "/usr/share/node_modules"};

/* The variables that npm sets for a script. */
static const char told[] =
    "COLOR EDITOR HOME INIT_CWD NODE PATH npm_command npm_execpath npm_node_execpath "
    "npm_lifecycle_* npm_package_* npm_config_audit npm_config_cache "
    "npm_config_foreground_scripts npm_config_fund npm_config_global_prefix "
    "npm_config_globalconfig npm_config_ignore_scripts npm_config_init_module "
    "npm_config_install_links npm_config_local_prefix npm_config_loglevel "
    "npm_config_logs_max npm_config_node_gyp npm_config_noproxy npm_config_npm_version "
    "npm_config_offline npm_config_omit npm_config_prefix npm_config_registry "
    "npm_config_save_exact npm_config_update_notifier npm_config_user_agent "
    "npm_config_userconfig npm_config_yes";

static int
put(FILE *out, const char *before, const char *path, const char *after)
{
	int r;

	if (path == NULL || path[0] == '\0')
		return 0;
	fprintf(out, "    %s", before);
	r = draft_word(out, path);
	fprintf(out, "%s\n", after);
	return r;
}

/* What the scripts may start: a shell and node, with what npm sets for them. */
static int
put_scripts(const struct installer *in, FILE *out)
{
	int r;

	fprintf(out, "    exec allow /bin/sh -c ** with env %s\n", told);
	fprintf(out, "    exec allow");
	r = draft_word(out, in->npm.node);
	fprintf(out, " ** with env %s\n", told);
	return r;
}

static bool
is_loopback(const char *host)
{
	return strncmp(host, "127.", 4) == 0 || strncmp(host, "localhost:", 10) == 0;
}

static void
put_registry(const struct installer *in, FILE *out)
{
	const char *host = in->npm.url.target;

	fprintf(out, "    net allow %s", host);
	if (in->scope != NULL || is_loopback(host))
		fprintf(out, " to %s", in->scope != NULL ? in->scope : "loopback");
	fprintf(out, "%s\n", in->npm.url.tls ? "" : " plain");
}

/* A node in a home directory may have its libraries beside it. */
static int
put_needs(const struct installer *in, FILE *out)
{
	static struct draft d; /* large */

	(void)snprintf(d.program, sizeof(d.program), "%s", in->npm.node); /* fits */
	(void)snprintf(d.modules, sizeof(d.modules), "%s", in->npm.modules);
	return draft_needs(&d, "    ", out);
}

/* Outside of what the cell may write. */
static void
signed_path(const struct installer *in, char ret[PATH_MAX])
{
	(void)snprintf(ret, PATH_MAX, "%.4000s/signed.js", in->staging.dir); /* fits */
}

/* Does node load a script that keeps what npm verifies?  An interpreter with another name
 * may not have the option; then no package counts as verified. */
static bool
keeps_signed(const struct installer *in, enum npm_cell cell)
{
	const char *slash = strrchr(in->npm.node, '/');

	return cell == CELL_AUDIT && slash != NULL && strncmp(slash, "/node", 5) == 0;
}

static int
put_run(const struct installer *in, enum npm_cell cell, FILE *out)
{
	char path[PATH_MAX];
	int r;

	fprintf(out, "    run");
	r = draft_word(out, in->npm.node);
	signed_path(in, path);
	if (r == 0 && keeps_signed(in, cell)) {
		fprintf(out, " --require");
		r = draft_word(out, path);
	}
	if (r == 0)
		r = draft_word(out, in->npm.script);
	fprintf(out, " **\n");
	return r == 0 && keeps_signed(in, cell) ? put(out, "read", path, "") : r;
}

static int
put_policy(const struct installer *in, enum npm_cell cell, FILE *out)
{
	const char *slash = strrchr(in->npm.node, '/');
	int r;

	fprintf(out, "server " CELL_NAME " {\n    about \"npm, installing a package\"\n");
	r = put_run(in, cell, out);
	if (geteuid() == 0)
		fprintf(out, "    user \"%u\"\n", in->user);
	if (r == 0)
		r = put(out, "read", in->npm.modules, "");
	if (r == 0)
		r = put_needs(in, out);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(beside); i++)
		if (strncmp(in->npm.script, beside[0], strlen(beside[0])) == 0)
			r = put(out, "read", beside[i], " { optional }");
	if (r == 0)
		r = put(out, "read", in->npm.cafile, "");
	if (r == 0)
		r = put(out, "read", in->dir, "");
	if (r == 0)
		r = put(out, "write", in->staging.work, "");
	if (r == 0)
		r = put(out, "env HOME =", in->staging.work, "");
	fprintf(out, "    env PATH = \"%.*s:/usr/local/bin:/usr/bin:/bin\"\n",
	    (int)(slash - in->npm.node), in->npm.node);
	fprintf(out, "    tmp 256M\n    limit processes 256 files 4096\n");
	if (cell == CELL_SCRIPTS && r == 0)
		r = put_scripts(in, out);
	if (cell != CELL_SCRIPTS)
		put_registry(in, out);
	if (cell == CELL_AUDIT && in->npm.url.tls)
		fprintf(out, "    net allow " KEYS_NAME ":443\n");
	fprintf(out, "}\n");
	return r;
}

static int
write_policy(const struct installer *in, enum npm_cell cell, const char *path)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	int r;

	if (out == NULL)
		return -ENOMEM;
	r = put_policy(in, cell, out);
	if (fclose(out) != 0 && r == 0)
		r = -ENOMEM;
	if (r == 0)
		r = verb_write(path, text, len, 0600);
	free(text);
	return r;
}

/* ---- npm in it ------------------------------------------------------------------- */

void
npm_word(struct npm_words *w, const char *word)
{
	if (w->n + 1 == NPM_WORDS_MAX)
		bug("too many words");
	w->word[w->n++] = (char *)word;
	w->word[w->n] = NULL;
}

static void
add_option(struct npm_words *w, const char *option, const char *value)
{
	npm_word(w, option);
	npm_word(w, value);
}

int
installer_npm(const struct installer *in, enum npm_cell cell,
    const struct npm_words *more, char **ret_output)
{
	char policy[PATH_MAX], script[PATH_MAX], cache[PATH_MAX], tree[PATH_MAX];
	struct npm_words w = {.n = 0};
	int r;

	(void)snprintf(
	    policy, sizeof(policy), "%.4000s/npm.kennel", in->staging.dir); /* fits */
	(void)snprintf(cache, sizeof(cache), "%.4000s/cache", in->staging.work);
	(void)snprintf(tree, sizeof(tree), "%.4000s/tree", in->staging.work);
	signed_path(in, script);
	*ret_output = NULL;
	r = write_policy(in, cell, policy);
	if (r == 0 && keeps_signed(in, cell))
		r = verb_write(script, signed_script, strlen(signed_script), 0644);
	if (r < 0) {
		log_error("unable to write in %s: %s", in->staging.dir, strerror(-r));
		return EXIT_FAILED;
	}
	npm_word(&w, "exec");
	add_option(&w, "--policy", policy);
	add_option(&w, CELL_NAME, "--");
	npm_word(&w, in->npm.node);
	if (keeps_signed(in, cell))
		add_option(&w, "--require", script);
	npm_word(&w, in->npm.script);
	for (int i = 0; i < more->n; i++)
		npm_word(&w, more->word[i]);
	add_option(&w, "--prefix", tree);
	add_option(&w, "--cache", cache);
	add_option(&w, "--registry", in->npm.registry);
	/* no settings but these: neither file exists in the cell */
	add_option(&w, "--userconfig", "/none/user");
	add_option(&w, "--globalconfig", "/none/global");
	if (in->npm.cafile[0] != '\0')
		add_option(&w, "--cafile", in->npm.cafile);
	npm_word(&w, "--no-fund");
	npm_word(&w, "--no-update-notifier");
	add_option(&w, "--logs-max", "0");
	add_option(&w, "--fetch-retry-mintimeout", "1000"); /* milliseconds */
	add_option(&w, "--fetch-retry-maxtimeout", "5000");
	return other_verb_captured(
	    exec_install_main, w.n, w.word, OUTPUT_MAX, ret_output);
}

/* kennel's own line on what npm did not reach, or NULL. Lines of npm begin with its name. */
static const char *
find_refusal(const char *output)
{
	static const char refused[] = "kennel: " CELL_NAME " did not reach ";
	const char *at = output;

	while (strncmp(at, refused, sizeof(refused) - 1) != 0) {
		at = strchr(at, '\n');
		if (at == NULL)
			return NULL;
		at++;
	}
	return at;
}

/* The scope that the line names; "": none. */
static void
scope_in(const char *line, char ret[SCOPE_MAX])
{
	const char *end = line + strcspn(line, "\n");
	uint32_t scope, prefix;
	uint8_t addr[16];

	while ((line = memmem(line, (size_t)(end - line), "to ", 3)) != NULL) {
		struct word word = {.text = ret};

		line += 3;
		word.len = strcspn(line, "`() \n");
		(void)snprintf(ret, SCOPE_MAX, "%.*s", (int)word.len, line);
		if (word.len < SCOPE_MAX && net_scope_read(&word, &scope, addr, &prefix))
			return;
	}
	ret[0] = '\0';
}

/* Reports that kennel refused the address, in one line if that line can name what to do.
 * npm tries again, and gives a reason of its own, which is only the refusal's result. */
static void
tell_refusal(const struct installer *in, const char *line, const char *output)
{
	const char *target = in->npm.url.target;
	bool public = strstr(line, "it is a public address") != NULL;
	char scope[SCOPE_MAX];

	scope_in(line, scope);
	if (scope[0] == '\0' && !public)
		other_verb_show("npm: ", output);
	if (scope[0] != '\0')
		log_error("unable to install %s: the address of %s is not %s: only "
			  "`--to %s` permits it; nothing was kept",
		    in->package, target, in->scope == NULL ? "public" : in->scope, scope);
	else
		log_error("unable to install %s: %s was not reached, and %s; nothing was "
			  "kept",
		    in->package, target,
		    public ? "its address is public: leave --to out"
			   : "no --to permits it: see the line above, and set another "
			     "registry for npm");
}

/* Has npm refused the registry's certificate? */
static bool
is_untrusted(const char *output)
{
	static const char *const code[] = {"UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
	    "UNABLE_TO_GET_ISSUER_CERT", "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
	    "SELF_SIGNED_CERT_IN_CHAIN", "DEPTH_ZERO_SELF_SIGNED_CERT"};
	const char *at = strstr(output, "npm error code ");

	for (size_t i = 0; at != NULL && i < ARRAY_LEN(code); i++) {
		size_t n = strlen(code[i]);

		if (strncmp(at + 15, code[i], n) == 0 && at[15 + n] == '\n')
			return true;
	}
	return false;
}

/* What the registry answers if it does not have what it was asked for. */
static const char *
answered(const char *output)
{
	static const struct {
		const char *line, *means;
	} row[] = {
	    {"npm error code E404\n",
		"the registry does not have it, or a package that it needs: check the "
		"name"},
	    {"npm error code ETARGET\n",
		"the registry does not have this version of it, or of a package that it "
		"needs: check the version"},
	};

	for (size_t i = 0; i < ARRAY_LEN(row); i++)
		if (strstr(output, row[i].line) != NULL)
			return row[i].means;
	return NULL;
}

static void
tell_failure(const struct installer *in, int status, const char *output)
{
	const char *target = in->npm.url.target, *text = output == NULL ? "" : output;
	const char *why = answered(text);
	const char *line = find_refusal(text);

	if (why == NULL && line != NULL) {
		tell_refusal(in, line, output);
		return;
	}
	other_verb_show("npm: ", output);
	if (why != NULL)
		log_error("unable to install %s from %s: %s; nothing was kept",
		    in->package, target, why);
	else if (is_untrusted(text))
		log_error("unable to install %s: npm does not know the authority that "
			  "signed the certificate of %s: `npm config set cafile FILE` "
			  "names the file of its certificate (NODE_EXTRA_CA_CERTS is not "
			  "read in the cell); nothing was kept",
		    in->package, target);
	else
		log_error("unable to install %s (npm exited with %d): its cell reaches "
			  "%s only; nothing was kept",
		    in->package, status, target);
}

int
installer_run(const struct installer *in)
{
	struct npm_words w = {.n = 0};
	char *output;
	int status;

	npm_word(&w, "install");
	npm_word(&w, in->package);
	npm_word(&w, "--ignore-scripts");
	npm_word(&w, "--install-links");
	npm_word(&w, "--save-exact");
	npm_word(&w, "--no-audit");
	add_option(&w, "--omit", "dev");
	status = installer_npm(in, CELL_INSTALL, &w, &output);
	if (status != 0)
		tell_failure(in, status, output);
	free(output);
	return status != 0 ? EXIT_INPUT : 0;
}

int
installer_scripts(const struct installer *in)
{
	struct npm_words w = {.n = 0};
	char *output;
	int status;

	npm_word(&w, "rebuild");
	npm_word(&w, "--foreground-scripts");
	npm_word(&w, "--offline");
	status = installer_npm(in, CELL_SCRIPTS, &w, &output);
	other_verb_show("script: ", output);
	if (status != 0)
		log_error("unable to run the install scripts (npm exited with %d): in "
			  "their cell are node and /bin/sh, and no network and no "
			  "compiler",
		    status);
	free(output);
	return status == 0 ? 0 : EXIT_INPUT;
}
