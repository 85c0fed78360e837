/*
 * A line with some values replaced (edit.c).
 */
#ifndef KENNEL_SUPERVISOR_MCP_LINE_EDIT_H
#define KENNEL_SUPERVISOR_MCP_LINE_EDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/buf.h"
#include "supervisor/json/json.h"
#include "supervisor/mcp/line/frame.h"

#define EDITS_MAX 512
struct edits {
	struct edit {
		const uint8_t *at;
		size_t len;
		const void *text;
		size_t text_len;
		uint8_t *owned; /* text, or NULL */
	} edit[EDITS_MAX];
	int n;
	bool full;  /* there were more */
	bool twice; /* a member that may need one is there twice, or in another case */
	const char *wrong; /* why the line may not be written, or NULL */
};
/* Finds a member that may need an edit: false if there is none, or no single one. Then the
 * line is not written, since its readers may disagree. */
bool edit_find(struct edits *, struct json object, const char *name, struct json *ret);
/* Replaces this value; text must live until the line is written. */
void edit_put(struct edits *, const uint8_t *at, size_t len, const void *text, size_t n);
/* The same with the text of this buffer, which is left empty: the line frees it when it is
 * written, and also when it is not. */
void edit_take(struct edits *, const uint8_t *at, size_t len, struct buf *text);
/* The line is not written, for this reason, unless there is an earlier one. */
void edit_refuse(struct edits *, const char *why);
/* Appends the line and a newline to out, and frees the texts that were taken: once, at the
 * end. 0, -E2BIG too many edits, -EEXIST a member that is there twice, -EINVAL it was refused;
 * -EMSGSIZE, -ENOMEM. */
int edit_apply(struct edits *, const uint8_t *line, size_t len, struct buf *out);
/* The same to a stream, without copying long parts: call frame_flush next. */
int edit_send(struct edits *, const uint8_t *line, size_t len, struct frame_out *out);

#endif
