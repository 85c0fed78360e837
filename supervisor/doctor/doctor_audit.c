/*
 * The rows of kennel doctor about what kennel stores.  The audit log: a real write where
 * the log is, and, if there is a log, a recorder that takes records for it.  The vault:
 * whether it is unlocked.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "leash/audit/writer.h"
#include "shim/base/fd.h"
#include "supervisor/audit/audit.h"
#include "supervisor/audit/kept/kept_checkpoint.h"
#include "supervisor/base/paths.h"
#include "supervisor/cli/cli.h"
#include "supervisor/doctor/doctor.h"

#define WAIT_MS 3000
#define TRIES   3 /* a recorder that is just ending sends no welcome */

/* A recorder that starts writes a record, and its welcome follows that record. */
static int
greet(const char *log_dir)
{
	char log[4096], run[4096], recorder[4200];
	struct audit_place place = {log, run, recorder};
	struct report *report = NULL;
	int sock = -1, r = -EPIPE;

	(void)snprintf(log, sizeof(log), "%s/audit.db", log_dir);
	if (access(log, F_OK) < 0)
		return 0; /* the first start creates it */
	(void)snprintf(log, sizeof(log), "%s", log_dir);
	if (paths_run_dir() == NULL)
		return -ENOENT;
	(void)snprintf(run, sizeof(run), "%s", paths_run_dir());
	(void)snprintf(
	    recorder, sizeof(recorder), "%s", paths_libexec("kennel-recorder"));
	for (int i = 0; r == -EPIPE && i < TRIES; i++) {
		r = audit_connect(&place, WAIT_MS, &sock);
		if (r == 0)
			r = report_open(sock, REPORT_SUPERVISOR, "", WAIT_MS, &report);
	}
	report_free(report);
	return r;
}

/* False: a log that was in this place is not there, or is shorter (f says where it
 * stopped). The live log is the one whose checkpoint is the newest. */
static bool
continues(const char *log_dir, struct finding *f)
{
	static struct kept kept[KEPT_MAX];
	char path[4200], text[KEPT_TEXT_MAX];
	const struct kept *lost = NULL;
	size_t n = 0;
	int dir, r;

	(void)snprintf(path, sizeof(path), "%s" KEPT_DIR_TAIL, log_dir);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 && errno == ENOENT)
		return true;
	r = dir < 0 ? -errno : kept_list(dir, kept, &n);
	fd_close(&dir);
	(void)snprintf(f->fix, sizeof(f->fix),
	    "kennel audit verify; keep both logs, then remove the file in %.200s", path);
	if (r < 0) {
		(void)snprintf(f->said, sizeof(f->said),
		    "unable to read the kept checkpoints in %.500s: %s%s%s", path,
		    r == -EBADMSG ? kept[0].name : "", r == -EBADMSG ? ": " : "",
		    r == -EBADMSG ? "not a checkpoint" : strerror(-r));
		return false;
	}
	(void)snprintf(path, sizeof(path), "%s/audit.db", log_dir);
	if (n > 0 && access(path, F_OK) < 0)
		lost = &kept[0];
	for (size_t i = 0; lost == NULL && i < n; i++)
		if (i > 0 || strchr(kept[i].name, '-') != NULL)
			lost = &kept[i];
	if (lost == NULL)
		return true;
	(void)snprintf(f->said, sizeof(f->said),
	    "a log that was in %.500s is not there, or is not continued: %s", log_dir,
	    kept_text(lost, text));
	return false;
}

void
doctor_audit(struct finding *f)
{
	const char *found = paths_audit_dir();
	char dir[4096], why[AUDIT_WRITE_WHY_MAX];
	int r;

	(void)snprintf(f->fix, sizeof(f->fix),
	    "set HOME, XDG_STATE_HOME or KENNEL_HOME to a directory of your own");
	if (found == NULL) {
		(void)snprintf(f->said, sizeof(f->said), "no directory for the log");
		return;
	}
	/* the next lookup overwrites it */
	(void)snprintf(dir, sizeof(dir), "%s", found);
	r = fd_make_dirs(dir);
	if (r < 0) {
		(void)snprintf(f->said, sizeof(f->said), "%s", strerror(-r));
		return;
	}
	r = audit_write_test(dir, why);
	if (r == 0) {
		r = greet(dir);
		if (r < 0)
			r = audit_write_cause(dir, r, why);
	}
	f->holds = r == 0;
	if (r == 0)
		(void)snprintf(f->said, sizeof(f->said), "%.1000s", dir);
	else
		(void)snprintf(
		    f->said, sizeof(f->said), "unable to write in %.500s: %s", dir, why);
	if (r < 0)
		(void)snprintf(f->fix, sizeof(f->fix), "%s", audit_write_fix(r));
	else
		f->holds = continues(dir, f);
}

void
doctor_vault(struct finding *f)
{
	static const char *const said[] = {[VAULT_NONE] = "not created",
	    [VAULT_LOCKED] =
		("it is locked: servers with secrets in it do not start, and "
		 "what needs a security key is refused"),
	    [VAULT_OPEN] = "it is unlocked"};
	enum vault_state state = vault_state_now();
	int keys = state == VAULT_OPEN ? vault_keys_now() : -1;

	f->holds = state != VAULT_LOCKED;
	(void)snprintf(f->said, sizeof(f->said), "%s", said[state]);
	if (keys == 0)
		(void)snprintf(f->said, sizeof(f->said),
		    "%s, without a security key: a server with a grant `with key` does "
		    "not start",
		    said[state]);
	else if (keys > 0)
		(void)snprintf(f->said, sizeof(f->said),
		    "%s, with %d security key%s: a grant `with key` needs the touch of "
		    "one for each use",
		    said[state], keys, keys == 1 ? "" : "s");
	(void)snprintf(f->fix, sizeof(f->fix), "kennel secret unlock");
}
