/*
 * Reports a changed server to each running `kennel serve` of the user, which reads the
 * registry again: it ends the server's process, and starts it as it is defined now, or not
 * at all.
 *
 * Process: kennel, as the calling user; or a child of a launcher, after an agent's change.
 */
#include "supervisor/status/session_news.h"

#include <string.h>

#include "shim/base/array.h"
#include "shim/base/log.h"
#include "supervisor/base/person_socket.h"
#include "supervisor/status/status_client.h"

void
session_news_row(const char *name, long but, server_stopped_fn *stopped)
{
	static long pid[STATUS_SESSIONS_MAX];
	size_t n = person_sockets(HUB_SOCKET, pid, ARRAY_LEN(pid));
	enum restart_outcome outcome;
	int r;

	for (size_t i = 0; i < n; i++) {
		if (pid[i] == but)
			continue;
		r = status_restart(pid[i], name, &outcome);
		if (r == 0 && outcome == RESTART_OK && stopped != NULL)
			stopped(pid[i]);
		if (r < 0 && !status_ended(pid[i], r))
			log_warn("kennel serve, process %ld, does not answer: %s; it may "
				 "still run %s as it was",
			    pid[i], strerror(-r), name);
	}
}

void
session_news_file(const char *sha256)
{
	static long pid[STATUS_SESSIONS_MAX];
	size_t n = person_sockets(HUB_SOCKET, pid, ARRAY_LEN(pid));
	int r;

	for (size_t i = 0; i < n; i++) {
		r = status_trusted(pid[i], sha256);
		if (r < 0 && !status_ended(pid[i], r))
			log_warn("kennel serve, process %ld, does not answer: %s; the "
				 "servers of the file come with its next start",
			    pid[i], strerror(-r));
	}
}
