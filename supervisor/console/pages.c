/*
 * The static files of the console: as they are in pages/, inside of the program.
 */
#include <stddef.h>
#include <string.h>

#include "shim/base/array.h"
#include "shim/host/embed.h"
#include "supervisor/console/private.h"

EMBED(page_index_html, "supervisor/console/pages/index.html");
EMBED(page_approvals_js, "supervisor/console/pages/approvals.js");
EMBED(page_console_css, "supervisor/console/pages/console.css");
EMBED(page_console_js, "supervisor/console/pages/console.js");
EMBED(page_forms_js, "supervisor/console/pages/forms.js");
EMBED(page_keys_js, "supervisor/console/pages/keys.js");
EMBED(page_log_js, "supervisor/console/pages/log.js");
EMBED(page_policies_js, "supervisor/console/pages/policies.js");
EMBED(page_secrets_js, "supervisor/console/pages/secrets.js");
EMBED(page_servers_js, "supervisor/console/pages/servers.js");
EMBED(page_start_js, "supervisor/console/pages/start.js");
EMBED(page_text_js, "supervisor/console/pages/text.js");

#define PAGE(path, type, name) \
	{ \
		path, type "; charset=utf-8", name, name##_end \
	}

static const struct page pages[] = {
    PAGE("/", "text/html", page_index_html),
    PAGE("/approvals.js", "text/javascript", page_approvals_js),
    PAGE("/console.css", "text/css", page_console_css),
    PAGE("/console.js", "text/javascript", page_console_js),
    PAGE("/forms.js", "text/javascript", page_forms_js),
    PAGE("/keys.js", "text/javascript", page_keys_js),
    PAGE("/log.js", "text/javascript", page_log_js),
    PAGE("/policies.js", "text/javascript", page_policies_js),
    PAGE("/secrets.js", "text/javascript", page_secrets_js),
    PAGE("/servers.js", "text/javascript", page_servers_js),
    PAGE("/start.js", "text/javascript", page_start_js),
    PAGE("/text.js", "text/javascript", page_text_js),
};

const struct page *
page_find(const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(pages); i++)
		if (strcmp(path, pages[i].path) == 0)
			return &pages[i];
	return NULL;
}
