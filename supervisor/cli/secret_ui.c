/*
 * kennel secret ui: the inventory of secrets on a screen, those that expire first at the
 * top. Without a screen, the lines of kennel secret list.
 *
 * Process: kennel, as the calling user. Reads manifests, which may be part of
 * a repository, and holds no value: their text is shown in printable ASCII only.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/print/statement.h"
#include "shim/base/buf.h"
#include "shim/host/codepoint.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/base/paths.h"
#include "supervisor/cli/secret.h"
#include "supervisor/screen/screen.h"

#define REFRESH_MS 1000
#define HEAD_LINES 2
#define SHOWN_MAX  (64u << 10)

struct inventory {
	struct metas metas;
	struct secret_servers servers;
	struct shown_meta {
		const struct meta *meta; /* of metas, or undeclared */
	} * row;                         /* sorted */
	struct meta *undeclared;         /* paths of servers without a manifest */
	size_t undeclared_n;
	struct screen_list list;
	uint32_t today;
	bool detail, quit;
};

/* Those without a date after those with one, then by path. */
static int
by_expiry(const void *a, const void *b)
{
	const struct meta *x = ((const struct shown_meta *)a)->meta;
	const struct meta *y = ((const struct shown_meta *)b)->meta;
	uint32_t first = x->expires - 1, second = y->expires - 1; /* none: the last */

	if (first != second)
		return first < second ? -1 : 1;
	return strcmp(x->path, y->path);
}

static void
inventory_free(struct inventory *v)
{
	free(v->row);
	free(v->undeclared);
	secret_servers_free(&v->servers);
	metas_free(&v->metas);
}

/* The rows that secret_list_put prints. */
static int
inventory_fill(const struct secret_options *o, struct inventory *v)
{
	bool locked; /* `kennel secret list` says what is not known then */
	int r = secret_servers_read(&v->servers, &locked);

	if (r < 0)
		return r;
	v->row = calloc(v->metas.n + v->servers.n + 1, sizeof(*v->row));
	v->undeclared = calloc(v->servers.n + 1, sizeof(*v->undeclared));
	if (v->row == NULL || v->undeclared == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < v->metas.n; i++)
		if (meta_passes(&v->metas.meta[i], &o->filter, v->today))
			v->row[v->list.n++].meta = &v->metas.meta[i];
	for (size_t i = 0; i < v->servers.n; i++) {
		struct meta *m = &v->undeclared[v->undeclared_n];

		if (!secret_is_undeclared(&v->metas, o, &v->servers, i))
			continue;
		m->path = v->servers.row[i].path;
		v->undeclared_n++;
		v->row[v->list.n++].meta = m;
	}
	qsort(v->row, v->list.n, sizeof(*v->row), by_expiry);
	return 0;
}

static int
inventory_read(const struct secret_options *o, struct inventory *v)
{
	int r = metas_read(
	    metas_project(o->project), paths_config_dir(), 0, stderr, &v->metas);

	if (r < 0) {
		fprintf(stderr,
		    "kennel secret: unable to read the manifests: run kennel secret "
		    "validate\n");
		return EXIT_INPUT;
	}
	v->today = meta_today();
	if (inventory_fill(o, v) < 0) {
		inventory_free(v);
		fprintf(stderr, "kennel secret: out of memory\n");
		return EXIT_FAILED;
	}
	return 0;
}

static bool
is_undeclared(const struct inventory *v, const struct meta *m)
{
	for (size_t i = 0; i < v->undeclared_n; i++)
		if (m == &v->undeclared[i])
			return true;
	return false;
}

/* ---- drawing ------------------------------------------------------------------------ */

static void
put_text(int y, const char *text, size_t len, unsigned int style)
{
	struct buf shown;

	buf_init(&shown, SHOWN_MAX);
	if (codepoint_show(&shown, text, len, 0) == 0)
		screen_line(y, buf_str(&shown), style);
	buf_free(&shown);
}

static void
put_row(void *arg, int y, size_t at, unsigned int style)
{
	const struct inventory *v = arg;
	const struct meta *m = v->row[at].meta;
	enum meta_status status = meta_status(m, v->today);
	char line[512], day[SAY_DAY_CAP];

	if (is_undeclared(v, m))
		(void)snprintf(line, sizeof(line), "%-10s  %-10s  %-9s  %s", "-",
		    "undeclared", "-", m->path);
	else
		(void)snprintf(line, sizeof(line), "%-10s  %-10s  %-9s  %s",
		    m->expires == 0 ? "-" : say_day_text(m->expires, day),
		    meta_status_name(status), meta_approve_name(m->approve), m->path);
	put_text(y, line, strlen(line),
	    style | (status == META_REGISTERED ? 0u : SCREEN_WRONG));
}

/* All fields of one: as kennel secret show prints them. */
static void
put_detail(const struct inventory *v)
{
	const struct meta *m = v->row[v->list.selected].meta;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int y = 0;

	if (f == NULL)
		return;
	if (is_undeclared(v, m))
		fprintf(f,
		    "%s\nno manifest has it: `kennel secret list` shows the "
		    "servers that use it\n",
		    m->path);
	else
		meta_show(m, v->today, f);
	if (fclose(f) != 0)
		len = 0;
	for (char *line = text, *end; len > 0 && *line != '\0'; line = end + 1) {
		end = strchr(line, '\n');
		if (end == NULL || y >= screen_height() - 1)
			break;
		put_text(y, line, (size_t)(end - line), y == 0 ? SCREEN_BOLD : 0);
		y++;
	}
	free(text);
}

static void
draw(struct inventory *v)
{
	int last = screen_height() - 1;

	screen_begin();
	if (v->detail) {
		put_detail(v);
		screen_line(last, "q back", SCREEN_PLAIN);
	} else {
		screen_line(0, "kennel secret  those that expire first are at the top",
		    SCREEN_PLAIN);
		screen_line(1, "expires     status      approve    path", SCREEN_BOLD);
		screen_list_put(&v->list, HEAD_LINES, last - 1, put_row, v);
		if (v->list.n == 0)
			screen_line(HEAD_LINES,
			    "no secrets found: --all adds those that the project does "
			    "not name",
			    SCREEN_PLAIN);
		screen_line(last, "Enter show   up, down select   q quit", SCREEN_PLAIN);
	}
	screen_end();
}

/* ---- keys -------------------------------------------------------------------------- */

static void
on_key(struct inventory *v, int key)
{
	if (key == 'q' || key == SCREEN_ESCAPE) {
		v->quit = !v->detail;
		v->detail = false;
	} else if (!v->detail && key == SCREEN_ENTER)
		v->detail = v->list.n > 0;
	else if (!v->detail)
		(void)screen_list_key(&v->list, key); /* other keys do nothing */
}

static void
live(struct inventory *v)
{
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	int key;

	while (!v->quit) {
		draw(v);
		if (poll(&p, 1, REFRESH_MS) > 0 && (p.revents & (POLLHUP | POLLERR)) != 0)
			v->quit = true;
		while (!v->quit && (key = screen_key()) != SCREEN_NONE)
			on_key(v, key);
	}
}

int
secret_ui_main(int argc, char **argv)
{
	struct inventory v = {.detail = false};
	struct secret_options o;
	int r = secret_options(argc, argv, SECRET_FILTER | SECRET_ALL, 0, 0, &o);

	if (r == 0)
		r = inventory_read(&o, &v);
	if (r != 0)
		return r;
	if (screen_open()) {
		live(&v);
		screen_close();
	} else
		r = secret_list_put(&v.metas, &o);
	inventory_free(&v);
	return fflush(stdout) != 0 ? EXIT_FAILED : r;
}
