/*
 * The names and descriptions of a sealed file, without the work of a load: for lists that
 * must not wait for it. Nothing is decided by what is read here.
 *
 * Process: kennel. Trusts nothing; the file may be hostile, and may change meanwhile, so
 * every number is checked as it was read.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "policy/compile/compile.h"
#include "policy/sealed/sealed.h"

#define SERVERS_MAX 1024
#define TEXT_MAX    1024 /* bytes of a description; a longer one is cut */

struct peek {
	int fd;
	size_t len;          /* of first */
	uint8_t first[8192]; /* of the file: all that is needed of most, in one call */
};

static int
read_at(const struct peek *p, void *out, size_t len, uint64_t at)
{
	ssize_t n;

	if (at <= p->len && len <= p->len - at) {
		memcpy(out, p->first + at, len);
		return 0;
	}
	/* early: pread64 */
	n = pread(p->fd, out, len, (off_t)at);
	return n == (ssize_t)len ? 0 : n < 0 ? -errno : -EBADMSG;
}

static int
read_text(const struct peek *p, const struct sealed_section *pool, struct sealed_ref ref,
    char out[TEXT_MAX + 1])
{
	size_t len = ref.len < TEXT_MAX ? ref.len : TEXT_MAX;

	if (ref.off > pool->len || ref.len > pool->len - ref.off)
		return -EBADMSG;
	out[len] = '\0';
	return read_at(p, out, len, pool->off + ref.off);
}

static int
read_section(const struct peek *p, uint32_t kind, struct sealed_section *ret)
{
	int r = read_at(p, ret, sizeof(*ret),
	    sizeof(struct sealed_header) + (uint64_t)(kind - 1) * sizeof(*ret));

	return r == 0 && (ret->kind != kind || ret->off > SEALED_LEN_MAX ||
			     ret->len > SEALED_LEN_MAX)
		   ? -EBADMSG
		   : r;
}

int
policy_peek(int fd, policy_name_fn *fn, void *arg)
{
	struct sealed_section servers, pool;
	char name[TEXT_MAX + 1], about[TEXT_MAX + 1];
	struct sealed_header head;
	struct sealed_server row;
	struct peek p;
	/* early: pread64 */
	ssize_t n = pread(fd, p.first, sizeof(p.first), 0);
	int r = n < 0 ? -errno : 0;

	p.fd = fd;
	p.len = n > 0 ? (size_t)n : 0;
	if (r == 0)
		r = read_at(&p, &head, sizeof(head), 0);

	if (r == 0 && (memcmp(head.magic, SEALED_MAGIC, sizeof(head.magic)) != 0 ||
			  head.version != SEALED_VERSION))
		return -EBADMSG;
	if (r == 0)
		r = read_section(&p, SEALED_SERVERS, &servers);
	if (r == 0)
		r = read_section(&p, SEALED_STRINGS, &pool);
	if (r == 0 && (servers.row_n > SERVERS_MAX ||
			  servers.len != (uint64_t)servers.row_n * sizeof(row)))
		r = -EBADMSG;
	for (uint32_t i = 0; r == 0 && i < servers.row_n; i++) {
		r = read_at(
		    &p, &row, sizeof(row), servers.off + (uint64_t)i * sizeof(row));
		if (r == 0)
			r = read_text(&p, &pool, row.name, name);
		if (r == 0)
			r = read_text(&p, &pool, row.about, about);
		if (r == 0)
			fn(arg, &(struct policy_name){.name = name, .about = about});
	}
	return r;
}
