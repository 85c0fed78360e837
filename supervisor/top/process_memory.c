/*
 * The memory of process trees, from /proc. The PSS of a process is for those who may trace
 * it, which kennel's own do not allow; its RSS is for all.
 */
#include "supervisor/top/process_memory.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROCESSES_MAX 65536

struct process {
	pid_t pid, parent;
};

struct process_tree {
	struct process *process;
	size_t n, cap;
};

/* "PID (NAME) STATE PARENT ..."; a name may contain anything. */
static bool
read_parent(const char *pid, pid_t *ret)
{
	char path[300], line[512], *after;
	bool found = false;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	f = fopen(path, "re");
	if (f == NULL)
		return false; /* it ended */
	if (fgets(line, sizeof(line), f) != NULL && (after = strrchr(line, ')')) != NULL)
		/* NOLINTNEXTLINE(cert-err34-c): a number of the kernel's */
		found = sscanf(after + 1, " %*c %d", ret) == 1;
	(void)fclose(f); /* read-only */
	return found;
}

static bool
add(struct process_tree *t, pid_t pid, pid_t parent)
{
	if (t->n == t->cap) {
		size_t cap = t->cap == 0 ? 256 : t->cap * 2;
		struct process *more;

		if (cap > PROCESSES_MAX)
			return false;
		more = reallocarray(t->process, cap, sizeof(*more));
		if (more == NULL)
			return false;
		t->process = more;
		t->cap = cap;
	}
	t->process[t->n++] = (struct process){pid, parent};
	return true;
}

struct process_tree *
process_tree_new(void)
{
	struct process_tree *t = calloc(1, sizeof(*t));
	DIR *dir = t == NULL ? NULL : opendir("/proc");
	struct dirent *e;
	pid_t parent;

	if (dir == NULL) {
		free(t);
		return NULL;
	}
	while ((e = readdir(dir)) != NULL)
		if (isdigit((unsigned char)e->d_name[0]) &&
		    read_parent(e->d_name, &parent) &&
		    /* NOLINTNEXTLINE(cert-err34-c): a number of the kernel's */
		    !add(t, (pid_t)atoi(e->d_name), parent))
			break; /* the rest is not counted */
	(void)closedir(dir);   /* read-only */
	return t;
}

void
process_tree_free(struct process_tree *t)
{
	if (t == NULL)
		return;
	free(t->process);
	free(t);
}

static uint64_t
memory_of(pid_t pid)
{
	unsigned long long kib = 0, pages = 0;
	char path[64], line[256];
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	f = fopen(path, "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		/* NOLINTNEXTLINE(cert-err34-c): a number of the kernel's */
		if (sscanf(line, "Pss: %llu", &kib) == 1)
			break;
	if (f != NULL)
		(void)fclose(f); /* read-only */
	if (kib > 0)
		return kib << 10;
	(void)snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	f = fopen(path, "re");
	if (f == NULL)
		return 0;
	/* NOLINTNEXTLINE(cert-err34-c): a number of the kernel's */
	if (fscanf(f, "%*u %llu", &pages) != 1)
		pages = 0;
	(void)fclose(f); /* read-only */
	return pages * (unsigned long long)sysconf(_SC_PAGESIZE);
}

uint64_t
process_tree_memory(const struct process_tree *t, pid_t root)
{
	pid_t todo[512];
	uint64_t sum = 0;
	size_t n = 0;

	todo[n++] = root;
	for (size_t at = 0; at < n; at++) {
		sum += memory_of(todo[at]);
		for (size_t i = 0; i < t->n && n < sizeof(todo) / sizeof(todo[0]); i++)
			if (t->process[i].parent == todo[at] && t->process[i].pid != root)
				todo[n++] = t->process[i].pid;
	}
	return sum;
}
