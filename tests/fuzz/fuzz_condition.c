/*
 * Conditions on any bytes: one line says the condition, the rest is the
 * arguments.
 *
 *	OP PATH VALUE\n
 *	JSON
 *
 * What jansson takes is JSON here too (but for depth); and a condition's answer
 * does not depend on the white space around the arguments.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "policy/sealed/policy.h"
#include "tests/fuzz/fuzz.h"

#define STEPS_MAX 8
#define LINE_MAX_ 512

static struct sealed_cond cond;
static struct sealed_step steps[STEPS_MAX];
static struct sealed_value value[2]; /* the second: `under DIR relative` */
static char strings[2 * LINE_MAX_];
static struct policy p = {
    .strings = strings, .cond = &cond, .step = steps, .value = value};

static struct sealed_ref
text(const char *s, size_t len)
{
	struct sealed_ref ref = {(uint32_t)p.strings_len, (uint32_t)len};

	memcpy(strings + ref.off, s, len);
	strings[ref.off + len] = 0;
	p.strings_len += len + 1;
	return ref;
}

/* One byte of operation, then .key or [digit] steps, a space, and the value. */
static void
condition(const char *s, size_t len)
{
	size_t i = 1, from;

	p.strings_len = 1;
	cond = (struct sealed_cond){
	    .op = len > 0 ? COND_EQ + (uint8_t)s[0] % COND_EXISTS : COND_EXISTS};
	while (i < len && s[i] != ' ' && cond.steps.n < STEPS_MAX) {
		steps[cond.steps.n] = (struct sealed_step){0};
		if (s[i] == '[') {
			steps[cond.steps.n].is_index = 1;
			steps[cond.steps.n].index =
			    i + 1 < len ? (uint8_t)s[i + 1] & 3 : 0;
			i += 2;
		} else {
			for (from = ++i; i < len && strchr(". [", s[i]) == NULL; i++)
				;
			steps[cond.steps.n].key = text(s + from, i > from ? i - from : 0);
		}
		cond.steps.n++;
	}
	i++;
	cond.values.n = cond.op != COND_EXISTS;
	value[0] = (struct sealed_value){.type = VALUE_NULL};
	if (i < len) {
		value[0].type =
		    policy_is_number(s + i, len - i) ? VALUE_NUMBER : VALUE_STRING;
		value[0].text = text(s + i, len - i);
	}
	value[1] = (struct sealed_value){.type = VALUE_STRING, .text = text("/srv", 4)};
	if (cond.op == COND_UNDER && len > 0 && (uint8_t)s[0] >= 0x80)
		cond.values.n = 2;
	if (cond.op >= COND_LT && cond.op <= COND_GE && value[0].type != VALUE_NUMBER)
		cond.op = COND_EQ;
	if ((cond.op == COND_MATCHES || cond.op == COND_UNDER) &&
	    value[0].type != VALUE_STRING) {
		cond.op = COND_NE;
		cond.values.n = 1;
	}
}

static void
as_jansson(const char *json, size_t len)
{
	json_t *v = json_loadb(json, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
	size_t i, deep = 0;

	for (i = 0; i < len; i++)
		deep += json[i] == '[' || json[i] == '{';
	/* a NUL byte is its end of input */
	if (v != NULL && deep < 127 && memchr(json, 0, len) == NULL &&
	    !policy_is_json(json, len))
		abort();
	json_decref(v);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const uint8_t *end = len > 0 ? memchr(data, '\n', len) : NULL;
	struct sealed_range one = {0, 1};
	enum policy_truth t, again;
	size_t line = end != NULL ? (size_t)(end - data) : 0, n;
	char *json, *wide;

	if (end == NULL || line >= LINE_MAX_)
		return 0;
	condition((const char *)data, line);
	n = len - line - 1;
	if ((json = malloc(n + 1)) == NULL || (wide = malloc(n + 4)) == NULL)
		abort();
	memcpy(json, data + line + 1, n);
	t = policy_conds(&p, one, json, n);
	memcpy(wide, " \n", 2);
	memcpy(wide + 2, json, n);
	memcpy(wide + 2 + n, "\t\r", 2);
	again = policy_conds(&p, one, wide, n + 4);
	if (t != again || (t != TRUTH_UNKNOWN && !policy_is_json(json, n)))
		abort();
	as_jansson(json, n);
	free(json);
	free(wide);
	return 0;
}
