/*
 * recorder.log (own_log.c).
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_RECORDER_OWN_LOG_H
#define KENNEL_SUPERVISOR_AUDIT_RECORDER_OWN_LOG_H

#include <stdio.h>

#include "supervisor/audit/recorder/store.h"

void complain_open(void);
void complain_for(const struct store *);
void complain(const char *, ...) __attribute__((format(printf, 1, 2)));
/* Logs "unable to WHAT" and ends this process. */
void complain_and_end(const char *what, int error) __attribute__((noreturn));

#endif
