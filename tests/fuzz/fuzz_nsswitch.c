/*
 * Any bytes as /etc/nsswitch.conf: what is used names no service but the four whose
 * system calls kennel-dial allows, and reading the used line again gives itself.
 */
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "shim/host/nsswitch.h"
#include "tests/fuzz/fuzz.h"

static void
check_word(const char *word, size_t len)
{
	static const char *const used[] = {"files", "dns", "resolve", "myhostname"};

	for (size_t i = 0; i < ARRAY_LEN(used); i++)
		if (strlen(used[i]) == len && memcmp(used[i], word, len) == 0)
			return;
	abort();
}

static void
check_used(const char *used)
{
	size_t len;

	for (const char *w = used; *w != '\0'; w += len) {
		w += strspn(w, " \t\r");
		len = *w == '[' ? strcspn(w, "]") + 1 : strcspn(w, " \t\r[");
		if (len > strlen(w))
			len = strlen(w);
		if (*w != '[' && len > 0)
			check_word(w, len);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct nsswitch_hosts hosts, again;
	char line[sizeof("hosts:") + sizeof(hosts.used)] = "hosts:";
	/* The bytes as they are, with no NUL behind them to run up to. */
	char *text = malloc(len + 1);

	if (text == NULL)
		return 0;
	for (size_t i = 0; i < len; i++)
		text[i] = (char)data[i];
	if (nsswitch_hosts_in(text, len, &hosts) == 0 && hosts.used[0] != '\0') {
		check_used(hosts.used);
		strcat(line, hosts.used);
		if (nsswitch_hosts_in(line, strlen(line), &again) < 0 ||
		    again.left_out_n != 0 || strcmp(again.used, hosts.used) != 0)
			abort();
	}
	free(text);
	return 0;
}
