/*
 * kennel server export, import: the registry's own rows as a text (docs/FORMAT.registry).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/base/fd.h"
#include "shim/base/log.h"
#include "supervisor/base/exit_status.h"
#include "supervisor/cli/cli.h"
#include "supervisor/help/help.h"
#include "supervisor/registry/dump.h"
#include "supervisor/servers/servers.h"
#include "supervisor/status/session_news.h"

int
server_export_main(int argc, char **argv)
{
	struct registry *g = NULL;
	struct buf out;
	int r = 0, status;

	if (argc > 1)
		return help_refuse(&server_help, argv[0], argv[1]);
	status = server_registry_open(true, &g);
	if (status != 0)
		return status;
	buf_init(&out, DUMP_MAX);
	r = dump_write(g, &out);
	if (r == 0)
		r = fd_write_all(STDOUT_FILENO, out.data, out.len);
	if (r < 0)
		log_error("unable to export the registry: %s", strerror(-r));
	buf_free(&out);
	registry_close(g);
	return r < 0 ? EXIT_FAILED : 0;
}

/* 0 or an exit status; why has what is wrong with the dump. */
static int
read_dump(const char *file, struct server_rows *ret, uint64_t *ret_generation,
    struct reason *why)
{
	char *text = NULL;
	size_t len = 0;
	/* NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker): the caller has one */
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : fd_slurp(fd, DUMP_MAX, &text, &len);

	fd_close(&fd);
	if (r < 0)
		(void)reason_set(why, r, "%s: %s", file, strerror(-r));
	else
		r = dump_read(file, text, len, ret, ret_generation, why);
	free(text);
	return r < 0 ? EXIT_INPUT : 0;
}

static int
import(const char *file, const struct server_rows *rows, uint64_t generation)
{
	struct row_change *done = calloc(rows->n + 1, sizeof(*done));
	struct registry *g = NULL;
	int r, status = server_registry_open(true, &g);

	if (done == NULL) {
		log_error("out of memory");
		status = EXIT_FAILED;
	}
	if (status == 0)
		status = server_log_begin("import", file);
	if (status == 0) {
		r = registry_import(g, rows, generation, done);
		if (r < 0)
			log_error("unable to change the registry: %s", strerror(-r));
		else
			printf(
			    "imported %zu server%s\n", rows->n, rows->n == 1 ? "" : "s");
		status =
		    server_log_end(r < 0 ? EXIT_FAILED : 0, r < 0 ? strerror(-r) : NULL);
	}
	for (size_t i = 0; status == 0 && i < rows->n; i++)
		if (!done[i].same)
			session_news_row(rows->row[i].name, 0, NULL);
	free(done);
	registry_close(g);
	return status;
}

int
server_import_main(int argc, char **argv)
{
	struct server_rows rows = {NULL, 0};
	uint64_t generation = 0;
	const char *file = NULL;
	struct reason why;
	int status = server_argument(argc, argv, &file);

	if (status == 0 && file == NULL)
		status = help_usage(&server_help, argv[0], "expected one file");
	if (status != 0)
		return status;
	status = read_dump(file, &rows, &generation, &why);
	if (status != 0) {
		log_error("server import: %s", why.text);
		return server_log_refused("import", file, status, why.text);
	}
	status = import(file, &rows, generation);
	server_rows_free(&rows);
	return status;
}
