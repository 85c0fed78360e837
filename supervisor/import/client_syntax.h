/*
 * The references that each client fills in before it starts a server.
 */
#ifndef KENNEL_SUPERVISOR_IMPORT_CLIENT_SYNTAX_H
#define KENNEL_SUPERVISOR_IMPORT_CLIENT_SYNTAX_H

#include <stdbool.h>

/* Is a part of the value written as a reference of any client, or as one to a template? Of
 * $NAME only if this client fills that in: it is as well a text of its own. */
bool client_has_reference(const char *client, const char *value);
/* Does the client fill in the first reference of the value? What another client would fill
 * in is passed on as it is written. */
bool client_fills_in(const char *client, const char *value);

#endif
