/*
 * Programs.  For each file that either policy lets start: every class of
 * argument list, name, caller, working directory and changed variables.
 */
#include "policy/diff/diff.h"
#include "policy/sealed/policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy/base/output.h"

#define ENV_NAMES_MAX 6   /* named by `with env`: every subset of them is tested */
#define TEXT_CAP      640 /* a prefix, and what follows it */

struct exec_row {
	int side;
	const struct sealed_exec *e;
};

/* One file, by its canonical name. */
struct image_diff {
	struct diff *d;
	const char *real;
	uint32_t asked[2];
	struct exec_row *row;
	size_t row_n;
	struct sets *sets;
	struct regions g;
	bool *held;
	struct points name, caller, cwd, env, beginning;

	const char *const *argv; /* for the current cell: [0] is reserved for the name */
	size_t argc;
};

/* ---- lines, and what they mention ---------------------------------------- */

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static int
add_pattern(struct image_diff *x, const struct policy *p, struct sealed_range args)
{
	struct sets_word *w = calloc(args.n + 1, sizeof(*w));
	const struct sealed_arg *a;
	uint32_t i, at;
	int r;

	if (w == NULL)
		return -ENOMEM;
	for (i = 0; i < args.n; i++) {
		a = &p->arg[args.first + i];
		w[i] = (struct sets_word){
		    policy_str(p, a->text), a->text.len, (enum sets_kind)a->kind};
	}
	r = sets_add(x->sets, w, args.n, &at);
	free(w);
	return r;
}

static void
add_refs(struct points *to, const struct policy *p, struct sealed_range refs)
{
	uint32_t i;

	for (i = 0; i < refs.n; i++)
		points_add(to, policy_str(p, p->ref[refs.first + i]),
		    p->ref[refs.first + i].len);
}

static void
add_envs(struct image_diff *x, const struct policy *p, struct sealed_range refs)
{
	struct sealed_ref ref;
	uint32_t i;

	for (i = 0; i < refs.n; i++) {
		ref = p->ref[refs.first + i];
		if (policy_env_beginning(policy_str(p, ref), ref.len))
			points_add(&x->beginning, policy_str(p, ref), ref.len - 1);
		else
			points_add(&x->env, policy_str(p, ref), ref.len);
	}
}

static bool
is_point(const struct points *p, const char *text)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		if (strcmp(p->v[i], text) == 0)
			return true;
	return false;
}

/*
 * For each prefix one variable that matches no longer prefix and no listed
 * name: it represents all others with the prefix.
 */
static void
cut_beginnings(struct image_diff *x)
{
	char text[TEXT_CAP];
	size_t i, n;

	for (i = 0; i < x->beginning.n; i++) {
		/* a longer prefix ends with "_", and this never does */
		n = (size_t)snprintf(
		    text, sizeof(text), "%.*sX", TEXT_CAP / 2, x->beginning.v[i]);
		while (is_point(&x->env, text) && n + 1 < sizeof(text)) {
			text[n++] = 'X';
			text[n] = '\0';
		}
		points_add(&x->env, text, n);
	}
}

static int
add_row(struct image_diff *x, int side, const struct sealed_exec *e)
{
	const struct policy *p = x->d->p[side];
	const char *name = base_name(policy_str(p, p->image[e->asked].path));
	uint32_t i;
	int r;

	if (regions_line(&x->g, side, e, say_exec, e->at) == SIZE_MAX)
		return -ENOMEM;
	x->row[x->row_n++] = (struct exec_row){side, e};
	points_add(&x->name, name, strlen(name));
	add_refs(&x->caller, p, e->from);
	add_envs(x, p, e->env);
	if (e->in.len > 0)
		points_add(&x->cwd, policy_str(p, e->in), e->in.len);
	r = add_pattern(x, p, e->args);
	for (i = 0; i < e->excepts.n && r == 0; i++)
		r = add_pattern(x, p, p->except[e->excepts.first + i].args);
	return r;
}

static int
add_rows(struct image_diff *x)
{
	const struct sealed_server *s;
	const struct sealed_exec *e;
	const struct policy *p;
	int side, r = 0;
	uint32_t i;

	for (side = 0; side < 2; side++) {
		x->asked[side] = SEALED_NONE;
		s = x->d->s[side];
		p = x->d->p[side];
		for (i = 0; s != NULL && i < s->execs.n && r == 0; i++) {
			e = &p->exec[s->execs.first + i];
			if (strcmp(policy_str(p, p->image[e->asked].real), x->real) != 0)
				continue;
			x->asked[side] = e->asked;
			r = add_row(x, side, e);
		}
	}
	return r;
}

/* ---- requests ------------------------------------------------------------ */

/* The image with this name on this side; SEALED_NONE: not found. */
static uint32_t
image_named(const struct diff *d, int side, const char *path)
{
	const struct sealed_server *s = d->s[side];
	const struct sealed_image *m;
	uint32_t i;

	for (i = 0; i < s->images.n; i++) {
		m = &d->p[side]->image[s->images.first + i];
		if (strcmp(policy_str(d->p[side], m->path), path) == 0 ||
		    strcmp(policy_str(d->p[side], m->real), path) == 0)
			return s->images.first + i;
	}
	return SEALED_NONE;
}

/* An image that no line names as a caller. */
static uint32_t
image_unnamed(const struct image_diff *x, int side)
{
	const struct sealed_server *s = x->d->s[side];
	const struct sealed_image *m;
	const char *path, *real;
	uint32_t i;
	size_t k;

	for (i = 0; i < s->images.n; i++) {
		m = &x->d->p[side]->image[s->images.first + i];
		path = policy_str(x->d->p[side], m->path);
		real = policy_str(x->d->p[side], m->real);
		for (k = 0; k < x->caller.n; k++)
			if (strcmp(x->caller.v[k], path) == 0 ||
			    strcmp(x->caller.v[k], real) == 0)
				break;
		if (k == x->caller.n)
			return s->images.first + i;
	}
	return SEALED_NONE;
}

/*
 * One member.  caller is an index of x->caller; x->caller.n means another
 * program, and x->caller.n + 1 an unknown one.
 */
struct member {
	size_t caller;
	const char *cwd;
	const char *env[ENV_NAMES_MAX];
	size_t env_n;
};

static struct state
ask_side(void *domain, int side, const void *member)
{
	struct image_diff *x = domain;
	const struct member *m = member;
	struct policy_exec_ask ask = {.asked = x->asked[side],
	    .argv = {x->argv, x->argc},
	    .caller = SEALED_NONE,
	    .cwd = m->cwd,
	    .env = m->env,
	    .env_n = m->env_n};
	struct policy_answer a = {.verdict = VERDICT_DENY};
	struct state st = {.verdict = VERDICT_DENY};
	bool is = x->d->s[side] != NULL && x->asked[side] != SEALED_NONE;
	size_t i;

	if (is && m->caller < x->caller.n)
		ask.caller = image_named(x->d, side, x->caller.v[m->caller]);
	else if (is && m->caller == x->caller.n)
		ask.caller = image_unnamed(x, side);
	/* a missing caller starts nothing */
	is = is && (ask.caller != SEALED_NONE || m->caller == x->caller.n + 1);
	for (i = 0; i < x->row_n; i++)
		if (x->row[i].side == side)
			x->held[i] = is && policy_exec_miss(x->d->p[side], x->row[i].e,
					       &ask) == MISS_NONE;
	if (is)
		a = policy_match_exec_call(x->d->p[side], x->d->s[side], &ask);
	st.verdict = a.verdict;
	st.factor = policy_answer_factor(&a);
	return st;
}

static char *
member_text(const void *domain, const void *member)
{
	const struct image_diff *x = domain;
	const struct member *m = member;
	char *out = NULL;
	size_t len, i;
	FILE *f = open_memstream(&out, &len);

	if (f == NULL)
		return NULL;
	say_word(x->real, strlen(x->real), f);
	for (i = 1; i < x->argc; i++) {
		(void)fputc(' ', f);
		say_word(x->argv[i], strlen(x->argv[i]), f);
	}
	if (strcmp(x->argv[0], base_name(x->real)) != 0) {
		(void)fputs(" called ", f);
		say_word(x->argv[0], strlen(x->argv[0]), f);
	}
	if (m->caller < x->caller.n)
		(void)fprintf(f, " from %s", x->caller.v[m->caller]);
	if (m->cwd != NULL)
		(void)fprintf(f, " in %s", m->cwd);
	for (i = 0; i < m->env_n; i++)
		(void)fprintf(f, "%s%s", i == 0 ? " with env " : " ", m->env[i]);
	return fclose(f) == 0 ? out : NULL;
}

static const struct regions_how members = {ask_side, member_text};

/* Tests every subset of the variables that lines name. */
static int
ask_envs(struct image_diff *x, struct member *m)
{
	uint32_t set, i;
	int r = 0;

	for (set = 0; set < 1u << x->env.n && r == 0; set++) {
		m->env_n = 0;
		for (i = 0; i < x->env.n; i++)
			if ((set >> i & 1) != 0)
				m->env[m->env_n++] = x->env.v[i];
		r = regions_member(&x->g, x->held, &members, x, m);
	}
	return r;
}

static int
ask_argv(struct image_diff *x)
{
	size_t callers = x->caller.n == 0 ? 1 : x->caller.n + 2, c, w;
	struct member m;
	int r = 0;

	for (c = 0; c < callers && r == 0; c++)
		for (w = 0; w <= x->cwd.n && r == 0; w++) {
			memset(&m, 0, sizeof(m));
			/*
			 * no line names callers: testing the unknown one is
			 * enough
			 */
			m.caller = x->caller.n == 0 ? 1 : c;
			m.cwd = w == 0 ? NULL : x->cwd.v[w - 1];
			r = ask_envs(x, &m);
		}
	return r;
}

static int
ask_cell(void *arg, const struct sets_cell *cell)
{
	struct image_diff *x = arg;
	const char **argv = calloc(cell->text_n + 2, sizeof(*argv));
	size_t i;
	int r = 0;

	if (argv == NULL)
		return -ENOMEM;
	for (i = 0; i < cell->text_n; i++)
		argv[i + 1] = cell->text[i];
	x->argv = argv;
	x->argc = cell->text_n + 1;
	for (i = 0; i < x->name.n && r == 0; i++) {
		argv[0] = x->name.v[i];
		r = ask_argv(x);
	}
	free(argv);
	return r;
}

/* ---- one image ----------------------------------------------------------- */

static int
cut_folders(struct image_diff *x)
{
	struct points cells;
	int r;

	if (x->cwd.n == 0)
		return 0;
	r = points_paths(&x->cwd, &cells);
	if (r == 0) {
		points_free(&x->cwd);
		x->cwd = cells;
	}
	return r;
}

static int
diff_image(struct diff *d, const char *real)
{
	struct image_diff x = {.d = d, .real = real};
	size_t most = (d->s[0] != NULL ? d->s[0]->execs.n : 0) +
		      (d->s[1] != NULL ? d->s[1]->execs.n : 0);
	int r;

	x.sets = sets_new(SETS_ARGV);
	x.row = calloc(most + 1, sizeof(*x.row));
	x.held = calloc(most + 1, sizeof(*x.held));
	r = x.sets == NULL || x.row == NULL || x.held == NULL ? -ENOMEM : add_rows(&x);
	points_add(&x.name, "another-name", 12);
	cut_beginnings(&x);
	if (r == 0)
		r = cut_folders(&x);
	if (r == 0 && x.env.n > ENV_NAMES_MAX)
		r = -E2BIG;
	if (r == 0)
		r = sets_cells(x.sets, ask_cell, &x);
	if (r == -E2BIG) {
		d->beyond = true;
		r = 0;
	}
	if (r == 0)
		r = regions_tell(&x.g, d, "exec");
	regions_free(&x.g);
	sets_free(x.sets);
	free(x.row);
	free(x.held);
	points_free(&x.name);
	points_free(&x.caller);
	points_free(&x.cwd);
	points_free(&x.env);
	points_free(&x.beginning);
	return r;
}

int
diff_exec(struct diff *d)
{
	struct points reals = {.n = 0};
	const struct sealed_server *s;
	const struct policy *p;
	const char *real;
	int side, r = 0;
	uint32_t i;
	size_t k;

	for (side = 0; side < 2; side++) {
		s = d->s[side];
		p = d->p[side];
		for (i = 0; s != NULL && i < s->execs.n; i++) {
			real = policy_str(
			    p, p->image[p->exec[s->execs.first + i].asked].real);
			points_add(&reals, real, strlen(real));
		}
	}
	for (k = 0; k < reals.n && r == 0; k++)
		if (d->only == NULL || strcmp(d->only, reals.v[k]) == 0)
			r = diff_image(d, reals.v[k]);
	if (reals.failed)
		r = -ENOMEM;
	points_free(&reals);
	return r;
}
