/*
 * The lists of kennel-secret: versions and grants, never a value.
 */
#include <stdio.h>
#include <string.h>

#include "leash/secret/private.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"

struct paging {
	uint32_t from; /* the next row; 0: no more */
	uint32_t shown;
};

typedef void row_fn(struct order *, struct wire_in *, struct paging *);

/* Calls fn for each row of one reply; then p->from is where the next rows begin. */
static int
page(struct order *o, struct wire_out *out, enum keeper_message wanted, row_fn *fn,
    struct paging *p)
{
	struct wire_in in;
	int status = talk(o, out, wanted, &in);
	uint32_t next, n;

	if (status != STATUS_OK)
		return status;
	next = wire_get_u32(&in);
	n = wire_get_u32(&in);
	for (uint32_t i = 0; i < n && i < KEEPER_ROWS && in.error == 0; i++)
		fn(o, &in, p);
	if (wire_end(&in) < 0 || (next != 0 && next <= p->from))
		return order_fail(o, LOG_EXIT_FAILED, "protocol error from the keeper");
	p->from = next;
	return STATUS_OK;
}

/* All rows, as lines or as one JSON array.  path: sent with each request, if any. */
static int
show(struct order *o, enum keeper_message request, const char *path,
    enum keeper_message wanted, row_fn *fn, uint32_t *ret_shown)
{
	struct paging p = {0};
	struct wire_out out;
	int status;

	if (o->json)
		putchar('[');
	do {
		talk_begin(o, &out, request);
		if (path != NULL)
			wire_put_str(&out, path);
		wire_put_u32(&out, p.from);
		status = page(o, &out, wanted, fn, &p);
	} while (status == STATUS_OK && p.from != 0);
	if (o->json)
		printf("]\n");
	*ret_shown = p.shown;
	return status;
}

static void
print_version(struct order *o, struct wire_in *in, struct paging *p)
{
	const char *path = wire_get_str(in, KEEPER_PATH_MAX);
	uint32_t version = wire_get_u32(in);
	char made[DATE_TEXT_MAX], retired[DATE_TEXT_MAX];
	uint64_t until;

	date_text(wire_get_u64(in), made);
	until = wire_get_u64(in);
	date_text(until, retired);
	if (in->error != 0)
		return;
	if (!o->json) {
		printf("%-40s %4u  made %s", path, version, made);
		printf(until == 0 ? "  current\n" : "  replaced %s\n", retired);
		p->shown++;
		return;
	}
	printf("%s{\"path\":", p->shown++ > 0 ? "," : "");
	json_print(stdout, path);
	printf(",\"version\":%u,\"made\":\"%s\",\"replaced\":", version, made);
	printf(until == 0 ? "null}" : "\"%s\"}", retired);
}

static void
see_version(struct order *o, struct wire_in *in, struct paging *p)
{
	(void)o;
	(void)wire_get_str(in, KEEPER_PATH_MAX);
	(void)wire_get_u32(in);
	(void)wire_get_u64(in);
	(void)wire_get_u64(in);
	p->shown += in->error == 0;
}

bool
is_in_vault(struct order *o)
{
	uint32_t shown = 0;

	o->json = false;
	return show(o, KEEPER_VERSIONS, o->path, KEEPER_VERSIONS_ARE, see_version,
		   &shown) != STATUS_OK ||
	       shown > 0;
}

static int
restore(struct order *o)
{
	struct wire_out out;
	uint32_t made = 0;
	int status;

	talk_begin(o, &out, KEEPER_RESTORE);
	wire_put_str(&out, o->path);
	wire_put_u32(&out, o->version);
	status = talk_done(o, &out, &made);
	if (status == STATUS_OK)
		printf(
		    "%s: version %u restored as version %u\n", o->path, o->version, made);
	return status;
}

int
show_versions(struct order *o)
{
	uint32_t shown;
	int status;

	if (o->version != 0)
		return restore(o);
	status = show(o, KEEPER_VERSIONS, o->path != NULL ? o->path : "",
	    KEEPER_VERSIONS_ARE, print_version, &shown);
	if (status == STATUS_OK && shown == 0 && o->path != NULL) {
		log_error("versions: %s: it is not in the vault", o->path);
		status = STATUS_NOT_FOUND;
	}
	return status;
}

static void
print_grant(struct order *o, struct wire_in *in, struct paging *p)
{
	const char *path = wire_get_str(in, KEEPER_PATH_MAX);
	const char *server = wire_get_str(in, KEEPER_SERVER_MAX);
	uint32_t whose = wire_get_u32(in);
	struct span id = wire_get_bytes(in, KEEPER_ID_LEN);
	char made[DATE_TEXT_MAX], shown[KEEPER_SERVER_MAX * 4 + 1];
	const char *kind = whose == KEEPER_TO_SIGNER ? "signer" : "policy";

	date_text(wire_get_u64(in), made);
	if (in->error != 0 || (o->path != NULL && strcmp(o->path, path) != 0))
		return;
	if (!o->json) {
		printf("%-40s server %s  %s ", path,
		    log_quote(shown, sizeof(shown), server, strlen(server)), kind);
		hex_print(stdout, id.data, id.len);
		printf("  made %s\n", made);
		p->shown++;
		return;
	}
	printf("%s{\"path\":", p->shown++ > 0 ? "," : "");
	json_print(stdout, path);
	printf(",\"server\":");
	json_print(stdout, server);
	printf(",\"kind\":\"%s\",\"id\":\"", kind);
	hex_print(stdout, id.data, id.len);
	printf("\",\"made\":\"%s\"}", made);
}

int
show_grants(struct order *o)
{
	uint32_t shown;

	return show(o, KEEPER_GRANTS, NULL, KEEPER_GRANTS_ARE, print_grant, &shown);
}
