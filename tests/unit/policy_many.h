/*
 * A policy with many rules of one server, for tests of the index and for the
 * bench.
 */
#ifndef KENNEL_TESTS_UNIT_POLICY_MANY_H
#define KENNEL_TESTS_UNIT_POLICY_MANY_H

#include <stdio.h>

#include "tests/unit/policy_fixture.h"

/* n tools (one in ten a glob), n execs of one program, n hosts. */
static inline void
many_rules(struct sealer *s, struct sealed_server *row, uint32_t image, uint32_t n)
{
	struct sealed_gate g = {
	    .at = row->at, .kind = GATE_TOOL, .exception = SEALED_NONE};
	struct sealed_net net = {.at = row->at, .exception = SEALED_NONE};
	char text[64];
	uint32_t i;

	row->gates.first = sealer_rows(s, SEALED_GATES);
	row->nets.first = sealer_rows(s, SEALED_NETS);
	for (i = 0; i < n; i++) {
		row->at.line = g.at.line = net.at.line = i + 10;
		(void)snprintf(
		    text, sizeof(text), i % 10 == 3 ? "get_%u_*" : "tool_%u", i);
		g.name = fix_str(s, text);
		g.verdict = i % 3;
		(void)sealer_row(s, SEALED_GATES, &g, sizeof(g));
		(void)snprintf(text, sizeof(text), "h%u.example.org", i);
		net.host = fix_str(s, text);
		net.kind = i % 5 == 1 ? HOST_SUFFIX : HOST_EXACT;
		net.verdict = i % 3;
		net.port_first = net.port_last = 443;
		(void)sealer_row(s, SEALED_NETS, &net, sizeof(net));
		(void)fix_arg(s, ARG_LITERAL, "push");
		(void)snprintf(text, sizeof(text), "branch-%u", i);
		(void)fix_arg(s, ARG_LITERAL, text);
		(void)fix_arg(s, i % 4 == 0 ? ARG_REST : ARG_ANY, "");
		(void)fix_exec(s, row->at, image, image, 3, 0, i % 3, 0);
	}
	row->gates.n = row->nets.n = n;
	row->execs.n += n;
}

/* Server "m" with n rules of each kind, into out. */
static inline int
many_policy(uint32_t n, struct buf *out)
{
	struct sealer *s = sealer_new();
	struct sealed_server row = {.at = {0, 1}};
	struct sealed_ref file;
	uint32_t image;
	int r;

	file = fix_str(s, "many.kennel");
	(void)sealer_row(s, SEALED_FILES, &file, sizeof(file));
	row.name = fix_str(s, "m");
	row.cwd = fix_str(s, "/tmp");
	row.filters = fix_filter(s);
	row.images = (struct sealed_range){sealer_rows(s, SEALED_IMAGES), 1};
	image = fix_image(s, row.at, "/usr/bin/git", "/usr/bin/git");
	row.execs = (struct sealed_range){
	    fix_exec(s, row.at, image, image, 0, 0, VERDICT_ALLOW, EXEC_FROM_RUN), 1};
	row.run = row.execs.first;
	many_rules(s, &row, image, n);
	row.at.line = 1;
	(void)sealer_row(s, SEALED_SERVERS, &row, sizeof(row));
	if ((r = sealer_finish(s, out)) < 0)
		fprintf(stderr, "many: %d: %s\n", r, sealer_why(s));
	sealer_free(s);
	return r;
}

#endif
