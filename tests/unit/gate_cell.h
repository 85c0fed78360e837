/*
 * A leash of nothing but its exec gate, around one program: for test_gate.c.
 *
 * The program runs in a user and a pid namespace of its own, as an ordinary
 * uid, and only execve and execveat are filtered.
 */
#ifndef KENNEL_TESTS_UNIT_GATE_CELL_H
#define KENNEL_TESTS_UNIT_GATE_CELL_H

#include <stddef.h>

#include "leash/exec/exec.h"

#define CELL_RECORDS 64
#define CELL_MARKS   (1u << 20)

enum cell_gate {
	CELL_GATED,  /* the gate as it ships */
	CELL_NOTIFY, /* control: judged by the gate, but no exec stop */
	CELL_OPEN,   /* control: everything goes on */
};

struct cell_record {
	char verdict[16];
	char program[128];
	char reason[64];
	char rule[32];
};

/* What came of it; shared between the processes. */
struct cell_result {
	struct gate_counts counts;
	struct cell_record record[CELL_RECORDS];
	size_t record_n; /* all of them; the first CELL_RECORDS are kept */
	int status;      /* of the program; 128 + signal */
	int hung;
	size_t busy;       /* gate_busy at the end */
	unsigned int late; /* how often the report said that it is */
	unsigned int asked, withdrawn, refused;
	char shown[256];       /* the last question's words, with spaces */
	int cut;               /* and there were more of them */
	uint8_t digest[2][32]; /* the last two questions' */
	double seconds;
};

struct cell_try {
	enum cell_gate gate;
	const char *const *argv;
	int log_full;             /* the report takes no event */
	int log_late;             /* the report waits for its disk */
	int log_gone;             /* and there is no recorder */
	unsigned int log_back_ms; /* it waits so long; 0: for ever */
	unsigned int log_wait_ms; /* the gate waits for it so long; 0: as it ships */
	/* A person answers so where the first argument is `yes`, else with a no;
	 * NULL: there is nobody to ask. */
	const char *yes;
	const char *in;          /* and where it works in here; NULL: wherever */
	int scrubbed;            /* what is shown is scrubbed of what looks like a key */
	enum gate_answer answer; /* 0: never */
	int kill_asked;          /* SIGKILL to the program when there is a question */
	unsigned int kill_ms;    /* SIGKILL to the program after so long */
	unsigned int wait_s;     /* 0: 30 */
};

/* A folder for this run with copies of the programs, and the policy over it. */
void cell_setup(void);
void cell_teardown(void);
const char *cell_dir(void);
/* "DIR/name", in static memory (eight of them, then the first again). */
const char *cell_path(const char *name);

/* Grant rows.  args: words; "*" and "**" are patterns. */
uint32_t cell_image(const char *path, const char *real);
void cell_grant(uint32_t asked, uint32_t mapped, enum sealed_verdict, const char *args,
    const char *prefix);

/* Of the last grant: only from this caller, only in this folder; or NULL. */
void cell_where(const char *from, const char *in);
/* With the digest that its file has, or with another. */
void cell_pin(uint32_t image, bool right);

/* Run it; the marks that programs left, in static memory. */
const char *cell_run(const struct cell_try *, struct cell_result *ret);

#endif
