/*
 * Watches whether the signed policy of a session may still be in force: it leaves the
 * list of current policies, it or its key is revoked, its last day has passed.
 *
 * A confined process cannot read /etc/kennel/trust, so the session forks a watcher before
 * it confines itself.  One SOCK_SEQPACKET between them: the watcher sends one message, the
 * reason, and ends.
 */
#ifndef KENNEL_SUPERVISOR_LAUNCH_POLICY_WATCH_H
#define KENNEL_SUPERVISOR_LAUNCH_POLICY_WATCH_H

struct loop;
struct opened;

/*
 * Forks the watcher, if the policy is signed and the directory exists: 0 or -errno. It
 * ends when opened->watch is closed.
 */
int policy_watch_fork(struct opened *);
/*
 * Calls fn once, with the reason, when the session must end; also if the watcher is lost.
 * After policy_watch_fork, before serving; does nothing without a watcher. 0 or -ENOSPC.
 */
typedef void policy_watch_fn(void *arg, const char *why);
int policy_watch_add(struct opened *, struct loop *, policy_watch_fn *, void *arg);
/* Ends it, and waits until it has. */
void policy_watch_end(struct opened *);

#endif
