/*
 * kennel approve watch: a list on a screen (watch_screen.c); without one, approvals as
 * they arrive, and answers that are typed.
 *
 * Runs as the calling user.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/array.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/answer/private.h"
#include "supervisor/help/help.h"
#include "supervisor/screen/screen.h"

#define LOOK_MS   1000 /* between two checks for new sessions */
#define LINE_MAX_ 256
#define BLANKS    " \t\r"

static void
print_change(void *arg, const struct approval *a, enum question_answer how)
{
	(void)arg;
	if (how == 0)
		approval_print(stdout, a);
	else
		printf("%ld-%u  %s\n", a->pid, a->number, question_answer_name(how));
}

static const struct {
	const char *word;
	enum question_answer what;
} typed[] = {{"allow", ANSWER_ONCE}, {"session", ANSWER_SESSION}, {"deny", ANSWER_DENY}};

/* False: it is not one of the answers; NUL at the end of each word. */
static bool
parse_answer(char *line, const char **ret_id, struct decision *ret)
{
	char *save = NULL, *word = strtok_r(line, BLANKS, &save);
	const char *id = strtok_r(NULL, BLANKS, &save);
	const char *option = strtok_r(NULL, BLANKS, &save);

	*ret = (struct decision){
	    .unseen = option != NULL, .channel = approve_channel_here()};
	if (id == NULL || (option != NULL && strcmp(option, "--unseen") != 0) ||
	    (option != NULL && strtok_r(NULL, BLANKS, &save) != NULL))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(typed); i++)
		if (strcmp(word, typed[i].word) == 0) {
			ret->answer = typed[i].what;
			*ret_id = id;
			return true;
		}
	return false;
}

static void
say_syntax(const char *found)
{
	char shown[4 * LINE_MAX_ + 1];

	log_error("expected `allow ID`, `session ID` or `deny ID`, with an id that is "
		  "listed above and perhaps --unseen; found `%s`",
	    log_quote(shown, sizeof(shown), found, strlen(found)));
}

/* Reads an answer that is typed while watching. false: end of input. */
static bool
read_answer(void)
{
	char line[LINE_MAX_], found[LINE_MAX_];
	const char *id;
	struct decision d;

	if (fgets(line, sizeof(line), stdin) == NULL)
		return false;
	line[strcspn(line, "\n")] = '\0';
	memcpy(found, line, sizeof(found));
	if (line[strspn(line, BLANKS)] == '\0')
		return true;
	if (parse_answer(line, &id, &d))
		(void)approve_answer(id, &d); /* it has reported the error */
	else
		say_syntax(found);
	return true;
}

int
approve_watch_main(int argc, char **argv)
{
	static struct open_list list = {.fn = print_change};
	static struct pollfd wait[1 + SESSIONS_MAX];
	bool typing = isatty(STDIN_FILENO) == 1;
	size_t n;

	if (argc > 1)
		return help_refuse(&approve_help, argv[0], argv[1]);
	if (screen_open()) {
		approve_screen();
		screen_close();
		return 0;
	}
	for (;;) {
		open_list_look(&list);
		wait[0] = (struct pollfd){typing ? STDIN_FILENO : -1, POLLIN, 0};
		n = open_list_poll(&list, wait + 1);
		if (fflush(stdout) != 0)
			return 0; /* the reader closed the pipe */
		if (poll(wait, 1 + n, APPROVE_LOOK_MS) < 0 && errno != EINTR)
			return EXIT_FAILED;
		if (wait[0].revents != 0 && !read_answer())
			return 0;
		open_list_receive(&list, wait + 1);
	}
}
