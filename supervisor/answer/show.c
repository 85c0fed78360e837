/*
 * A pending approval, as text and as JSON. Escapes all untrusted text, so that a request
 * cannot look like something else.
 */
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "shim/base/hex.h"
#include "supervisor/answer/detail_lines.h"
#include "supervisor/draft/npm_package.h"

#define DETAIL_SHOW (6 * QUESTION_DETAIL_MAX + 1) /* each byte may become six */

static void
print_text(FILE *out, const char *what, const char *text)
{
	static char quoted[DETAIL_SHOW];

	if (text[0] != '\0')
		fprintf(
		    out, "    %s %s\n", what, inert_text(quoted, sizeof(quoted), text));
}

void
approval_print(FILE *out, const struct approval *a)
{
	static char server[1024], subject[DETAIL_SHOW];
	char id[QUESTION_ID_MAX];

	fprintf(out, "%s  %s asks for the %s %s\n", approval_id_text(a, id),
	    inert_text(server, sizeof(server), a->server),
	    question_kind_name((enum question_kind)a->kind),
	    inert_text(subject, sizeof(subject), a->subject));
	print_text(out, "by     ", a->method);
	print_text(out, "with   ", a->detail);
	if (a->ambiguous)
		fprintf(out, "    (%s)\n", AMBIGUOUS_TEXT);
	if (a->cut != 0)
		fprintf(out, "    (part of it is not shown: allow it with --unseen)\n");
	if (a->destructive)
		fprintf(out, "    (%s)\n", DESTRUCTIVE_TEXT);
	if (question_factor_name(a->factor) != NULL)
		fprintf(out, "    (the %s is asked for when it is allowed)\n",
		    question_factor_name(a->factor));
	if (a->refused != 0)
		fprintf(out, "    (refused %u time%s in the last 10 min)\n", a->refused,
		    a->refused == 1 ? "" : "s");
	print_text(out, "rule   ", a->rule);
	print_text(out, "because", a->because);
	/* of the approval: a call may end earlier, and a later yes is for its repetition */
	fprintf(out, "    asked %llu s ago, can be answered for another %llu s\n",
	    (unsigned long long)a->waits_ms / 1000,
	    (unsigned long long)a->left_ms / 1000);
}

bool
approval_is_request(const char *id)
{
	static const char prefix[] = "prov-";
	size_t n = sizeof(prefix) - 1;

	return strncmp(id, prefix, n) == 0 && hex_span(id + n) == 12 &&
	       id[n + 12] == '\0';
}

void
approval_print_json(FILE *out, const struct approval *a)
{
	const struct {
		const char *key, *text;
	} field[] = {
	    {"server", a->server},
	    {"kind", question_kind_name((enum question_kind)a->kind)},
	    {"method", a->method},
	    {"subject", a->subject},
	    {"detail", a->detail},
	    {"rule", a->rule},
	    {"because", a->because},
	};
	char id[QUESTION_ID_MAX];

	fprintf(out, "{\"id\":\"%s\"", approval_id_text(a, id));
	for (size_t i = 0; i < ARRAY_LEN(field); i++) {
		char *text = package_json_text(field[i].text);

		fprintf(out, ",\"%s\":%s", field[i].key, text == NULL ? "null" : text);
		free(text);
	}
	fprintf(out,
	    ",\"whole\":%s,\"canonical\":%s,\"waits_ms\":%llu,\"left_ms\":%llu,"
	    "\"sha256\":\"",
	    a->cut != 0 ? "false" : "true", a->ambiguous ? "false" : "true",
	    (unsigned long long)a->waits_ms, (unsigned long long)a->left_ms);
	hex_print(out, a->digest.data, a->digest.len);
	if (approval_is_request(a->request)) /* a session cannot make it anything else */
		fprintf(out, "\",\"request\":\"%s\"", a->request);
	else
		fprintf(out, "\",\"request\":null");
	if (question_factor_name(a->factor) != NULL)
		fprintf(out, ",\"factor\":\"%s\"", question_factor_name(a->factor));
	else
		fprintf(out, ",\"factor\":null");
	fprintf(out, ",\"destructive\":%s,\"refusals\":%u}\n",
	    a->destructive ? "true" : "false", a->refused);
}
