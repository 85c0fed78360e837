/*
 * The file of the registry: opened, its schema checked, and statements with bound
 * parameters. No other file of this room knows SQLite.
 */
#ifndef KENNEL_SUPERVISOR_REGISTRY_DATABASE_H
#define KENNEL_SUPERVISOR_REGISTRY_DATABASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/base/cause.h"

struct database;

/*
 * Opens DIR/registry.db and creates both, 0700 and 0600, if they are missing. A file that
 * is damaged or is not a registry is renamed to registry.db.damaged-N, and an empty one
 * is created: then moved, if not NULL, has one line that names it, else "". Returns 0,
 * or a negative errno with why; -EPROTONOSUPPORT: a newer kennel created it. Without wait,
 * this and each change answers -EBUSY at once while another process changes the file.
 */
int database_open(const char *dir, bool wait, struct database **ret, struct reason *moved,
    struct reason *why);
void database_close(struct database *);

/* A transaction that changes rows: 0, -EBUSY (after 5 s, with wait), or another negative
 * errno. */
int database_begin(struct database *);
int database_commit(struct database *);
/* Does nothing outside of a transaction. */
void database_undo(struct database *);

/* A statement. Texts that are bound must stay unchanged until it ends. */
struct statement;

/* sql is a constant of the program: values are bound, never part of it. */
int statement_new(struct database *, const char *sql, struct statement **ret);
/* Each binds the next parameter. */
void statement_text(struct statement *, const char *); /* NULL is NULL */
void statement_number(struct statement *, uint64_t);
/* 1: a row; 0: no more rows; or a negative errno: -EBADMSG for a damaged file. */
int statement_step(struct statement *);
/* The next column of the row: NULL if it is NULL; valid until the next step. */
const char *column_text(struct statement *);
uint64_t column_number(struct statement *);
void statement_end(struct statement *);

/* The number of rows that the last statement changed. */
uint64_t database_changed(const struct database *);

#endif
