/*
 * Divides work among threads; the first thread takes their results in order.
 *
 * Fast path: two threads verify 1.85 to 2.33 times as many records a second as one
 * (docs/BENCHMARKS.md). One thread and several must say the same
 * (tests/e2e/e2e_audit.py).
 *
 * It uses threads and not processes, because each result is a megabyte. They share
 * nothing else; each has its own connection to the database.
 */
#include <errno.h>
#include <pthread.h>

#include "supervisor/audit/verify/verify.h"

#define AHEAD_MAX 64

struct shared {
	const struct crew *crew;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t next, taken; /* jobs started, and results taken */
	bool done[AHEAD_MAX];
	bool stop;
};

struct worker {
	struct shared *shared;
	int number;
};

/* Takes the next job; false: none left. */
static bool
next_job(struct shared *s, uint64_t *ret)
{
	const struct crew *crew = s->crew;

	while (!s->stop && s->next < crew->n && s->next - s->taken >= crew->ahead)
		(void)pthread_cond_wait(&s->changed, &s->lock);
	if (s->stop || s->next >= crew->n)
		return false;
	*ret = s->next++;
	return true;
}

static void *
work(void *arg)
{
	struct worker *w = arg;
	struct shared *s = w->shared;
	uint64_t i;

	(void)pthread_mutex_lock(&s->lock);
	while (next_job(s, &i)) {
		(void)pthread_mutex_unlock(&s->lock);
		s->crew->job(s->crew->arg, w->number, i);
		(void)pthread_mutex_lock(&s->lock);
		s->done[i % AHEAD_MAX] = true;
		(void)pthread_cond_broadcast(&s->changed);
	}
	(void)pthread_mutex_unlock(&s->lock);
	return NULL;
}

static int
take_all(struct shared *s)
{
	const struct crew *crew = s->crew;
	int r = 0;

	(void)pthread_mutex_lock(&s->lock);
	while (r == 0 && s->taken < crew->n) {
		uint64_t i = s->taken;

		while (!s->done[i % AHEAD_MAX])
			(void)pthread_cond_wait(&s->changed, &s->lock);
		(void)pthread_mutex_unlock(&s->lock);
		if (crew->take != NULL)
			r = crew->take(crew->arg, i);
		(void)pthread_mutex_lock(&s->lock);
		s->done[i % AHEAD_MAX] = false;
		s->taken++;
		(void)pthread_cond_broadcast(&s->changed);
	}
	s->stop = true;
	(void)pthread_cond_broadcast(&s->changed);
	(void)pthread_mutex_unlock(&s->lock);
	return r;
}

static int
alone(const struct crew *crew)
{
	int r = 0;

	for (uint64_t i = 0; r == 0 && i < crew->n; i++) {
		crew->job(crew->arg, 0, i);
		if (crew->take != NULL)
			r = crew->take(crew->arg, i);
	}
	return r;
}

/* syscalls: clone clone3 futex mmap munmap mprotect madvise set_robust_list rseq
 * syscalls: rt_sigprocmask exit gettid set_tid_address prlimit64 */
int
crew_run(const struct crew *crew)
{
	struct shared s = {.crew = crew,
	    .lock = PTHREAD_MUTEX_INITIALIZER,
	    .changed = PTHREAD_COND_INITIALIZER};
	struct worker worker[CREW_MAX];
	pthread_t thread[CREW_MAX];
	int n = 0, r;

	if (crew->threads <= 1 || crew->ahead > AHEAD_MAX || crew->n <= 1)
		return alone(crew);
	for (; n < crew->threads && n < CREW_MAX; n++) {
		worker[n] = (struct worker){&s, n};
		if (pthread_create(&thread[n], NULL, work, &worker[n]) != 0)
			break;
	}
	if (n == 0)
		return alone(crew);
	r = take_all(&s);
	for (int i = 0; i < n; i++)
		(void)pthread_join(thread[i], NULL);
	return r;
}
