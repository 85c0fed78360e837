/*
 * egress [HOST|CIDR]: the connections out of the cells.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"
#include "supervisor/audit/query/group.h"
#include "supervisor/audit/query/query.h"
#include "supervisor/audit/query/record.h"
#include "supervisor/audit/query/table.h"

static const struct column egress_column[] = {
    {"idx", CELL_NUMBER, 8},
    {"time", CELL_TIME, 24},
    {"session", CELL_SESSION, 16},
    {"server", CELL_TEXT, 16},
    {"verdict", CELL_VERDICT, 7},
    {"name", CELL_TEXT, 28},
    {"port", CELL_NUMBER, 5},
    {"address", CELL_TEXT, 20},
    {"bytes_out", CELL_NUMBER, 10},
    {"bytes_in", CELL_NUMBER, 10},
    {"duration_us", CELL_US, 11},
    {"first", CELL_TEXT, 5},
    {"rule", CELL_TEXT, 0},
};

/* True if "192.0.2.0/24" contains "192.0.2.7". */
static bool
in_cidr(const char *cidr, const char *address)
{
	const char *slash = strchr(cidr, '/');
	uint8_t net[16], is[16];
	char text[64];
	int family = strchr(cidr, ':') != NULL ? AF_INET6 : AF_INET;
	unsigned long bits;
	char *end;

	if (slash == NULL || address == NULL || (size_t)(slash - cidr) >= sizeof(text))
		return false;
	memcpy(text, cidr, (size_t)(slash - cidr));
	text[slash - cidr] = '\0';
	bits = strtoul(slash + 1, &end, 10);
	if (*end != '\0' || bits > (family == AF_INET ? 32 : 128) ||
	    inet_pton(family, text, net) != 1 || inet_pton(family, address, is) != 1)
		return false;
	if (memcmp(net, is, bits / 8) != 0)
		return false;
	return bits % 8 == 0 || (net[bits / 8] ^ is[bits / 8]) >> (8 - bits % 8) == 0;
}

static bool
meant_host(const struct ask *ask, const struct log_record *record)
{
	const char *name = log_record_text(record, "name"), *word = ask->word;
	size_t n = name != NULL ? strlen(name) : 0, w = word != NULL ? strlen(word) : 0;

	if (word == NULL || log_record_is(record, "name", word) ||
	    log_record_is(record, "address", word) ||
	    in_cidr(word, log_record_text(record, "address")))
		return true;
	/* "*.example.com" */
	return w > 2 && word[0] == '*' && n > w - 1 &&
	       strcmp(name + n - (w - 1), word + 1) == 0;
}

/* "First" refers to the whole log, not to the queried range. */
static int
begin_egress(struct ask *ask)
{
	ask->groups = group_new();
	ask->q.from_ns = 0;
	return ask->groups != NULL ? 0 : -ENOMEM;
}

static int
see_egress(void *arg, const struct log_record *record)
{
	struct ask *ask = arg;
	const char *part[] = {
	    log_record_text(record, "server"), log_record_text(record, "name")};
	struct group_row *row = group_count(ask->groups, record, part, ARRAY_LEN(part));

	if (row == NULL)
		return -E2BIG;
	if (record->ts < ask->from_ns || !meant_host(ask, record))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(egress_column); i++) {
		if (strcmp(egress_column[i].name, "first") == 0)
			table_text(&ask->table, row->n == 1 ? "first" : NULL);
		else
			see_cell(ask, record, egress_column[i].name);
	}
	return ferror(ask->table.out) ? -EPIPE : 0;
}

const struct verb verbs_egress[] = {
    {.name = "egress",
	.words = "[HOST|CIDR]",
	.may = "",
	.kinds = "egress",
	.column = egress_column,
	.column_n = ARRAY_LEN(egress_column),
	.begin = begin_egress,
	.see = see_egress},
    {.name = NULL},
};
