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
#include "supervisor/base/exit_status.h"
#include "supervisor/answer/private.h"
#include "supervisor/help/help.h"
#include "supervisor/screen/screen.h"

#define LOOK_MS   1000 /* between two checks for new sessions */
#define LINE_MAX_ 256

static void
print_change(void *arg, const struct approval *a, enum question_answer how)
{
	(void)arg;
	if (how == 0)
		approval_print(stdout, a);
	else
		printf("%ld-%u  %s\n", a->pid, a->number, question_answer_name(how));
}

/* Reads "allow ID", "session ID" or "deny ID", typed while watching; the first two
 * followed by --unseen if part of it is not shown. false: end of input. */
static bool
read_answer(void)
{
	static const struct {
		const char *word;
		enum question_answer what;
	} words[] = {
	    {"allow", ANSWER_ONCE}, {"session", ANSWER_SESSION}, {"deny", ANSWER_DENY}};
	char line[LINE_MAX_], word[16], id[64], unseen[16];
	struct decision d = {.unseen = false};
	int n;

	if (fgets(line, sizeof(line), stdin) == NULL)
		return false;
	n = sscanf(line, "%15s %63s %15s", word, id, unseen);
	if (n < 2)
		return true;
	d.unseen = n == 3 && strcmp(unseen, "--unseen") == 0;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(word, words[i].word) == 0) {
			d.answer = words[i].what;
			(void)approve_answer(id, &d); /* it has reported the error */
		}
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
