/*
 * The names that an import gives: of policies, and of secrets in the vault. A client takes
 * any text for the name of a server, as io.github.acme/x; the policy language does not.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "policy/lang/secret_path.h"
#include "supervisor/draft/draft.h"
#include "supervisor/import/server.h"

#define SUFFIX_MAX 99 /* of servers with one name */

/* Letters and digits in lower case, and one - for what is between them. */
static size_t
fold(const char *from, char *out)
{
	size_t n = 0;

	for (; *from != '\0' && n < NAME_LEN_MAX; from++) {
		int c = tolower((unsigned char)*from);

		if (isascii(c) && isalnum(c))
			out[n++] = (char)c;
		else if (n > 0 && c == '_')
			out[n++] = '_';
		else if (n > 0 && out[n - 1] != '-')
			out[n++] = '-';
	}
	while (n > 0 && !isalnum((unsigned char)out[n - 1]))
		n--;
	out[n] = '\0';
	return n;
}

/* name-CLIENT, name-CLIENT-2, ... within the length of a name. */
static void
suffix(char name[POLICY_NAME_CAP], const char *client, int number)
{
	char text[POLICY_NAME_CAP], count[16] = "";
	size_t len;

	if (number > 1)
		(void)snprintf(count, sizeof(count), "-%d", number);   /* fits */
	(void)snprintf(text, sizeof(text), "-%.24s%s", client, count); /* fits */
	len = strlen(name);
	if (len + strlen(text) >= POLICY_NAME_CAP)
		len = POLICY_NAME_CAP - 1 - strlen(text);
	while (len > 0 && !isalnum((unsigned char)name[len - 1]))
		len--;
	(void)snprintf(name + len, POLICY_NAME_CAP - len, "%s", text); /* fits */
}

void
server_policy_name(const char *from, char out[POLICY_NAME_CAP])
{
	size_t n = fold(from, out);

	if (n == 0)                                             /* of another script */
		(void)snprintf(out, POLICY_NAME_CAP, "server"); /* fits */
	if (draft_name_refused(out) != NULL)                    /* a keyword */
		suffix(out, "1", 1);
}

bool
server_policy_name_next(
    const char *from, const char *client, int *number, char out[POLICY_NAME_CAP])
{
	if (*number > SUFFIX_MAX)
		return false;
	server_policy_name(from, out);
	if (*number > 0)
		suffix(out, client, *number);
	++*number;
	return draft_name_refused(out) == NULL;
}

/* Only for a policy's name and a variable's: others have no such characters. */
bool
server_secret_path(
    const char *server, const char *variable, char out[SECRET_PATH_MAX + 1])
{
	int n = snprintf(out, SECRET_PATH_MAX + 1, "mcp/%s%s/%s%s",
	    isdigit((unsigned char)server[0]) ? "s" : "", server,
	    variable[0] == '_' ? "v" : "", variable);

	if (n < 0 || n > SECRET_PATH_MAX)
		return false;
	for (char *p = out; *p != '\0'; p++)
		*p = (char)(*p == '_' ? '-' : tolower((unsigned char)*p));
	return secret_path_wrong(out, strlen(out)) == NULL;
}
