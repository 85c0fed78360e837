/*
 * What a server asks of a person, with its name (asked_text.c). Where the name does not fit,
 * the line is refused: edit_refuse.
 */
#ifndef KENNEL_SUPERVISOR_SERVE_ASKED_TEXT_H
#define KENNEL_SUPERVISOR_SERVE_ASKED_TEXT_H

#include "supervisor/json/json.h"
#include "supervisor/mcp/line/edit.h"
#include "supervisor/mcp/methods.h"

struct task_texts;

/* A text that a person reads; another type is left as it is. */
void asked_name(struct edits *, struct json value, const struct task_texts *);
void asked_request(
    struct edits *, const struct method *, struct json params, const struct task_texts *);
/* What a result or a status asks for. */
void asked_inputs(struct edits *, struct json object, const struct task_texts *);
/* The same for an error that asks a person to open a page. */
void asked_error(struct edits *, struct json error, const struct task_texts *);

#endif
