/*
 * Shared by the files of kennel-secret: a verb's state, and its input.
 */
#ifndef KENNEL_LEASH_SECRET_PRIVATE_H
#define KENNEL_LEASH_SECRET_PRIVATE_H

#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "leash/keeper/keeper.h"
#include "leash/vault/vault.h"

#define STATUS_OK        0
#define STATUS_USAGE     64
#define STATUS_INPUT     65
#define STATUS_CONFIG    78
#define STATUS_DENIED    126
#define STATUS_NOT_FOUND 127

/* kennel(1): the command line. */
struct order {
	const char *verb;
	const char *path; /* NULL: not given */
	const char *server, *key_file;
	const char *digest; /* of an approval, 64 hex digits; NULL */
	const char *id;     /* of a grant's policy or signer, 64 hex digits; NULL: any */
	const char *after;  /* the policy from whose grant this one follows; NULL: none */
	const char *key_id; /* hex digits, the first ones of a security key's id */
	const char *shape;  /* format of the value, by the manifests; NULL: unknown */
	bool any_shape;     /* store it whatever its format */
	int fd;             /* source of a value or passphrase; -1: typed */
	int policy_fd;      /* the sealed policy of --policy; -1 */
	int grants; /* of a value: the servers without a grant, as they are shown; -1 */
	uint32_t version;
	uint32_t idle_s, cap_s;
	bool json;
	bool rotate; /* the value replaces another one */
	struct {
		int text;             /* descriptor of what it shows; -1 */
		const char *pinentry; /* the program */
		uint32_t seconds;     /* until it closes by itself */
		bool session;         /* a yes for the session is offered */
		bool accept;          /* a proposal */
		bool only_deny;       /* a part is not shown, so that no yes is offered */
		bool destructive;     /* a yes has a second step */
		int fd;               /* to the pinentry, which was started; -1 */
	} dialog;
	/* ---- once connected ---- */
	struct vault *pages;
	int keeper;
	enum keeper_state state;
	int tty;         /* -1: none */
	uint8_t *packet; /* KEEPER_PACKET_MAX, in the pages */
};

typedef int verb_fn(struct order *); /* an exit status */

/* ---- secret_program.c, form_program.c ------------------------------------- */

enum takes { /* the options of a verb, as bits */
	TAKES_PATH = 1,
	NEEDS_PATH = 2,
	TAKES_INPUT = 4, /* --stdin, --fd N */
	TAKES_KEY = 8,   /* --key-file FILE */
	TAKES_TIMES = 16,
	TAKES_SERVER = 32,
	TAKES_POLICY = 64,
	TAKES_JSON = 128,
	TAKES_RESTORE = 256,
	TAKES_SHAPE = 1024,
	TAKES_ID = 8192,
	TAKES_AFTER = 65536,   /* from kennel */
	TAKES_GRANTS = 131072, /* from kennel */
	NEEDS_DIGEST = 2048,   /* in the place of the path */
	NO_KEEPER = 512,       /* works without the keeper */
	TAKES_DIALOG = 4096,   /* from kennel approve here */
	TAKES_ROTATE = 32768,
	NEEDS_KEY = 16384, /* a security key's id, in the place of the path */
	TAKES_WORD = TAKES_PATH | NEEDS_PATH | NEEDS_DIGEST | NEEDS_KEY,
};

struct verb {
	const char *name;   /* of one word, or of two */
	verb_fn *fn;        /* NULL: its second word is missing */
	unsigned int takes; /* its help: supervisor/help/secret_help.c */
	verb_fn *start;     /* what it does before it is confined; NULL: nothing */
};
/* What this program can do, and what it may do once it is confined. */
struct program {
	const struct verb *verb;
	size_t verb_n;
	const uint16_t *syscalls;
	size_t syscalls_n;
	bool no_files; /* and Landlock permits no file and no new connection */
};
extern const struct program this_program;

/* ---- input.c ------------------------------------------------------------- */

/* At most cap bytes of the pages, and their number.  Wiped with the pages. */
struct typed {
	char *bytes;
	size_t len;
};

/*
 * A line typed without echo, or all input of --stdin and --fd without one trailing
 * newline.  twice: a new passphrase, which must be typed twice, the same.  Returns an exit status;
 * errors have been printed.
 */
int type_line(
    struct order *, const char *prompt, bool twice, size_t cap, struct typed *ret);
/* Two lines of --stdin or --fd; else two prompts. */
int type_two(struct order *, const char *const prompt[2], struct typed ret[2]);
/* The file's bytes; it must belong to us or to root, without access for others. */
int type_file(struct order *, const char *path, struct typed *ret);
/* Prints to the terminal only. */
int type_show(struct order *, const char *text, size_t len);

/* Prints the verb and the text; returns the status. */
int order_fail(const struct order *, int status, const char *what);

/* ---- fields.c ------------------------------------------------------------ */

/* Decodes exactly n lines of base64url in place; n - 1 newlines separate them.  False: it is
 * something else, and partly decoded. */
bool fields_read(char *text, size_t len, struct typed *ret, size_t n);
void base64url_print(FILE *, struct span);
/* A string of JSON, in ASCII; what is invalid UTF-8 becomes U+FFFD. */
void json_print(FILE *, const char *text);
#define DATE_TEXT_MAX 24
void date_text(uint64_t seconds, char out[DATE_TEXT_MAX]); /* UTC; "-": 0 */

/* ---- request.c ----------------------------------------------------------- */

/* Sends the request in out and reads the reply over it.  0, with *ret_in after the
 * reply's type; or an exit status, after printing what to do about it.  A keeper that does
 * not answer in time gets no further request. */
int talk(struct order *, const struct wire_out *out, enum keeper_message wanted,
    struct wire_in *ret_in);
/* The same for a reply of DONE; ret: its number, or NULL. */
int talk_done(struct order *, const struct wire_out *out, uint32_t *ret);
void talk_begin(struct order *, struct wire_out *, enum keeper_message);
/* Why the last request failed, and the keeper's reason; 0: it has given none. */
const char *talk_why(void);
enum keeper_reason talk_reason(void);

/* ---- pinentry.c ---------------------------------------------------------- */

struct pinentry_text { /* printable ASCII and newlines; NULL: not used */
	const char *text, *error, *prompt, *ok, *notok, *cancel;
};
enum pinentry_answer {
	PINENTRY_OK,
	PINENTRY_NOT_OK, /* the second button */
	PINENTRY_CLOSED, /* the third one, the window, or no answer in time */
	PINENTRY_FAILED  /* the pinentry ended, or has no terminal and no display */
};

#define DIALOG_ENV_MAX 16
/* The environment of a program that shows something: a fixed PATH, and what it needs to find
 * the display.  more: one further variable, or NULL.  Valid until the next call. */
void dialog_environment(char *ret[DIALOG_ENV_MAX], const char *more);
/* Starts it: a descriptor to it, or -errno.  Before confine(). */
int pinentry_start(const char *program, int *ret_fd);
/* Waits until it is up: 0; -ENOMEM; -EPIPE: it ended.  Once; uses the order's pages. */
int pinentry_open(struct order *, int fd, uint32_t seconds);
enum pinentry_answer pinentry_confirm(const struct pinentry_text *);
/* A line of at most cap bytes, into io->bytes, which are in the pages. */
enum pinentry_answer pinentry_type(
    const struct pinentry_text *, size_t cap, struct typed *io);

/* ---- verbs.c ------------------------------------------------------------- */

/* Why the value is not one for o->path; NULL: it is.  Valid until the next call. */
const char *value_wrong(const struct order *, const struct typed *);
/* Gives it to the keeper.  next: in place of the one that is there. */
int value_put(struct order *, const struct typed *, bool next, uint32_t *ret_version);
/* The requests INIT, UNLOCK and CONFIRM with a passphrase: an exit status. */
int passphrase_init(struct order *, const struct typed *);
int passphrase_unlock(struct order *, const struct typed *);
int passphrase_confirm(struct order *, const struct typed *);
#define PASSPHRASE_MIN 8
#define PASSPHRASE_SHORT \
	"a passphrase needs at least eight characters; enter a longer one"

/* ---- keys.c -------------------------------------------------------------- */

struct known_key { /* in the packet: valid until the next request */
	struct span id;
	const char *label;
	uint64_t made; /* seconds since 1970 */
};
struct known_keys {
	struct known_key key[KEEPER_KEYS_MAX];
	size_t n;
	struct span challenge; /* of keys_challenge */
};
/* A challenge for this digest (zeros: for a new key): an exit status. */
int keys_challenge(
    struct order *, const uint8_t digest[KEEPER_DIGEST_LEN], struct known_keys *ret);
/* As JSON: challenge, keys, rp_id and timeout_ms. */
void keys_print_challenge(FILE *, const struct known_keys *);

/* What a browser made of the challenge, and the person's label for it. */
struct new_key {
	struct typed passphrase, challenge, client_data, auth_data, label;
};
int key_add(struct order *, const struct new_key *); /* an exit status */

/* ---- form_answer.c: JSON for the page of form.c ---------------------------- */

/* Reads what the page says of grants, to its end; -1: nothing.  Before confine(): 0 or -errno. */
int form_read_grants(int fd);
void form_state(struct order *, FILE *);
/* Each reads its body, and returns a status of HTTP. */
unsigned int form_challenge(struct order *, struct typed *body, FILE *);
unsigned int form_save(struct order *, struct typed *body, FILE *);

/* ---- verbs.c, list.c, keys.c, dialogs.c: an exit status each -------------------------------- */

/* False: the vault is open, and has no value of o->path. */
bool is_in_vault(struct order *);
verb_fn verb_init, verb_unlock, verb_lock, verb_set, verb_rotate, verb_remove, verb_trace,
    verb_recover, verb_export, verb_grant, verb_revoke, verb_confirm, verb_dialogs,
    verb_key_challenge, verb_key_confirm, verb_key_remove, show_keys, show_versions,
    show_grants, verb_form;
/* Before confine(): starts the pinentry; becomes notify-send, and returns only if it cannot;
 * listens for a browser. */
verb_fn dialogs_start, notify_start, form_start;

#endif
