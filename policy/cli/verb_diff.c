/*
 * "kennel policy diff OLD NEW": what is newly allowed, asked and denied, server
 * by server, as sets with an example each.  Exits with 1 if any permission is
 * wider.
 */
#include "policy/cli/git_text.h"
#include "policy/cli/policy_main.h"
#include "policy/cli/verb.h"
#include "policy/compile/compile.h"
#include "policy/sealed/policy.h"
#include "shim/base/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/diff/diff.h"
#include "shim/base/log.h"

/* ---- output -------------------------------------------------------------- */

static const struct {
	const char *from, *to, *title;
} titles[] = {
    {"deny", "allow", "+ newly allowed"},
    {"ask", "allow", "+ newly allowed, was asked"},
    {"deny", "ask", "+ newly asked, was denied"},
    {"allow", "ask", "- newly asked, was allowed"},
    {"allow", "deny", "- newly denied"},
    {"ask", "deny", "- newly denied, was asked"},
};

static const char *
title_of(const struct finding *f)
{
	size_t i;

	for (i = 0; f->from != NULL && i < ARRAY_LEN(titles); i++)
		if (strcmp(titles[i].from, f->from) == 0 &&
		    strcmp(titles[i].to, f->to) == 0)
			return titles[i].title;
	return f->way == DIFF_WIDER      ? "+ wider"
	       : f->way == DIFF_NARROWER ? "- narrower"
					 : "~ other";
}

static void
put(FILE *f, const char *text)
{
	out_plain(f, text, strlen(text));
}

static void
tell_text(FILE *out, const struct finding *f)
{
	char day[SAY_DAY_CAP];

	fprintf(out, "  %s%s%s: %s", title_of(f), f->day != 0 ? " from " : "",
	    f->day != 0 ? say_day_text(f->day, day) : "", f->domain);
	if (f->set != NULL) {
		(void)fputs(f->from != NULL ? ": " : " ", out);
		put(out, f->set);
	}
	if (f->from == NULL || strcmp(f->from, f->to) == 0) {
		(void)fputs(": ", out);
		put(out, f->from_text != NULL ? f->from_text : "");
		(void)fputs(" -> ", out);
		put(out, f->to_text != NULL ? f->to_text : "");
	}
	if (f->witness != NULL) {
		(void)fputs("\n      such as ", out);
		put(out, f->witness);
	}
	(void)fputc('\n', out);
}

static void
text_or_not(struct out *o, const char *key, const char *text)
{
	if (text != NULL)
		out_text(o, key, text);
}

static void
tell_json(struct out *o, const struct finding *f)
{
	static const char *const ways[] = {[DIFF_WIDER] = "wider",
	    [DIFF_NARROWER] = "narrower",
	    [DIFF_NEUTRAL] = "other"};
	char day[SAY_DAY_CAP];

	out_object(o, NULL);
	out_text(o, "way", ways[f->way]);
	out_text(o, "domain", f->domain);
	text_or_not(o, "from", f->from_text != NULL ? f->from_text : f->from);
	text_or_not(o, "to", f->to_text != NULL ? f->to_text : f->to);
	text_or_not(o, f->from != NULL ? "set" : "name", f->set);
	text_or_not(o, "witness", f->witness);
	text_or_not(o, "from_day", f->day != 0 ? say_day_text(f->day, day) : NULL);
	out_end(o);
}

struct verdicts {
	FILE *f;
	struct out o; /* on f, if json */
	bool json, wider, beyond;
};

static void
tell_server(struct verdicts *v, const struct diff *d, const char *name)
{
	const char *is = d->s[0] == NULL ? "new" : d->s[1] == NULL ? "gone" : "changed";
	size_t i;

	if (v->json) {
		out_object(&v->o, NULL);
		out_text(&v->o, "server", name);
		out_text(&v->o, "is", is);
		out_yes(&v->o, "beyond", d->beyond);
		out_number(&v->o, "left_out", d->left_out);
		out_list(&v->o, "differences");
	} else {
		fprintf(v->f, "server %s%s\n", name,
		    d->s[0] == NULL   ? " (new)"
		    : d->s[1] == NULL ? " (gone)"
				      : "");
	}
	for (i = 0; i < d->found_n; i++)
		if (v->json)
			tell_json(&v->o, &d->found[i]);
		else
			tell_text(v->f, &d->found[i]);
	if (v->json) {
		out_end(&v->o);
		out_end(&v->o);
		return;
	}
	if (d->left_out > 0)
		fprintf(v->f, "  and %zu more\n", d->left_out);
	if (d->beyond)
		fprintf(v->f, "  + too complex to compare: treated as wider\n");
}

static int
compare(struct verdicts *v, struct diff *d, const char *name)
{
	size_t i;
	int r;

	r = diff_server(d);
	/* a new server can be started, even if it may do nothing else */
	if (d->s[0] == NULL)
		v->wider = true;
	for (i = 0; i < d->found_n; i++)
		v->wider = v->wider || d->found[i].way == DIFF_WIDER;
	v->beyond = v->beyond || d->beyond;
	if (r == 0 && (d->found_n > 0 || d->beyond || d->s[0] == NULL || d->s[1] == NULL))
		tell_server(v, d, name);
	diff_free(d);
	return r;
}

/* Both lists of servers are sorted by name. */
static int
compare_all(struct verdicts *v, const struct policy *a, const struct policy *b)
{
	uint32_t i = 0, k = 0, an = a->row_n[SEALED_SERVERS],
		 bn = b->row_n[SEALED_SERVERS];
	const char *name;
	int c, r = 0;

	while (r == 0 && (i < an || k < bn)) {
		struct diff d = {.p = {a, b}};

		c = i == an   ? 1
		    : k == bn ? -1
			      : strcmp(policy_str(a, a->server[i].name),
				    policy_str(b, b->server[k].name));
		name = c <= 0 ? policy_str(a, a->server[i].name)
			      : policy_str(b, b->server[k].name);
		if (c <= 0)
			d.s[0] = &a->server[i++];
		if (c >= 0)
			d.s[1] = &b->server[k++];
		r = compare(v, &d, name);
	}
	return r;
}

int
policy_diff_print(
    FILE *out, const struct policy *a, const struct policy *b, bool *ret_wider)
{
	struct verdicts v = {.f = out};
	int r = compare_all(&v, a, b);

	if (r == 0)
		*ret_wider = v.wider || v.beyond;
	return r;
}

/*
 * A text on standard input has no directory: what it includes would be read from the current
 * one, where the other side is, and a change there would be no difference.
 */
static int
side_read(const char *path, struct compiled *ret)
{
	bool in = strcmp(path, "-") == 0;
	int status = compiled_read_by(path, in ? NULL : &policy_files, ret);

	if (in && status != 0)
		fprintf(stderr,
		    "kennel policy: to compare with a revision of a policy that "
		    "has `include` or `pins`, use `kennel policy diff --git REV "
		    "FILE`\n");
	return status;
}

/* 0 or an exit status: the older side first. */
static int
sides_read(const struct args *a, struct compiled *old, struct compiled *new)
{
	struct git_text git = {a->git, a->word[0]};
	struct policy_reader reader = {.read = git_text_read, .arg = &git};
	char shown[2][256];
	int status;

	if (a->git == NULL && a->word_n < 2)
		return verb_usage("expected two files, or --git REV and one file", "");
	if (a->git != NULL &&
	    (a->word_n > 1 || a->git[0] == '-' || strcmp(a->word[0], "-") == 0))
		return verb_usage("expected --git REV and one file", "");
	status = a->git != NULL ? compiled_read_by(a->word[0], &reader, old)
				: side_read(a->word[0], old);
	if (status != 0) {
		if (a->git != NULL)
			fprintf(stderr, "kennel policy: this is %s at the revision %s\n",
			    log_quote(shown[0], sizeof(shown[0]), a->word[0],
				strlen(a->word[0])),
			    log_quote(
				shown[1], sizeof(shown[1]), a->git, strlen(a->git)));
		return status;
	}
	status = side_read(a->word[a->git != NULL ? 0 : 1], new);
	if (status != 0)
		compiled_free(old);
	return status;
}

int
verb_diff(const struct args *a)
{
	struct verdicts v = {.f = stdout, .json = (a->given & OPT_JSON) != 0};
	struct compiled old = {.data = NULL}, new = {.data = NULL};
	int r, status;

	status = sides_read(a, &old, &new);
	if (status != 0)
		return status;
	out_init(&v.o, stdout);
	if (v.json) {
		out_object(&v.o, NULL);
		out_list(&v.o, "servers");
	}
	r = compare_all(&v, &old.p, &new.p);
	if (v.json && r == 0) {
		out_end(&v.o);
		out_yes(&v.o, "wider", v.wider || v.beyond);
		out_end(&v.o);
	}
	compiled_free(&old);
	compiled_free(&new);
	if (r != 0)
		return verb_status(r);
	if (verb_flush() != 0)
		return EXIT_CONFIG;
	return v.wider || v.beyond ? EXIT_NO : EXIT_OK;
}
