/*
 * The end of an input whose output still has a reader: `printf ... | kennel run NAME`. The
 * requests under way get their answers, each until its deadline and all of them for 30 s
 * at most; then the agent gets what is left for it, as long as it reads (after_input.c).
 * A client that leaves without reading waits only 2 s, so 300 ms count as not reading.
 *
 *	agent			kennel			server
 *	   -- tools/call 7 -->	     -------------->
 *	   -- end of input -->	withdraws questions
 *				     <-- 7: result --
 *	   <- 7: result -------	ends
 */
#ifndef KENNEL_SUPERVISOR_MCP_LINE_AFTER_INPUT_H
#define KENNEL_SUPERVISOR_MCP_LINE_AFTER_INPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "supervisor/mcp/line/frame.h"

#define AFTER_INPUT_LATE "the input has ended, and the server did not answer within 30 s"
#define AFTER_INPUT_GONE "the input of the agent has ended"

/* Zeroed: the input has not ended. */
struct after_input {
	uint64_t
	    until; /* of loop_now(): answers come until then; 0: the input has not ended */
	uint64_t at; /* when a request was under way or the agent read, at last */
	size_t left; /* bytes for the agent then; 0: a request was under way */
};

/* Call it once. False: the output has no reader, so nothing is waited for. */
bool after_input_begin(struct after_input *, const struct frame_out *to);
/* Reads what a closed end has left, as much as a pipe or socket holds, while there is no
 * room to handle it: 1 there may be more, 0 it was all, -ENOMEM. */
int after_input_drain(struct frame_in *);
/* Call it after each change. under_way: a request has no answer yet; is_read: nothing of the
 * input is left to be handled. True: the agent has what is for it, or does not read it. */
bool after_input_over(
    struct after_input *, const struct frame_out *to, bool under_way, bool is_read);
/* When after_input_over() or the last answer is due; UINT64_MAX: the input has not ended. */
uint64_t after_input_due(const struct after_input *, bool is_read);

#endif
