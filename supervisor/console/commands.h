/*
 * The commands of kennel that the console's launcher runs for its server. The server asks
 * with a number, a few words that are no options, and a pipe that the command reads; it
 * cannot name a program or an option. A word may be the value of an option that the
 * command's row names; an empty one leaves that option out. Both ends are kennel-console.
 */
#ifndef KENNEL_SUPERVISOR_CONSOLE_COMMANDS_H
#define KENNEL_SUPERVISOR_CONSOLE_COMMANDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMMAND_WORDS_MAX  6
#define COMMAND_WORD_MAX   255
#define COMMAND_INPUT_MAX  49152 /* fits into a pipe (pipe(7): 65,536) */
#define COMMAND_PACKET_MAX 2048
#define COMMANDS_MAX       8 /* that run at one time */

/* Each packet begins with a u32 of these. Requests are even, answers odd. */
enum command_message {
	COMMAND_RUN = 2,     /* u32 id, u32 enum command, u32 n, n x str word; perhaps one
			      * descriptor: what it reads */
	COMMAND_STARTED = 3, /* u32 id; one descriptor: what it prints */
	COMMAND_ENDED = 5,   /* u32 id, u32 exit status; after STARTED, or without it if
			      * it could not be started */
	COMMAND_READY = 4,   /* once, first: the server listens */
	COMMAND_REPORT = 6,  /* u32 enum command_report, u32 number: for the terminal */
};

/* What the server reports there: the launcher has the texts. */
enum command_report {
	REPORT_LINK_GIVEN, /* a pid */
	REPORT_LINK_REUSED,
	REPORT_UNRECORDED,
	REPORT_UNCONFINED, /* an errno, as those that follow */
	REPORT_LOOP,
	REPORT_N
};

enum command {
	COMMAND_SERVERS,
	COMMAND_ENABLE,
	COMMAND_DISABLE,
	COMMAND_SECRETS,
	COMMAND_VERSIONS,
	COMMAND_LOG,
	COMMAND_ALLOW,        /* what it reads, if it is still that */
	COMMAND_LOG_VERIFIED, /* the whole log is verified before */
	COMMAND_ADD,
	COMMAND_REMOVE,
	COMMAND_SCORES,
	COMMAND_CHECK,
	COMMAND_EXPLAIN,
	COMMAND_KEYS,
	COMMAND_KEY_CHALLENGE, /* a digest */
	COMMAND_KEY_CONFIRM,   /* the same; reads what a key signed */
	COMMAND_FORM_SET,      /* a project or "", a path; its first line is an address */
	COMMAND_FORM_ROTATE,
	COMMAND_FORM_KEY,
	COMMAND_RECORD, /* login, link-reused or refused; a number */
	COMMAND_N
};

/* Are there as many words as the command takes, and may each follow its options?
 * The command judges what they mean. */
bool command_words_fit(enum command, const char *const word[], size_t n);

#endif
