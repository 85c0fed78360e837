/*
 * The names come from the clients' documentation and from files that their command lines
 * write.  A row with a key has servers.  One without starts programs in another way: by
 * hooks, by tasks that run when a directory is opened, by plugins, or by the path of a
 * tool among its settings.  What a person starts by name, as a build or a debugger, has
 * no row.
 */
#include "policy/clients/clients.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/base/array.h"

#define USER    SCOPE_USER, DIALECT_JSON
#define PROJECT SCOPE_PROJECT, DIALECT_JSON
#define MANAGED SCOPE_MANAGED, DIALECT_JSON
#define CONFIG  "XDG_CONFIG_HOME"
#define CODE    ".config|Code/User/"

/* A path below a variable begins after the directory that the variable replaces: the
 * part up to the `|`. */
static const struct client_file files[] = {
    {"claude-desktop", USER, "mcpServers", CONFIG,
	".config|Claude/claude_desktop_config.json"},
    {"claude-code", USER, "mcpServers", "CLAUDE_CONFIG_DIR", "|.claude.json", true},
    {"claude-code", USER, NULL, "CLAUDE_CONFIG_DIR", ".claude|settings.json"},
    {"claude-code", PROJECT, "mcpServers", NULL, ".mcp.json"},
    {"claude-code", PROJECT, NULL, NULL, ".claude/settings.json"},
    {"claude-code", PROJECT, NULL, NULL, ".claude/settings.local.json"},
    {"claude-code", USER, NULL, "CLAUDE_CONFIG_DIR", ".claude|agents/"},
    {"claude-code", PROJECT, NULL, NULL, ".claude/agents/"},
    {"claude-code", MANAGED, "mcpServers", NULL, "/etc/claude-code/managed-mcp.json"},
    {"claude-code", MANAGED, NULL, NULL, "/etc/claude-code/managed-settings.json"},
    {"cursor", USER, "mcpServers", NULL, ".cursor/mcp.json"},
    {"cursor", USER, NULL, NULL, ".cursor/hooks.json"},
    {"cursor", USER, NULL, CONFIG, ".config|Cursor/User/settings.json"},
    {"cursor", USER, NULL, CONFIG, ".config|Cursor/User/tasks.json"},
    {"cursor", PROJECT, "mcpServers", NULL, ".cursor/mcp.json"},
    {"cursor", PROJECT, NULL, NULL, ".cursor/hooks.json"},
    {"vscode", USER, "servers", CONFIG, CODE "mcp.json"},
    {"vscode", USER, NULL, CONFIG, CODE "settings.json"},
    {"vscode", USER, NULL, CONFIG, CODE "tasks.json"},
    {"vscode", USER, NULL, CONFIG, ".config|VSCodium/User/mcp.json"},
    {"vscode", USER, NULL, CONFIG, ".config|VSCodium/User/settings.json"},
    {"vscode", USER, NULL, CONFIG, ".config|VSCodium/User/tasks.json"},
    {"vscode", PROJECT, "servers", NULL, ".vscode/mcp.json"},
    {"vscode", PROJECT, NULL, NULL, ".vscode/settings.json"},
    {"vscode", PROJECT, NULL, NULL, ".vscode/tasks.json"},
    {"copilot", USER, "mcpServers", "COPILOT_HOME", ".copilot|mcp-config.json"},
    {"copilot", USER, NULL, "COPILOT_HOME", ".copilot|hooks/"},
    {"copilot", PROJECT, "mcpServers", NULL, ".github/mcp.json"},
    {"copilot", PROJECT, NULL, NULL, ".github/hooks/"},
    {"windsurf", USER, "mcpServers", NULL, ".codeium/windsurf/mcp_config.json"},
    {"windsurf", USER, NULL, NULL, ".codeium/windsurf/hooks.json"},
    {"windsurf", USER, "mcpServers", NULL, ".codeium/windsurf-next/mcp_config.json"},
    {"windsurf", USER, NULL, CONFIG, ".config|Windsurf/User/settings.json"},
    {"windsurf", USER, NULL, CONFIG, ".config|Windsurf/User/tasks.json"},
    {"windsurf", PROJECT, NULL, NULL, ".windsurf/hooks.json"},
    {"windsurf", MANAGED, NULL, NULL, "/etc/windsurf/hooks.json"},
    {"zed", USER, "context_servers", CONFIG, ".config|zed/settings.json"},
    {"zed", PROJECT, "context_servers", NULL, ".zed/settings.json"},
    {"codex", SCOPE_USER, DIALECT_TOML, "mcp_servers", "CODEX_HOME",
	".codex|config.toml"},
    {"codex", USER, NULL, "CODEX_HOME", ".codex|hooks.json"},
    {"codex", SCOPE_PROJECT, DIALECT_TOML, "mcp_servers", NULL, ".codex/config.toml"},
    {"codex", PROJECT, NULL, NULL, ".codex/hooks.json"},
    {"codex", SCOPE_MANAGED, DIALECT_TOML, "mcp_servers", NULL, "/etc/codex/config.toml"},
    {"gemini", USER, "mcpServers", NULL, ".gemini/settings.json"},
    {"gemini", PROJECT, "mcpServers", NULL, ".gemini/settings.json"},
    {"gemini", MANAGED, "mcpServers", NULL, "/etc/gemini-cli/settings.json"},
    {"qwen", USER, "mcpServers", NULL, ".qwen/settings.json"},
    {"qwen", PROJECT, "mcpServers", NULL, ".qwen/settings.json"},
    {"cline", USER, "mcpServers", CONFIG,
	CODE "globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"},
    {"cline", USER, "mcpServers", NULL, ".cline/data/settings/cline_mcp_settings.json"},
    {"roo", USER, "mcpServers", CONFIG,
	CODE "globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"},
    {"roo", PROJECT, "mcpServers", NULL, ".roo/mcp.json"},
    {"goose", SCOPE_USER, DIALECT_YAML, "extensions", CONFIG,
	".config|goose/config.yaml"},
    {"opencode", USER, "mcp", CONFIG, ".config|opencode/opencode.json"},
    {"opencode", USER, "mcp", CONFIG, ".config|opencode/opencode.jsonc"},
    {"opencode", USER, "mcp", CONFIG, ".config|opencode/config.json"},
    {"opencode", USER, NULL, CONFIG, ".config|opencode/plugin/"},
    {"opencode", USER, NULL, CONFIG, ".config|opencode/plugins/"},
    {"opencode", USER, NULL, CONFIG, ".config|opencode/tool/"},
    {"opencode", USER, NULL, CONFIG, ".config|opencode/tools/"},
    {"opencode", PROJECT, "mcp", NULL, "opencode.json"},
    {"opencode", PROJECT, "mcp", NULL, "opencode.jsonc"},
    {"opencode", PROJECT, "mcp", NULL, ".opencode/opencode.json"},
    {"opencode", PROJECT, "mcp", NULL, ".opencode/opencode.jsonc"},
    {"opencode", PROJECT, NULL, NULL, ".opencode/plugin/"},
    {"opencode", PROJECT, NULL, NULL, ".opencode/plugins/"},
    {"opencode", PROJECT, NULL, NULL, ".opencode/tool/"},
    {"opencode", PROJECT, NULL, NULL, ".opencode/tools/"},
    {"opencode", MANAGED, "mcp", NULL, "/etc/opencode/opencode.json"},
    {"kilo", USER, "mcp", CONFIG, ".config|kilo/kilo.json"},
    {"kilo", USER, "mcp", CONFIG, ".config|kilo/kilo.jsonc"},
    {"kilo", USER, "mcpServers", NULL, ".kilocode/cli/global/settings/mcp_settings.json"},
    {"kilo", USER, "mcpServers", CONFIG,
	CODE "globalStorage/kilocode.kilo-code/settings/mcp_settings.json"},
    {"kilo", PROJECT, "mcp", NULL, "kilo.json"},
    {"kilo", PROJECT, "mcp", NULL, "kilo.jsonc"},
    {"kilo", PROJECT, "mcp", NULL, ".kilo/kilo.json"},
    {"kilo", PROJECT, "mcp", NULL, ".kilo/kilo.jsonc"},
    {"kilo", PROJECT, "mcpServers", NULL, ".kilocode/mcp.json"},
    {"kiro", USER, "mcpServers", NULL, ".kiro/settings/mcp.json"},
    {"kiro", USER, NULL, NULL, ".kiro/agents/"},
    {"kiro", USER, NULL, NULL, ".kiro/hooks/"},
    {"kiro", PROJECT, "mcpServers", NULL, ".kiro/settings/mcp.json"},
    {"kiro", PROJECT, NULL, NULL, ".kiro/agents/"},
    {"kiro", PROJECT, NULL, NULL, ".kiro/hooks/"},
    {"amazonq", USER, "mcpServers", NULL, ".aws/amazonq/mcp.json"},
    {"amazonq", USER, "mcpServers", NULL, ".aws/amazonq/agents/default.json"},
    {"amazonq", USER, NULL, NULL, ".aws/amazonq/cli-agents/"},
    {"amazonq", PROJECT, "mcpServers", NULL, ".amazonq/mcp.json"},
    {"amazonq", PROJECT, "mcpServers", NULL, ".amazonq/agents/default.json"},
    {"amazonq", PROJECT, NULL, NULL, ".amazonq/cli-agents/"},
    {"antigravity", USER, "mcpServers", NULL, ".gemini/config/mcp_config.json"},
    {"antigravity", USER, "mcpServers", NULL, ".gemini/antigravity/mcp_config.json"},
    {"junie", USER, "mcpServers", NULL, ".junie/mcp/mcp.json"},
    {"junie", PROJECT, "mcpServers", NULL, ".junie/mcp/mcp.json"},
    {"crush", USER, "mcp", CONFIG, ".config|crush/crush.json"},
    {"crush", PROJECT, "mcp", NULL, "crush.json"},
    {"crush", PROJECT, "mcp", NULL, ".crush.json"},
    {"factory", USER, "mcpServers", NULL, ".factory/mcp.json"},
    {"factory", USER, NULL, NULL, ".factory/settings.json"},
    {"factory", USER, NULL, NULL, ".factory/hooks.json"},
    {"factory", USER, NULL, NULL, ".factory/hooks/"},
    {"factory", PROJECT, "mcpServers", NULL, ".factory/mcp.json"},
    {"factory", PROJECT, NULL, NULL, ".factory/settings.json"},
    {"factory", PROJECT, NULL, NULL, ".factory/settings.local.json"},
    {"factory", PROJECT, NULL, NULL, ".factory/hooks.json"},
    {"factory", PROJECT, NULL, NULL, ".factory/hooks/"},
    {"factory", MANAGED, NULL, NULL, "/etc/factory/settings.json"},
    {"trae", PROJECT, "mcpServers", NULL, ".trae/mcp.json"},
    {"amp", USER, NULL, CONFIG, ".config|amp/settings.json"},
    {"amp", PROJECT, NULL, NULL, ".amp/settings.json"},
    {"lmstudio", USER, NULL, NULL, ".lmstudio/mcp.json"},
    {"aider", USER, NULL, NULL, ".aider.conf.yml"},
    {"aider", PROJECT, NULL, NULL, ".aider.conf.yml"},
    {"continue", USER, NULL, NULL, ".continue/config.yaml"},
    {"continue", USER, NULL, NULL, ".continue/config.json"},
    {"continue", USER, NULL, NULL, ".continue/mcpServers/"},
    {"continue", PROJECT, NULL, NULL, ".continue/mcpServers/"},
};
static_assert(ARRAY_LEN(files) <= CLIENT_FILES_MAX, "the files of an import");

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
client_imported(const struct client_file *f)
{
	return f->key != NULL;
}

bool
client_known(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		if (client_imported(&files[i]) && strcmp(files[i].client, name) == 0)
			return true;
	return false;
}

void
client_home_path(const struct client_file *f, char ret[PATH_MAX])
{
	const char *bar = strchr(f->path, '|');
	int before = bar == NULL ? 0 : (int)(bar - f->path);

	(void)snprintf(ret, PATH_MAX, "%.*s%s%s", before, f->path, before > 0 ? "/" : "",
	    bar == NULL ? f->path : bar + 1); /* fits */
}

int
client_path(const struct client_file *f, const char *home, const char *project,
    char ret[PATH_MAX])
{
	const char *bar = strchr(f->path, '|');
	const char *moved = f->variable == NULL ? NULL : getenv(f->variable);
	char below[PATH_MAX];
	int n;

	if (f->scope == SCOPE_MANAGED)
		n = snprintf(ret, PATH_MAX, "%s", f->path);
	else if (f->scope == SCOPE_PROJECT)
		n = snprintf(ret, PATH_MAX, "%s/%s", project, f->path);
	else if (bar == NULL || moved == NULL || moved[0] == '\0') {
		client_home_path(f, below);
		n = snprintf(ret, PATH_MAX, "%s/%s", home, below);
	} else if (moved[0] != '/')
		return -ENOENT;
	else
		n = snprintf(ret, PATH_MAX, "%s/%s", moved, bar + 1);
	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}
