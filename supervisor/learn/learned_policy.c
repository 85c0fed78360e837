#include "supervisor/learn/learned_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/sealed/net_hint.h"
#include "supervisor/learn/argv_pattern.h"
#include "supervisor/learn/credentials.h"
#include "supervisor/learn/fold.h"

#define LACKING_MAX 24 /* lines about files that the learning cell did not have */

/* ---- the learning cell --------------------------------------------------------------- */

/* `hide` for the credentials below this directory; "": all. */
static bool
put_hidden(const struct learn *l, const char *dir, FILE *out)
{
	for (size_t i = 0; i < l->hidden_n; i++) {
		if (dir[0] != '\0' && !fold_below(l->hidden[i], dir))
			continue;
		fputs("    hide", out);
		if (!learn_word(out, l->hidden[i]))
			return false;
		fputc('\n', out);
	}
	return true;
}

/* The variables that the command's entry sets. */
static int
put_variables(const struct draft *d, FILE *out)
{
	static struct draft only; /* large */

	only = *d;
	only.path_n = 0;
	return draft_settings(&only, "    ", NULL, out);
}

int
learn_cell_put(const struct learn *l, FILE *out)
{
	char line[NET_HINT_MAX];
	int r = draft_open(l->d, out);

	if (r == 0)
		r = draft_needs(l->d, "    ", out);
	for (size_t i = 0; r == 0 && i < l->root_n; i++) {
		fputs(l->root[i].write ? "    write" : "    read", out);
		r = learn_word(out, l->root[i].path) ? 0 : -EINVAL;
		fputc('\n', out);
	}
	if (r == 0 && !put_hidden(l, "", out))
		r = -EINVAL;
	if (r == 0)
		r = put_variables(l->d, out);
	for (size_t i = 0; r == 0 && i < l->program_n; i++) {
		fputs("    exec allow", out);
		r = learn_word(out, l->program[i]) ? 0 : -EINVAL;
		/* with a reason, the compiler does not warn of an interpreter */
		fputs(" ** because \"it is learned\"\n", out);
	}
	for (size_t i = 0; i < l->host_n; i++) {
		(void)net_hint(l->host[i].name, l->host[i].port, line, sizeof(line));
		fprintf(out, "    %s\n", line);
	}
	fputs("    tool allow *\n"
	      "    resource allow *\n"
	      "    prompt allow *\n"
	      "    limit processes 64\n"
	      "}\n",
	    out);
	return r < 0 || ferror(out) ? -EINVAL : 0;
}

/* ---- files --------------------------------------------------------------------------- */

/* "node: a.txt and 11 more". */
static void
put_reason(const struct folded *f, FILE *out)
{
	const char *program = strrchr(f->program, '/');
	const char *name = f->example;

	fputs("    # ", out);
	learn_inert(out, program == NULL ? f->program : program + 1);
	fputs(program == NULL && f->program[0] == '\0' ? "a program: " : ": ", out);
	if (fold_below(name, f->path) && strcmp(name, f->path) != 0)
		name += strlen(f->path) + 1;
	learn_inert(out, name);
	if (f->names > 1)
		fprintf(out, " and %zu more", f->names - 1);
	if (f->folded)
		fputs("; the directory is granted whole", out);
	fputc('\n', out);
}

static int
put_folds(const struct learn *learn, const struct folds *f, FILE *out)
{
	for (size_t i = 0; i < f->n; i++) {
		const struct folded *l = &f->line[i];

		if (!learn_can_hold(l->path)) {
			fputs("    # a name that no policy can contain: ", out);
			learn_inert(out, l->path);
			fputc('\n', out);
			continue;
		}
		fputs(l->write ? "    write" : "    read", out);
		(void)learn_word(out, l->path); /* it can be one */
		/* never there, or gone: the server must start all the same */
		if (access(l->path, F_OK) < 0)
			fputs(" { optional }", out);
		if (l->looked)
			fputs("    # only whether it is there was asked\n", out);
		else
			put_reason(l, out);
		if (!put_hidden(learn, l->path, out))
			return -EINVAL;
	}
	if (f->left_out > 0)
		fprintf(out, "    # %zu more files, for which there was no room\n",
		    f->left_out);
	return 0;
}

/* What a package was granted for. */
static int
put_whole(const struct learn *l, uint32_t root, FILE *out)
{
	const char *path = l->root[root].path, *example = NULL;
	size_t n = 0;

	for (size_t i = 0; i < l->seen.file_n; i++) {
		const struct seen_file *f = &l->seen.file[i];

		if (f->root != root || f->is == SEEN_NOTHING || f->is == SEEN_DIR)
			continue;
		n++;
		if (example == NULL)
			example = f->path;
	}
	if (n == 0)
		return 0;
	fputs("    read", out);
	if (!learn_word(out, path))
		return -EINVAL;
	fprintf(out, "    # the package: %zu files, for example ", n);
	learn_inert(out, example + strlen(path) + (strlen(example) > strlen(path)));
	fputc('\n', out);
	return put_hidden(l, path, out) ? 0 : -EINVAL;
}

static int
put_files(const struct learn *l, FILE *out)
{
	static struct folds folds; /* large */
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < l->root_n; i++) {
		if (l->root[i].whole) {
			r = put_whole(l, i, out);
			continue;
		}
		folds.left_out = 0;
		r = fold_files(&l->seen, i, l->root[i].path, l->root[i].write, &folds);
		if (r == 0)
			r = put_folds(l, &folds, out);
		folds_free(&folds);
	}
	return r;
}

/* ---- what it did not get --------------------------------------------------------------- */

static bool
is_lacking(const struct learn *l, const struct seen_file *f)
{
	const uint32_t looks = 1u << NAMED_LOOK;
	const uint32_t changes =
	    (1u << NAMED_WRITE) | (1u << NAMED_CREATE) | (1u << NAMED_MAKEDIR);

	if (f->is == SEEN_NOTHING || fold_below(f->path, "/tmp"))
		return false;
	if (f->root != SEEN_NO_ROOT)
		return (f->uses & changes) != 0 && !l->root[f->root].write &&
		       !l->root[f->root].whole;
	return !(f->is == SEEN_DIR && f->uses == looks) && !l->sees(l->sees_arg, f->path);
}

/* Was it kept from the learning cell: hidden there, or granted by nothing? */
static bool
is_kept(const struct learn *l, const char *path)
{
	char real[PATH_MAX];
	bool granted = false;

	for (size_t i = 0; i < l->root_n; i++)
		granted |= fold_below(path, l->root[i].path);
	if (!granted)
		return true;
	if (realpath(path, real) != NULL)
		path = real;
	for (size_t i = 0; i < l->cell_hidden_n; i++)
		if (fold_below(path, l->hidden[i]))
			return true;
	return false;
}

static void
put_secret(const struct learn *l, const char *path, FILE *out)
{
	fputs("    # it asked for credentials, ", out);
	fputs(is_kept(l, path) ? "and did not get them: "
			       : "which were not hidden while it was learned: ",
	    out);
	learn_inert(out, path);
	fputc('\n', out);
}

/* Of n files before it; the number of files with it. */
static size_t
put_lack(const struct learn *l, const struct seen_file *f, size_t n, FILE *out)
{
	bool write = f->root != SEEN_NO_ROOT || (f->uses & (1u << NAMED_WRITE));

	if (f->is != SEEN_NOTHING && f->is != SEEN_UNKNOWN &&
	    credential_is(f->path, l->home)) {
		put_secret(l, f->path, out);
		return n;
	}
	if (!is_lacking(l, f))
		return n;
	if (n >= LACKING_MAX)
		return n + 1;
	if (n == 0)
		fputs("    # Asked for, and not there; it went on without:\n", out);
	fputs(write ? "    # write " : "    # read ", out);
	learn_inert(out, f->path);
	fputs("    # ", out);
	learn_inert(out, f->program);
	fputc('\n', out);
	return n + 1;
}

/* Those that may be nowhere come last, and take no room from the others. */
static void
put_lacking(const struct learn *l, FILE *out)
{
	size_t n = 0;

	for (int unknown = 0; unknown < 2; unknown++)
		for (size_t i = 0; i < l->seen.file_n; i++)
			if ((l->seen.file[i].is == SEEN_UNKNOWN) == (unknown == 1))
				n = put_lack(l, &l->seen.file[i], n, out);
	if (n > LACKING_MAX)
		fprintf(out, "    # ... and %zu more\n", n - LACKING_MAX);
}

/* ---- programs ------------------------------------------------------------------------- */

/* option: the word that is an option here; line->n: none. */
static bool
put_words(const struct argv_line *line, size_t option, const char *work, FILE *out)
{
	for (size_t i = 0; i < line->n; i++) {
		switch (line->word[i].kind) {
		case WORD_ANY:
			fputs(i == option ? " -*" : " *", out);
			break;
		case WORD_NUMBER:
			fputs(" <number>", out);
			break;
		case WORD_PATH:
			fprintf(out, " <path:%s>", work);
			break;
		default:
			if (!learn_word(out, line->word[i].text))
				return false;
		}
	}
	return true;
}

/* `*` matches one argument, also an option: `show *` would permit `show --output=FILE`. */
static bool
put_argv(const struct argv_line *line, const char *work, FILE *out)
{
	bool ok = put_words(line, line->n, work, out);

	for (size_t i = 0; ok && i < line->n; i++) {
		if (!argv_may_be_option(line, i))
			continue;
		fputs(" except", out);
		ok = put_words(line, i, work, out);
	}
	return ok;
}

/* One line, as a whole or not at all. */
static void
put_exec(const char *program, const struct argv_line *line, const char *work,
    const char *caller, FILE *out)
{
	const char *name = strrchr(caller, '/');
	char *text = NULL;
	size_t len = 0;
	FILE *one = open_memstream(&text, &len);
	bool ok = one != NULL && learn_word(one, program) && put_argv(line, work, one);

	if (one != NULL && fclose(one) != 0)
		ok = false;
	if (ok) {
		fprintf(out, "    exec allow%s    # ", text);
	} else {
		fputs("    # arguments that no policy can contain; to allow any:  exec "
		      "allow ",
		    out);
		learn_inert(out, program);
		fputs(" **    # ", out);
	}
	learn_inert(out, name == NULL ? caller : name + 1);
	if (ok && line->examples > 1)
		fprintf(out, ", with %zu lists of arguments", line->examples);
	fputc('\n', out);
	free(text);
}

/* A path in a slot must be plain. */
static const char *
slot_root(const char *work)
{
	return learn_is_plain(work) ? work : "";
}

static bool
is_first(const struct seen *s, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (s->exec[k].allowed == s->exec[i].allowed &&
		    strcmp(s->exec[k].program, s->exec[i].program) == 0)
			return false;
	return true;
}

static void
put_program(const struct learn *l, size_t first, FILE *out)
{
	static struct argv_lines lines; /* large */
	const struct seen_exec *e = &l->seen.exec[first];
	const char *root = slot_root(l->d->work);

	lines.n = lines.left_out = 0;
	for (size_t i = first; i < l->seen.exec_n; i++) {
		const struct seen_exec *o = &l->seen.exec[i];

		if (!o->allowed || strcmp(o->program, e->program) != 0)
			continue;
		if (o->cut || o->argc == 0)
			lines.left_out++;
		else
			argv_add(&lines, o->argc - 1, o->argv + 1, root);
	}
	for (size_t i = 0; i < lines.n; i++)
		put_exec(e->program, &lines.line[i], root, e->caller, out);
	if (lines.left_out == 0)
		return;
	fprintf(out, "    # %zu more lists of arguments; to allow any:  exec allow ",
	    lines.left_out);
	learn_inert(out, e->program);
	fputs(" **\n", out);
}

static void
put_refused(const struct seen_exec *e, FILE *out)
{
	fputs("    # exec allow ", out);
	learn_inert(out, e->program);
	for (size_t i = 1; i < e->argc && i < 8; i++) {
		fputc(' ', out);
		learn_inert(out, e->argv[i]);
	}
	fputs(e->argc > 8 ? " ...    # refused: " : "    # refused: ", out);
	learn_inert(out, e->reason);
	fputc('\n', out);
}

static void
put_programs(const struct learn *l, FILE *out)
{
	for (size_t i = 0; i < l->seen.exec_n; i++)
		if (l->seen.exec[i].allowed && is_first(&l->seen, i))
			put_program(l, i, out);
	for (size_t i = 0; i < l->seen.exec_n; i++)
		if (!l->seen.exec[i].allowed && is_first(&l->seen, i))
			put_refused(&l->seen.exec[i], out);
}

/* ---- hosts ---------------------------------------------------------------------------- */

static const char guess[] = "; the name was looked up, the port is a guess";

/* A host that the server chose may get what a secret's value would open: a person says so at
 * its first connection, also if the draft was not read. */
static void
put_host(const struct learn *l, size_t i, bool trial, FILE *out)
{
	static const char allow[] = "net allow";
	char line[NET_HINT_MAX];
	bool asks = l->asks && !l->named[i] && !trial;

	(void)net_hint(l->host[i].name, l->host[i].port, line, sizeof(line));
	fprintf(
	    out, "    %s%s    # ", asks ? "net ask" : allow, line + sizeof(allow) - 1);
	fputs(l->named[i] ? "named with --host" : "asked for while it was learned", out);
	if (l->guess[i])
		fputs(guess, out);
	if (asks)
		fputs("; `allow` it if it may get the secrets", out);
	fputc('\n', out);
}

static void
put_hosts(const struct learn *l, bool trial, FILE *out)
{
	char line[NET_HINT_MAX];

	for (size_t i = 0; i < l->host_n; i++)
		put_host(l, i, trial, out);
	for (size_t i = 0; i < l->seen.host_n; i++) {
		const struct seen_host *h = &l->seen.host[i];

		if (net_hint(h->name, h->port, line, sizeof(line)) == 0)
			continue; /* no line could grant it */
		fputs("    # ", out);
		learn_inert(out, line);
		fprintf(out, "    # refused%s\n", h->port == 0 ? guess : "");
	}
}

int
learn_policy_put(const struct learn *l, bool trial, FILE *out)
{
	int r = draft_open(l->d, out);

	fputs("    # Drafted from what it wanted while it was learned.  What it wants "
	      "beyond\n"
	      "    # that is refused, and recorded.\n",
	    out);
	if (r == 0)
		r = draft_needs(l->d, "    ", out);
	if (r == 0)
		r = put_files(l, out);
	if (r == 0)
		r = put_variables(l->d, out);
	if (r < 0)
		return r;
	put_programs(l, out);
	put_hosts(l, trial, out);
	put_lacking(l, out);
	if (l->seen.left_out > 0)
		fprintf(out, "    # %zu facts are missing here: there were too many\n",
		    l->seen.left_out);
	return ferror(out) ? -EIO : 0;
}
