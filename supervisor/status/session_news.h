/*
 * Reports a changed server to each running `kennel serve` of the user.
 */
#ifndef KENNEL_SUPERVISOR_STATUS_SESSION_NEWS_H
#define KENNEL_SUPERVISOR_STATUS_SESSION_NEWS_H

/* Callback: this process has ended the server. */
typedef void server_stopped_fn(long pid);

/* The row of this name was changed, enabled, disabled or removed. but: a process that knows
 * it already, or 0. stopped: NULL: none. A process that does not answer is named on standard
 * error. */
void session_news_row(const char *name, long but, server_stopped_fn *stopped);
/* A person has approved a project's file with this SHA-256, in hex: sessions that left it out
 * read it now. */
void session_news_file(const char *sha256);

#endif
