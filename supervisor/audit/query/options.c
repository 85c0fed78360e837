/*
 * The options of all verbs of "kennel audit", in one table.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shim/base/array.h"
#include "shim/base/log.h"
#include "shim/base/loop.h"
#include "supervisor/audit/audit_help.h"
#include "supervisor/audit/query/options.h"
#include "supervisor/audit/query/record.h"

/* ---- values ------------------------------------------------------------------ */

/* The midnight, local, with which today or yesterday began. */
static int
time_of_day_name(const char *text, uint64_t *ret_ns)
{
	static const char *const name[] = {"today", "yesterday"};
	time_t now = time(NULL);
	struct tm tm;

	for (size_t i = 0; i < ARRAY_LEN(name); i++) {
		if (strcmp(text, name[i]) != 0 || localtime_r(&now, &tm) == NULL)
			continue;
		tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
		tm.tm_mday -= (int)i;
		tm.tm_isdst = -1;
		*ret_ns = (uint64_t)mktime(&tm) * NS_PER_S;
		return 0;
	}
	return -EINVAL;
}

/* A time of day is today's: the local day, or that of UTC. */
static void
put_today(const char *text, struct tm *tm)
{
	size_t len = strlen(text);
	time_t now = time(NULL);
	struct tm day;

	if (len > 0 && text[len - 1] == 'Z' ? gmtime_r(&now, &day) == NULL
					    : localtime_r(&now, &day) == NULL)
		return; /* then the year is 1900, which is refused */
	tm->tm_year = day.tm_year;
	tm->tm_mon = day.tm_mon;
	tm->tm_mday = day.tm_mday;
}

int
options_time(const char *text, uint64_t *ret_ns)
{
	static const struct {
		char unit;
		uint64_t seconds;
	} unit[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}};
	static const char *const format[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S",
	    "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d", "%H:%M:%S", "%H:%M"};
	uint64_t now = (uint64_t)time(NULL);
	unsigned long n;
	char *end;

	if (time_of_day_name(text, ret_ns) == 0)
		return 0;
	errno = 0;
	n = strtoul(text, &end, 10);
	for (size_t i = 0; end != text && errno == 0 && i < ARRAY_LEN(unit); i++) {
		if (end[0] != unit[i].unit || end[1] != '\0' || text[0] == '-')
			continue;
		if (n > now / unit[i].seconds)
			return -EINVAL;
		*ret_ns = (now - n * unit[i].seconds) * NS_PER_S;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(format); i++) {
		struct tm tm = {.tm_isdst = -1};
		const char *rest = strptime(text, format[i], &tm);
		uint64_t part = 0, scale = NS_PER_S;
		time_t t;

		if (rest == NULL)
			continue;
		if (format[i][1] == 'H')
			put_today(text, &tm);
		/* decimals, as in the header of an answer */
		if (*rest == '.') {
			for (rest++; *rest >= '0' && *rest <= '9' && scale > 1; rest++)
				part += (uint64_t)(*rest - '0') * (scale /= 10);
		}
		if (rest[0] != '\0' && strcmp(rest, "Z") != 0)
			continue;
		t = rest[0] == 'Z' ? timegm(&tm) : mktime(&tm);
		if (t < 0)
			return -EINVAL;
		*ret_ns = (uint64_t)t * NS_PER_S + part;
		return 0;
	}
	return -EINVAL;
}

static int
read_count(const char *text, uint64_t *ret)
{
	char *end;
	uint64_t n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || text[0] == '-' || n == 0 ||
	    n > INT64_MAX)
		return -EINVAL;
	*ret = n;
	return 0;
}

/* A misspelt kind would look like "no such event happened". */
static bool
is_kind(const char *text)
{
	for (int kind = EVENT_START; kind < EVENT_KIND_END; kind++)
		if (strcmp(text, event_kind_name((enum event_kind)kind)) == 0)
			return true;
	return false;
}

static bool
is_verdict(const char *text)
{
	static const char *const verdict[] = {
	    "allow", "ask", "deny", "killed", VERDICT_ABSENT};

	for (size_t i = 0; i < ARRAY_LEN(verdict); i++)
		if (strcmp(text, verdict[i]) == 0)
			return true;
	return false;
}

/* ---- the table ------------------------------------------------------------------ */

/* Each parses its value, NULL for a flag; false if it is invalid. */
#define TAKE_TEXT(field) \
	static bool take_##field(struct query *q, const char *v) \
	{ \
		q->field = v; \
		return v[0] != '\0'; \
	}
#define TAKE_FLAG(field) \
	static bool take_##field(struct query *q, const char *v) \
	{ \
		q->field = true; \
		return true; \
	}
TAKE_TEXT(server)
TAKE_TEXT(session)
TAKE_TEXT(tool)
TAKE_TEXT(rule)
TAKE_TEXT(as_of)
TAKE_TEXT(log)
TAKE_TEXT(policy)
TAKE_TEXT(control)
TAKE_TEXT(seed)
TAKE_TEXT(out)
TAKE_TEXT(report)
TAKE_TEXT(for_verify)
TAKE_TEXT(contains)
TAKE_FLAG(verified)
TAKE_FLAG(bare)
TAKE_FLAG(follow)
TAKE_FLAG(absent)
TAKE_FLAG(own)
TAKE_FLAG(diff)
TAKE_FLAG(all)
TAKE_FLAG(once)
TAKE_FLAG(text)

static bool
take_kind(struct query *q, const char *v)
{
	q->kind = v;
	return is_kind(v);
}

static bool
take_verdict(struct query *q, const char *v)
{
	q->verdict = v;
	return is_verdict(v);
}

static bool
take_from(struct query *q, const char *v)
{
	q->from_given = true;
	return options_time(v, &q->from_ns) == 0;
}

static bool
take_to(struct query *q, const char *v)
{
	q->to_given = true;
	return options_time(v, &q->to_ns) == 0;
}

static bool
take_n(struct query *q, const char *v)
{
	return read_count(v, &q->last_n) == 0;
}

static bool
take_rows(struct query *q, const char *v)
{
	return read_count(v, &q->last_rows) == 0;
}

/* --before: records before this number */
static bool
take_before(struct query *q, const char *v)
{
	return read_count(v, &q->beyond) == 0;
}

static bool
take_after(struct query *q, const char *v)
{
	if (read_count(v, &q->first) < 0)
		return false;
	q->first++;
	return true;
}

static bool
take_days(struct query *q, const char *v)
{
	return read_count(v, &q->days) == 0 && q->days < 100000;
}

static bool
take_json(struct query *q, const char *v)
{
	q->form = FORM_JSON;
	return true;
}

static bool
take_csv(struct query *q, const char *v)
{
	q->form = FORM_CSV;
	return true;
}

/* letter: 0 if every verb accepts it, but those whose "may" begins with '!'; else it
 * must be in the verb's "may". */
#define TIME "time (" OPTIONS_TIME_FORMS ")"

static const struct option_row {
	const char *name;
	char letter;
	const char *value; /* name of the value; NULL: a flag */
	bool (*take)(struct query *, const char *);
} option_row[] = {
    {"--json", 0, NULL, take_json},
    {"--csv", 0, NULL, take_csv},
    {"--no-header", 0, NULL, take_bare},
    {"--verified", 0, NULL, take_verified},
    {"--from", 0, TIME, take_from},
    {"--since", 0, TIME, take_from},
    {"--to", 0, TIME, take_to},
    {"--server", 0, "server", take_server},
    {"--tool", 0, "tool", take_tool},
    {"--verdict", 0, "verdict (allow, ask, deny, killed or absent)", take_verdict},
    {"--rule", 0, "rule", take_rule},
    {"--session", 0, "session", take_session},
    {"--as-of", 0, "checkpoint", take_as_of},
    {"--log", 0, "directory", take_log},
    {"--log", '!', "directory", take_log},
    {"--to", 'T', TIME, take_to},
    {"--verified", 'V', NULL, take_verified},
    {"--kind", 'k', "kind of record", take_kind},
    {"--all", 'a', NULL, take_all},
    {"--absent", 'A', NULL, take_absent},
    {"--diff", 'D', NULL, take_diff},
    {"--own", OPTION_OWN, NULL, take_own},
    {"-n", 'n', "count above 0", take_n},
    {"-n", 'N', "count above 0", take_rows},
    {"--before", 'b', "number of a record", take_before},
    {"--after", 'b', "number of a record", take_after},
    {"--contains", 'b', "text", take_contains},
    {"-f", 'f', NULL, take_follow},
    {"--once", '1', NULL, take_once},
    {"--text", 't', NULL, take_text},
    {"--days", 'd', "number of days", take_days},
    {"--control", 'c', "control", take_control},
    {"--seed", 's', "seed", take_seed},
    {"--policy", 'p', "file", take_policy},
    {"-o", 'o', "file", take_out},
    {"--kind", 'r', "kind of report", take_report},
    {"--format", 'x', "format", take_report},
    {"--for-verify", 'y', "directory", take_for_verify},
};

static const struct option_row *
find_row(const char *word, size_t len, const char *may)
{
	for (size_t i = 0; i < ARRAY_LEN(option_row); i++) {
		const struct option_row *row = &option_row[i];

		if (strlen(row->name) == len && memcmp(row->name, word, len) == 0 &&
		    (row->letter == 0 ? may[0] != '!' : strchr(may, row->letter) != NULL))
			return row;
	}
	return NULL;
}

/* Parses one option at argv[*at]; *at moves to its last argument. */
static int
take_one(int argc, char **argv, int *at, const char *may, struct query *q)
{
	const char *word = argv[*at], *equals = strchr(word, '='), *value = NULL;
	size_t len = equals != NULL ? (size_t)(equals - word) : strlen(word);
	const struct option_row *row = find_row(word, len, may);
	char shown[160];

	if (row == NULL) {
		(void)help_unknown_option(&audit_help, q->verb, word); /* always 64 */
		return -EINVAL;
	}
	if (row->value == NULL && equals != NULL) {
		log_error("audit %s: %s takes no value", q->verb, row->name);
		return -EINVAL;
	}
	if (row->value != NULL) {
		value = equals != NULL ? equals + 1 : NULL;
		if (value == NULL && *at + 1 < argc)
			value = argv[++*at];
		if (value == NULL) {
			log_error("audit %s: expected a %s after %s", q->verb, row->value,
			    row->name);
			return -EINVAL;
		}
	}
	if (row->take(q, value))
		return 0;
	value = value != NULL ? value : ""; /* a flag is never refused */
	log_error("audit %s: \"%s\" is not a %s", q->verb,
	    log_quote(shown, sizeof(shown), value, strlen(value)), row->value);
	return -EINVAL;
}

int
options_read(int argc, char **argv, const char *may, struct query *ret)
{
	struct query q = {.verb = argv[0], .to_ns = INT64_MAX, .argv = argv + 1};
	bool over = false;

	for (int i = 1; i < argc; i++) {
		if (!over && strcmp(argv[i], "--") == 0) {
			over = true;
		} else if (!over && argv[i][0] == '-' && argv[i][1] != '\0') {
			if (take_one(argc, argv, &i, may, &q) < 0)
				return -EINVAL;
		} else {
			q.argv[q.argc++] = argv[i]; /* never beyond i */
		}
	}
	*ret = q;
	return 0;
}

/* ---- does a record match? ---------------------------------------------------------- */

/* True if word is one of the words in a list such as "exec call". */
static bool
one_of(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = words; (at = strstr(at, word)) != NULL; at += len) {
		if ((at == words || at[-1] == ' ') && (at[len] == ' ' || at[len] == '\0'))
			return true;
	}
	return false;
}

bool
options_with_absent(const struct query *q)
{
	return q->absent ||
	       (q->verdict != NULL && strcmp(q->verdict, VERDICT_ABSENT) == 0);
}

bool
options_match(const struct query *q, const struct log_record *record)
{
	if (record->idx < q->first || (q->beyond > 0 && record->idx >= q->beyond))
		return false;
	if (record->ts < q->from_ns || record->ts >= q->to_ns)
		return false;
	if ((q->server != NULL && !log_record_is(record, "server", q->server)) ||
	    (q->verdict != NULL && !log_record_is(record, "verdict", q->verdict)) ||
	    (q->rule != NULL && !log_record_is(record, "rule", q->rule)))
		return false;
	if ((q->kind != NULL && strcmp(record->kind, q->kind) != 0) ||
	    (q->session != NULL && strcmp(record->session, q->session) != 0) ||
	    (q->kinds != NULL && !one_of(q->kinds, record->kind)))
		return false;
	if (q->tool != NULL && (log_record_find(record, "action") == NULL ||
				   !log_record_is(record, "name", q->tool)))
		return false;
	if (q->contains != NULL &&
	    memmem(record->body, record->len, q->contains, strlen(q->contains)) == NULL)
		return false;
	if ((q->hide && one_of(QUERY_HIDDEN, record->kind)) ||
	    (q->present && log_record_absent(record)))
		return false;
	return !q->denied || log_record_denied(record) || log_record_absent(record);
}
