/*
 * kennel-secret: those verbs of `kennel secret` that may handle a value.
 *
 * Process: one per verb.  kennel starts it (supervisor/cli/secret.c), so that the
 * program that speaks MCP never links code that handles values.  Holds: what the
 * user types, until the keeper has it, in locked pages.  Trusts: the user at the
 * terminal, and the pinentry that the user chose.  Must never: print a value, accept one on the command line, request one
 * from the keeper.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "leash/secret/private.h"
#include "leash/vault/secret_path.h"
#include "shim/base/array.h"
#include "shim/base/confine.h"
#include "shim/base/fd.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"

#define PAGES_BYTES      (KEEPER_PACKET_MAX + VAULT_VALUE_MAX + (40u << 10))
#define MINUTES_MAX      1440u /* a day */
#define MINUTES_EXPECTED "expected a number of minutes from 1 to 1440"
#define VERSIONS_MAX     1000000000u
#define SECONDS_MAX      (24u * 3600)

/* Names an argument by its number, if at > 0: it may be a misplaced value. */
static int
usage(const struct verb *v, int at, const char *why)
{
	char number[32] = "";

	if (at > 0)
		(void)snprintf(number, sizeof(number), "argument %d: ", at);
	log_error(
	    "%s: %s%s; run `kennel secret %s --help`", v->name, number, why, v->name);
	return STATUS_USAGE;
}

/* ---- the command line ---------------------------------------------------------------- */

static bool
number(const char *text, uint32_t max, uint32_t *ret)
{
	uint64_t n = 0;

	if (*text == '\0')
		return false;
	for (; *text != '\0'; text++) {
		if (*text < '0' || *text > '9')
			return false;
		n = n * 10 + (uint64_t)(*text - '0');
		if (n > max)
			return false;
	}
	*ret = (uint32_t)n;
	return true;
}

static bool
descriptor(const char *value, int *ret)
{
	uint32_t n;

	if (!number(value, INT_MAX, &n))
		return false;
	*ret = (int)n;
	return true;
}

/* Each parses the value of an option; false: it is invalid. */
static bool
take_fd(struct order *o, const char *value)
{
	return descriptor(value, &o->fd);
}

static bool
take_policy_fd(struct order *o, const char *value)
{
	return descriptor(value, &o->policy_fd);
}

static bool
take_key_file(struct order *o, const char *value)
{
	o->key_file = value;
	return true;
}

static bool
take_shape(struct order *o, const char *value)
{
	o->shape = value;
	return true;
}

static bool
take_server(struct order *o, const char *value)
{
	o->server = value;
	return true;
}

static bool
take_id(struct order *o, const char *value)
{
	o->id = value;
	return true;
}

static bool
take_restore(struct order *o, const char *value)
{
	return number(value, VERSIONS_MAX, &o->version) && o->version > 0;
}

static bool
minutes(const char *value, uint32_t *ret_s)
{
	uint32_t n;

	if (!number(value, MINUTES_MAX, &n) || n == 0)
		return false;
	*ret_s = n * 60;
	return true;
}

static bool
take_text_fd(struct order *o, const char *value)
{
	return descriptor(value, &o->dialog.text);
}

static bool
take_grants_fd(struct order *o, const char *value)
{
	return descriptor(value, &o->grants);
}

static bool
take_pinentry(struct order *o, const char *value)
{
	o->dialog.pinentry = value;
	return value[0] == '/';
}

static bool
take_after(struct order *o, const char *value)
{
	o->after = value;
	return hex_is(value, strlen(value), 2 * (size_t)KEEPER_ID_LEN);
}

static bool
take_seconds(struct order *o, const char *value)
{
	return number(value, SECONDS_MAX, &o->dialog.seconds);
}

static bool
take_digest(struct order *o, const char *value)
{
	o->digest = value;
	return hex_is(value, strlen(value), 2 * (size_t)KEEPER_DIGEST_LEN);
}

static bool
take_idle(struct order *o, const char *value)
{
	return minutes(value, &o->idle_s);
}

static bool
take_for(struct order *o, const char *value)
{
	return minutes(value, &o->cap_s);
}

/* kennel has taken the format from there. */
static bool
take_project(struct order *o, const char *value)
{
	(void)o;
	return value[0] != '\0';
}

static const struct option_row {
	const char *name;
	unsigned int takes;
	bool (*take)(struct order *, const char *value);
	const char *expected; /* of an invalid value; NULL: no more is known */
} option_row[] = {
    {"--after", TAKES_AFTER, take_after}, /* from kennel */
    {"--digest", TAKES_DIALOG, take_digest},
    {"--fd", TAKES_INPUT, take_fd},
    {"--for", TAKES_TIMES, take_for, MINUTES_EXPECTED},
    {"--grants-fd", TAKES_GRANTS, take_grants_fd}, /* from kennel */
    {"--idle", TAKES_TIMES, take_idle, MINUTES_EXPECTED},
    {"--key-file", TAKES_KEY, take_key_file},
    {"--only-id", TAKES_ID, take_id},
    {"--program", TAKES_DIALOG, take_pinentry},
    {"--policy-fd", TAKES_POLICY, take_policy_fd}, /* from kennel */
    {"--project", TAKES_SHAPE, take_project},
    {"--restore", TAKES_RESTORE, take_restore},
    {"--seconds", TAKES_DIALOG, take_seconds},
    {"--server", TAKES_SERVER, take_server},
    {"--shape", TAKES_SHAPE, take_shape}, /* from kennel */
    {"--text-fd", TAKES_DIALOG, take_text_fd},
};

/* Parses one option and its value, NULL if it is the last argument; an exit status. */
static int
option(struct order *o, const struct verb *v, int at, const char *name, const char *value)
{
	for (size_t i = 0; i < ARRAY_LEN(option_row); i++) {
		if (strcmp(option_row[i].name, name) != 0 ||
		    (option_row[i].takes & v->takes) == 0)
			continue;
		if (value != NULL && option_row[i].take(o, value))
			return STATUS_OK;
		return usage(v, at,
		    option_row[i].expected != NULL
			? option_row[i].expected
			: "missing or invalid value of an option");
	}
	return usage(v, at, "unknown option");
}

static bool
digest_good(const char *text)
{
	return text != NULL && hex_is(text, strlen(text), 2 * (size_t)KEEPER_DIGEST_LEN);
}

/* An option without a value; false: this verb has no such option. */
static bool
flag(struct order *o, const struct verb *v, const char *word)
{
	const struct {
		const char *name;
		unsigned int takes;
		bool *at;
	} row[] = {
	    {"--accept", TAKES_DIALOG, &o->dialog.accept},
	    {"--any-shape", TAKES_SHAPE, &o->any_shape},
	    {"--json", TAKES_JSON, &o->json},
	    {"--destructive", TAKES_DIALOG, &o->dialog.destructive},
	    {"--only-deny", TAKES_DIALOG, &o->dialog.only_deny},
	    {"--offer-session", TAKES_DIALOG, &o->dialog.session},
	    {"--rotate", TAKES_ROTATE, &o->rotate},
	};

	for (size_t i = 0; i < ARRAY_LEN(row); i++)
		if (strcmp(word, row[i].name) == 0 && (v->takes & row[i].takes) != 0) {
			*row[i].at = true;
			return true;
		}
	return false;
}

/* What is given in the place of a path; an exit status. */
static int
take_path(struct order *o, const struct verb *v)
{
	if ((v->takes & NEEDS_DIGEST) != 0) {
		o->digest = o->path;
		o->path = NULL;
		return digest_good(o->digest)
			   ? STATUS_OK
			   : usage(
				 v, 0, "expected the 64 hexadecimal digits of a digest");
	}
	if ((v->takes & NEEDS_KEY) != 0) {
		o->key_id = o->path;
		o->path = NULL;
		return o->key_id != NULL && o->key_id[hex_span(o->key_id)] == '\0'
			   ? STATUS_OK
			   : usage(v, 0, "expected the hexadecimal digits of a key's id");
	}
	if (((v->takes & NEEDS_PATH) != 0 || o->version != 0) && o->path == NULL)
		return usage(v, 0, "expected a path");
	if (o->path == NULL || secret_path_good(o->path))
		return STATUS_OK;
	log_error("%s: a path has three or more names of a-z, 0-9 and -, "
		  "separated by /, such as team/github/token",
	    v->name);
	return STATUS_INPUT;
}

static int
take_words(struct order *o, const struct verb *v, int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i];

		if (flag(o, v, word))
			continue;
		if (strcmp(word, "--stdin") == 0 && (v->takes & TAKES_INPUT) != 0)
			o->fd = STDIN_FILENO;
		else if (word[0] == '-') {
			if (option(o, v, i, word, argv[i + 1]) != STATUS_OK)
				return STATUS_USAGE;
			i++;
		} else if (o->path == NULL && (v->takes & TAKES_WORD) != 0)
			o->path = word;
		else
			return usage(v, i, "too many arguments");
	}
	return STATUS_OK;
}

static int
read_words(struct order *o, const struct verb *v, int argc, char **argv)
{
	int status = take_words(o, v, argc, argv);

	if (status == STATUS_OK && o->id != NULL &&
	    (!digest_good(o->id) || o->server == NULL))
		return usage(v, 0,
		    "expected --server NAME and, for --only-id, the 64 hexadecimal "
		    "digits of an id");
	if (status == STATUS_OK)
		status = take_path(o, v);
	if (status != STATUS_OK || o->server == NULL)
		return status;
	if (o->server[0] == '\0' || strlen(o->server) > KEEPER_SERVER_MAX) {
		log_error("%s: invalid server name: `kennel list` shows the valid ones",
		    v->name);
		return STATUS_INPUT;
	}
	return STATUS_OK;
}

/* ---- the keeper ---------------------------------------------------------------------- */

/* kennel-keeper, in the directory of this program. */
static const char *
keeper_program(void)
{
	static char path[PATH_MAX];
	/* early: readlink readlinkat */
	ssize_t n =
	    readlink("/proc/self/exe", path, sizeof(path) - sizeof("kennel-keeper"));
	char *slash;

	if (n < 0)
		return NULL;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (slash == NULL)
		return NULL;
	memcpy(slash + 1, "kennel-keeper", sizeof("kennel-keeper"));
	return path;
}

/* Closes inherited descriptors, except those that the options name. */
static void
close_others(const struct order *o)
{
	const int keep[] = {o->fd, o->policy_fd, o->dialog.text, o->grants};

	if (fd_close_others(keep, ARRAY_LEN(keep)) < 0)
		die("unable to close inherited descriptors");
}

/* Without a keeper nothing is unlocked; do not start one to find that out. */
static int
already_locked(struct order *o, const char *run_dir)
{
	return keeper_reach(run_dir, -1, "kennel secret lock", &o->keeper, &o->state);
}

static int
connect_keeper(struct order *o)
{
	const char *run_dir = getenv("KENNEL_RUN_AT"),
		   *vault_dir = getenv("KENNEL_VAULT_AT");
	const char *program = keeper_program();
	char who[KEEPER_WHO_MAX];
	int r;

	if (run_dir == NULL || vault_dir == NULL || run_dir[0] != '/' ||
	    vault_dir[0] != '/' || program == NULL) {
		log_error("started by kennel secret, not by hand");
		return STATUS_USAGE;
	}
	(void)snprintf(who, sizeof(who), "kennel secret %s", o->verb);
	if (strcmp(o->verb, "lock") == 0) {
		r = already_locked(o, run_dir);
		if (r == -ENOENT || r == -EPIPE)
			return -1;
	} else
		r = keeper_start(program, run_dir, vault_dir, who, &o->keeper, &o->state);
	if (r == 0)
		return STATUS_OK;
	log_error("%s: unable to reach the keeper: %s", o->verb,
	    r == -EXDEV ? "the running keeper serves another vault"
	    : r == -EACCES
		? "the keeper, or one of its directories, belongs to another user"
	    : r == -EUSERS    ? "this process has too many connections to it; close some"
	    : r == -ETIMEDOUT ? "it does not answer (see keeper.log beside the vault)"
			      : strerror(-r));
	return r == -EXDEV ? STATUS_CONFIG : LOG_EXIT_FAILED;
}

/* From here on: the terminal, the input and the keeper; no program, no socket. */
static void
confine(void)
{
	int r = this_program.no_files ? confine_paths(NULL, 0) : 0;

	if (r == 0)
		r = confine_syscalls(this_program.syscalls, this_program.syscalls_n);

	if (r < 0)
		die("unable to confine this program: %s", strerror(-r));
}

/* A dialog that asks for no value and no passphrase needs none, and starts none. */
static bool
needs_keeper(const struct order *o, const struct verb *v)
{
	if ((v->takes & TAKES_DIALOG) != 0)
		return o->path != NULL || o->digest != NULL;
	return (v->takes & NO_KEEPER) == 0;
}

static int
run(struct order *o, const struct verb *v)
{
	int status = STATUS_OK, r;

	if (v->start != NULL)
		status = v->start(o);
	if (status == STATUS_OK && needs_keeper(o, v))
		status = connect_keeper(o);
	if (status < 0)
		return STATUS_OK; /* no keeper is running, so the vault is locked */
	if (status != STATUS_OK)
		return status;
	r = vault_new(PAGES_BYTES, &o->pages);
	if (r == 0)
		o->packet = vault_scratch(o->pages, KEEPER_PACKET_MAX);
	if (r < 0 || o->packet == NULL)
		die("unable to lock memory for secrets: %s", strerror(-r));
	/* may not exist */
	o->tty = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	confine();
	status = v->fn(o);
	fd_close(&o->dialog.fd);
	fd_close(&o->keeper);
	fd_close(&o->tty);
	vault_free(o->pages);
	return status;
}

/* Some have a name of two words; *ret_n: how many it has. */
static const struct verb *
find_verb(int argc, char **argv, int *ret_n)
{
	char both[32] = "";

	if (argc > 2)
		(void)snprintf(both, sizeof(both), "%s %s", argv[1], argv[2]);
	for (size_t i = 0; argc > 1 && i < this_program.verb_n; i++) {
		const struct verb *v = &this_program.verb[i];

		*ret_n = strcmp(v->name, both) == 0 ? 2 : 1;
		if (*ret_n == 2 || strcmp(v->name, argv[1]) == 0)
			return v;
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	const struct verb *verb;
	struct order o = {.fd = -1,
	    .policy_fd = -1,
	    .grants = -1,
	    .keeper = -1,
	    .tty = -1,
	    .dialog = {.text = -1, .fd = -1}};
	int status, n = 0;

	log_open("kennel secret", LOG_INFO);
	if (confine_no_dumps() < 0)
		die("unable to forbid dumps");
	(void)signal(SIGPIPE, SIG_IGN); /* a valid signal: cannot fail */
	verb = find_verb(argc, argv, &n);
	if (verb == NULL) {
		log_error("unknown command; run `kennel secret --help`");
		return STATUS_USAGE;
	}
	o.verb = verb->name;
	status = read_words(&o, verb, argc - n, argv + n);
	if (status == STATUS_OK && verb->fn == NULL)
		status = usage(verb, 0, "its second word is missing or unknown");
	if (status == STATUS_OK) {
		close_others(&o);
		status = run(&o, verb);
	}
	if (fflush(stdout) != 0 && status == STATUS_OK)
		status = LOG_EXIT_FAILED;
	return status;
}
