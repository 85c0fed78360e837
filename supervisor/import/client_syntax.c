#include "supervisor/import/client_syntax.h"

#include <ctype.h>
#include <string.h>

#include "policy/tokens/value_reference.h"
#include "shim/base/array.h"

enum {
	DOLLAR = 1,   /* $X */
	BRACE = 2,    /* ${X}, ${X:-d} */
	ENV = 4,      /* ${env:X} */
	INPUT = 8,    /* ${input:x}, ${workspaceFolder} */
	FILE_ = 16,   /* ${file:P} */
	OPEN = 32,    /* {env:X}, {file:P} */
	COMMAND = 64, /* $(x) */
	PERCENT = 128 /* %X% */
};

/* From the clients' documentation. A client without a row fills in nothing. */
static const struct {
	const char *client;
	unsigned has;
} clients[] = {
    {"claude-code", BRACE},
    {"cursor", ENV | INPUT},
    {"vscode", ENV | INPUT},
    {"copilot", DOLLAR | BRACE},
    {"windsurf", ENV | FILE_},
    {"gemini", DOLLAR | BRACE},
    {"qwen", DOLLAR | BRACE},
    {"cline", ENV},
    {"roo", ENV | INPUT},
    {"goose", BRACE},
    {"opencode", OPEN},
    {"kilo", ENV | INPUT | OPEN},
    {"kiro", BRACE | ENV},
    {"amazonq", BRACE | ENV},
    {"antigravity", DOLLAR | BRACE},
    {"crush", DOLLAR | BRACE | COMMAND},
    {"factory", BRACE},
    {"trae", INPUT},
};

static unsigned
has_of(const char *client)
{
	for (size_t i = 0; client != NULL && i < ARRAY_LEN(clients); i++)
		if (strcmp(clients[i].client, client) == 0)
			return clients[i].has;
	return 0;
}

/* The form of the first reference of a value that has one. */
static unsigned
form_of(const char *value)
{
	static const struct {
		const char *text;
		unsigned form;
	} begin[] = {{"${env:", ENV}, {"${file:", FILE_}, {"${input:", INPUT},
	    {"${command:", INPUT}, {"${config:", INPUT}, {"${prompt:", INPUT},
	    {"{env:", OPEN}, {"{file:", OPEN}, {"$(", COMMAND}};
	const char *at;

	for (size_t i = 0; i < ARRAY_LEN(begin); i++)
		if (strstr(value, begin[i].text) != NULL)
			return begin[i].form;
	at = strstr(value, "${");
	if (at != NULL)
		return islower((unsigned char)at[2]) ? INPUT : BRACE;
	if (value[0] == '%')
		return PERCENT;
	return value[0] == '$' ? DOLLAR : 0;
}

bool
client_has_reference(const char *client, const char *value)
{
	if (form_of(value) == DOLLAR && (has_of(client) & DOLLAR) == 0)
		return false;
	return value_has_reference(value) ||
	       value_reference(value, NULL, NULL) != VALUE_PLAIN;
}

bool
client_fills_in(const char *client, const char *value)
{
	return (has_of(client) & form_of(value)) != 0;
}
