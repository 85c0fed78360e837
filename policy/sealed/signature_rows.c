/*
 * The signature rows of a sealed file, for display.  They are not verified
 * here.
 *
 * Process: leash and kennel-secret.  Holds nothing; the file may be hostile.
 */
#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "policy/sealed/signature.h"

int
sign_rows(int fd, struct sign_head *ret_head, struct sign_row ret_row[SIGN_SIGNERS_MAX],
    size_t *ret_n)
{
	const struct sign_head *head = NULL;
	const struct sign_row *row = NULL;
	size_t body = 0, len;
	struct stat st;
	void *file;
	int r;

	/* early: mmap munmap fstat newfstatat */
	if (fstat(fd, &st) < 0 || st.st_size <= 0)
		return -EBADMSG;
	len = (size_t)st.st_size;
	file = mmap(NULL, len, PROT_READ, MAP_PRIVATE, fd, 0);
	if (file == MAP_FAILED)
		return -errno;
	r = sign_layout(file, len, &body, &head, &row);
	if (r == 0) {
		*ret_n = head == NULL ? 0 : head->signer_n; /* at most SIGN_SIGNERS_MAX */
		if (head != NULL)
			*ret_head = *head;
		for (size_t i = 0; i < *ret_n; i++)
			ret_row[i] = row[i];
	}
	(void)munmap(file, len); /* cannot fail: it is our mapping */
	return r;
}
