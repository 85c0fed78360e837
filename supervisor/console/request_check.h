/*
 * Which requests may come from the console's own page in a browser.
 */
#ifndef KENNEL_SUPERVISOR_CONSOLE_REQUEST_CHECK_H
#define KENNEL_SUPERVISOR_CONSOLE_REQUEST_CHECK_H

#include <stdbool.h>

#include "supervisor/console/http.h"

#define CONSOLE_API "/api/"

/* authority is "localhost:PORT". Returns 0, or the status of the refusal and its reason. */
unsigned int request_check(
    const struct http_request *, const char *authority, const char **ret_why);
/* Does a refusal with this status mean that another page may have sent the request? */
bool request_is_foreign(unsigned int status);
/* Is it one of the API, and not of a static page? */
bool request_is_api(const struct http_request *);

#endif
