/*
 * The texts of the manifests, from the process that may open files to the one that
 * answers the agent and opens none.
 *
 * In a packet: u64 the vault's epoch, str the project's directory, u32 0 or an errno, u32 for
 * each file: its length + 1, or 0 if it does not exist, u32 the length of the routes (routes.c). The descriptor with it is a memfd with these texts, the project's first.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shim/base/buf.h"
#include "shim/base/fd.h"
#include "shim/base/hash.h"
#include "shim/base/hex.h"
#include "shim/base/wire.h"
#include "supervisor/base/paths.h"
#include "supervisor/secrets/private.h"

#define TEXTS_MAX ((size_t)3 * META_LEN_MAX)

static void
mix_file(uint64_t *sum, const char *dir, const char *name)
{
	char path[PATH_MAX];
	struct stat st = {.st_ino = 0};
	int n = dir == NULL ? -1 : snprintf(path, sizeof(path), "%s/%s", dir, name);

	/* early: newfstatat */
	if (n > 0 && (size_t)n < sizeof(path) && lstat(path, &st) < 0)
		st.st_ino = 0;
	*sum = hash64(*sum, &st.st_ino, sizeof(st.st_ino));
	*sum = hash64(*sum, &st.st_ctim.tv_sec, sizeof(st.st_ctim.tv_sec));
	*sum = hash64(*sum, &st.st_ctim.tv_nsec, sizeof(st.st_ctim.tv_nsec));
}

uint64_t
secrets_vault_epoch(void)
{
	uint64_t sum = HASH64_START;

	mix_file(&sum, paths_vault_dir(), "secrets.vault");
	mix_file(&sum, paths_run_dir(), "keeper.sock");
	return sum == 0 ? 1 : sum;
}

static int
put_text(struct buf *all, const char *text, size_t len)
{
	int r = text == NULL ? buf_puts(all, "-\n") : buf_printf(all, "%zu\n", len);

	return r == 0 && len > 0 ? buf_put(all, text, len) : r;
}

int
secrets_manifests_digest(
    const struct secrets_manifests *m, char ret[MANIFESTS_DIGEST_CAP])
{
	uint8_t digest[32];
	struct buf all;
	int r;

	buf_init(&all, (size_t)3 * META_LEN_MAX);
	r = put_text(&all, m->project, m->project_len);
	if (r == 0)
		r = put_text(&all, m->index, m->index_len);
	if (r == 0) {
		mcp_digest(all.data, all.len, digest);
		(void)hex_put(ret, digest, sizeof(digest)); /* returns ret */
	}
	buf_free(&all);
	return r;
}

static int
join(const struct metas_text *project, const struct metas_text *index, int *ret_fd,
    uint32_t *ret_routes)
{
	struct buf both;
	size_t before;
	int r;

	buf_init(&both, TEXTS_MAX);
	r = project->len == 0 ? 0 : buf_put(&both, project->text, project->len);
	if (r == 0 && index->len > 0)
		r = buf_put(&both, index->text, index->len);
	before = both.len;
	if (r == 0)
		r = routes_put(&both);
	*ret_routes = (uint32_t)(both.len - before);
	if (r == 0 && both.len > 0)
		r = fd_sealed("kennel-manifests", both.data, both.len, false, ret_fd);
	buf_free(&both);
	return r;
}

static uint32_t
length(const struct metas_text *t)
{
	return t->text == NULL ? 0 : (uint32_t)t->len + 1;
}

void
secrets_manifests_put(struct wire_out *out, int *ret_fd)
{
	struct metas_text project = {.text = NULL}, index = {.text = NULL};
	const char *place = metas_project(NULL);
	uint32_t routes = 0;
	int r = metas_texts(place, paths_config_dir(), stderr, &project, &index);

	*ret_fd = -1;
	wire_put_u64(out, secrets_vault_epoch());
	wire_put_str(out, place != NULL ? place : "");
	if (r == 0)
		r = join(&project, &index, ret_fd, &routes);
	wire_put_u32(out, (uint32_t)-r);
	wire_put_u32(out, r == 0 ? length(&project) : 0);
	wire_put_u32(out, r == 0 ? length(&index) : 0);
	wire_put_u32(out, r == 0 ? routes : 0);
	free(project.text);
	free(index.text);
}

void
secrets_manifests_free(struct secrets_manifests *m)
{
	free(m->both);
	*m = (struct secrets_manifests){.error = -EIO};
}

int
secrets_manifests_get(struct wire_in *in, int fd, struct secrets_manifests *ret)
{
	uint64_t epoch = wire_get_u64(in);
	const char *place = wire_get_str(in, PATH_MAX - 1);
	uint32_t error = wire_get_u32(in), project = wire_get_u32(in);
	uint32_t index = wire_get_u32(in), routes = wire_get_u32(in);
	struct secrets_manifests m = {.error = -(int)error, .vault_epoch = epoch};
	size_t len = 0;

	if (wire_end(in) < 0 || project > META_LEN_MAX + 1 || index > META_LEN_MAX + 1 ||
	    routes > META_LEN_MAX || error > 4095)
		return -EBADMSG;
	(void)snprintf(m.place, sizeof(m.place), "%s", place); /* fits */
	m.project_len = project == 0 ? 0 : project - 1;
	m.index_len = index == 0 ? 0 : index - 1;
	/* syscalls: fstat newfstatat read lseek close */
	if (fd >= 0 &&
	    (lseek(fd, 0, SEEK_SET) < 0 || fd_slurp(fd, TEXTS_MAX, &m.both, &len) < 0))
		m.error = -EIO;
	if (m.error == 0 && len != m.project_len + m.index_len + routes) {
		free(m.both);
		return -EBADMSG;
	}
	if (project > 0)
		m.project = m.both != NULL ? m.both : "";
	if (index > 0)
		m.index = m.both != NULL ? m.both + m.project_len : "";
	if (m.both != NULL && m.error == 0) {
		m.routes = m.both + m.project_len + m.index_len;
		m.routes_len = routes;
	}
	secrets_manifests_free(ret);
	*ret = m;
	return 0;
}
