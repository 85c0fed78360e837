/*
 * A JSON-RPC message, as far as its way through HTTP depends on it.
 */
#ifndef KENNEL_LEASH_REMOTE_MESSAGE_H
#define KENNEL_LEASH_REMOTE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the message; len 0: not there. */
struct slice {
	const char *at;
	size_t len;
};

struct message {
	bool batch;           /* an array: only items is read */
	struct slice items;   /* the array */
	bool answers;         /* has a result or an error */
	struct slice id;      /* as written; null: not there */
	struct slice method;  /* strings: the bytes between the quotes, as written */
	struct slice name;    /* params.name, .uri or .taskId, by the method */
	struct slice version; /* params._meta: the protocol version; modern messages */
	struct slice settled; /* result.protocolVersion, of `initialize` */
	struct slice capabilities; /* result.capabilities, as written */
	struct slice request;      /* params.requestId, as written */
	struct slice cursor;       /* params.cursor, as written */
	struct slice arguments;    /* params.arguments, as written */
};

/* 0, or -EBADMSG if it is no object or array.  The slices point into the text. */
int message_read(const char *, size_t, struct message *ret);
/* Makes the text one line: a line end is a space outside of strings. */
void message_one_line(char *, size_t);
struct buf;
/* The text of a string without its escapes.  0, -EBADMSG, -EMSGSIZE or -ENOMEM. */
int message_unescape(struct slice, struct buf *);
/* A string's bytes between its quotes, as written; len 0: not a string. */
struct slice slice_text(struct slice value);

typedef void member_fn(void *arg, struct slice key, struct slice value);
/* Calls fn with the members of an object, or the items of an array.  0 or -EBADMSG. */
int slice_members(struct slice object, member_fn *, void *arg);
int slice_items(struct slice array, member_fn *, void *arg);
/* The value of this key, as written; len 0: not there. */
struct slice slice_member(struct slice object, struct slice key);
/*
 * The same bytes; or, of strings, the same text in other escapes: a peer may write an id
 * or a name otherwise than it came.  False if one of them is empty.
 */
bool slice_same(struct slice, struct slice);
bool slice_is(struct slice, const char *);

#endif
