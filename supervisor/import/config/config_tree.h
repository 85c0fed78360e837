/*
 * A configuration file as a tree of values, each with its place in the bytes: what an
 * edit needs, to change one value and keep every other byte.
 *
 *	config_tree.c	the tree, and the choice of a parser
 *	json_file.c	JSON, with comments and trailing commas
 *	toml_file.c	TOML
 *	yaml_file.c	the part of YAML that the clients write
 */
#ifndef KENNEL_SUPERVISOR_IMPORT_TREE_H
#define KENNEL_SUPERVISOR_IMPORT_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/clients/clients.h"

#define TREE_FILE_MAX  (16u << 20) /* bytes of a configuration file */
#define TREE_NODES_MAX 1000000     /* and the most comments */
#define TREE_DEPTH_MAX 64
#define TREE_NONE      ((size_t)-1)

enum node_type {
	NODE_OBJECT,
	NODE_ARRAY,
	NODE_STRING, /* its text is decoded; NULL: it has a NUL, or is no UTF-16 pair */
	NODE_OTHER,  /* a number, a boolean, null, a date: its text is as written */
};

struct config_node {
	enum node_type type;
	char *key;      /* decoded; NULL in an array */
	char *text;     /* of a string, or of another scalar */
	size_t from;    /* offset of the member: its key, or the value in an array */
	size_t at, end; /* of the value. TOML: 0 for a table that headers define */
	size_t comma;   /* the comma after it, or TREE_NONE */
	size_t parent;  /* index, or TREE_NONE for the root */
	bool lines;     /* the member is whole lines, without commas around it */
	bool opened;    /* TOML: a header names this table */
	bool ambiguous; /* a key below it is duplicated */
	size_t first, last, next; /* indexes of children and of the next sibling */
};

struct config_comment {
	size_t from, to; /* with its marks */
};

struct config_tree {
	struct config_node *node; /* node[0] is the root */
	size_t n, cap;
	struct config_comment *comment; /* in the order of the file */
	size_t comment_n, comment_cap;
	int failed;        /* a comment could not be kept: config_parse returns it */
	const char *bytes; /* the caller's, until config_free */
	size_t len;
	enum dialect dialect;
	size_t line;   /* of an error, from 1 */
	char why[128]; /* of an error: a static text */
	size_t twice;  /* the offset of the first duplicate key, or TREE_NONE */
	bool folds;    /* its client reads keys without regard to case: config_fold */
};

/* Parses a file. 0, also if a key is duplicated, as twice says: clients disagree on
 * which one they read, so both are in the tree; -EBADMSG with line and why: invalid, or
 * not understood; -E2BIG; -ENOMEM. config_free in every case; it wipes the texts, which
 * may be secret. */
int config_parse(enum dialect, const char *bytes, size_t len, struct config_tree *ret);
/* The line of an offset, from 1. */
size_t config_line(const struct config_tree *, size_t at);
void config_free(struct config_tree *);

/* Its client reads the keys of the file and of each server in the object `key` without
 * regard to case: those that differ in nothing else are duplicates. 0; -ENOMEM. */
int config_fold(struct config_tree *, const char *key);
/* Has a member this key, as its client reads it? */
bool config_key_is(const struct config_tree *, const char *key, const char *name);

enum config_found { CONFIG_ABSENT, CONFIG_FOUND, CONFIG_TWICE };
/* The member with this key. CONFIG_TWICE: the key is duplicated, and ret is the first. */
enum config_found config_get(
    const struct config_tree *, size_t object, const char *key, size_t *ret);
/* The text of the member, if it is a string; else NULL. */
const char *config_text(const struct config_tree *, size_t object, const char *key);

/* ---- for the parsers ------------------------------------------------------- */

int json_file_parse(struct config_tree *);
int toml_file_parse(struct config_tree *);
int yaml_file_parse(struct config_tree *);

/* Adds a node; parent is TREE_NONE for the root. Takes key and text. */
int config_add(struct config_tree *, size_t parent, struct config_node, size_t *ret);
/* Adds a comment, unless the parser was here before. An error is that of config_parse. */
void config_comment(struct config_tree *, size_t from, size_t to);
/* Records a duplicate key at this offset. */
void config_twice(struct config_tree *, size_t at);
/* Records an error at this offset. -EBADMSG. */
int config_bad(struct config_tree *, size_t at, const char *why);
/* A copy of bytes. NULL: no memory. */
char *config_copy(const char *, size_t);
/* Frees a text after wiping it. */
void config_wipe(char *);
/* Appends a code point as UTF-8: the number of bytes. */
size_t config_utf8(char *out, unsigned long point);
/* Decodes the escapes of a double-quoted string, without its quotes, in the JSON of the
 * three dialects and the few more of TOML and YAML. 0; -EILSEQ: an escape is invalid or
 * has no text; -ENOMEM. The caller frees. */
int config_unescape(const char *, size_t, char **ret);

#endif
