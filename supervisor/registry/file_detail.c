/*
 * A project's mcp-servers.json as a person is shown it, to approve it or not: JSON without
 * white space. The session that asks and the process that stores the approval make the same
 * text of the same bytes, so the second one can compare.
 */
#include "shim/base/array.h"
#include "shim/base/hex.h"
#include "shim/base/log.h"
#include "supervisor/registry/global_file.h"
#include "supervisor/registry/reference.h"

/* `"key":` and a text. */
static int
put_text(struct buf *out, const char *key, const char *text)
{
	int r = buf_printf(out, ",\"%s\":", key);

	return r == 0 ? json_put_text(out, text) : r;
}

/* The command and its arguments as one array. */
static int
put_argv(struct buf *out, const struct server_row *row)
{
	const char *args = row->args_json != NULL ? row->args_json : "[]";
	int r = buf_puts(out, ",\"argv\":[");

	if (r == 0)
		r = json_put_text(out, row->command);
	if (r == 0 && args[1] != ']')
		r = buf_putc(out, ',');
	return r == 0 ? buf_puts(out, args + 1) : r; /* with its bracket */
}

int
global_file_server(const struct server_row *row, struct buf *out)
{
	const struct {
		const char *key, *json;
	} object[] = {{"env", row->env_json}, {"headers", row->headers_json}};
	int r = buf_puts(out, "{\"name\":");

	if (r == 0)
		r = json_put_text(out, row->name);
	if (r == 0 && row->command != NULL)
		r = put_argv(out, row);
	if (r == 0 && row->url != NULL)
		r = put_text(out, "url", row->url);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(object); i++)
		if (object[i].json != NULL)
			r = buf_printf(out, ",\"%s\":%s", object[i].key, object[i].json);
	if (r == 0 && !row->enabled)
		r = buf_puts(out, ",\"enabled\":false");
	if (r == 0 && row->reason != NULL)
		r = put_text(out, "reason", row->reason);
	return r == 0 ? buf_putc(out, '}') : r;
}

int
global_file_detail(const struct global_file *f, const char digest[FILE_DIGEST_LEN + 1],
    bool changed, struct buf *ret)
{
	int r = buf_printf(ret,
	    "{\"sha256\":\"%s\",\"changed\":%s,\"effect\":\"these servers are configured "
	    "here "
	    "in place of those of the user's own file; without a policy none starts\","
	    "\"servers\":[",
	    digest, changed ? "true" : "false");

	for (size_t i = 0; r == 0 && i < f->rows.n; i++) {
		if (i > 0)
			r = buf_putc(ret, ',');
		if (r == 0)
			r = global_file_server(&f->rows.row[i], ret);
	}
	return r == 0 ? buf_puts(ret, "]}") : r;
}

void
skipped_file_log(const struct skipped_file *f)
{
	char hex[FILE_DIGEST_LEN + 1];
	uint8_t digest[FILE_DIGEST_LEN / 2];

	if (f->text == NULL)
		return;
	mcp_digest((const uint8_t *)f->text, f->len, digest);
	log_warn("%s: warning: not used, because no person has approved its present "
		 "contents: review it, then run `kennel server trust %s --sha256 %s`",
	    f->path, f->path, hex_put(hex, digest, sizeof(digest)));
}
