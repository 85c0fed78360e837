/*
 * "kennel policy check": every error and warning, for people or as JSON.
 */
#include "policy/cli/verb.h"
#include "policy/compile/compile.h"
#include "policy/compile/source_list.h"
#include "policy/lang/ast.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/base/diag.h"
#include "policy/sealed/policy.h"
#include "shim/base/fd.h"
#include "shim/host/path_open.h"

static void
put_count(size_t n, const char *what)
{
	if (n == 0)
		printf(", no %ss", what);
	else
		printf(", %zu %s%s", n, what, n == 1 ? "" : "s");
}

/* "files.kennel: 1 server, no errors, 2 warnings, 1 expectation not checked" */
static void
summary(const struct args *a, const struct policy_counts *n)
{
	char shown[DIAG_TEXT_CAP];

	if (a->word_n == 1)
		printf("%s: ", strcmp(a->word[0], "-") == 0
				   ? "(standard input)"
				   : diag_text(shown, a->word[0], strlen(a->word[0])));
	else
		printf("%zu files: ", a->word_n);
	if (n->errors == 0)
		printf("%zu server%s, no errors", n->servers, n->servers == 1 ? "" : "s");
	else
		printf("%zu error%s", n->errors, n->errors == 1 ? "" : "s");
	if (n->unread)
		fputs("; not checked: warnings, expectations", stdout);
	else
		put_count(n->warnings, "warning");
	if (n->unchecked > 0)
		printf(", %zu expectation%s not checked", n->unchecked,
		    n->unchecked == 1 ? "" : "s");
	putchar('\n');
}

/* ---- sealed files of the same servers ------------------------------------------- */

/* True if the sealed file was compiled from other texts than these, or cannot be used.
 * Unknown for a signed file: false. */
static bool
is_other(const char *path, struct source_list now)
{
	struct listed_source source;
	struct policy sealed;
	char why[256], *data = NULL;
	size_t len = 0;
	bool same = true;
	int fd = -1;

	if (path_open(path, &fd) < 0)
		return false;
	if (fd_slurp(fd, SEALED_LEN_MAX, &data, &len) < 0 ||
	    policy_load_bytes((const uint8_t *)data, len, &sealed, why, sizeof(why)) < 0)
		same = false;
	else {
		struct source_list list = source_list_of((const uint8_t *)data, len);
		bool listed = list.at != list.end;

		while (listed && same && source_list_next(&now, &source))
			same = source_list_has(list, source.sha256);
		policy_unload(&sealed);
	}
	fd_close(&fd);
	free(data);
	return !same;
}

/* `kennel run` prefers a sealed file to a text. */
static void
sealed_look(const struct args *a, const struct policy *fresh, struct source_list now,
    struct policy_counts *n)
{
	char folder[2][PATH_MAX] = {"/etc/kennel/sealed", ""}, path[PATH_MAX];
	char shown[DIAG_TEXT_CAP];

	if (own_folder("sealed", folder[1], sizeof(folder[1])) < 0)
		folder[1][0] = '\0';
	for (uint32_t i = 0; i < 2 * fresh->row_n[SEALED_SERVERS]; i++) {
		const char *name = policy_str(fresh, fresh->server[i / 2].name);
		int len =
		    snprintf(path, sizeof(path), "%s/%s.sealed", folder[i % 2], name);

		if (folder[i % 2][0] == '\0' || len >= (int)sizeof(path) ||
		    !is_other(path, now))
			continue;
		n->warnings++;
		fprintf(stderr,
		    "%s: warning: `kennel run %s` uses %s, which was not compiled from "
		    "this text: run `kennel policy compile` for this file\n",
		    diag_text(shown, a->word[0], strlen(a->word[0])), name, path);
	}
}

static int
check_files(const struct args *a, const struct texts *t, struct policy_counts *counts)
{
	struct policy fresh;
	struct buf bytes;
	char why[256];
	int status;

	buf_init(&bytes, SEALED_LEN_MAX);
	status = verb_status(policy_check(t->source, t->n, &bytes, stderr, counts));
	if (bytes.len > 0 &&
	    policy_load_bytes(bytes.data, bytes.len, &fresh, why, sizeof(why)) == 0) {
		sealed_look(a, &fresh, source_list_of(bytes.data, bytes.len), counts);
		policy_unload(&fresh);
	}
	buf_free(&bytes);
	counts->warnings += same_server_warn(a, t);
	if (status != EXIT_FAILED)
		summary(a, counts);
	return status;
}

int
verb_check(const struct args *a)
{
	struct policy_counts counts = {0};
	static struct texts t;
	int status;

	status = texts_read(a->word, a->word_n, SOURCE_LEN_MAX, &t);
	if (status != 0)
		return status;
	if ((a->given & OPT_JSON) != 0)
		status = verb_status(policy_check_json(t.source, t.n, stdout, &counts));
	else
		status = check_files(a, &t, &counts);
	texts_free(&t);
	/* what was not checked has not passed */
	if (status == EXIT_OK && counts.unchecked > 0)
		status = EXIT_NO;
	return verb_flush() != 0 ? EXIT_CONFIG : status;
}
