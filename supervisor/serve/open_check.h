/*
 * Asks a session whether it still has a request that is late (open_check.c).
 */
#ifndef KENNEL_SUPERVISOR_SERVE_OPEN_CHECK_H
#define KENNEL_SUPERVISOR_SERVE_OPEN_CHECK_H

#include <stdint.h>

struct downstream;
struct json_message;
struct route;

struct open_check {
	uint64_t at;     /* the next; UINT64_MAX: no request is open */
	uint64_t route;  /* the id that was asked about; 0: none */
	uint64_t served; /* messages of the session at the last check */
	uint32_t n;      /* of the last question */
	uint32_t missed; /* checks since anything came */
};

/* A request is open at its process. */
void open_check_add(const struct route *);
/*
 * When the time of the oldest request is over, asks the session about it. A session that
 * stays silent is closed, and a request that it does not have is answered.
 */
void open_check_timer(struct downstream *, uint64_t now);
/* The session's answer. */
void open_check_answer(struct downstream *, const struct json_message *);

#endif
