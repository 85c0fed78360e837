/*
 * "kennel audit ...": a log shown to people and to programs.
 *
 * Runs in kennel.  The log is opened as reader.c opens it, its schema compared
 * first; whether the records are what was written is kennel-verify's to say.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "shim/base/log.h"
#include "supervisor/audit/inside.h"
#include "supervisor/cli/paths.h"

#define ARRAY_LEN(a)   (sizeof(a) / sizeof((a)[0]))
#define NS_PER_S       1000000000ull
#define EXIT_USAGE     64
#define EXIT_NOT_FOUND 127
#define SHOWN_MAX      (4 * AUDIT_BODY_MAX + 1)
#define POLICY_SHOWN   12 /* digits of a policy's id for people */

#define WHERE \
	"(?1 IS NULL OR server = ?1) AND (?2 IS NULL OR kind = ?2) AND " \
	"(?3 IS NULL OR verdict = ?3) AND (?4 IS NULL OR session = ?4) AND ts >= ?5"

/* ---- one record for people -------------------------------------------------- */

/* A raw string made inert: every byte that is not plain is shown as \xNN. */
static const char *
shown(struct span raw, char out[SHOWN_MAX])
{
	static char text[AUDIT_BODY_MAX];
	long len = scan_string(raw, text, sizeof(text));

	if (len < 0) { /* a number */
		len = (long)raw.len;
		memcpy(text, raw.data, raw.len);
	}
	return log_quote(out, SHOWN_MAX, text, (size_t)len);
}

static void
print_time(uint64_t ts, FILE *out)
{
	time_t s = (time_t)(ts / NS_PER_S);
	char text[32];
	struct tm tm;

	if (localtime_r(&s, &tm) == NULL ||
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm) == 0)
		(void)snprintf(text, sizeof(text), "%" PRIu64, ts);
	fprintf(out, "%s.%03u", text, (unsigned int)(ts % NS_PER_S / 1000000));
}

static void
print_field(const struct scan_field *field, FILE *out)
{
	static char text[SHOWN_MAX];
	struct span value;
	size_t at = 0;
	const char *before = "=";

	fprintf(out, " %.*s", (int)field->key.len, (const char *)field->key.data);
	while (scan_next(field->value, &at, &value) == 1) {
		bool id =
		    field->key.len == 6 && memcmp(field->key.data, "policy", 6) == 0;
		const char *word = shown(value, text);
		bool quote;

		if (id && strlen(text) > POLICY_SHOWN)
			text[POLICY_SHOWN] = '\0';
		quote = word[0] == '\0' || strpbrk(word, " =,") != NULL;

		fprintf(out, quote ? "%s\"%s\"" : "%s%s", before, word);
		before = ",";
	}
}

static void
print_column(const struct scan *scan, const char *key, int width, FILE *out)
{
	const struct scan_field *field = scan_find(scan, key);
	static char text[SHOWN_MAX];

	fprintf(out, "  %-*s", width, field != NULL ? shown(field->value, text) : "-");
}

static int
print_record(const void *body, size_t len, FILE *out)
{
	static struct scan scan;
	static char kind[SHOWN_MAX], session[SHOWN_MAX];
	uint64_t idx, ts;

	if (len > AUDIT_BODY_MAX || scan_body(body, len, &scan) < 0 ||
	    !scan_number(scan.head[SCAN_IDX], &idx) ||
	    !scan_number(scan.head[SCAN_TS], &ts))
		return -EBADMSG;
	fprintf(out, "%8" PRIu64 "  ", idx);
	print_time(ts, out);
	fprintf(out, "  %-8s", shown(scan.head[SCAN_KIND], kind));
	print_column(&scan, "server", 16, out);
	print_column(&scan, "verdict", 5, out);
	fprintf(out, " ");
	for (size_t i = 0; i < scan.field_n; i++) {
		const struct span *key = &scan.field[i].key;

		if ((key->len == 6 && memcmp(key->data, "server", 6) == 0) ||
		    (key->len == 7 && memcmp(key->data, "verdict", 7) == 0))
			continue;
		print_field(&scan.field[i], out);
	}
	fprintf(out, " session=%s\n", shown(scan.head[SCAN_SESSION], session));
	return 0;
}

/* A stored line as it is; only what our writer can have written goes to a
 * terminal, and that has every control character escaped. */
static int
print_json(const void *body, size_t len, FILE *out)
{
	static struct scan scan;

	if (len > AUDIT_BODY_MAX || scan_body(body, len, &scan) < 0)
		return -EBADMSG;
	(void)fwrite(body, 1, len, out);
	fprintf(out, "\n");
	return 0;
}

/* ---- the question ------------------------------------------------------------ */

static void
bind_text(sqlite3_stmt *s, int at, const char *text)
{
	if (text != NULL)
		(void)sqlite3_bind_text(s, at, text, -1, SQLITE_STATIC);
}

static int
ask(sqlite3 *db, const struct audit_filter *f, bool json, FILE *out)
{
	static const char all[] = "SELECT body FROM rec WHERE " WHERE " ORDER BY idx";
	static const char last[] =
	    "SELECT body FROM (SELECT idx, body FROM rec WHERE " WHERE
	    " ORDER BY idx DESC LIMIT ?6) ORDER BY idx";
	sqlite3_stmt *s = NULL;
	int code, r = 0;

	if (schema_differs(db, (char[64]){0}, 64) != NULL)
		return -EBADMSG;
	if (sqlite3_prepare_v2(db, f->last_n > 0 ? last : all, -1, &s, NULL) != SQLITE_OK)
		return -EBADMSG;
	bind_text(s, 1, f->server);
	bind_text(s, 2, f->kind);
	bind_text(s, 3, f->verdict);
	bind_text(s, 4, f->session);
	(void)sqlite3_bind_int64(s, 5, (sqlite3_int64)f->since_ns);
	if (f->last_n > 0)
		(void)sqlite3_bind_int64(s, 6, (sqlite3_int64)f->last_n);
	while (r == 0 && (code = sqlite3_step(s)) == SQLITE_ROW) {
		const void *body = sqlite3_column_blob(s, 0);
		size_t len = (size_t)sqlite3_column_bytes(s, 0);

		r = json ? print_json(body, len, out) : print_record(body, len, out);
		if (r == 0 && ferror(out))
			r = -EPIPE;
	}
	if (r == 0 && code != SQLITE_DONE)
		r = -EBADMSG;
	(void)sqlite3_finalize(s); /* its result was seen at the last step */
	return r;
}

int
audit_log(const char *log_dir, const struct audit_filter *filter, bool json, FILE *out)
{
	char path[AUDIT_PATH_MAX], why[AUDIT_WHY_MAX];
	struct reader reader;
	int r;

	if ((size_t)snprintf(path, sizeof(path), "%s/" AUDIT_DB_NAME, log_dir) >=
	    sizeof(path))
		return -ENAMETOOLONG;
	r = reader_open(path, &reader, why);
	if (r < 0)
		return r;
	r = ask(reader.db, filter, json, out);
	reader_close(&reader);
	return r;
}

/* ---- kennel audit log --------------------------------------------------------- */

/* "90s" "10m" "2h" "3d" ago, or "2026-11-21[T22:00[:00]][Z]". */
static int
parse_time(const char *text, uint64_t *ret_ns)
{
	static const struct {
		char unit;
		uint64_t seconds;
	} unit[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}};
	static const char *const format[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S",
	    "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M", "%Y-%m-%d"};
	uint64_t now = (uint64_t)time(NULL);
	unsigned long n;
	char *end;

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
		time_t t;

		if (rest == NULL || (rest[0] != '\0' && strcmp(rest, "Z") != 0))
			continue;
		t = rest[0] == 'Z' ? timegm(&tm) : mktime(&tm);
		if (t < 0)
			return -EINVAL;
		*ret_ns = (uint64_t)t * NS_PER_S;
		return 0;
	}
	return -EINVAL;
}

static int
parse_count(const char *text, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(text, &end, 10);
	if (errno != 0 || end == text || *end != '\0' || text[0] == '-' || *ret == 0 ||
	    *ret > INT64_MAX)
		return -EINVAL;
	return 0;
}

struct log_options {
	struct audit_filter filter;
	bool json;
};

static int
usage(const char *verb)
{
	if (strcmp(verb, "verify") == 0)
		fprintf(stderr, "usage: kennel audit verify [--json] [LOG_DIR|FILE]\n");
	else
		fprintf(stderr, "usage: kennel audit log [--json] [--server NAME] "
				"[--kind KIND] [--verdict allow|ask|deny|killed]\n"
				"                        [--session ID] [--since TIME] "
				"[-n COUNT]\n"
				"       kennel audit verify [--json] [LOG_DIR|FILE]\n");
	return EXIT_USAGE;
}

/* A slip in a name would read as "nothing of the kind happened". */
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
	static const char *const verdict[] = {"allow", "ask", "deny", "killed"};

	for (size_t i = 0; i < ARRAY_LEN(verdict); i++)
		if (strcmp(text, verdict[i]) == 0)
			return true;
	return false;
}

static int
take_option(int c, struct log_options *o)
{
	const struct {
		int c;
		const char **text;
	} row[] = {
	    {'S', &o->filter.server},
	    {'k', &o->filter.kind},
	    {'v', &o->filter.verdict},
	    {'e', &o->filter.session},
	};

	if ((c == 'k' && !is_kind(optarg)) || (c == 'v' && !is_verdict(optarg)))
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_LEN(row); i++) {
		if (row[i].c == c) {
			*row[i].text = optarg;
			return 0;
		}
	}
	if (c == 'j')
		o->json = true;
	else if (c == 't')
		return parse_time(optarg, &o->filter.since_ns);
	else if (c == 'n')
		return parse_count(optarg, &o->filter.last_n);
	else
		return -EINVAL;
	return 0;
}

static int
log_main(int argc, char **argv)
{
	static const struct option option[] = {
	    {"json", no_argument, NULL, 'j'},
	    {"server", required_argument, NULL, 'S'},
	    {"kind", required_argument, NULL, 'k'},
	    {"verdict", required_argument, NULL, 'v'},
	    {"session", required_argument, NULL, 'e'},
	    {"since", required_argument, NULL, 't'},
	    {NULL, 0, NULL, 0},
	};
	struct log_options o = {0};
	const char *dir = paths_audit_dir();
	int c, r;

	optind = 0; /* glibc: start afresh */
	while ((c = getopt_long(argc, argv, "n:", option, NULL)) != -1) {
		if (c == '?')
			return usage("log");
		if (take_option(c, &o) < 0) {
			log_error("audit log: \"%s\" is not a %s", optarg,
			    c == 't'   ? "time"
			    : c == 'k' ? "kind of record"
			    : c == 'v' ? "verdict"
				       : "count above 0");
			return EXIT_USAGE;
		}
	}
	if (optind != argc)
		return usage("log");
	if (dir == NULL) {
		log_error("no home folder: where is the log?");
		return LOG_EXIT_FAILED;
	}
	r = audit_log(dir, &o.filter, o.json, stdout);
	if (fflush(stdout) != 0 && r == 0)
		r = -errno;
	if (r == 0 || r == -EPIPE)
		return 0;
	log_error("unable to read the log in %s: %s", dir,
	    r == -ENOENT    ? "there is none yet"
	    : r == -EBADMSG ? "it is damaged; see \"kennel audit verify\""
			    : strerror(-r));
	return r == -ENOENT ? EXIT_NOT_FOUND : LOG_EXIT_FAILED;
}

/* ---- kennel audit verify -------------------------------------------------------- */

static int
verify_main(int argc, char **argv)
{
	static const struct option option[] = {
	    {"json", no_argument, NULL, 'j'},
	    {NULL, 0, NULL, 0},
	};
	const char *path = paths_libexec("kennel-verify"), *log = paths_audit_dir();
	char *give[4] = {(char *)"kennel-verify"};
	int c, n = 1, status;
	pid_t child;

	optind = 0;
	while ((c = getopt_long(argc, argv, "", option, NULL)) != -1) {
		if (c != 'j')
			return usage("verify");
		give[1] = (char *)"--json";
		n = 2;
	}
	if (argc - optind > 1)
		return usage("verify");
	if (optind < argc)
		log = argv[optind];
	if (log == NULL || path == NULL) {
		log_error("no home folder: which log?");
		return LOG_EXIT_FAILED;
	}
	give[n] = (char *)log;
	child = fork(); /* syscalls: clone fork vfork */
	if (child == 0) {
		execv(path, give); /* syscalls: execve */
		log_error("unable to run %s: %s", path, strerror(errno));
		_exit(LOG_EXIT_FAILED);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0) { /* syscalls: wait4 */
		log_error("unable to run %s: %s", path, strerror(errno));
		return LOG_EXIT_FAILED;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : LOG_EXIT_FAILED;
}

int
audit_main(int argc, char **argv)
{
	static const struct {
		const char *verb;
		int (*main)(int, char **);
	} row[] = {{"log", log_main}, {"verify", verify_main}};

	for (size_t i = 0; argc > 0 && i < ARRAY_LEN(row); i++) {
		if (strcmp(argv[0], row[i].verb) == 0)
			return row[i].main(argc, argv);
	}
	return usage("");
}
