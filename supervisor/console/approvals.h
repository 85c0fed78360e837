/*
 * The pending approvals of all sessions of the user, for the page: shown as JSON, and
 * answered on the sockets of the sessions as `kennel approve` does. The launcher connects to
 * them.
 */
#ifndef KENNEL_SUPERVISOR_CONSOLE_APPROVALS_H
#define KENNEL_SUPERVISOR_CONSOLE_APPROVALS_H

#include "supervisor/console/http.h"

/* The launcher's socket that leads to the sessions (session_sockets.h). */
void approvals_open(int launcher);
/* Receives what sessions have sent, without waiting: has the list changed since the last
 * call? */
bool approvals_changed(void);
/* GET /api/approvals */
void approvals_list(struct http_reply *);
/* POST /api/approvals/ID {"answer":"once"|"session"|"deny","sha256":HEX,"unseen":true,
 * "name":PATH}. id: what follows the last slash. What an agent proposes is accepted by a
 * command, which gets what was shown. */
struct console;
void approvals_answer(
    struct console *, const char *id, const struct http_request *, struct http_reply *);

#endif
