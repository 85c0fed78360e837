/*
 * The commands of kennel that the console's launcher runs for its server. The server asks
 * with a number and at most the name of an MCP server; it cannot name a program or an
 * option. Both ends are kennel-console.
 */
#ifndef KENNEL_SUPERVISOR_CONSOLE_COMMANDS_H
#define KENNEL_SUPERVISOR_CONSOLE_COMMANDS_H

#include <stdbool.h>
#include <stdint.h>

#define COMMAND_NAME_MAX   127
#define COMMAND_PACKET_MAX 256
#define COMMANDS_MAX       8  /* that run at one time */
#define COMMAND_S          30 /* then it is killed */

/* Each packet begins with a u32 of these. Requests are even, answers odd. */
enum command_message {
	COMMAND_RUN = 2,     /* u32 id, u32 enum command, str name */
	COMMAND_STARTED = 3, /* u32 id; one descriptor: what it prints */
	COMMAND_ENDED = 5,   /* u32 id, u32 exit status; after STARTED, or without it if
			      * it could not be started */
	COMMAND_READY = 4,   /* once, first: the server listens */
};

enum command {
	COMMAND_SERVERS,
	COMMAND_ENABLE,
	COMMAND_DISABLE,
	COMMAND_SECRETS,
	COMMAND_LOG,
	COMMAND_N
};

/* Of an MCP server, as the registry takes it, and never an option. */
bool command_name_fits(const char *name);

#endif
