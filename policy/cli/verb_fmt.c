/*
 * "kennel policy fmt": prints a policy in canonical form, replaces the file
 * (-w), or only tests it (--check).
 */
#include "policy/cli/verb.h"
#include "policy/lang/ast.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "policy/lang/fmt.h"
#include "shim/base/fd.h"
#include "shim/host/path_resolve.h"

/* A text that does not parse has no canonical form; reports every error. */
static int
parses(const struct policy_source *s)
{
	struct diag d = {.sorted = true, .out = stderr, .source = s, .source_n = 1};
	struct tree t;
	int r;

	r = tree_parse(s, 1, &d, &t);
	if (r == 0)
		tree_free(&t);
	diag_end(&d);
	if (r != 0)
		return verb_status(r);
	return d.error_n > 0 ? EXIT_BAD_INPUT : 0;
}

static const char *
name_of(const struct policy_source *s)
{
	return s->path == NULL ? "(standard input)" : s->path;
}

/*
 * Replaces the file and keeps its mode; replaces the target of a link that root
 * owns.
 */
static int
write_back(const struct policy_source *s, const struct buf *b)
{
	struct path_resolved p;
	struct stat st;
	int r = path_resolve(s->path, 0, NULL, NULL, &p);

	/* syscalls: fstat newfstatat */
	if (r == 0 && fstat(p.fd, &st) != 0)
		r = -errno;
	fd_close(&p.fd);
	if (r != 0)
		return verb_unable("write", s->path, r);
	r = verb_write(p.real, b->data, b->len, st.st_mode & 07777);
	return r == 0 ? 0 : verb_unable("write", s->path, r);
}

static int
fmt_one(const struct args *a, const struct policy_source *s)
{
	bool differs;
	struct buf b;
	int r, status;

	status = parses(s);
	if (status != 0)
		return status;
	buf_init(&b, 4 * (size_t)SOURCE_LEN_MAX);
	r = fmt_text(s, &b);
	differs = r == 0 &&
		  (b.len != s->len || (b.len > 0 && memcmp(b.data, s->text, b.len) != 0));
	if (r != 0)
		status = verb_unable("format", name_of(s), r);
	else if ((a->given & OPT_CHECK) != 0 && differs)
		printf("%s\n", name_of(s));
	if (r == 0 && (a->given & OPT_CHECK) != 0)
		status = differs ? EXIT_NO : 0;
	else if (r == 0 && (a->given & OPT_WRITE) != 0)
		status = differs ? write_back(s, &b) : 0;
	else if (r == 0 && b.len > 0 && fwrite(b.data, 1, b.len, stdout) != b.len)
		status = verb_unable("write", "standard output", -EIO);
	buf_free(&b);
	return status;
}

int
verb_fmt(const struct args *a)
{
	static struct texts t;
	int status, one;
	size_t i;

	if ((a->given & (OPT_CHECK | OPT_WRITE)) == (OPT_CHECK | OPT_WRITE))
		return verb_usage("--check writes nothing: leave out -w", "");
	if ((a->given & (OPT_CHECK | OPT_WRITE)) == 0 && a->word_n > 1)
		return verb_usage("fmt of several files takes --check or -w", "");
	status = texts_read(a->word, a->word_n, SOURCE_LEN_MAX, &t);
	if (status != 0)
		return status;
	for (i = 0; i < t.n; i++) {
		if (t.source[i].path == NULL && (a->given & OPT_WRITE) != 0)
			one = verb_usage("standard input has no place to write to", "");
		else
			one = fmt_one(a, &t.source[i]);
		status = one > status ? one : status;
	}
	texts_free(&t);
	return status != 0 ? status : verb_flush();
}
