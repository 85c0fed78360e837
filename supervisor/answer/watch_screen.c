/*
 * kennel approve watch on a screen: the pending approvals of all sessions, and one of
 * them with all that it shows.
 *
 *	list ── Enter ──> detail ── once, session, deny ──> list
 *	                     └── q, or it is no longer pending ──> list
 *
 * An approval is allowed in its detail only, when its last line has been on the screen,
 * and a box was ticked if it destroys something or if a part cannot be shown: the user
 * allows what was seen. What is selected or shown is known by its id, so that an arrival
 * cannot take its place.
 *
 * Process: kennel, as the calling user.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "policy/lang/secret_path.h"
#include "shim/base/array.h"
#include "supervisor/answer/detail_lines.h"
#include "supervisor/answer/private.h"
#include "supervisor/screen/screen.h"

#define MESSAGE_MAX 200
#define ROW_MAX     1024
#define HEAD_LINES  2

struct view {
	struct open_list list;
	struct screen_list rows;
	bool quit;
	char message[MESSAGE_MAX];
	/* ---- the detail ---- */
	bool detail; /* of this one: */
	struct approval_id id;
	char id_text[QUESTION_ID_MAX];
	struct detail_lines lines;
	int width;         /* that the lines were made for */
	size_t line_first; /* on the screen */
	bool seen_last;    /* its last line was on the screen */
	bool ticked;
	bool renaming;                    /* the name of a new path is being typed */
	char name[QUESTION_PATH_MAX + 1]; /* "": the suggested one */
};

/* ---- what is shown --------------------------------------------------------------- */

static const struct open_approval *
find(const struct view *v, const struct approval_id *id)
{
	for (size_t i = 0; i < v->list.n; i++)
		if (approval_id_names(id, &v->list.item[i].a))
			return &v->list.item[i];
	return NULL;
}

static void
close_detail(struct view *v)
{
	detail_lines_free(&v->lines);
	v->detail = false;
}

static void
make_lines(struct view *v, const struct approval *a)
{
	int r;

	v->width = screen_width();
	detail_lines_free(&v->lines);
	r = detail_lines_make(a, v->width, &v->lines);
	if (r == 0)
		return;
	(void)snprintf(v->message, sizeof(v->message),
	    "unable to show it: %s; nothing "
	    "was answered",
	    strerror(-r));
	close_detail(v);
}

/* True: the user types a value or accepts a proposal, and the answer reports that. */
static bool
is_request(const struct approval *a)
{
	return a->kind >= QUESTION_PROVISION;
}

/* What the user confirms with the box before it is allowed; NULL: nothing. */
static const char *
box_of(const struct approval *a)
{
	if (a->kind == QUESTION_ROTATION)
		return "I understand this overwrites the current secret";
	if (a->destructive)
		return a->cut != 0
			   ? "I understand this may destroy something, and a part is not "
			     "shown"
			   : "I understand this may destroy or overwrite something";
	return a->cut != 0 ? "allow it although a part is not shown" : NULL;
}

static void
on_change(void *arg, const struct approval *a, enum question_answer how)
{
	struct view *v = arg;

	if (how == 0 || !v->detail || !approval_id_names(&v->id, a))
		return;
	(void)snprintf(v->message, sizeof(v->message), "%s is no longer pending: %s",
	    v->id_text, question_answer_name(how));
	close_detail(v);
}

/* ---- drawing ----------------------------------------------------------------------- */

static void
put_row(void *arg, int y, size_t at, unsigned int style)
{
	const struct view *v = arg;
	const struct open_approval *o = &v->list.item[at];
	const char *what = o->a.method[0] != '\0'
			       ? o->a.method /* a method names its kind, too */
			       : question_kind_name((enum question_kind)o->a.kind);
	char server[64], kind[64], subject[ROW_MAX / 2], detail[ROW_MAX / 2];
	char line[ROW_MAX];

	(void)snprintf(line, sizeof(line), "%5llu s  %-20.20s %-12s %s  %s",
	    (unsigned long long)open_approval_left(o) / 1000,
	    inert_text(server, sizeof(server), o->a.server),
	    inert_text(kind, sizeof(kind), what),
	    inert_text(subject, sizeof(subject), o->a.subject),
	    inert_text(detail, sizeof(detail), o->a.detail)); /* may be cut */
	screen_line(y, line, style);
}

static void
put_foot(const struct view *v, const char *keys)
{
	screen_line(screen_height() - 1, v->message[0] != '\0' ? v->message : keys,
	    v->message[0] != '\0' ? SCREEN_BOLD : SCREEN_PLAIN);
}

static void
draw_list(struct view *v)
{
	char line[MESSAGE_MAX];
	size_t sessions = 0;

	for (size_t i = 0; i < v->list.session_n; i++)
		sessions += v->list.session[i].fd >= 0;
	(void)snprintf(line, sizeof(line), "kennel approve  %zu pending, %zu sessions",
	    v->list.n, sessions);
	screen_line(0, line, SCREEN_PLAIN);
	screen_line(1, "   left  server               kind         subject", SCREEN_BOLD);
	screen_list_put(&v->rows, HEAD_LINES, screen_height() - 2, put_row, v);
	if (v->list.n == 0)
		screen_line(HEAD_LINES, "nothing is pending", SCREEN_PLAIN);
	put_foot(v, "Enter show, to allow   d deny   up, down select   q quit");
}

static unsigned int
style_of(enum line_style style)
{
	static const unsigned int styles[] = {
	    [LINE_LABEL] = SCREEN_BOLD,
	    [LINE_OLD] = SCREEN_WRONG,
	    [LINE_NEW] = SCREEN_GOOD,
	    [LINE_WARNING] = SCREEN_WRONG,
	};

	return (size_t)style < ARRAY_LEN(styles) ? styles[style] : SCREEN_PLAIN;
}

/* Lines of the detail that fit between the title, the box and the keys. */
static size_t
page_rows(const struct view *v, const struct approval *a)
{
	int rows = screen_height() - HEAD_LINES - (box_of(a) != NULL ? 2 : 1);

	(void)v;
	return rows > 1 ? (size_t)rows : 1;
}

/* What is typed, and why it is no path yet. */
static void
put_name(const struct view *v)
{
	static const char label[] = "name: ";
	const char *wrong = secret_path_wrong(v->name, strlen(v->name));
	char line[MESSAGE_MAX + QUESTION_PATH_MAX];

	(void)snprintf(line, sizeof(line), "%s%s%s%s", label, v->name,
	    wrong != NULL ? "    " : "", wrong != NULL ? wrong : "");
	screen_line(
	    screen_height() - 1, line, wrong != NULL ? SCREEN_WRONG : SCREEN_GOOD);
	screen_cursor(screen_height() - 1, (int)(sizeof(label) - 1 + strlen(v->name)));
}

static void
put_detail_foot(const struct view *v, const struct approval *a)
{
	char keys[MESSAGE_MAX + QUESTION_PATH_MAX];

	if (v->renaming) {
		put_name(v);
		return;
	}
	if (v->name[0] != '\0') {
		(void)snprintf(keys, sizeof(keys),
		    "o accept as %s   n another name   d close", v->name); /* fits */
		put_foot(v, keys);
		return;
	}
	(void)snprintf(keys, sizeof(keys), "%s%s   up, down scroll   q back",
	    box_of(a) != NULL ? "space tick   " : "",
	    a->kind == QUESTION_NEW_PATH      ? "o accept   n another name   d close"
	    : a->kind == QUESTION_METADATA    ? "o accept   d close"
	    : a->kind == QUESTION_FILE        ? "o accept   d close"
	    : a->factor != QUESTION_NO_FACTOR ? "o once, with the passphrase   d deny"
	    : is_request(a)                   ? "o type the value   d close"
					      : "o once   s session   d deny");
	put_foot(v, keys);
}

static void
draw_detail(struct view *v, const struct open_approval *o)
{
	size_t rows = page_rows(v, &o->a), last;
	const char *box = box_of(&o->a);
	char line[MESSAGE_MAX];

	if (v->line_first + rows > v->lines.n)
		v->line_first = v->lines.n > rows ? v->lines.n - rows : 0;
	last = v->line_first + rows < v->lines.n ? v->line_first + rows : v->lines.n;
	v->seen_last = v->seen_last || last == v->lines.n;
	(void)snprintf(line, sizeof(line), "%s  %llu s left  lines %zu to %zu of %zu",
	    v->id_text, (unsigned long long)open_approval_left(o) / 1000,
	    v->line_first + 1, last, v->lines.n);
	screen_line(0, line, SCREEN_BOLD);
	for (size_t i = v->line_first; i < last; i++)
		screen_line(HEAD_LINES + (int)(i - v->line_first), v->lines.line[i].text,
		    style_of(v->lines.line[i].style));
	if (box != NULL) {
		(void)snprintf(line, sizeof(line), "[%c] %s", v->ticked ? 'x' : ' ', box);
		screen_line(screen_height() - 2, line, SCREEN_WRONG);
	}
	put_detail_foot(v, &o->a);
}

static void
draw(struct view *v)
{
	const struct open_approval *o = v->detail ? find(v, &v->id) : NULL;

	screen_begin();
	if (o != NULL && v->width != screen_width())
		make_lines(v, &o->a);
	if (o != NULL && v->detail)
		draw_detail(v, o);
	else
		draw_list(v);
	screen_end();
}

/* ---- answers ----------------------------------------------------------------------- */

static void
send(struct view *v, const struct approval *a, enum question_answer answer, bool unseen)
{
	const struct decision d = {
	    .answer = answer, .unseen = unseen, .channel = VIA_TERMINAL};
	const struct approval_id id = approval_id_of(a);
	struct approval_found found = {
	    .kind = a->kind, .cut = a->cut, .factor = a->factor};
	char text[QUESTION_ID_MAX];
	int r;

	(void)approval_id_text(a, text);
	memcpy(found.digest, a->digest.data, sizeof(found.digest));
	r = session_answer(&id, &found, &d);
	(void)snprintf(v->message, sizeof(v->message), "%s: %s", text,
	    session_is_over(r) ? "no longer pending"
	    : r < 0            ? session_error(r)
			       : question_answer_name(answer));
	if (r == 0 || session_is_over(r))
		close_detail(v);
}

/* The value is typed, the proposal written, or the approval confirmed, on the terminal as it was before. */
static void
do_request(struct view *v)
{
	const struct decision d = {.answer = ANSWER_ONCE,
	    .unseen = v->ticked,
	    .channel = VIA_TERMINAL,
	    .name = v->name[0] != '\0' ? v->name : NULL};
	char line[MESSAGE_MAX];

	screen_suspend();
	printf("\n");                         /* the keys are on the line of the cursor */
	(void)approve_answer(v->id_text, &d); /* it has reported the error */
	printf("Press Enter to go back to the list.\n");
	(void)fflush(stdout);
	while (fgets(line, sizeof(line), stdin) != NULL && strchr(line, '\n') == NULL)
		;
	screen_resume();
	close_detail(v);
}

static void
allow(struct view *v, const struct approval *a, enum question_answer answer)
{
	const char *box = box_of(a);

	if (!v->seen_last)
		(void)snprintf(v->message, sizeof(v->message),
		    "scroll to the last line before you allow it");
	else if (box != NULL && !v->ticked)
		(void)snprintf(v->message, sizeof(v->message),
		    "press space to tick the box before you allow it");
	else if (!is_request(a) && a->factor == QUESTION_NO_FACTOR)
		send(v, a, answer, a->cut != 0);
	else if (answer == ANSWER_ONCE)
		do_request(v);
}

/* ---- keys ------------------------------------------------------------------------- */

static void
on_list_key(struct view *v, int key)
{
	const struct open_approval *o =
	    v->list.n > 0 ? &v->list.item[v->rows.selected] : NULL;

	if (key == 'q') {
		v->quit = true;
		return;
	}
	if (o == NULL || screen_list_key(&v->rows, key))
		return;
	if (key == 'd')
		send(v, &o->a, ANSWER_DENY, false);
	if (key != SCREEN_ENTER)
		return;
	v->detail = true;
	v->id = approval_id_of(&o->a);
	(void)approval_id_text(&o->a, v->id_text);
	v->line_first = 0;
	v->seen_last = v->ticked = v->renaming = false;
	v->name[0] = '\0';
	make_lines(v, &o->a);
}

static void
scroll(struct view *v, const struct approval *a, int key)
{
	size_t page = page_rows(v, a),
	       step = key == SCREEN_UP || key == SCREEN_DOWN ? 1 : page;

	if (key == SCREEN_UP || key == SCREEN_PAGE_UP)
		v->line_first -= v->line_first < step ? v->line_first : step;
	else
		v->line_first += step; /* drawing limits it */
}

/* A key of the name: what is no character of a path is ignored. */
static void
on_name_key(struct view *v, int key)
{
	size_t len = strlen(v->name);

	if (key == SCREEN_ESCAPE) {
		v->name[0] = '\0';
		v->renaming = false;
	} else if (key == SCREEN_ENTER) {
		v->renaming = secret_path_wrong(v->name, len) != NULL;
	} else if (key == SCREEN_ERASE && len > 0) {
		v->name[len - 1] = '\0';
	} else if (len < sizeof(v->name) - 1 &&
		   ((key >= 'a' && key <= 'z') || (key >= '0' && key <= '9') ||
		       key == '-' || key == '_' || key == '/')) {
		v->name[len] = (char)key;
		v->name[len + 1] = '\0';
	}
}

static void
begin_name(struct view *v, const struct approval *a)
{
	if (a->kind != QUESTION_NEW_PATH)
		return;
	if (v->name[0] == '\0')
		(void)snprintf(v->name, sizeof(v->name), "%s", a->subject); /* cut */
	v->renaming = true;
}

static void
on_detail_key(struct view *v, int key)
{
	const struct open_approval *o = find(v, &v->id);

	if (o == NULL) /* the list reports each end */
		return;
	if (v->renaming) {
		on_name_key(v, key);
		return;
	}
	switch (key) {
	case 'n':
		begin_name(v, &o->a);
		break;
	case 'q':
	case SCREEN_ESCAPE:
		close_detail(v);
		break;
	case ' ':
		v->ticked = box_of(&o->a) != NULL && !v->ticked;
		break;
	case 'o':
		allow(v, &o->a, ANSWER_ONCE);
		break;
	case 's':
		allow(v, &o->a, ANSWER_SESSION);
		break;
	case 'd':
		send(v, &o->a, ANSWER_DENY, false);
		break;
	case SCREEN_UP:
	case SCREEN_DOWN:
	case SCREEN_PAGE_UP:
	case SCREEN_PAGE_DOWN:
		scroll(v, &o->a, key);
		break;
	default:
		break;
	}
}

/* ---- the loop ----------------------------------------------------------------------- */

/* Until a key, a change, or the next second. */
static void
wait_for_news(struct view *v)
{
	static struct pollfd wait[1 + SESSIONS_MAX];
	struct approval_id id = {0};
	const struct open_approval *o;
	size_t n;

	if (v->list.n > 0)
		id = approval_id_of(&v->list.item[v->rows.selected].a);
	open_list_look(&v->list);
	wait[0] = (struct pollfd){STDIN_FILENO, POLLIN, 0};
	n = open_list_poll(&v->list, wait + 1);
	if (poll(wait, 1 + n, APPROVE_LOOK_MS) < 0)
		return; /* a signal: the size of the screen */
	open_list_receive(&v->list, wait + 1);
	if ((wait[0].revents & (POLLHUP | POLLERR)) != 0)
		v->quit = true;
	o = id.pid != 0 ? find(v, &id) : NULL;
	v->rows.n = v->list.n;
	if (o != NULL)
		v->rows.selected = (size_t)(o - v->list.item);
	else if (v->rows.selected >= v->rows.n)
		v->rows.selected = v->rows.n == 0 ? 0 : v->rows.n - 1;
}

void
approve_screen(void)
{
	static struct view v;
	int key;

	v.list.fn = on_change;
	v.list.arg = &v;
	while (!v.quit) {
		draw(&v);
		wait_for_news(&v);
		while ((key = screen_key()) != SCREEN_NONE) {
			if (key == SCREEN_RESIZED)
				continue;
			v.message[0] = '\0';
			if (v.detail)
				on_detail_key(&v, key);
			else
				on_list_key(&v, key);
			draw(&v);
		}
	}
	close_detail(&v);
	open_list_free(&v.list);
}
