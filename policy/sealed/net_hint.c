/*
 * Suggests the policy line that would grant a refused connection.
 */
#include <stdio.h>
#include <string.h>

#include "policy/sealed/net_hint.h"

#define HTTPS 443u

size_t
net_hint(const char *name, uint32_t port, char *out, size_t cap)
{
	bool six = strchr(name, ':') != NULL;
	bool address = six || name[strspn(name, "0123456789.")] == '\0';
	bool tls = port == 0 || port == HTTPS;
	int n;

	out[0] = '\0';
	/* '?' is for what no host name has, '*' for a secret that was redacted */
	if (name[0] == '\0' || strpbrk(name, "?*") != NULL)
		return 0;
	n = snprintf(out, cap, "net allow %s%s%s:%u%s%s", six ? "\"[" : "", name,
	    six ? "]" : "", port == 0 ? HTTPS : port, six ? "\"" : "",
	    !tls      ? " plain"
	    : address ? " no-sni"
		      : "");
	return n > 0 && (size_t)n < cap ? (size_t)n : 0;
}
