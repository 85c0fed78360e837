/*
 * The process that answered, and what the audit log has about it.
 *
 * Process: kennel, a session or kennel serve. uid and pid are the kernel's, the channel is
 * what that process said of itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "leash/audit/writer.h"
#include "shim/base/array.h"
#include "supervisor/approve/approve.h"

static struct {
	uint32_t uid;
	char name[ANSWERER_TEXT_MAX];
} own_user;

const char *
approve_channel_name(enum approve_channel channel)
{
	static const char *const name[] = {
	    [VIA_TERMINAL] = "terminal",
	    [VIA_CONSOLE] = "console",
	    [VIA_PINENTRY] = "pinentry",
	    [VIA_CONSOLE_FINAL] = "console",
	    [VIA_COMMAND] = "command",
	};

	return (size_t)channel < ARRAY_LEN(name) ? name[channel] : NULL;
}

enum approve_channel
approve_channel_here(void)
{
	static const enum approve_channel set[] = {
	    VIA_TERMINAL, VIA_CONSOLE, VIA_PINENTRY};
	const char *text = getenv(APPROVE_CHANNEL_VARIABLE), *name;

	for (size_t i = 0; text != NULL && i < ARRAY_LEN(set); i++) {
		name = approve_channel_name(set[i]);
		if (name != NULL && strcmp(text, name) == 0)
			return set[i];
	}
	return isatty(STDIN_FILENO) == 1 ? VIA_TERMINAL : VIA_COMMAND;
}

void
approve_channel_set(enum approve_channel channel)
{
	const char *name = approve_channel_name(channel);

	/* without memory the record has another hint */
	if (name != NULL)
		(void)setenv(APPROVE_CHANNEL_VARIABLE, name, 1);
}

const char *
answerer_text(const struct answerer *by, char out[ANSWERER_TEXT_MAX])
{
	(void)snprintf(
	    out, ANSWERER_TEXT_MAX, "uid %u, pid %u", by->uid, by->pid); /* fits */
	return out;
}

void
answerer_know(uint32_t uid, const char *name)
{
	own_user.uid = uid;
	(void)snprintf(own_user.name, sizeof(own_user.name), "%s", name); /* cut */
}

const char *
answerer_user(const struct answerer *by)
{
	if (own_user.name[0] != '\0' && by->uid == own_user.uid)
		return own_user.name;
	return by->uid == 0 ? "root" : NULL;
}

void
answerer_put(struct event *e, const struct answerer *by)
{
	const char *user = answerer_user(by);
	const char *channel = approve_channel_name((enum approve_channel)by->channel);
	char who[ANSWERER_TEXT_MAX];

	if (by->pid == 0)
		return;
	event_text(e, KEY_APPROVER, answerer_text(by, who));
	if (user != NULL)
		event_text(e, KEY_USER, user);
	if (channel != NULL)
		event_text(e, KEY_CHANNEL, channel);
}

void
answerer_put_reopened(struct event *e, const char *name, const struct answerer *by)
{
	event_text(e, KEY_METHOD, "reopen");
	event_text(e, KEY_NAME, name);
	event_text(e, KEY_VERDICT, "allow");
	event_text(e, KEY_OUTCOME, "reopened");
	answerer_put(e, by);
}
