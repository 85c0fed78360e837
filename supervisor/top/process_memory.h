/*
 * The memory of processes, as the calling user can read it.
 */
#ifndef KENNEL_SUPERVISOR_TOP_PROCESS_MEMORY_H
#define KENNEL_SUPERVISOR_TOP_PROCESS_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* All processes and their parents. */
struct process_tree;
/* NULL: /proc cannot be read. */
struct process_tree *process_tree_new(void);
void process_tree_free(struct process_tree *);
/* Bytes of this process and of all that descend from it: what is shared is divided (PSS)
 * where the kernel says so, else counted whole (RSS). 0: none can be read. */
uint64_t process_tree_memory(const struct process_tree *, pid_t root);

#endif
