/*
 * Shared by doctor.c, which checks what this machine can enforce, doctor_audit.c, which
 * checks that the log can be written, doctor_network.c, which checks what it offers
 * servers with net lines, doctor_userns.c, which knows the settings of user namespaces,
 * doctor_policies.c, which checks what the policies that a start would find leave open,
 * and doctor_settings.c, which reads settings.kennel.
 */
#ifndef KENNEL_SUPERVISOR_DOCTOR_DOCTOR_H
#define KENNEL_SUPERVISOR_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

struct finding {
	bool holds;
	char said[1200]; /* the kernel's answer */
	char fix[300];
	char *lines; /* further lines; NULL: none */
};

/* Each fills one row of the report. */
void doctor_audit(struct finding *);
void doctor_vault(struct finding *);
void doctor_name_services(struct finding *);
void doctor_policies(struct finding *);
void doctor_agents(struct finding *);
void doctor_signed(struct finding *);
void doctor_settings(struct finding *);
/* A number from a file of /proc/sys, or -1. */
long doctor_sysctl(const char *path);
/* What makes user namespaces possible here, as commands. */
void doctor_userns_fix(char *out, size_t size);
/* Frees their findings; call it after the last finding was printed. */
void doctor_forget(void);
void doctor_settings_forget(void);

#endif
