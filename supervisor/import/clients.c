#include "supervisor/import/clients.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"

#define USER    SCOPE_USER, DIALECT_JSON
#define PROJECT SCOPE_PROJECT, DIALECT_JSON
#define MANAGED SCOPE_MANAGED, DIALECT_JSON
#define CONFIG  "XDG_CONFIG_HOME"

/* A path below a variable begins after the directory that the variable replaces: the
 * part up to the `|`. */
static const struct client_file files[] = {
    {"claude-desktop", USER, "mcpServers", CONFIG,
	".config|Claude/claude_desktop_config.json"},
    {"claude-code", USER, "mcpServers", "CLAUDE_CONFIG_DIR", "|.claude.json", true},
    {"claude-code", PROJECT, "mcpServers", NULL, ".mcp.json"},
    {"claude-code", MANAGED, "mcpServers", NULL, "/etc/claude-code/managed-mcp.json"},
    {"cursor", USER, "mcpServers", NULL, ".cursor/mcp.json"},
    {"cursor", PROJECT, "mcpServers", NULL, ".cursor/mcp.json"},
    {"vscode", USER, "servers", CONFIG, ".config|Code/User/mcp.json"},
    {"vscode", PROJECT, "servers", NULL, ".vscode/mcp.json"},
    {"copilot", USER, "mcpServers", "COPILOT_HOME", ".copilot|mcp-config.json"},
    {"copilot", PROJECT, "mcpServers", NULL, ".github/mcp.json"},
    {"windsurf", USER, "mcpServers", NULL, ".codeium/windsurf/mcp_config.json"},
    {"windsurf", USER, "mcpServers", NULL, ".codeium/windsurf-next/mcp_config.json"},
    {"zed", USER, "context_servers", CONFIG, ".config|zed/settings.json"},
    {"zed", PROJECT, "context_servers", NULL, ".zed/settings.json"},
    {"codex", SCOPE_USER, DIALECT_TOML, "mcp_servers", "CODEX_HOME",
	".codex|config.toml"},
    {"codex", SCOPE_PROJECT, DIALECT_TOML, "mcp_servers", NULL, ".codex/config.toml"},
    {"codex", SCOPE_MANAGED, DIALECT_TOML, "mcp_servers", NULL, "/etc/codex/config.toml"},
    {"gemini", USER, "mcpServers", NULL, ".gemini/settings.json"},
    {"gemini", PROJECT, "mcpServers", NULL, ".gemini/settings.json"},
    {"gemini", MANAGED, "mcpServers", NULL, "/etc/gemini-cli/settings.json"},
    {"cline", USER, "mcpServers", CONFIG,
	".config|Code/User/globalStorage/saoudrizwan.claude-dev/settings/"
	"cline_mcp_settings.json"},
    {"cline", USER, "mcpServers", NULL, ".cline/data/settings/cline_mcp_settings.json"},
    {"goose", SCOPE_USER, DIALECT_YAML, "extensions", CONFIG,
	".config|goose/config.yaml"},
    {"opencode", USER, "mcp", CONFIG, ".config|opencode/opencode.json"},
    {"opencode", USER, "mcp", CONFIG, ".config|opencode/opencode.jsonc"},
    {"opencode", PROJECT, "mcp", NULL, "opencode.json"},
    {"opencode", PROJECT, "mcp", NULL, "opencode.jsonc"},
    {"kilo", USER, "mcp", CONFIG, ".config|kilo/kilo.json"},
    {"kiro", USER, "mcpServers", NULL, ".kiro/settings/mcp.json"},
    {"kiro", PROJECT, "mcpServers", NULL, ".kiro/settings/mcp.json"},
    {"antigravity", USER, "mcpServers", NULL, ".gemini/config/mcp_config.json"},
    {"antigravity", USER, "mcpServers", NULL, ".gemini/antigravity/mcp_config.json"},
    {"junie", USER, "mcpServers", NULL, ".junie/mcp/mcp.json"},
    {"junie", PROJECT, "mcpServers", NULL, ".junie/mcp/mcp.json"},
};

const char *
client_scope_name(enum client_scope scope)
{
	static const char *const name[] = {"user", "project", "managed"};

	return name[scope];
}

const struct client_file *
client_files(size_t *ret_n)
{
	*ret_n = ARRAY_LEN(files);
	return files;
}

bool
client_known(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		if (strcmp(files[i].client, name) == 0)
			return true;
	return false;
}

int
client_path(const struct client_file *f, const char *home, const char *project,
    char ret[PATH_MAX])
{
	const char *bar = strchr(f->path, '|');
	const char *moved = f->variable == NULL ? NULL : getenv(f->variable);
	int n;

	if (f->scope == SCOPE_MANAGED)
		n = snprintf(ret, PATH_MAX, "%s", f->path);
	else if (f->scope == SCOPE_PROJECT)
		n = snprintf(ret, PATH_MAX, "%s/%s", project, f->path);
	else if (bar == NULL)
		n = snprintf(ret, PATH_MAX, "%s/%s", home, f->path);
	else if (moved == NULL || moved[0] == '\0')
		n = snprintf(ret, PATH_MAX, "%s/%.*s%s%s", home, (int)(bar - f->path),
		    f->path, bar == f->path ? "" : "/", bar + 1);
	else if (moved[0] != '/')
		return -ENOENT;
	else
		n = snprintf(ret, PATH_MAX, "%s/%s", moved, bar + 1);
	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}
