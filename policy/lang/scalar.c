/*
 * Scalar values: sizes, times, counts, paths, names of variables.
 */
#include "policy/lang/scalar.h"
#include "policy/sealed/sealed.h"
#include "shim/base/array.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* Reads the digits at the start of text; *ret_rest points after them. */
static int
digits(const char *text, uint64_t *ret, const char **ret_rest)
{
	uint64_t v = 0;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	/* 007 is not a valid number */
	if (*text == '0' && text[1] >= '0' && text[1] <= '9')
		return -EINVAL;
	for (; *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*text - '0'), &v))
			return -EINVAL;
	*ret = v;
	*ret_rest = text;
	return 0;
}

struct unit {
	const char *name;
	uint64_t factor;
};

static int
number(const char *text, const struct unit *units, size_t n, uint64_t *ret)
{
	const char *rest;
	uint64_t v;
	size_t i;

	if (digits(text, &v, &rest) != 0)
		return -EINVAL;
	for (i = 0; i < n; i++)
		if (strcmp(rest, units[i].name) == 0)
			break;
	if (i == n || __builtin_mul_overflow(v, units[i].factor, &v))
		return -EINVAL;
	*ret = v;
	return 0;
}

#define NUMBER(text, units, ret) number(text, units, ARRAY_LEN(units), ret)

int
unit_bytes(const char *text, uint64_t *ret)
{
	static const struct unit units[] = {
	    {"", 1},
	    {"K", 1ULL << 10},
	    {"M", 1ULL << 20},
	    {"G", 1ULL << 30},
	    {"T", 1ULL << 40},
	};

	return NUMBER(text, units, ret);
}

int
unit_ms(const char *text, uint64_t *ret)
{
	static const struct unit units[] = {
	    {"ms", 1},
	    {"s", 1000},
	    {"m", 60000},
	    {"h", 3600000},
	    {"d", 86400000},
	};

	return NUMBER(text, units, ret);
}

int
unit_percent(const char *text, uint64_t *ret)
{
	static const struct unit units[] = {{"%", 1}};

	return NUMBER(text, units, ret);
}

int
unit_count(const char *text, uint64_t *ret)
{
	static const struct unit units[] = {{"", 1}};

	return NUMBER(text, units, ret);
}

/* ---- limits of calls ------------------------------------------------------ */

int
rate_read(const char *text, uint32_t *ret_calls, uint32_t *ret_ms)
{
	const char *rest;
	uint64_t calls, ms;

	if (digits(text, &calls, &rest) != 0 || *rest != '/' ||
	    unit_ms(rest + 1, &ms) != 0)
		return -EINVAL;
	if (calls < 1 || calls > CALL_RATE_MAX || ms < CALL_RATE_MS_MIN ||
	    ms > CALL_RATE_MS_MAX)
		return -EINVAL;
	*ret_calls = (uint32_t)calls;
	*ret_ms = (uint32_t)ms;
	return 0;
}

int
quota_read(const char *text, uint32_t *ret)
{
	uint64_t calls;

	if (unit_count(text, &calls) != 0 || calls < 1 || calls > CALL_QUOTA_MAX)
		return -EINVAL;
	*ret = (uint32_t)calls;
	return 0;
}

/* ---- dates --------------------------------------------------------------- */

static bool
is_leap(uint64_t year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int
unit_date(const char *text, uint32_t *ret)
{
	static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	uint32_t part[3] = {0}, sum = 0, i, length;

	if (strlen(text) != 10 || text[4] != '-' || text[7] != '-')
		return -EINVAL;
	for (i = 0; i < 10; i++) {
		if (i == 4 || i == 7)
			continue;
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		part[(i > 4) + (i > 7)] =
		    part[(i > 4) + (i > 7)] * 10 + (uint32_t)(text[i] - '0');
	}
	if (part[0] < 1970 || part[1] < 1 || part[1] > 12)
		return -EINVAL;
	length = days[part[1] - 1] + (part[1] == 2 && is_leap(part[0]) ? 1 : 0);
	if (part[2] < 1 || part[2] > length)
		return -EINVAL;
	for (i = 1970; i < part[0]; i++)
		sum += is_leap(i) ? 366 : 365;
	for (i = 1; i < part[1]; i++)
		sum += days[i - 1] + (i == 2 && is_leap(part[0]) ? 1 : 0);
	*ret = sum + part[2] - 1;
	return 0;
}

uint32_t
unit_today(void)
{
	time_t now = time(NULL); /* syscalls: clock_gettime */

	return now < 0 ? 0 : (uint32_t)(now / 86400);
}

/* ---- limits and timeouts ------------------------------------------------- */

typedef int unit_fn(const char *, uint64_t *);

static const struct limit_row {
	const char *name;
	enum keyword word;
	unit_fn *unit;
	uint64_t min, max;
} limit_rows[] = {
    [LIMIT_MEMORY] = {"memory", KW_LIMIT, unit_bytes, 1ULL << 20, 1ULL << 44},
    [LIMIT_PROCESSES] = {"processes", KW_LIMIT, unit_count, 1, 1ULL << 22},
    [LIMIT_FILES] = {"files", KW_LIMIT, unit_count, 8, 1ULL << 20},
    [LIMIT_CPU] = {"cpu", KW_LIMIT, unit_percent, 1, 100000},
    [LIMIT_OUTPUT] = {"output", KW_LIMIT, unit_bytes, 1ULL << 10, 16ULL << 20},
    [LIMIT_INPUT] = {"input", KW_LIMIT, unit_bytes, 1ULL << 10, 16ULL << 20},
    [TIMEOUT_CALL] = {"call", KW_TIMEOUT, unit_ms, 1, 30ULL * 86400000},
    [TIMEOUT_ASK] = {"ask", KW_TIMEOUT, unit_ms, 1, 30ULL * 86400000},
    [TIMEOUT_START] = {"start", KW_TIMEOUT, unit_ms, 1, 30ULL * 86400000},
    [TIMEOUT_IDLE] = {"idle", KW_TIMEOUT, unit_ms, 1, 30ULL * 86400000},
    [TIMEOUT_MOST] = {"most", KW_TIMEOUT, unit_ms, 1, 30ULL * 86400000},
};
#define LIMIT_N (ARRAY_LEN(limit_rows))

enum sealed_limit_kind
limit_kind(enum keyword kw, const char *name)
{
	size_t i;

	for (i = 1; i < LIMIT_N; i++)
		if (limit_rows[i].word == kw && strcmp(limit_rows[i].name, name) == 0)
			return (enum sealed_limit_kind)i;
	return 0;
}

int
limit_value(enum sealed_limit_kind kind, const char *text, uint64_t *ret)
{
	const struct limit_row *row = &limit_rows[kind < LIMIT_N ? kind : 0];
	uint64_t v;

	if (row->unit == NULL || row->unit(text, &v) != 0 || v < row->min || v > row->max)
		return -EINVAL;
	*ret = v;
	return 0;
}

/* ---- names --------------------------------------------------------------- */

bool
server_name_is_valid(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) &&
		    (i == 0 || (name[i] != '_' && name[i] != '-')))
			return false;
	return len > 0 && len <= 64;
}

/* ---- paths --------------------------------------------------------------- */

bool
path_is_normal(const char *path)
{
	const char *p = path, *end;
	size_t n;

	if (*p != '/')
		return false;
	if (p[1] == '\0')
		return true;
	while (*p == '/') {
		p++;
		end = strchrnul(p, '/');
		n = (size_t)(end - p);
		if (n == 0 || (n == 1 && p[0] == '.') ||
		    (n == 2 && p[0] == '.' && p[1] == '.'))
			return false;
		p = end;
	}
	return true;
}

bool
path_below(const char *outer, const char *inner)
{
	size_t n = strlen(outer);

	if (n == 1)
		return true;
	return strncmp(outer, inner, n) == 0 && (inner[n] == '\0' || inner[n] == '/');
}

/* ---- variables ----------------------------------------------------------- */

/*
 * Variables that make a loader, an interpreter or a tool run or load something
 * that no grant names.  A trailing * matches any rest.
 */
static const char *const refused[] = {
    /* loaders and libc */
    "LD_*",
    "_RLD*",
    "DYLD_*",
    "LIBPATH",
    "SHLIB_PATH",
    "GLIBC_TUNABLES",
    "GCONV_PATH",
    "GETCONF_DIR",
    "LOCPATH",
    "NLSPATH",
    "MALLOC_*",
    "HOSTALIASES",
    "LOCALDOMAIN",
    "RES_OPTIONS",
    "NIS_PATH",
    "TZDIR",
    "RESOLV_*",
    /* shells */
    "BASH_ENV",
    "ENV",
    "BASH_FUNC_*",
    "SHELLOPTS",
    "BASHOPTS",
    "PROMPT_COMMAND",
    "PS4",
    "IFS",
    "CDPATH",
    "GLOBIGNORE",
    "ZDOTDIR",
    "FPATH",
    /* interpreters */
    "NODE_OPTIONS",
    "NODE_PATH",
    "NODE_REPL_EXTERNAL_MODULE",
    "NODE_V8_COVERAGE",
    "ELECTRON_RUN_AS_NODE",
    "BUN_OPTIONS",
    "BUN_CONFIG_PRELOAD",
    "DENO_V8_FLAGS",
    "DENO_DIR",
    "NPM_CONFIG_NODE_OPTIONS",
    "NPM_CONFIG_SCRIPT_SHELL",
    "NPM_CONFIG_GLOBALCONFIG",
    "NPM_CONFIG_USERCONFIG",
    "PYTHON*",
    "PERL5*",
    "PERLLIB",
    "PERLIO*",
    "PERL_*",
    "RUBY*",
    "GEM_HOME",
    "GEM_PATH",
    "BUNDLE_GEMFILE",
    "BUNDLE_PATH",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
    "JAVA_OPTS",
    "CLASSPATH",
    "DOTNET_*",
    "COMPLUS_*",
    "CORECLR_*",
    "COR_PROFILER*",
    "COR_ENABLE_PROFILING",
    "LUA_*",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "R_HOME",
    "R_PROFILE*",
    "R_ENVIRON*",
    "R_LIBS*",
    "TCLLIBPATH",
    "GUILE_*",
    "ERL_FLAGS",
    "ERL_AFLAGS",
    "ERL_ZFLAGS",
    "ERL_LIBS",
    "JULIA_LOAD_PATH",
    "JULIA_DEPOT_PATH",
    "JULIA_PROJECT",
    "GHCRTS",
    "GODEBUG",
    "RUSTC",
    "RUSTC_*",
    "RUSTFLAGS",
    "CARGO_HOME",
    "CARGO_BUILD_*",
    "CARGO_TARGET_*",
    /* tools that start a program named in a variable */
    "GIT_*",
    "SSH_ASKPASS*",
    "SUDO_ASKPASS",
    "LESSOPEN",
    "LESSCLOSE",
    "LESSKEY*",
    "MANPAGER",
    "MAKEFLAGS",
    "MFLAGS",
    "GNUMAKEFLAGS",
    "MAKEFILES",
    "TERMINFO*",
    "TERMCAP",
    "TERMPATH",
    "GTK_MODULES",
    "GTK3_MODULES",
    "GTK_PATH",
    "GIO_MODULE_DIR",
    "GIO_EXTRA_MODULES",
    "QT_PLUGIN_PATH",
    "QT_QPA_PLATFORM_PLUGIN_PATH",
    "GST_PLUGIN_*",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "PKCS11_MODULE_PATH",
    "SASL_PATH",
    "KRB5_CONFIG",
    "AWKPATH",
    "AWKLIBPATH",
    "KENNEL_*",
};

/* Harmless variables that a prefix above would match. */
static const char *const harmless[] = {
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONIOENCODING",
    "PYTHONUTF8",
    "PYTHONHASHSEED",
    "PYTHONNOUSERSITE",
    "PYTHONSAFEPATH",
    "PYTHONOPTIMIZE",
    "PYTHONFAULTHANDLER",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_DATE",
    "GIT_TERMINAL_PROMPT",
    "GIT_OPTIONAL_LOCKS",
    "GIT_TOKEN",
    "GIT_USERNAME",
    "GIT_PASSWORD",
    "DOTNET_CLI_TELEMETRY_OPTOUT",
    "DOTNET_NOLOGO",
    "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT",
};

static bool
name_matches(const char *pattern, const char *name)
{
	const char *star = strchr(pattern, '*');
	size_t n;

	if (star == NULL)
		return strcasecmp(pattern, name) == 0;
	n = (size_t)(star - pattern);
	return strncasecmp(pattern, name, n) == 0;
}

bool
env_beginning_is_refused(const char *text, size_t len)
{
	const char *star;
	size_t i, n;

	for (i = 0; i < ARRAY_LEN(refused); i++) {
		star = strchr(refused[i], '*');
		n = star != NULL ? (size_t)(star - refused[i]) : strlen(refused[i]);
		if (star == NULL ? n > len && strncasecmp(refused[i], text, len) == 0
				 : strncasecmp(refused[i], text, n < len ? n : len) == 0)
			return true;
	}
	return false;
}

bool
env_is_refused(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(harmless); i++)
		if (strcasecmp(harmless[i], name) == 0)
			return false;
	for (i = 0; i < ARRAY_LEN(refused); i++)
		if (name_matches(refused[i], name))
			return true;
	return false;
}
