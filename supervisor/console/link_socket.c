/*
 * A console that is running gives a new link to a second start (docs/PROTOCOL.console).
 */
#include <errno.h>
#include <string.h>

#include "shim/base/fd.h"
#include "shim/base/wire.h"
#include "supervisor/base/person_socket.h"
#include "supervisor/console/private.h"

#define CONSOLES_MAX 16
#define PACKET_MAX   128

/* Requests are even, answers odd. */
enum console_message {
	CONSOLE_LINK = 2,   /* no fields */
	CONSOLE_LINKED = 3, /* u32 port; str the link's secret */
};

static void
put_head(struct wire_out *out, enum console_message type)
{
	wire_put_u32(out, type);
	wire_put_u32(out, CONSOLE_VERSION);
}

/* True: the packet begins like this. */
static bool
get_head(struct wire_in *in, enum console_message type)
{
	uint32_t got = wire_get_u32(in), version = wire_get_u32(in);

	return got == type && version == CONSOLE_VERSION;
}

/* ---- the side that answers --------------------------------------------------- */

static int
on_packet(void *arg, struct person_client *client, struct wire_in *in)
{
	char link[LOGIN_TEXT_MAX];
	uint8_t memory[PACKET_MAX];
	struct console *c = arg;
	struct wire_out out;
	int r;

	if (!get_head(in, CONSOLE_LINK) || wire_end(in) < 0)
		return -EBADMSG;
	r = login_link_new(&c->logins, loop_now(), link);
	if (r < 0)
		return r;
	command_report(&c->commands, REPORT_LINK_GIVEN, client->pid);
	wire_out_init(&out, memory, sizeof(memory));
	put_head(&out, CONSOLE_LINKED);
	wire_put_u32(&out, c->port);
	wire_put_str(&out, link);
	person_send(client, &out);
	explicit_bzero(link, sizeof(link));
	explicit_bzero(memory, sizeof(memory));
	return 0;
}

int
link_socket_open(struct console *c, const char *run_dir)
{
	const struct person_socket_order order = {.loop = &c->loop,
	    .run_dir = run_dir,
	    .prefix = CONSOLE_SOCKET,
	    .fn = on_packet,
	    .arg = c};
	struct person_socket *opened; /* for the life of the process */

	return person_socket_open(&order, &opened);
}

/* ---- the side that asks ------------------------------------------------------- */

static int
ask(int fd, uint16_t *ret_port, char ret_link[LOGIN_TEXT_MAX])
{
	uint8_t memory[PACKET_MAX];
	struct wire_out out;
	struct wire_in in;
	const char *link;
	uint32_t port;
	int r;

	wire_out_init(&out, memory, sizeof(memory));
	put_head(&out, CONSOLE_LINK);
	r = wire_send(fd, &out, NULL, 0);
	if (r == 0)
		r = person_receive(fd, memory, sizeof(memory), &in);
	if (r < 0)
		return r;
	if (!get_head(&in, CONSOLE_LINKED))
		return -EBADMSG;
	port = wire_get_u32(&in);
	link = wire_get_str(&in, LOGIN_TEXT_LEN);
	if (wire_end(&in) < 0 || port > UINT16_MAX || strlen(link) != LOGIN_TEXT_LEN)
		return -EBADMSG;
	*ret_port = (uint16_t)port;
	memcpy(ret_link, link, LOGIN_TEXT_MAX);
	return 0;
}

int
link_socket_ask(uint16_t *ret_port, char ret_link[LOGIN_TEXT_MAX])
{
	long pid[CONSOLES_MAX];
	size_t n = person_sockets(CONSOLE_SOCKET, pid, CONSOLES_MAX);
	int r = -ENOENT;

	for (size_t i = 0; i < n && r == -ENOENT; i++) {
		int fd = person_connect(CONSOLE_SOCKET, pid[i]);

		if (fd == -ECONNREFUSED) {
			person_socket_remove(CONSOLE_SOCKET, pid[i]); /* it was killed */
			continue;
		}
		if (fd == -ENOENT)
			continue; /* it has ended now */
		r = fd < 0 ? fd : ask(fd, ret_port, ret_link);
		if (r == -EPIPE)
			r = -ENOENT; /* the same */
		fd_close(&fd);
	}
	return r;
}
