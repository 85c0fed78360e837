/*
 * Which user and which program started this session, for its first record.  The name
 * of a program is what the program says of itself; only the path of its image is from
 * the kernel.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "leash/audit/writer.h"
#include "shim/base/array.h"
#include "supervisor/approve/approve.h"
#include "supervisor/base/paths.h"
#include "supervisor/launch/launch.h"

#define IMAGE_MAX (PATH_MAX + 1)
#define COMM_MAX  32 /* /proc/PID/comm has 15 bytes */

void
launcher_know_user(void)
{
	uid_t uid = getuid();
	const char *name = paths_user_name(uid);

	if (name != NULL)
		answerer_know(uid, name);
}

const char *
launcher_purpose(const char *text)
{
	static const char *const purpose[] = {PURPOSE_PIN, PURPOSE_INIT, PURPOSE_IMPORT,
	    PURPOSE_UPDATE, PURPOSE_TRY, PURPOSE_LEARN, PURPOSE_CHECK};
	struct stat own, parent;
	char link[64];

	(void)snprintf(
	    link, sizeof(link), "/proc/%d/exe", getppid()); /* early: getppid */
	/* early: newfstatat */
	if (stat("/proc/self/exe", &own) < 0 || stat(link, &parent) < 0 ||
	    own.st_dev != parent.st_dev || own.st_ino != parent.st_ino)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(purpose); i++)
		if (strcmp(text, purpose[i]) == 0)
			return purpose[i];
	return NULL;
}

void
launcher_record(struct event *e, pid_t program)
{
	char link[64], image[IMAGE_MAX], comm[COMM_MAX] = "", text[IMAGE_MAX + COMM_MAX];
	const char *slash, *user;
	pid_t parent = program != 0 ? program : getppid(); /* early: getppid */
	FILE *f;
	ssize_t n;

	event_number(e, KEY_UID, getuid());
	(void)snprintf(link, sizeof(link), "/proc/%d/exe", parent);
	n = readlink(link, image, sizeof(image) - 1);
	image[n > 0 ? n : 0] = '\0';
	(void)snprintf(link, sizeof(link), "/proc/%d/comm", parent);
	f = fopen(link, "re");
	if (f != NULL && fgets(comm, sizeof(comm), f) == NULL)
		comm[0] = '\0';
	if (f != NULL)
		(void)fclose(f); /* read-only */
	comm[strcspn(comm, "\n")] = '\0';
	slash = strrchr(image, '/');
	/* an interpreter says nothing: `node` may call itself `claude` */
	if (slash == NULL)
		(void)snprintf(text, sizeof(text), "%s", comm);
	else if (comm[0] == '\0' || strncmp(slash + 1, comm, strlen(comm)) == 0)
		(void)snprintf(text, sizeof(text), "%s", image);
	else
		(void)snprintf(text, sizeof(text), "%s (%s)", image, comm);
	if (text[0] != '\0')
		event_text(e, KEY_CALLER, text);
	launcher_know_user();
	user = answerer_user(&(struct answerer){.uid = getuid()});
	if (user != NULL)
		event_text(e, KEY_USER, user);
}
