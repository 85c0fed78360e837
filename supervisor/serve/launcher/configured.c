/*
 * Reads the registry and mcp-servers.json for the launcher (configured.h).
 */
#include "supervisor/serve/launcher/configured.h"

#include <errno.h>
#include <string.h>

#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/base/paths.h"
#include "supervisor/registry/global_file.h"
#include "supervisor/serve/launcher/session_launcher.h"

/* 0, also if there is none. A damaged one is moved aside with what people had decided. */
static int
read_registry(struct registry **ret, struct server_rows *ret_stored, struct reason *why)
{
	const char *dir = paths_registry_dir();
	struct reason moved = {""};
	int r = dir == NULL ? -ENOENT : registry_open(dir, false, ret, &moved, why);

	if (r == -ENOENT)
		return 0;
	if (r == 0 && moved.text[0] != '\0')
		return reason_set(why, -EBADMSG, "%s", moved.text);
	return r == 0 ? registry_list(*ret, ret_stored) : r;
}

/* Below 0: the administrator's file is invalid, and might have disabled a server. Another
 * one defines servers and cannot hold back those of policies. */
static int
read_file(struct registry *registry, struct global_file *ret)
{
	struct global_places places;
	char project[PATH_MAX];
	struct reason why = {""};
	int r;

	global_places_here(paths_config_dir(), project, &places);
	r = global_file_read(&places, registry, ret, &why);
	if (r < 0)
		log_error("%s; its servers are left out", why.text);
	global_file_log_notes(ret);
	return r < 0 && ret->first ? r : 0;
}

int
configured_read(const struct server_rows *policy, struct server_rows *ret,
    struct skipped_file *ret_skipped)
{
	static struct global_file file; /* large */
	struct server_rows stored = {NULL, 0};
	struct registry *registry = NULL;
	struct reason why = {""};
	int r = read_registry(&registry, &stored, &why);

	if (r < 0)
		log_error("no server is started: unable to read the registry: %s; see "
			  "kennel server list, then start again",
		    why.text[0] != '\0' ? why.text : strerror(-r));
	else {
		r = read_file(registry, &file);
		if (r < 0)
			log_error("no server is started until that file is valid");
		if (r == 0)
			r = servers_merge(&(struct server_sources){.stored = &stored,
					      .file = &file.rows,
					      .file_first = file.first,
					      .policy = policy},
			    ret);
		*ret_skipped = file.skipped;
		file.skipped.text = NULL;
		global_file_free(&file);
	}
	server_rows_free(&stored);
	registry_close(registry);
	return r;
}

bool
configured_trusts(const char *sha256)
{
	const char *dir = paths_registry_dir();
	struct reason moved = {""}, why = {""};
	struct registry *registry = NULL;
	bool trusted = dir != NULL && strlen(sha256) == FILE_DIGEST_LEN &&
		       registry_open(dir, false, &registry, &moved, &why) == 0 &&
		       registry_trusts(registry, sha256) == 1;

	registry_close(registry);
	return trusted;
}

int
skipped_file_put(const struct skipped_file *f, struct wire_out *out)
{
	int fd = -1;

	if (f->text == NULL)
		return -1;
	if (fd_sealed("kennel-file", f->text, f->len, false, &fd) < 0) {
		skipped_file_log(f); /* no person can be asked */
		return -1;
	}
	wire_put_u32(out, LAUNCHER_SKIPPED);
	wire_put_str(out, f->path);
	wire_put_u32(out, f->changed);
	return fd;
}
