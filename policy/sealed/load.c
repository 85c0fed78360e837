/*
 * The loader: checks untrusted bytes and turns them into tables.
 *
 * Process: leash and kennel.  Holds nothing, trusts nothing; the file may be
 * hostile.  Must never: use a number before it is checked, follow an offset
 * outside its table, recurse, or accept an unknown value.
 *
 * This file: the descriptor, the layout, the string pool.  check_rows.c: the
 * rows.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "policy/sealed/load.h"
#include "policy/sealed/signature.h"
#include "shim/base/array.h"
#include "shim/base/sha256.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "tables are used in place");
_Static_assert(crypto_hash_sha256_BYTES == POLICY_ID_LEN, "the id is a SHA-256");
_Static_assert(sizeof(struct sealed_header) == 32, "docs/FORMAT.sealed");
_Static_assert(sizeof(struct sealed_section) == 24, "docs/FORMAT.sealed");
_Static_assert(sizeof(struct sealed_server) == 248, "docs/FORMAT.sealed");

#define SEALS     (F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK)
#define SECTION_N (SEALED_KIND_END - 1)
#define ROWS_AT   (sizeof(struct sealed_header) + SECTION_N * sizeof(struct sealed_section))
#define BODY_MIN  (ROWS_AT + SEALED_DIGEST)

_Static_assert(ROWS_AT % SEALED_ALIGN == 0, "the first section is aligned");

static int load_bytes(struct load *, const uint8_t *, size_t, struct policy *ret);
static int load_layout(struct load *);
static int load_digest(struct load *);
static int load_section(struct load *, uint32_t kind, uint64_t *at);
static int load_pool(struct load *);

int
policy_load(int fd, struct policy *ret, char *why, size_t why_cap)
{
	struct load l = {.why = why, .why_cap = why_cap, .replay_later = true};
	struct stat st;
	void *map;
	int seals, r;

	/* syscalls: fcntl fstat newfstatat mmap munmap */
	seals = fcntl(fd, F_GET_SEALS);
	if (seals < 0 || (seals & SEALS) != SEALS) {
		(void)load_refuse(&l, "not sealed against changes (memfd seals)");
		return -EPERM;
	}
	if (fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size < (off_t)BODY_MIN)
		return load_refuse(&l, "shorter than its header");
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	r = load_bytes(&l, map, (size_t)st.st_size, ret);
	if (r < 0)
		(void)munmap(map, (size_t)st.st_size); /* no recovery is possible */
	else
		ret->map_len = (size_t)st.st_size;
	return r;
}

int
policy_load_bytes(
    const uint8_t *bytes, size_t len, struct policy *ret, char *why, size_t why_cap)
{
	struct load l = {.why = why, .why_cap = why_cap};

	return load_bytes(&l, bytes, len, ret);
}

static int
load_bytes(struct load *l, const uint8_t *bytes, size_t len, struct policy *ret)
{
	int r;

	if (len > SEALED_LEN_MAX) {
		(void)load_refuse(l, "larger than %u bytes", SEALED_LEN_MAX);
		return -EFBIG;
	}
	if ((uintptr_t)bytes % SEALED_ALIGN != 0)
		return load_refuse(l, "not aligned in memory");
	l->p.base = bytes;
	l->p.len = len;
	if ((r = load_layout(l)) < 0 || (r = load_pool(l)) < 0)
		return r;
	if ((l->used = calloc(l->p.strings_len / 8 + 1, 1)) == NULL)
		return -ENOMEM;
	r = load_rows(l);
	free(l->used);
	if (r < 0)
		return r;
	l->used = NULL;
	policy_digest(bytes, l->p.len, l->p.id);
	*ret = l->p;
	return 0;
}

void
policy_unload(struct policy *p)
{
	if (p == NULL)
		return;
	if (p->map_len > 0)
		(void)munmap((void *)(uintptr_t)p->base, p->map_len); /* freed anyway */
	memset(p, 0, sizeof(*p));
}

/* Copies read by read, so that the size is bounded for any kind of fd. */
static int
copy_all(int from, int to)
{
	uint8_t part[16384];
	size_t sum = 0;
	ssize_t n;

	/* syscalls: read write */
	for (;;) {
		n = read(from, part, sizeof(part));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		sum += (size_t)n;
		if (sum > SEALED_LEN_MAX)
			return -EFBIG;
		if (write(to, part, (size_t)n) != n)
			return -EIO; /* a memfd takes all bytes or is out of memory */
	}
}

int
policy_seal_fd(int fd, int *ret_memfd)
{
	int mfd, r;

	/* syscalls: memfd_create fcntl lseek close */
	mfd = memfd_create("kennel-policy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (mfd < 0)
		return -errno;
	if ((r = copy_all(fd, mfd)) < 0)
		goto out;
	if (fcntl(mfd, F_ADD_SEALS, SEALS | F_SEAL_SEAL) < 0 ||
	    lseek(mfd, 0, SEEK_SET) < 0) {
		r = -errno;
		goto out;
	}
	*ret_memfd = mfd;
	mfd = -1;
	r = 0;
out:
	if (mfd >= 0)
		(void)close(mfd); /* never used */
	return r;
}

int
load_refuse(struct load *l, const char *fmt, ...)
{
	va_list ap;

	if (l->why != NULL && l->why_cap > 0) {
		va_start(ap, fmt);
		(void)vsnprintf(l->why, l->why_cap, fmt, ap); /* may be truncated */
		va_end(ap);
	}
	return -EBADMSG;
}

/*
 * Checks the header and the section table, and that the sections fill the file
 * exactly.
 */
static int
load_layout(struct load *l)
{
	const struct sealed_header *h;
	const struct sign_head *head;
	const struct sign_row *rows;
	uint64_t at = ROWS_AT;
	uint32_t kind;
	size_t body;
	int r;

	if (l->p.len < BODY_MIN)
		return load_refuse(l, "shorter than its header");
	h = (const void *)l->p.base;
	if (memcmp(h->magic, SEALED_MAGIC, sizeof(h->magic)) != 0)
		return load_refuse(l, "not a sealed policy");
	if (h->version != SEALED_VERSION)
		return load_refuse(l,
		    "format version %u, expected %u: compile the policy again",
		    h->version, SEALED_VERSION);
	if (h->section_n != SECTION_N)
		return load_refuse(
		    l, "%u sections, expected %d", h->section_n, SECTION_N);
	if (h->reserved != 0)
		return load_refuse(l, "header: reserved bytes are set");
	if (h->body_len > l->p.len || h->body_len < BODY_MIN)
		return load_refuse(l, "body of %llu bytes in a file of %zu",
		    (unsigned long long)h->body_len, l->p.len);
	/*
	 * signature_check.c judges the signatures; here only their layout is
	 * checked.
	 */
	if (sign_layout(l->p.base, l->p.len, &body, &head, &rows) < 0)
		return load_refuse(l, "expected signatures after the body");
	l->p.len = body;
	if ((r = load_digest(l)) < 0)
		return r;
	for (kind = 1; kind < SEALED_KIND_END; kind++)
		if ((r = load_section(l, kind, &at)) < 0)
			return r;
	if (at != l->p.len - SEALED_DIGEST)
		return load_refuse(l, "trailing bytes after the last section");
	return 0;
}

/*
 * The digest matches the bytes.  This detects accidents: an attacker who
 * changes the file can also change its digest, and fails at the signatures.
 */
static int
load_digest(struct load *l)
{
	const uint8_t *at = l->p.base + l->p.len - SEALED_DIGEST;
	uint8_t digest[SEALED_DIGEST];

	policy_digest(l->p.base, l->p.len - SEALED_DIGEST, digest);
	if (memcmp(at, digest, sizeof(digest)) != 0)
		return load_refuse(
		    l, "damaged, its digest differs: compile the policy again");
	return 0;
}

/* A section has one valid place: where the one before it ends. */
static int
load_section(struct load *l, uint32_t kind, uint64_t *at)
{
	const struct sealed_section *s;
	const void *table;
	const char *name = field_kind[kind].name;
	uint64_t i, rows_end = l->p.len - SEALED_DIGEST;

	s = (const void *)(l->p.base + sizeof(struct sealed_header));
	s += kind - 1;
	if (s->kind != kind)
		return load_refuse(l, "section %u has kind %u", kind, s->kind);
	if (s->off != *at)
		return load_refuse(l, "section %s is at the wrong offset", name);
	if (s->len > rows_end - *at)
		return load_refuse(l, "section %s is outside the file", name);
	if (s->len != (uint64_t)s->row_n * field_kind[kind].size)
		return load_refuse(l, "section %s: size and row count differ", name);
	for (i = *at + s->len; i % SEALED_ALIGN != 0; i++)
		if (i >= rows_end || l->p.base[i] != 0)
			return load_refuse(l, "section %s: non-zero padding", name);
	table = l->p.base + *at;
	memcpy((char *)&l->p + field_kind[kind].table, &table, sizeof(table));
	l->p.row_n[kind] = s->row_n;
	*at = i;
	return 0;
}

/*
 * Length of the UTF-8 sequence at s (n > 0 bytes are available), or 0 if it is
 * invalid: shortest form, no surrogates, up to U+10FFFF.
 */
static size_t
utf8_len(const uint8_t *s, size_t n)
{
	static const struct {
		uint8_t lo, hi, len, lo2, hi2;
	} lead[] = {
	    {0x00, 0x7f, 1, 0, 0},
	    {0xc2, 0xdf, 2, 0x80, 0xbf},
	    {0xe0, 0xe0, 3, 0xa0, 0xbf},
	    {0xe1, 0xec, 3, 0x80, 0xbf},
	    {0xed, 0xed, 3, 0x80, 0x9f},
	    {0xee, 0xef, 3, 0x80, 0xbf},
	    {0xf0, 0xf0, 4, 0x90, 0xbf},
	    {0xf1, 0xf3, 4, 0x80, 0xbf},
	    {0xf4, 0xf4, 4, 0x80, 0x8f},
	};
	size_t i, k;

	for (i = 0; i < ARRAY_LEN(lead); i++)
		if (s[0] >= lead[i].lo && s[0] <= lead[i].hi)
			break;
	if (i == ARRAY_LEN(lead) || lead[i].len > n)
		return 0;
	if (lead[i].len > 1 && (s[1] < lead[i].lo2 || s[1] > lead[i].hi2))
		return 0;
	for (k = 2; k < lead[i].len; k++)
		if (s[k] < 0x80 || s[k] > 0xbf)
			return 0;
	return lead[i].len;
}

/*
 * The pool is UTF-8 and its last byte is NUL. Its strings ascend by bytes and
 * begin with the empty one, so that nstring occurs twice and offsets compare
 * like the strings.
 */
static int
load_pool(struct load *l)
{
	const uint8_t *s = (const uint8_t *)l->p.strings, *was, *here;
	size_t i, n = l->p.row_n[SEALED_STRINGS], step;

	l->p.strings_len = n;
	if (n == 0 || s[0] != 0 || s[n - 1] != 0)
		return load_refuse(l, "strings: not NUL-terminated");
	for (i = 0; i < n; i += step) {
		step = 1;
		if (s[i] < 0x80)
			continue;
		if ((step = utf8_len(s + i, n - i)) == 0)
			return load_refuse(l, "strings: invalid UTF-8 at %zu", i);
	}
	for (was = s, l->str_n = 1; was + strlen((const char *)was) + 1 < s + n;
	     was = here) {
		here = was + strlen((const char *)was) + 1;
		if (strcmp((const char *)was, (const char *)here) >= 0)
			return load_refuse(
			    l, "strings: out of order at %zu", (size_t)(here - s));
		l->str_n++;
	}
	l->used_n = 1; /* the empty string counts as used */
	return 0;
}

void
policy_digest(const void *bytes, size_t len, uint8_t ret[32])
{
	if (sha_fits())
		sha_digest(-1, bytes, len, ret);
	else
		(void)crypto_hash_sha256(ret, bytes, len); /* always 0 (libsodium) */
}

int
policy_digest_fd(int fd, uint64_t max, uint8_t ret[32])
{
	crypto_hash_sha256_state state;
	static uint8_t part[64u << 10];
	uint64_t at = 0;
	ssize_t n;

	(void)crypto_hash_sha256_init(&state); /* always 0, as are those below */
	for (;;) {
		/* syscalls: pread64 */
		n = pread(fd, part, sizeof(part), (off_t)at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		at += (uint64_t)n;
		if (at > max)
			return -EFBIG;
		(void)crypto_hash_sha256_update(&state, part, (size_t)n);
	}
	(void)crypto_hash_sha256_final(&state, ret);
	return 0;
}
