/*
 * The line of a policy that gives a request its answer.  A host's is that of net_hint(),
 * which the leash and the log suggest too.
 */
#include "policy/cli/advice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/print/statement.h"
#include "policy/sealed/net_hint.h"

/* With the words that its protocol and address need; 0: no line grants it. */
static size_t
net_line(const struct request *q, char out[NET_HINT_MAX])
{
	struct policy_net_ask ask = request_net(q);
	char name[NET_HINT_MAX];

	if (ask.host_len >= sizeof(name))
		return 0;
	memcpy(name, ask.host, ask.host_len);
	name[ask.host_len] = '\0';
	return net_hint(name, ask.port, out, NET_HINT_MAX);
}

char *
advice_line(const struct request *q, const char *verdict)
{
	bool path = q->kind == REQUEST_READ || q->kind == REQUEST_WRITE;
	bool deny = strcmp(verdict, "deny") == 0;
	char *out = NULL, host[NET_HINT_MAX];
	size_t len, i;
	FILE *f;

	if (q->kind == REQUEST_NET && !deny && net_line(q, host) > 0)
		return strdup(host);
	f = open_memstream(&out, &len);
	if (f == NULL)
		return NULL;
	(void)fputs(path && deny ? "hide" : request_kind_name(q->kind), f);
	if (!path)
		(void)fprintf(f, " %s", verdict);
	for (i = 0; i < q->word_n; i++) {
		(void)fputc(' ', f);
		say_word(q->word[i], strlen(q->word[i]), f);
	}
	return fclose(f) == 0 ? out : NULL;
}
