/*
 * npm, in a cell of its own. It may write the staging directory, reach the host of the
 * registry, and read itself; nothing else: no secret, no setting of the user's, and no
 * program. To verify signatures it may also reach the host of the keys. Scripts of packages run afterwards, if they are asked for, in a cell that has
 * node and a shell, and no network.
 */
#ifndef KENNEL_SUPERVISOR_INSTALL_INSTALLER_H
#define KENNEL_SUPERVISOR_INSTALL_INSTALLER_H

#include <stdbool.h>
#include <sys/types.h>

#include "supervisor/install/npm.h"
#include "supervisor/install/store.h"

struct installer {
	struct npm npm;
	struct staging staging;
	const char *package; /* for npm: NAME@VERSION, or a directory */
	const char *dir;     /* that the cell may read: a package, or NULL */
	const char *scope;   /* of the registry's address, as in `net ... to`, or NULL */
	uid_t user;          /* of the cell, if root installs */
};

/* npm has the keys of registries from here (sigstore's TUF repository), signed with
 * a key that npm contains. */
#define KEYS_NAME "tuf-repo-cdn.sigstore.dev"

enum signatures {
	SIGNATURES_VERIFIED,
	SIGNATURES_SKIPPED, /* the registry has none, or the host of the keys is away */
	SIGNATURES_WRONG,   /* all else: nothing is kept */
};

#define NPM_WORDS_MAX 48

struct npm_words {
	char *word[NPM_WORDS_MAX];
	int n;
};

void npm_word(struct npm_words *, const char *word);
enum npm_cell {
	CELL_INSTALL, /* reaches the registry */
	CELL_AUDIT,   /* the same, and the host of the registries' keys */
	CELL_SCRIPTS, /* no network; node and a shell */
};

/* Runs npm with these arguments and the settings, in a cell. Returns its exit status, and
 * the end of what it printed, which the caller frees. */
int installer_npm(
    const struct installer *, enum npm_cell, const struct npm_words *, char **ret_output);

/* Installs the package into staging.work/tree, without its scripts: 0, or an exit status
 * after reporting why not. */
int installer_run(const struct installer *);
/* Runs the install scripts of what is installed: the same. */
int installer_scripts(const struct installer *);
/* signatures.c: verifies the registry's signatures of what was installed. ret_why, unless
 * they are verified: the reason, printable. */
enum signatures installer_audit(const struct installer *, char ret_why[256]);
/* Records that outcome, on disk, and whether the package may be kept: 0, or an exit status
 * after reporting why not. why: the reason, or NULL. */
int installer_record(
    const struct installer *, enum signatures, bool allowed, const char *why);
/* signed_check.c: after npm's success: is each installed package one whose digest npm has
 * found signed?  ret_why, if not: the first that is not, and why, printable. */
enum signatures signed_check(const struct installer *, char ret_why[256]);
/* signature_report.c: the outcome, from npm's exit status and what it printed, or NULL. */
enum signatures signatures_of(int status, const char *output, char ret_why[256]);

/* ---- publisher.c ----------------------------------------------------------------- */

/* Prints what the registry says of the package NAME that is in the staging directory:
 * its publisher, the date, and whether with a provenance. Warns of a name that is
 * close to a known one. Never fails: what is not known is said. */
void publisher_tell(const struct installer *, const char *name);

#endif
