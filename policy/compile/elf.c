/*
 * Reads ELF files, as far as the search for libraries needs it.  Files may be
 * hostile: every offset is checked against the file's size before it is read,
 * and every count is limited.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/compile/lower.h"
#include "shim/host/path_open.h"

#define PHDR_MAX   256
#define DYN_MAX    65536
#define STRING_MAX PATH_MAX

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#error "which machine is this?"
#endif

struct file {
	int fd;
	uint64_t size;
	struct arena *arena;
	Elf64_Phdr ph[PHDR_MAX];
	size_t ph_n;
	uint64_t strtab, strsz; /* offset in the file */
	const char *why;
};

static int header_read(struct file *, struct elf *);
static int dynamic_read(struct file *, const Elf64_Phdr *, struct elf *);

static int
bad(struct file *f, const char *why)
{
	f->why = why;
	return -ELIBBAD;
}

/*
 * Copies len bytes at off; if they are not all in the file, the ELF file is
 * invalid.
 */
static int
take(struct file *f, void *out, uint64_t off, size_t len)
{
	ssize_t n;

	if (off > f->size || len > f->size - off)
		return bad(f, "the file is truncated");
	n = pread(f->fd, out, len, (off_t)off);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : bad(f, "the file is truncated");
}

/* A NUL-terminated string of at most STRING_MAX bytes, below end. */
static int
take_string(struct file *f, uint64_t off, uint64_t end, const char **ret)
{
	char text[STRING_MAX];
	size_t len = sizeof(text);
	int r;

	if (end > f->size || off >= end)
		return bad(f, "invalid offset in the ELF file");
	if (len > end - off)
		len = (size_t)(end - off);
	if ((r = take(f, text, off, len)) < 0)
		return r;
	if (memchr(text, 0, len) == NULL)
		return bad(f, "unterminated name in the ELF file");
	*ret = arena_copy(f->arena, text, strlen(text));
	return *ret == NULL ? -ENOMEM : 0;
}

int
elf_read(struct arena *arena, const char *real, struct elf *ret, const char **ret_why)
{
	struct file f = {.fd = -1, .arena = arena};
	struct elf e = {.interp = NULL};
	struct stat st;
	size_t i;
	int r;

	r = path_open_real(real, &f.fd);
	if (r < 0)
		return r;
	/* syscalls: fstat newfstatat pread64 close */
	if (fstat(f.fd, &st) < 0) {
		r = -errno;
		goto out;
	}
	if (!S_ISREG(st.st_mode)) {
		r = -EISDIR;
		goto out;
	}
	f.size = (uint64_t)st.st_size;
	if ((r = header_read(&f, &e)) < 0)
		goto out;
	for (i = 0; i < f.ph_n && r == 0; i++) {
		if (f.ph[i].p_type == PT_INTERP)
			r = take_string(&f, f.ph[i].p_offset,
			    f.ph[i].p_offset + f.ph[i].p_filesz, &e.interp);
		else if (f.ph[i].p_type == PT_DYNAMIC)
			r = dynamic_read(&f, &f.ph[i], &e);
	}
	if (r == 0)
		*ret = e;
out:
	(void)close(f.fd); /* only read */
	*ret_why = f.why;
	return r;
}

static int
header_read(struct file *f, struct elf *e)
{
	Elf64_Ehdr h;
	size_t i;
	int r;

	if (f->size < SELFMAG)
		return -ENOEXEC;
	if ((r = take(f, h.e_ident, 0, SELFMAG)) < 0)
		return r;
	if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	if ((r = take(f, &h, 0, sizeof(h))) < 0)
		return r;
	if (h.e_ident[EI_CLASS] != ELFCLASS64)
		return bad(f, "it is a 32-bit program");
	if (h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_machine != MACHINE)
		return bad(f, "it is built for another architecture");
	if (h.e_type != ET_EXEC && h.e_type != ET_DYN)
		return bad(f, "it is neither a program nor a library");
	if (h.e_phentsize != sizeof(Elf64_Phdr) || h.e_phnum > PHDR_MAX)
		return bad(f, "invalid ELF program headers");
	if ((r = take(f, f->ph, h.e_phoff, h.e_phnum * sizeof(f->ph[0]))) < 0)
		return r;
	f->ph_n = h.e_phnum;
	e->machine = h.e_machine;
	e->type = h.e_type;
	for (i = 0; i < f->ph_n; i++)
		if (f->ph[i].p_offset > f->size ||
		    f->ph[i].p_filesz > f->size - f->ph[i].p_offset)
			return bad(f, "the file is truncated");
	return 0;
}

/* The file offset of a memory address; *ret_end is the end of its segment. */
static int
place_of(struct file *f, uint64_t addr, uint64_t *ret_off, uint64_t *ret_end)
{
	const Elf64_Phdr *p;
	size_t i;

	for (i = 0; i < f->ph_n; i++) {
		p = &f->ph[i];
		if (p->p_type != PT_LOAD || addr < p->p_vaddr ||
		    addr - p->p_vaddr >= p->p_filesz)
			continue;
		*ret_off = p->p_offset + (addr - p->p_vaddr);
		*ret_end = p->p_offset + p->p_filesz;
		return 0;
	}
	return bad(f, "invalid address of the ELF string table");
}

/* Handles one entry that names a file or path; skips others. */
static int
dynamic_take(struct file *f, const Elf64_Dyn *d, struct elf *e)
{
	const char *text = NULL;
	int r;

	if (d->d_tag != DT_NEEDED && d->d_tag != DT_RPATH && d->d_tag != DT_RUNPATH)
		return 0;
	if (d->d_un.d_val >= f->strsz)
		return bad(f, "invalid offset in the ELF file");
	r = take_string(f, f->strtab + d->d_un.d_val, f->strtab + f->strsz, &text);
	if (r < 0)
		return r;
	if (d->d_tag == DT_RPATH)
		e->rpath = text;
	else if (d->d_tag == DT_RUNPATH)
		e->runpath = text;
	else if (e->needed_n == ELF_NEEDED_MAX)
		return bad(f, "it needs too many libraries");
	else
		e->needed[e->needed_n++] = text;
	return 0;
}

static int
dynamic_read(struct file *f, const Elf64_Phdr *p, struct elf *e)
{
	uint64_t strtab = 0, strsz = 0, end = 0, i, n = p->p_filesz / sizeof(Elf64_Dyn);
	Elf64_Dyn d;
	int r;

	if (n > DYN_MAX || e->needed != NULL)
		return bad(f, "invalid ELF dynamic section");
	for (i = 0; i < n; i++) {
		if ((r = take(f, &d, p->p_offset + i * sizeof(d), sizeof(d))) < 0)
			return r;
		if (d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_STRTAB)
			strtab = d.d_un.d_ptr;
		else if (d.d_tag == DT_STRSZ)
			strsz = d.d_un.d_val;
	}
	n = i;
	if (strsz == 0)
		return 0; /* static-pie may have none */
	if ((r = place_of(f, strtab, &f->strtab, &end)) < 0)
		return r;
	f->strsz = strsz < end - f->strtab ? strsz : end - f->strtab;
	e->needed = arena_alloc(f->arena, ELF_NEEDED_MAX * sizeof(*e->needed));
	if (e->needed == NULL)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		if ((r = take(f, &d, p->p_offset + i * sizeof(d), sizeof(d))) < 0 ||
		    (r = dynamic_take(f, &d, e)) < 0)
			return r;
	if (e->runpath != NULL)
		e->rpath = NULL;
	return 0;
}
