/*
 * Regular expressions of a schema: ECMA-262, matched by PCRE2 without its compiler to
 * machine code.
 *
 * The match limit of PCRE2 counts anew at each place of the text where a match may
 * begin, and not the bytes that a repetition reads. So a callout before each item of
 * the pattern counts the steps: one for the item, and one for some bytes that were read
 * since the last. It ends a match that needs more steps than are left.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "shim/base/buf.h"
#include "shim/base/log.h"
#include "supervisor/schema/private.h"

#define TRANSLATED_MAX (64u << 10) /* bytes of a translated pattern */
#define NEST_MAX       100         /* parentheses in parentheses */
#define HEAP_KIB_MAX   4096
#define DEPTH_MAX      100000 /* nested backtracking points */
#define BYTES_PER_STEP 16     /* that a match reads */

struct pattern {
	pcre2_code *code;
	bool refers; /* has a reference to a group, which is compared without a callout */
};

static int
compile(struct buf *text, pcre2_code **ret, char why[PATTERN_WHY_MAX])
{
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);
	PCRE2_UCHAR message[PATTERN_WHY_MAX - 40];
	PCRE2_SIZE at;
	int error;

	if (context == NULL)
		return -ENOMEM;
	/* cannot fail: both only store their value */
	(void)pcre2_set_parens_nest_limit(context, NEST_MAX);
	(void)pcre2_set_compile_extra_options(
	    context, PCRE2_EXTRA_ALLOW_SURROGATE_ESCAPES);
	*ret = pcre2_compile((PCRE2_SPTR)buf_str(text), text->len,
	    PCRE2_AUTO_CALLOUT | PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_DOLLAR_ENDONLY |
		PCRE2_MATCH_UNSET_BACKREF | PCRE2_NEVER_BACKSLASH_C,
	    &error, &at, context);
	pcre2_compile_context_free(context);
	if (*ret != NULL)
		return 0;
	if (error == PCRE2_ERROR_HEAP_FAILED)
		return -ENOMEM;
	if (pcre2_get_error_message(error, message, sizeof(message)) < 0)
		message[0] = '\0';
	(void)snprintf(why, PATTERN_WHY_MAX, "%s", (const char *)message);
	return -EINVAL;
}

int
pattern_new(const char *text, size_t len, struct pattern **ret, char why[PATTERN_WHY_MAX])
{
	struct pattern *p = calloc(1, sizeof(*p));
	uint32_t groups = 0;
	struct buf out;
	int r = p == NULL ? -ENOMEM : 0;

	buf_init(&out, TRANSLATED_MAX);
	(void)snprintf(why, PATTERN_WHY_MAX, "not a pattern of ECMA-262");
	if (r == 0 && len > PATTERN_LEN_MAX) {
		(void)snprintf(
		    why, PATTERN_WHY_MAX, "longer than %d bytes", PATTERN_LEN_MAX);
		r = -EINVAL;
	}
	if (r == 0)
		r = ecma_pattern(text, len, &out);
	if (r == 0)
		r = compile(&out, &p->code, why);
	buf_free(&out);
	if (r == 0) {
		/* cannot fail: a valid code and question */
		(void)pcre2_pattern_info(p->code, PCRE2_INFO_BACKREFMAX, &groups);
		p->refers = groups > 0;
		*ret = p;
	} else
		free(p);
	return r == -EMSGSIZE ? -EINVAL : r;
}

void
pattern_free(struct pattern *p)
{
	if (p == NULL)
		return;
	pcre2_code_free(p->code);
	free(p);
}

struct work {
	uint64_t *steps;
	size_t at; /* of the last callout */
	bool refers;
};

/* Returns 0: go on. */
static int
count_step(pcre2_callout_block *block, void *data)
{
	struct work *w = data;
	size_t at = block->current_position;
	size_t read = w->refers ? block->subject_length : at > w->at ? at - w->at : 0;
	uint64_t cost = 1 + read / BYTES_PER_STEP;

	w->at = at;
	if (cost > *w->steps)
		return PCRE2_ERROR_CALLOUT;
	*w->steps -= cost;
	return 0;
}

int
pattern_match(const struct pattern *p, const char *text, size_t len, uint64_t *steps)
{
	pcre2_match_data *data = pcre2_match_data_create(1, NULL);
	pcre2_match_context *context = pcre2_match_context_create(NULL);
	struct work work = {.steps = steps, .refers = p->refers};
	uint64_t cost = 1 + len / BYTES_PER_STEP; /* the search for a beginning */
	int r = PCRE2_ERROR_NOMEMORY;

	if (cost > *steps)
		r = PCRE2_ERROR_CALLOUT;
	else if (data != NULL && context != NULL) {
		*steps -= cost;
		/* cannot fail: all only store their value */
		(void)pcre2_set_heap_limit(context, HEAP_KIB_MAX);
		(void)pcre2_set_depth_limit(context, DEPTH_MAX);
		(void)pcre2_set_callout(context, count_step, &work);
		r = pcre2_match(
		    p->code, (PCRE2_SPTR)text, len, 0, PCRE2_NO_UTF_CHECK, data, context);
	}
	pcre2_match_data_free(data);
	pcre2_match_context_free(context);
	if (r >= 0)
		return 1;
	return r == PCRE2_ERROR_NOMATCH    ? 0
	       : r == PCRE2_ERROR_NOMEMORY ? -ENOMEM
					   : -E2BIG;
}
