/*
 * What a server sent that was no answer to an open request. A person who reads that the
 * server did not answer looks for the reason there: a wrong id, a banner on standard output.
 *
 * The bytes are the server's, redacted by its leash, and shown as printable characters.
 */
#include <stdio.h>
#include <string.h>

#include "shim/base/log.h"
#include "supervisor/mcp/private.h"

void
missed_quote(char *out, size_t cap, const uint8_t *line, size_t len)
{
	size_t n = len < MISSED_SHOWN ? len : MISSED_SHOWN;
	size_t at;

	(void)log_quote(out, cap - 3, line, n); /* returns out */
	at = strlen(out);
	if (n < len)
		(void)snprintf(out + at, cap - at, "..."); /* fits */
}

void
missed_answer(struct session *s, struct json id)
{
	s->missed.answers_n++;
	missed_quote(s->missed.id, sizeof(s->missed.id), id.at, id.len);
}

void
missed_line(struct session *s, const uint8_t *line, size_t len)
{
	s->missed.lines_n++;
	missed_quote(s->missed.line, sizeof(s->missed.line), line, len);
}

void
missed_begin(const struct session *s, struct call *call)
{
	call->answers_n = s->missed.answers_n;
	call->lines_n = s->missed.lines_n;
}

const char *
missed_text(const struct session *s, const struct call *call, char text[MISSED_TEXT_MAX])
{
	uint32_t answers = s->missed.answers_n - (call != NULL ? call->answers_n : 0);
	uint32_t lines = s->missed.lines_n - (call != NULL ? call->lines_n : 0);
	int n = 0;

	text[0] = '\0';
	if (answers > 0)
		n = snprintf(text, MISSED_TEXT_MAX,
		    "; meanwhile kennel dropped %u answer%s with an unknown id (%s)",
		    answers, answers == 1 ? "" : "s", s->missed.id); /* fits */
	if (lines > 0)
		(void)snprintf(text + n, MISSED_TEXT_MAX - (size_t)n, /* fits */
		    "; kennel dropped %u line%s of the server that %s not JSON and "
		    "begin%s with `%s`",
		    lines, lines == 1 ? "" : "s", lines == 1 ? "is" : "are",
		    lines == 1 ? "s" : "", s->missed.line);
	return text;
}
