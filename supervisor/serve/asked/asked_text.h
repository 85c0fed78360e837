/*
 * What a server asks of a person, with its name (asked_text.c). Where the name does not fit,
 * the line is refused: edit_refuse.
 */
#ifndef KENNEL_SUPERVISOR_SERVE_ASKED_ASKED_TEXT_H
#define KENNEL_SUPERVISOR_SERVE_ASKED_ASKED_TEXT_H

#include "supervisor/json/json.h"
#include "supervisor/mcp/line/edit.h"
#include "supervisor/mcp/methods.h"
#include "supervisor/serve/launcher/session_launcher.h"

/* What replaces ids, with the name of its server; lives until the line is written. */
struct task_texts {
	char prefix[LAUNCHER_NAME_MAX + 3]; /* before ids of tasks and elicitations */
	char cursor[80];
	char asks[LAUNCHER_NAME_MAX + 5]; /* before what a person reads */
};

/* A text that a person reads; another type is left as it is. */
void asked_name(struct edits *, struct json value, const struct task_texts *);
void asked_request(
    struct edits *, const struct method *, struct json params, const struct task_texts *);
/* What a result or a status asks for. */
void asked_inputs(struct edits *, struct json object, const struct task_texts *);
/* The same for an error that asks a person to open a page. */
void asked_error(struct edits *, struct json error, const struct task_texts *);

/* task_ids.c */
/* The string in this member begins with the server's name. */
void prefix_id(
    struct edits *, const struct task_texts *, struct json object, const char *member);
void tasks_rename(struct edits *, struct json object, const struct task_texts *);
/* The opposite, for what the agent answers in the course of a task of this server. */
void tasks_unname(struct edits *, const struct task_texts *, struct json object);

#endif
