/*
 * A policy made by hand, and a leash in few lines, for test_cell.c: no
 * compiler, no loader, no gate.
 */
#ifndef KENNEL_TESTS_UNIT_CELL_KIT_H
#define KENNEL_TESTS_UNIT_CELL_KIT_H

#include <stdbool.h>

#include "leash/cell/cell.h"
#include "policy/sealed/policy.h"

#define KIT_ROWS_MAX 64
#define KIT_POOL_MAX 16384
#define KIT_OUT_MAX  (256u << 10)
#define KIT_TMP_SIZE (4u << 20)

struct kit {
	struct policy policy;
	struct sealed_server server;
	char pool[KIT_POOL_MAX];
	struct sealed_ref file;
	struct sealed_mount mount[KIT_ROWS_MAX];
	struct sealed_image image[KIT_ROWS_MAX];
	struct sealed_limit limit[8];
	struct sealed_require require[8];
	struct sealed_filter filter;
	struct sealed_insn insn[8];
	char dir[64];      /* a folder of the test's own on the host */
	char witness[128]; /* the witness in it; "/bin/witness" in the view */
	int shim_fd;
};

/* The base rows of every cell and the witness as its one program. */
void kit_open(struct kit *);
void kit_close(struct kit *);
struct sealed_ref kit_str(struct kit *, const char *);
/* A row at line number `line` of policy.kennel. */
struct sealed_mount *kit_mount(struct kit *, enum sealed_mount_kind, const char *source,
    const char *target, uint32_t right, uint32_t line);
void kit_limit(struct kit *, enum sealed_limit_kind, uint64_t value, uint32_t line);
void kit_require(struct kit *, enum sealed_require_kind, uint32_t value, uint32_t line);

/* A running cell with its ends. */
struct run {
	struct cell cell;
	struct cell_order order;
	int in, out, err; /* our ends of its stdio */
	int notify;
	char why[CELL_WHY_MAX];
	uint32_t step, error; /* of SHIM_FAILED */
	bool failed, exited;
	int status;        /* wait status of the server */
	uint64_t ready_ns; /* cell_start's time */
};

/* cell_start with fresh pipes. */
int kit_start(struct kit *, struct run *);
/* Plan, notify descriptor, go. */
int kit_go(struct kit *, struct run *, const char *path, const char *const *argv,
    const char *const *env);
/* Let one exec pass; waits for it. */
void kit_pass(struct run *);
/* Let every exec pass, collect stdout into out until the server has ended. */
void kit_wait(struct run *, char *out, size_t cap, int wait_ms);
/* The three above and cell_free; the output in out. */
int kit_run(struct kit *, struct run *, const char *const *argv, const char *const *env,
    char *out, size_t cap);
int kit_tell(struct run *, enum shim_message, uint32_t value, bool has_value);
void kit_end(struct run *);

#endif
