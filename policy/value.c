/*
 * JSON values as they stand in a message: read in place, compared as written.
 */
#include "policy/policy.h"

static size_t
digits(const char *s, size_t len, size_t at)
{
	while (at < len && s[at] >= '0' && s[at] <= '9')
		at++;
	return at;
}

bool
policy_is_number(const char *s, size_t len)
{
	size_t at = len > 0 && s[0] == '-' ? 1 : 0, end = digits(s, len, at);

	if (end == at || (s[at] == '0' && end > at + 1))
		return false;
	at = end;
	if (at < len && s[at] == '.') {
		if ((end = digits(s, len, at + 1)) == at + 1)
			return false;
		at = end;
	}
	if (at < len && (s[at] == 'e' || s[at] == 'E')) {
		at++;
		if (at < len && (s[at] == '+' || s[at] == '-'))
			at++;
		if ((end = digits(s, len, at)) == at)
			return false;
		at = end;
	}
	return at == len;
}
