/*
 * kennel secret: the verbs that show metadata of secrets (secret_show.c). They read
 * manifests and never a value; every verb that handles one is in another program,
 * kennel-secret.
 */
#ifndef KENNEL_SUPERVISOR_CLI_SECRET_H
#define KENNEL_SUPERVISOR_CLI_SECRET_H

#include "policy/manifests/manifests.h"
#include "policy/sealed/policy.h"
#include "supervisor/json/json.h"

/* argv[0] is the verb; returns an exit status. */
int secret_list_main(int argc, char **argv);
int secret_ui_main(int argc, char **argv);
int secret_show_main(int argc, char **argv);
int secret_validate_main(int argc, char **argv);
int secret_catalog_main(int argc, char **argv);
int secret_put_main(int argc, char **argv);
int secret_form_main(int argc, char **argv);
int secret_sources_main(int argc, char **argv);
int secret_grants_main(int argc, char **argv);
int secret_revoke_main(int argc, char **argv);

/* The options of these verbs. */
struct secret_options {
	const char *word[2]; /* arguments that are not options */
	int word_n;
	const char *project; /* NULL: search upwards from here */
	struct meta_filter filter;
	bool json, strict, first;
	bool live, ask;
};

/* Parses options. Returns 0, or EXIT_USAGE after reporting why. Never shows an
 * argument: it may be a misplaced value. */
int secret_options(int argc, char **argv, unsigned int may, int word_min, int word_max,
    struct secret_options *ret);

/* Names the argument by its number; EXIT_USAGE. */
int secret_unknown_option(const char *verb, int at);

/* secret_show.c: prints the secrets that pass the filter, and their servers; returns an exit
 * status. */
int secret_list_put(const struct metas *, const struct secret_options *);

/* secret_grants.c: the servers whose policies name secrets of the vault, by path; while the
 * vault is open, also the paths in it that no policy names, with the server "". */
enum secret_granted { SECRET_NOT_GRANTED, SECRET_GRANTED, SECRET_GRANT_UNKNOWN };
struct secret_server {
	char *path, *server;
	enum secret_granted granted; /* unknown: the vault is locked */
};
struct secret_servers {
	struct secret_server *row;
	size_t n;
};
/* 0 or -ENOMEM; free in any case. A server whose policy has errors is left out. */
int secret_servers_read(struct secret_servers *ret, bool *ret_locked);
void secret_servers_free(struct secret_servers *);
/* Does a start under this policy get a value by this grant, an element of `grants --json`? */
struct policy_found;
bool secret_grant_holds(const struct policy_found *, struct json grant);
/* secret_show.c: is row i, the first one of its path, listed without a manifest? */
bool secret_is_undeclared(const struct metas *, const struct secret_options *,
    const struct secret_servers *, size_t i);

/*
 * secret_value_grants.c: grants that a person is asked for together with a value: of its
 * path, to the servers of the sessions that ask for it.
 */
#define VALUE_GRANTS_MAX 16

struct value_grant {
	char server[256];
	uint8_t id[POLICY_ID_LEN]; /* the policy that its session has */
	bool
	    kept; /* it is not the one that a start by name finds, but a copy of it is kept */
};

struct value_grants {
	struct value_grant of[VALUE_GRANTS_MAX];
	size_t n;                                     /* 0: none is missing */
	struct value_grant unknown[VALUE_GRANTS_MAX]; /* no policy with the id is known */
	size_t unknown_n;
	char *detail; /* one line of JSON: what a person is shown before a yes; owned */
};

/*
 * The grants that pending requests for a value of this path name, without those that the
 * vault has. While it is locked, all that they name. What is shown is read from the
 * policies, never from a session. 0 or -ENOMEM; the caller frees in any case.
 */
int value_grants_find(const char *path, struct value_grants *ret);
void value_grants_free(struct value_grants *);

#define VALUE_GRANTS_TITLE \
	"The value is given to a server only with a grant. Not granted yet:"
#define VALUE_GRANTS_QUESTION "Grant it to these servers, under these policies?"
/* Shows them on this terminal, and reads a yes. */
bool value_grants_ask(const struct value_grants *, int tty);
/* The same as lines for a dialog, each of at most width characters; the caller frees. NULL:
 * no memory. */
char *value_grants_text(const struct value_grants *, int width);
/* After the value was stored. agreed: makes each grant, and prints it; an error says how to
 * make it later. Else prints what is missing. */
void value_grants_give(const struct value_grants *, const char *path, bool agreed);

enum { /* may */
	SECRET_JSON = 1,
	SECRET_STRICT = 2,
	SECRET_FILTER = 4, /* --contains --scope --status --internal */
	SECRET_ALL = 8,
	SECRET_FIRST = 16,
	SECRET_LIVE = 32, /* --live --ask */
};

#endif
