/*
 * The status socket of a session: one request, one answer.
 *
 * Runs in kennel.
 */
#include <errno.h>
#include <stdlib.h>

#include "supervisor/base/person_socket.h"
#include "supervisor/status/status.h"

struct status_socket {
	status_fn *fn;
	void *arg;
	struct person_socket *socket;
};

static int
on_packet(void *arg, struct person_client *c, struct wire_in *in)
{
	uint32_t type = wire_get_u32(in), version = wire_get_u32(in);
	struct status_socket *d = arg;
	uint8_t memory[STATUS_PACKET_MAX];
	struct status status = {.kind = STATUS_RUN};
	struct wire_out out;

	if (wire_end(in) < 0 || type != STATUS_ASK || version < 1 ||
	    version > STATUS_VERSION)
		return -EBADMSG;
	d->fn(d->arg, &status);
	wire_out_init(&out, memory, sizeof(memory));
	status_put(&out, &status, version); /* an older client asks for its own */
	person_send(c, &out);
	return 0;
}

int
status_open(struct loop *loop, const char *run_dir, status_fn *fn, void *arg,
    struct status_socket **ret)
{
	struct status_socket *d = calloc(1, sizeof(*d));
	int r;

	if (d == NULL)
		return -ENOMEM;
	d->fn = fn;
	d->arg = arg;
	r = person_socket_open(&(struct person_socket_order){.loop = loop,
				   .run_dir = run_dir,
				   .prefix = STATUS_SOCKET,
				   .fn = on_packet,
				   .arg = d},
	    &d->socket);
	if (r < 0)
		free(d);
	else
		*ret = d;
	return r;
}

void
status_free(struct status_socket *d)
{
	if (d == NULL)
		return;
	person_socket_free(d->socket);
	free(d);
}
