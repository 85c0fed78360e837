/*
 * One dialog of `kennel approve here` (supervisor/answer/here.c): a pending approval, shown
 * by a pinentry.  Prints the answer on one line; a value or a passphrase that is typed goes
 * to the keeper and nowhere else.
 *
 *	the text, page by page ---> Once, Session, Deny     of a use
 *	                            Accept, Decline         of a proposal
 *	                            a value                 the vault is unlocked, or made; with
 *	                                                    grants, these are asked for; the
 *	                                                    value is typed, and sent to the keeper
 *	with a digest ------------> the passphrase, which the keeper checks
 *
 * Process: kennel-secret, one for each dialog.  The texts have been made inert by kennel, and
 * are checked again here.  Closing a dialog never agrees to anything.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "leash/secret/private.h"
#include "shim/base/array.h"
#include "shim/base/fd.h"
#include "shim/base/log.h"

#define TEXT_MAX       (32u << 10)
#define PAGES_MAX      16
#define PAGE_LINES     14
#define PAGE_BYTES     800 /* of a command: at most 1000 */
#define TYPED_MAX      2048
#define TRIES_MAX      3
#define FRAME          5 /* columns of pinentry-curses beside a text: 50 show 45 unbroken */
#define SUBJECT_LINES  4 /* server, kind, method, subject: what the passphrase is for */
#define NOTIFY_PROGRAM "/usr/bin/notify-send"

/* What is printed; kennel reads it (supervisor/answer/here.c). */
enum outcome {
	OUTCOME_ONCE,
	OUTCOME_SESSION,
	OUTCOME_DENY, /* of a value or a proposal: declined */
	OUTCOME_CLOSED,
	OUTCOME_ACCEPT,
	OUTCOME_STORED,
	OUTCOME_FAILED,
	OUTCOME_YES /* inside of this file: go on */
};

/* A text, page by page. */
struct pages {
	char text[TEXT_MAX];
	struct {
		const char *at;
		size_t len;
	} page[PAGES_MAX];
	size_t page_n;
	size_t width; /* of its longest line */
};

struct dialog {
	struct order *o;
	struct pages about;
	struct pages grants;       /* of a value: the servers that have no grant yet */
	char brief[PAGE_BYTES];    /* the first lines of what it is about */
	struct typed first, again; /* TYPED_MAX bytes each, in the pages */
};

/* ---- the text ------------------------------------------------------------------------- */

/* Its bytes, all printable.  The first line of a page is this program's own, so that no
 * toolkit takes the text for markup. */
static int
read_text(int fd, struct pages *p)
{
	size_t len = 0;
	ssize_t n = 1;

	while (n > 0 && len < sizeof(p->text) - 1) {
		n = read(fd, p->text + len, sizeof(p->text) - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (n != 0)
		return -EFBIG;
	p->text[len] = '\0';
	for (size_t i = 0; i < len; i++)
		if (p->text[i] != '\n' && (p->text[i] < ' ' || p->text[i] > '~'))
			return -EBADMSG;
	return strlen(p->text) == len ? 0 : -EBADMSG;
}

/* Bytes of this line in a command, with its newline. */
static size_t
line_cost(const char *line, size_t len)
{
	size_t cost = 3;

	for (size_t i = 0; i < len; i++)
		cost += line[i] == '%' ? 3 : 1;
	return cost;
}

static int
make_pages(struct pages *p)
{
	size_t lines = 0, cost = 0, at = 0;

	for (const char *line = p->text; *line != '\0';) {
		size_t len = strcspn(line, "\n"), one = line_cost(line, len);

		if (one > PAGE_BYTES)
			return -EFBIG;
		if (p->page_n == 0 || lines == PAGE_LINES || cost + one > PAGE_BYTES) {
			if (p->page_n == PAGES_MAX)
				return -EFBIG;
			at = p->page_n++;
			p->page[at].at = line;
			lines = cost = 0;
		}
		lines++;
		cost += one;
		p->width = len > p->width ? len : p->width;
		line += len + (line[len] == '\n');
		p->page[at].len = (size_t)(line - p->page[at].at);
	}
	return p->page_n > 0 ? 0 : -EBADMSG;
}

/* The texts of this dialog: 0 or -errno. */
static int
read_texts(struct dialog *d)
{
	const char *end;
	int r = read_text(d->o->dialog.text, &d->about);

	if (r == 0)
		r = make_pages(&d->about);
	if (r == 0 && d->o->grants >= 0 && (r = read_text(d->o->grants, &d->grants)) == 0)
		r = make_pages(&d->grants);
	if (r < 0)
		return r;
	end = d->about.text;
	for (int i = 0; i < SUBJECT_LINES && *end != '\0'; i++)
		end += strcspn(end, "\n") + 1;
	(void)snprintf(d->brief, sizeof(d->brief), "%.*s", (int)(end - d->about.text),
	    d->about.text); /* the first page's lines fit */
	return 0;
}

/* A pinentry breaks a line that is wider than the terminal, and its rest would look like a
 * line of kennel's.  The text was made for this terminal, which a person may have made
 * smaller since. */
static bool
fits(const struct dialog *d)
{
	size_t width =
	    d->about.width > d->grants.width ? d->about.width : d->grants.width;
	struct winsize size;

	/* syscalls: ioctl */
	if (d->o->tty < 0 || ioctl(d->o->tty, TIOCGWINSZ, &size) < 0 ||
	    size.ws_col == 0 || width + FRAME <= size.ws_col)
		return true;
	log_error("the terminal has %u columns, and this approval needs %zu: make it "
		  "wider, or use kennel approve watch",
	    size.ws_col, width + FRAME);
	return false;
}

/* ---- the answers ------------------------------------------------------------------------ */

static enum outcome
closed_or_failed(enum pinentry_answer a)
{
	return a == PINENTRY_FAILED ? OUTCOME_FAILED : OUTCOME_CLOSED;
}

static enum outcome
show_page(const struct dialog *d, const struct pages *p, const char *title, size_t at,
    const struct pinentry_text *buttons)
{
	struct pinentry_text t = *buttons;
	char text[PAGE_BYTES + 128];
	enum pinentry_answer a;

	if (!fits(d))
		return OUTCOME_FAILED;
	if (p->page_n > 1)
		(void)snprintf(text, sizeof(text), "%s, part %zu of %zu\n\n%.*s", title,
		    at + 1, p->page_n, (int)p->page[at].len, p->page[at].at);
	else
		(void)snprintf(text, sizeof(text), "%s\n\n%.*s", title,
		    (int)p->page[at].len, p->page[at].at);
	t.text = text;
	a = pinentry_confirm(&t);
	return a == PINENTRY_OK       ? OUTCOME_YES
	       : a == PINENTRY_NOT_OK ? OUTCOME_DENY
				      : closed_or_failed(a);
}

/* The yes comes after the last part, and after no other. */
static enum outcome
show_all(struct dialog *d)
{
	const struct order *o = d->o;
	const char *no = o->path != NULL || o->dialog.accept ? "Decline" : "Deny";
	struct pinentry_text next = {.ok = "Next", .notok = no, .cancel = "Close"};
	struct pinentry_text last = {.notok = no, .cancel = "Close"};
	enum outcome r = OUTCOME_YES;

	last.ok = o->dialog.only_deny ? "Leave it open"
		  : o->path != NULL   ? "Enter a value"
		  : o->dialog.accept  ? "Accept"
		  : o->dialog.session ? "Allow"
		  : o->digest != NULL ? "Once, with the passphrase"
				      : "Once";
	for (size_t i = 0; r == OUTCOME_YES && i < d->about.page_n; i++)
		r = show_page(d, &d->about, "A pending approval", i,
		    i + 1 < d->about.page_n ? &next : &last);
	return r == OUTCOME_YES && o->dialog.only_deny ? OUTCOME_CLOSED : r;
}

/* Whether the servers that have no grant get one, too.  The value is stored in any case,
 * unless the dialog is closed. */
static enum outcome
ask_grants(const struct dialog *d, bool *ret_agreed)
{
	const struct pages *p = &d->grants;
	struct pinentry_text next = {
	    .ok = "Next", .notok = "Only store it", .cancel = "Close"};
	struct pinentry_text last = {
	    .ok = "Grant it", .notok = "Only store it", .cancel = "Close"};
	enum outcome r = OUTCOME_YES;

	for (size_t i = 0; r == OUTCOME_YES && i < p->page_n; i++)
		r = show_page(d, p,
		    "Also grant it to these servers, under these policies?", i,
		    i + 1 < p->page_n ? &next : &last);
	*ret_agreed = r == OUTCOME_YES && p->page_n > 0;
	return r == OUTCOME_DENY ? OUTCOME_YES : r;
}

struct choice {
	const char *label;
	enum outcome outcome;
};

/* A second question about what has been shown. */
static enum outcome
choose(
    const struct dialog *d, const char *question, struct choice ok, struct choice notok)
{
	char text[PAGE_BYTES + 128];
	const struct pinentry_text t = {
	    .text = text, .ok = ok.label, .notok = notok.label, .cancel = "Close"};
	enum pinentry_answer a;

	if (!fits(d))
		return OUTCOME_FAILED;
	(void)snprintf(text, sizeof(text), "%s\n\n%s", question, d->brief);
	a = pinentry_confirm(&t);
	return a == PINENTRY_OK       ? ok.outcome
	       : a == PINENTRY_NOT_OK ? notok.outcome
				      : closed_or_failed(a);
}

/* Once or for the session: a dialog of its own, because closing one is no answer. */
static enum outcome
how_long(const struct dialog *d)
{
	if (!d->o->dialog.session)
		return OUTCOME_ONCE;
	return choose(d, "Once, or exactly the same for the rest of the session?",
	    (struct choice){"Once", OUTCOME_ONCE},
	    (struct choice){"Session", OUTCOME_SESSION});
}

/* ---- the vault ------------------------------------------------------------------------- */

static enum outcome
type(struct dialog *d, const char *title, const char *prompt, const char *error,
    struct typed *io)
{
	char text[PAGE_BYTES + 64];
	const struct pinentry_text t = {.text = text,
	    .error = error,
	    .prompt = prompt,
	    .ok = "OK",
	    .cancel = "Close"};
	enum pinentry_answer a;

	if (!fits(d))
		return OUTCOME_FAILED;
	(void)snprintf(text, sizeof(text), "%s\n\n%s", title, d->brief);
	a = pinentry_type(&t, TYPED_MAX, io);
	return a == PINENTRY_OK ? OUTCOME_YES : closed_or_failed(a);
}

static bool
is_same(const struct typed *a, const struct typed *b)
{
	return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

static enum outcome
create_vault(struct dialog *d)
{
	const char *error = NULL;
	enum outcome r;

	for (int i = 0; i < TRIES_MAX; i++) {
		r = type(d, "There is no vault yet.  A passphrase for a new one:",
		    "Passphrase:", error, &d->first);
		if (r == OUTCOME_YES && d->first.len < PASSPHRASE_MIN) {
			error = "a passphrase needs at least eight characters";
			continue;
		}
		if (r == OUTCOME_YES)
			r = type(d, "The same passphrase again:", "Passphrase:", NULL,
			    &d->again);
		if (r != OUTCOME_YES)
			return r;
		error = "the two entries differ";
		if (!is_same(&d->first, &d->again))
			continue;
		if (passphrase_init(d->o, &d->first) != STATUS_OK)
			return OUTCOME_FAILED;
		d->o->state = STATE_OPEN;
		printf("init\n");
		return OUTCOME_YES;
	}
	return OUTCOME_CLOSED;
}

static enum outcome
unlock_vault(struct dialog *d)
{
	const char *error = NULL;
	enum outcome r;
	int status;

	if (d->o->state == STATE_NONE)
		return create_vault(d);
	for (int i = 0; i < TRIES_MAX && d->o->state != STATE_OPEN; i++) {
		r = type(d, "The vault is locked.", "Passphrase:", error, &d->again);
		if (r != OUTCOME_YES)
			return r;
		error = "wrong passphrase";
		status = passphrase_unlock(d->o, &d->again);
		if (status == STATUS_OK) {
			d->o->state = STATE_OPEN;
			printf("unlock\n");
		} else if (status != STATUS_DENIED)
			return OUTCOME_FAILED;
	}
	return d->o->state == STATE_OPEN ? OUTCOME_YES : OUTCOME_CLOSED;
}

/* The second factor.  The third wrong passphrase locks the vault. */
static enum outcome
confirm(struct dialog *d)
{
	const char *error = NULL;
	enum outcome r = d->o->state == STATE_NONE ? OUTCOME_FAILED : unlock_vault(d);
	int status;

	if (d->o->state == STATE_NONE)
		log_error("no vault found: create one with kennel secret init");
	for (int i = 0; r == OUTCOME_YES && i < TRIES_MAX; i++) {
		r = type(d, "To confirm this approval, the vault's passphrase.",
		    "Passphrase:", error, &d->first);
		if (r != OUTCOME_YES)
			break;
		status = passphrase_confirm(d->o, &d->first);
		if (status == STATUS_OK)
			return OUTCOME_ONCE;
		if (status != STATUS_DENIED)
			return OUTCOME_FAILED;
		error = "wrong passphrase";
	}
	return r == OUTCOME_YES ? OUTCOME_CLOSED : r;
}

/* ---- a value ---------------------------------------------------------------------------- */

/* The second step of what destroys something: a value, or what a call names. */
static enum outcome
overwrite(const struct dialog *d)
{
	return choose(d,
	    "There is a value.  I understand this overwrites the current secret",
	    (struct choice){"Overwrite", OUTCOME_YES},
	    (struct choice){"Decline", OUTCOME_DENY});
}

static enum outcome
destroy(const struct dialog *d)
{
	return choose(d, "I understand this may destroy or overwrite something",
	    (struct choice){"Allow it", OUTCOME_YES},
	    (struct choice){"Deny", OUTCOME_DENY});
}

/* Gives it to the keeper, which may have been locked meanwhile. */
static enum outcome
give(struct dialog *d, bool there)
{
	enum outcome r = OUTCOME_YES;
	int status = value_put(d->o, &d->first, there, NULL);

	if (status == STATUS_DENIED) {
		d->o->state = STATE_LOCKED;
		r = unlock_vault(d);
		if (r == OUTCOME_YES)
			status = value_put(d->o, &d->first, there, NULL);
	}
	if (r != OUTCOME_YES)
		return r;
	return status == STATUS_OK ? OUTCOME_STORED : OUTCOME_FAILED;
}

static enum outcome
store(struct dialog *d)
{
	struct order *o = d->o;
	const char *error = NULL;
	enum outcome r = unlock_vault(d);
	bool there = false, agreed = false;

	if (r == OUTCOME_YES) {
		there = is_in_vault(o);
		r = there ? overwrite(d) : OUTCOME_YES;
	}
	if (r == OUTCOME_YES)
		r = ask_grants(d, &agreed);
	for (int i = 0; r == OUTCOME_YES && i < TRIES_MAX; i++) {
		r = type(d, "The value of this secret.", "Value:", error, &d->first);
		if (r != OUTCOME_YES)
			return r;
		error = value_wrong(o, &d->first);
		if (error != NULL)
			continue;
		r = give(d, there);
		if (r == OUTCOME_STORED && agreed)
			printf("grant\n");
		return r;
	}
	return r == OUTCOME_YES ? OUTCOME_CLOSED : r;
}

/* ---- the verbs --------------------------------------------------------------------------- */

int
dialogs_start(struct order *o)
{
	int r;

	if (o->dialog.pinentry == NULL || o->dialog.text < 0) {
		log_error("started by kennel approve here, not by hand");
		return STATUS_USAGE;
	}
	/* it came through execve; the pinentry gets no descriptor of ours */
	r = fd_cloexec(o->dialog.text, true);
	if (r == 0 && o->grants >= 0)
		r = fd_cloexec(o->grants, true);
	if (r == 0)
		r = pinentry_start(o->dialog.pinentry, &o->dialog.fd);
	if (r == 0)
		return STATUS_OK;
	log_error("unable to start %s: %s", o->dialog.pinentry, strerror(-r));
	return STATUS_CONFIG;
}

/* Only returns if there is no notify-send.  It names what is pending; kennel has left out
 * arguments, reasons, and what is markup in a notification. */
int
notify_start(struct order *o)
{
	static struct dialog d;
	char *env[DIALOG_ENV_MAX];
	int null;
	char *argv[] = {(char *)"notify-send", (char *)"--app-name=kennel", (char *)"--",
	    (char *)"kennel: an approval is pending", d.about.text, NULL};

	d.o = o;
	if (o->dialog.text < 0 || read_text(o->dialog.text, &d.about) < 0 ||
	    fd_cloexec(o->dialog.text, true) < 0) {
		log_error("started by kennel approve here, not by hand");
		return STATUS_USAGE;
	}
	dialog_environment(env, "DBUS_SESSION_BUS_ADDRESS");
	/* what it writes would be in the middle of a dialog on this terminal */
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* early: execve dup2 */
	if (null >= 0 && dup2(null, STDOUT_FILENO) >= 0 && dup2(null, STDERR_FILENO) >= 0)
		(void)execve(NOTIFY_PROGRAM, argv, env);
	log_error("unable to run " NOTIFY_PROGRAM ": %s", strerror(errno));
	return STATUS_CONFIG;
}

int
verb_dialogs(struct order *o)
{
	static const char *const name[] = {
	    [OUTCOME_ONCE] = "once",
	    [OUTCOME_SESSION] = "session",
	    [OUTCOME_DENY] = "deny",
	    [OUTCOME_CLOSED] = "closed",
	    [OUTCOME_ACCEPT] = "accept",
	    [OUTCOME_STORED] = "stored",
	    [OUTCOME_FAILED] = "failed",
	};
	static struct dialog d; /* large */
	enum outcome r;

	d.o = o;
	d.first.bytes = vault_scratch(o->pages, TYPED_MAX);
	d.again.bytes = vault_scratch(o->pages, TYPED_MAX);
	if (d.first.bytes == NULL || d.again.bytes == NULL)
		return order_fail(o, LOG_EXIT_FAILED, "no locked memory left");
	if (read_texts(&d) < 0)
		return order_fail(
		    o, STATUS_INPUT, "the text cannot be shown in a dialog");
	if (!fits(&d))
		return STATUS_CONFIG; /* it stays open for other channels */
	if (pinentry_open(o, o->dialog.fd, o->dialog.seconds) < 0)
		return order_fail(o, STATUS_CONFIG,
		    "the pinentry does not start: has it a display or a terminal?");
	r = show_all(&d);
	if (r == OUTCOME_YES && o->dialog.destructive)
		r = destroy(&d);
	if (r == OUTCOME_YES)
		r = o->path != NULL     ? store(&d)
		    : o->dialog.accept  ? OUTCOME_ACCEPT
		    : o->digest != NULL ? confirm(&d)
					: how_long(&d);
	if (r == OUTCOME_FAILED)
		log_error("the dialog ended without an answer");
	printf("%s\n", name[r]);
	return STATUS_OK;
}
