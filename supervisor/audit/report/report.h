/*
 * A report: one self-contained HTML page without scripts.
 *
 *	report_html.c	the eight kinds, as tables of sections
 *	chart_data.c	counts for the charts
 *	charts.c	the charts
 */
#ifndef KENNEL_SUPERVISOR_AUDIT_REPORT_REPORT_H
#define KENNEL_SUPERVISOR_AUDIT_REPORT_REPORT_H

#include <stdio.h>

#include "supervisor/audit/query/log_view.h"
#include "supervisor/audit/query/options.h"

#define FIGURES_BUCKETS 60
#define FIGURES_LATENCY 256 /* eight per doubling, from 1 us to an hour */

struct figures {
	bool absent; /* counts what is absent as a denial */
	uint64_t first_ts, last_ts, bucket_ns;
	uint64_t done[FIGURES_BUCKETS], denied[FIGURES_BUCKETS];
	uint64_t latency[FIGURES_LATENCY], latency_n;
	uint64_t records, calls, execs, denials, starts, scrubs;
	struct groups *own;    /* sessions that are not counted (own_sessions) */
	struct groups *server; /* part: name; n, flag: denied */
	struct groups *exec;   /* parts: server, caller, program; n, flag: denied */
	struct groups *egress; /* parts: host, server; n, sum: bytes, flag: denied */
	struct groups *kind;   /* part: kind; n */
};

int figures_count(struct log_view *, const struct query *, struct figures *ret);
void figures_free(struct figures *);
/* The latency below which per_mille of a thousand calls are, in microseconds. */
uint64_t figures_latency(const struct figures *, unsigned int per_mille);
/* The lower bound of a class. */
uint64_t figures_latency_from(size_t class);

/* Writes the page about one session (q->argv[0]) on out: 0 or -errno. */
int page_incident(FILE *out, const struct query *);

void svg_time(FILE *, const struct figures *);
void svg_servers(FILE *, const struct figures *);
void svg_latency(FILE *, const struct figures *);
void svg_execs(FILE *, const struct figures *);
void svg_egress(FILE *, const struct figures *);

#endif
