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

#define USER          SCOPE_USER, DIALECT_JSON
#define PROJECT       SCOPE_PROJECT, DIALECT_JSON
#define MANAGED       SCOPE_MANAGED, DIALECT_JSON
#define CONFIG        "XDG_CONFIG_HOME"
#define CLAUDE_PLUGIN ".claude|plugins/cache/*/*/*/"

/* What a user directory of an editor has: its own files, its profiles' and those of
 * agents that are extensions of it. */
#define EDITOR(client, variable, dir) \
	{client, USER, "servers", variable, dir "mcp.json"}, \
	    {client, USER, "mcp.servers", variable, dir "settings.json"}, \
	    {client, USER, NULL, variable, dir "tasks.json"}, \
	    {client, USER, "servers", variable, dir "profiles/*/mcp.json"}, \
	    {client, USER, "mcp.servers", variable, dir "profiles/*/settings.json"}, \
	    {client, USER, NULL, variable, dir "profiles/*/tasks.json"}, \
	    {"cline", USER, "mcpServers", variable, \
		dir "globalStorage/saoudrizwan.claude-dev/settings/" \
		    "cline_mcp_settings.json"}, \
	    {"roo", USER, "mcpServers", variable, \
		dir \
		"globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"}, \
	{ \
		"kilo", USER, "mcpServers", variable, \
		    dir "globalStorage/kilocode.kilo-code/settings/mcp_settings.json" \
	}

/* A path below a variable begins after the directory that the variable replaces: the
 * part up to the `|`.  A `*` is any name of a directory, `*.SUFFIX` any name of a file
 * that ends so. */
static const struct client_file files[] = {
    {"claude-desktop", USER, "mcpServers", CONFIG,
	".config|Claude/claude_desktop_config.json"},
    {"claude-code", USER, "mcpServers", "CLAUDE_CONFIG_DIR", "|.claude.json", true},
    {"claude-code", USER, NULL, "CLAUDE_CONFIG_DIR", ".claude|settings.json"},
    {"claude-code", PROJECT, "mcpServers", NULL, ".mcp.json"},
    {"claude-code", PROJECT, NULL, NULL, ".claude/settings.json"},
    {"claude-code", PROJECT, NULL, NULL, ".claude/settings.local.json"},
    {"claude-code", USER, NULL, "CLAUDE_CONFIG_DIR", ".claude|agents/"},
    {"claude-code", USER, NULL, "CLAUDE_CONFIG_DIR", ".claude|agents/*/"},
    {"claude-code", USER, NULL, "CLAUDE_CONFIG_DIR", ".claude|settings.local.json"},
    {"claude-code", USER, NULL, "CLAUDE_CONFIG_DIR", ".claude|commands/"},
    {"claude-code", USER, NULL, "CLAUDE_CONFIG_DIR", ".claude|commands/*/"},
    {"claude-code", USER, NULL, "CLAUDE_CONFIG_DIR", ".claude|skills/*/SKILL.md"},
    {"claude-code", USER, NULL, "CLAUDE_CONFIG_DIR", ".claude|hooks/"},
    {"claude-code", USER, NULL, "CLAUDE_CONFIG_DIR",
	".claude|plugins/installed_plugins.json"},
    {"claude-code", USER, NULL, "CLAUDE_CONFIG_DIR",
	".claude|plugins/known_marketplaces.json"},
    {"claude-code", USER, NULL, "CLAUDE_CONFIG_DIR",
	CLAUDE_PLUGIN ".claude-plugin/plugin.json"},
    {"claude-code", USER, "mcpServers", "CLAUDE_CONFIG_DIR", CLAUDE_PLUGIN ".mcp.json"},
    {"claude-code", USER, NULL, "CLAUDE_CONFIG_DIR", CLAUDE_PLUGIN ".lsp.json"},
    {"claude-code", USER, NULL, "CLAUDE_CONFIG_DIR", CLAUDE_PLUGIN "hooks/"},
    {"claude-code", USER, NULL, "CLAUDE_CONFIG_DIR", CLAUDE_PLUGIN "commands/"},
    {"claude-code", USER, NULL, "CLAUDE_CONFIG_DIR", CLAUDE_PLUGIN "skills/*/SKILL.md"},
    {"claude-code", PROJECT, NULL, NULL, ".claude/agents/"},
    {"claude-code", PROJECT, NULL, NULL, ".claude/agents/*/"},
    {"claude-code", PROJECT, NULL, NULL, ".claude/commands/"},
    {"claude-code", PROJECT, NULL, NULL, ".claude/commands/*/"},
    {"claude-code", PROJECT, NULL, NULL, ".claude/skills/*/SKILL.md"},
    {"claude-code", PROJECT, NULL, NULL, ".claude/hooks/"},
    {"claude-code", PROJECT, NULL, NULL, ".claude-plugin/plugin.json"},
    {"claude-code", PROJECT, NULL, NULL, ".claude-plugin/marketplace.json"},
    {"claude-code", PROJECT, NULL, NULL, ".lsp.json"},
    {"claude-code", PROJECT, NULL, NULL, "hooks/hooks.json"},
    {"claude-code", MANAGED, "mcpServers", NULL, "/etc/claude-code/managed-mcp.json"},
    {"claude-code", MANAGED, NULL, NULL, "/etc/claude-code/managed-settings.json"},
    {"claude-code", MANAGED, NULL, NULL, "/etc/claude-code/managed-settings.d/"},
    {"cursor", USER, "mcpServers", NULL, ".cursor/mcp.json"},
    {"cursor", USER, NULL, NULL, ".cursor/hooks.json"},
    {"cursor", USER, NULL, NULL, ".cursor/hooks/"},
    {"cursor", USER, NULL, NULL, ".cursor/agents/"},
    {"cursor", USER, NULL, NULL, ".cursor/cli-config.json"},
    {"cursor", PROJECT, "mcpServers", NULL, ".cursor/mcp.json"},
    {"cursor", PROJECT, NULL, NULL, ".cursor/hooks.json"},
    {"cursor", PROJECT, NULL, NULL, ".cursor/hooks/"},
    {"cursor", PROJECT, NULL, NULL, ".cursor/agents/"},
    {"cursor", PROJECT, NULL, NULL, ".cursor/cli.json"},
    {"cursor", PROJECT, NULL, NULL, ".cursor/worktrees.json"},
    {"cursor", MANAGED, NULL, NULL, "/etc/cursor/hooks.json"},
    {"vscode", USER, "mcp.servers", NULL, ".vscode-server/data/Machine/settings.json"},
    {"vscode", USER, "mcp.servers", NULL,
	".vscode-server-insiders/data/Machine/settings.json"},
    {"vscode", USER, "mcp.servers", NULL, ".vscodium-server/data/Machine/settings.json"},
    {"vscode", USER, "mcp.servers", NULL, ".vscode-remote/data/Machine/settings.json"},
    {"vscode", USER, "mcp.servers", NULL,
	".openvscode-server/data/Machine/settings.json"},
    {"vscode", USER, "mcp.servers", NULL, ".cursor-server/data/Machine/settings.json"},
    {"vscode", USER, "mcp.servers", NULL, ".windsurf-server/data/Machine/settings.json"},
    {"vscode", PROJECT, "servers", NULL, ".vscode/mcp.json"},
    {"vscode", PROJECT, "mcp.servers", NULL, ".vscode/settings.json"},
    {"vscode", PROJECT, NULL, NULL, ".vscode/tasks.json"},
    {"vscode", PROJECT, NULL, NULL, "*.code-workspace"},
    {"vscode", PROJECT, NULL, NULL, ".devcontainer.json"},
    {"vscode", PROJECT, NULL, NULL, ".devcontainer/devcontainer.json"},
    {"vscode", PROJECT, NULL, NULL, ".devcontainer/*/devcontainer.json"},
    {"copilot", USER, "mcpServers", "COPILOT_HOME", ".copilot|mcp-config.json"},
    {"copilot", USER, NULL, "COPILOT_HOME", ".copilot|hooks/"},
    {"copilot", USER, NULL, "COPILOT_HOME", ".copilot|agents/"},
    {"copilot", USER, NULL, "COPILOT_HOME", ".copilot|settings.json"},
    {"copilot", USER, NULL, "COPILOT_HOME", ".copilot|config.json"},
    {"copilot", USER, NULL, "COPILOT_HOME", ".copilot|permissions-config.json"},
    {"copilot", USER, NULL, "COPILOT_HOME", ".copilot|lsp-config.json"},
    {"copilot", USER, "mcpServers", "COPILOT_HOME",
	".copilot|installed-plugins/*/*/.mcp.json"},
    {"copilot", USER, NULL, "COPILOT_HOME", ".copilot|installed-plugins/*/*/plugin.json"},
    {"copilot", USER, NULL, "COPILOT_HOME", ".copilot|installed-plugins/*/*/hooks.json"},
    {"copilot", PROJECT, "mcpServers", NULL, ".github/mcp.json"},
    {"copilot", PROJECT, NULL, NULL, ".github/hooks/"},
    {"copilot", PROJECT, NULL, NULL, ".github/agents/"},
    {"copilot", PROJECT, NULL, NULL, ".github/lsp.json"},
    {"copilot", PROJECT, NULL, NULL, ".github/copilot/settings.json"},
    {"copilot", PROJECT, NULL, NULL, ".github/copilot/settings.local.json"},
    {"windsurf", USER, "mcpServers", NULL, ".codeium/windsurf/mcp_config.json"},
    {"windsurf", USER, NULL, NULL, ".codeium/windsurf/hooks.json"},
    {"windsurf", USER, "mcpServers", NULL, ".codeium/windsurf-next/mcp_config.json"},
    {"windsurf", USER, NULL, NULL, ".codeium/windsurf-next/hooks.json"},
    {"windsurf", PROJECT, NULL, NULL, ".windsurf/hooks.json"},
    {"windsurf", MANAGED, NULL, NULL, "/etc/windsurf/hooks.json"},
    {"zed", USER, "context_servers", CONFIG, ".config|zed/settings.json"},
    {"zed", PROJECT, "context_servers", NULL, ".zed/settings.json"},
    {"codex", SCOPE_USER, DIALECT_TOML, "mcp_servers", "CODEX_HOME",
	".codex|config.toml"},
    {"codex", USER, NULL, "CODEX_HOME", ".codex|hooks.json"},
    {"codex", USER, NULL, "CODEX_HOME", ".codex|agents/"},
    {"codex", USER, NULL, "CODEX_HOME", ".codex|rules/"},
    {"codex", USER, "mcpServers", "CODEX_HOME", ".codex|plugins/cache/*/*/*/.mcp.json"},
    {"codex", USER, NULL, "CODEX_HOME",
	".codex|plugins/cache/*/*/*/.codex-plugin/plugin.json"},
    {"codex", SCOPE_PROJECT, DIALECT_TOML, "mcp_servers", NULL, ".codex/config.toml"},
    {"codex", PROJECT, NULL, NULL, ".codex/hooks.json"},
    {"codex", PROJECT, NULL, NULL, ".codex/agents/"},
    {"codex", PROJECT, NULL, NULL, ".codex/rules/"},
    {"codex", PROJECT, NULL, NULL, ".codex-plugin/plugin.json"},
    {"codex", SCOPE_MANAGED, DIALECT_TOML, "mcp_servers", NULL, "/etc/codex/config.toml"},
    {"codex", MANAGED, NULL, NULL, "/etc/codex/managed_config.toml"},
    {"codex", MANAGED, NULL, NULL, "/etc/codex/requirements.toml"},
    {"codex", MANAGED, NULL, NULL, "/etc/codex/hooks.json"},
    {"codex", MANAGED, NULL, NULL, "/etc/codex/rules/"},
    {"gemini", USER, "mcpServers", NULL, ".gemini/settings.json"},
    {"gemini", USER, "mcpServers", NULL, ".gemini/extensions/*/gemini-extension.json"},
    {"gemini", USER, NULL, NULL, ".gemini/extensions/*/hooks/"},
    {"gemini", USER, NULL, NULL, ".gemini/agents/"},
    {"gemini", USER, NULL, NULL, ".gemini/hooks/"},
    {"gemini", USER, NULL, NULL, ".gemini/.env"},
    {"gemini", PROJECT, "mcpServers", NULL, ".gemini/settings.json"},
    {"gemini", PROJECT, "mcpServers", NULL, ".gemini/extensions/*/gemini-extension.json"},
    {"gemini", PROJECT, NULL, NULL, ".gemini/extensions/*/hooks/"},
    {"gemini", PROJECT, NULL, NULL, ".gemini/agents/"},
    {"gemini", PROJECT, NULL, NULL, ".gemini/hooks/"},
    {"gemini", PROJECT, NULL, NULL, ".gemini/.env"},
    {"gemini", MANAGED, "mcpServers", NULL, "/etc/gemini-cli/settings.json"},
    {"gemini", MANAGED, "mcpServers", NULL, "/etc/gemini-cli/system-defaults.json"},
    {"qwen", USER, "mcpServers", NULL, ".qwen/settings.json"},
    {"qwen", USER, "mcpServers", NULL, ".qwen/extensions/*/qwen-extension.json"},
    {"qwen", USER, NULL, NULL, ".qwen/extensions/*/hooks/"},
    {"qwen", USER, NULL, NULL, ".qwen/agents/"},
    {"qwen", USER, NULL, NULL, ".qwen/hooks/"},
    {"qwen", USER, NULL, NULL, ".qwen/.env"},
    {"qwen", PROJECT, "mcpServers", NULL, ".qwen/settings.json"},
    {"qwen", PROJECT, "mcpServers", NULL, ".qwen/extensions/*/qwen-extension.json"},
    {"qwen", PROJECT, NULL, NULL, ".qwen/extensions/*/hooks/"},
    {"qwen", PROJECT, NULL, NULL, ".qwen/agents/"},
    {"qwen", PROJECT, NULL, NULL, ".qwen/hooks/"},
    {"qwen", PROJECT, NULL, NULL, ".qwen/.env"},
    {"qwen", MANAGED, "mcpServers", NULL, "/etc/qwen-code/settings.json"},
    {"qwen", MANAGED, "mcpServers", NULL, "/etc/qwen-code/system-defaults.json"},
    {"cline", USER, "mcpServers", NULL, ".cline/data/settings/cline_mcp_settings.json"},
    {"cline", USER, NULL, NULL, ".cline/hooks/"},
    {"cline", USER, NULL, NULL, ".cline/agents/"},
    {"cline", USER, NULL, NULL, ".cline/plugins/"},
    {"cline", USER, NULL, NULL, ".cline/cron/"},
    {"cline", USER, NULL, NULL, "Documents/Cline/Hooks/"},
    {"cline", USER, NULL, NULL, "Documents/Cline/Plugins/"},
    {"cline", PROJECT, NULL, NULL, ".cline/hooks/"},
    {"cline", PROJECT, NULL, NULL, ".cline/agents/"},
    {"cline", PROJECT, NULL, NULL, ".cline/plugins/"},
    {"cline", PROJECT, NULL, NULL, ".cline/cron/"},
    {"cline", PROJECT, NULL, NULL, ".clinerules/hooks/"},
    {"roo", USER, NULL, NULL, ".roo/tools/"},
    {"roo", PROJECT, "mcpServers", NULL, ".roo/mcp.json"},
    {"roo", PROJECT, NULL, NULL, ".roo/tools/"},
    {"goose", SCOPE_USER, DIALECT_YAML, "extensions", CONFIG,
	".config|goose/config.yaml"},
    {"opencode", USER, "mcp", CONFIG, ".config|opencode/opencode.json"},
    {"opencode", USER, "mcp", CONFIG, ".config|opencode/opencode.jsonc"},
    {"opencode", USER, "mcp", CONFIG, ".config|opencode/config.json"},
    {"opencode", USER, NULL, CONFIG, ".config|opencode/plugin/"},
    {"opencode", USER, NULL, CONFIG, ".config|opencode/plugins/"},
    {"opencode", USER, NULL, CONFIG, ".config|opencode/tool/"},
    {"opencode", USER, NULL, CONFIG, ".config|opencode/tools/"},
    {"opencode", USER, NULL, CONFIG, ".config|opencode/package.json"},
    {"opencode", PROJECT, "mcp", NULL, "opencode.json"},
    {"opencode", PROJECT, "mcp", NULL, "opencode.jsonc"},
    {"opencode", PROJECT, "mcp", NULL, ".opencode/opencode.json"},
    {"opencode", PROJECT, "mcp", NULL, ".opencode/opencode.jsonc"},
    {"opencode", PROJECT, NULL, NULL, ".opencode/plugin/"},
    {"opencode", PROJECT, NULL, NULL, ".opencode/plugins/"},
    {"opencode", PROJECT, NULL, NULL, ".opencode/tool/"},
    {"opencode", PROJECT, NULL, NULL, ".opencode/tools/"},
    {"opencode", PROJECT, NULL, NULL, ".opencode/package.json"},
    {"opencode", MANAGED, "mcp", NULL, "/etc/opencode/opencode.json"},
    {"opencode", MANAGED, "mcp", NULL, "/etc/opencode/opencode.jsonc"},
    {"kilo", USER, "mcp", CONFIG, ".config|kilo/kilo.json"},
    {"kilo", USER, "mcp", CONFIG, ".config|kilo/kilo.jsonc"},
    {"kilo", USER, "mcpServers", NULL, ".kilocode/cli/global/settings/mcp_settings.json"},
    {"kilo", PROJECT, "mcp", NULL, "kilo.json"},
    {"kilo", PROJECT, "mcp", NULL, "kilo.jsonc"},
    {"kilo", PROJECT, "mcp", NULL, ".kilo/kilo.json"},
    {"kilo", PROJECT, "mcp", NULL, ".kilo/kilo.jsonc"},
    {"kilo", PROJECT, "mcpServers", NULL, ".kilocode/mcp.json"},
    {"kiro", USER, "mcpServers", NULL, ".kiro/settings/mcp.json"},
    {"kiro", USER, NULL, NULL, ".kiro/agents/"},
    {"kiro", USER, NULL, NULL, ".kiro/hooks/"},
    {"kiro", USER, NULL, NULL, ".kiro/settings/lsp.json"},
    {"kiro", USER, "mcpServers", NULL, ".kiro/powers/installed/*/mcp.json"},
    {"kiro", PROJECT, "mcpServers", NULL, ".kiro/settings/mcp.json"},
    {"kiro", PROJECT, NULL, NULL, ".kiro/agents/"},
    {"kiro", PROJECT, NULL, NULL, ".kiro/hooks/"},
    {"kiro", PROJECT, NULL, NULL, ".kiro/settings/lsp.json"},
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
    {"crush", USER, "mcp", CONFIG, ".config|crush/crush.json", .folds = true},
    {"crush", USER, "mcp", "XDG_DATA_HOME", ".local/share|crush/crush.json",
	.folds = true},
    {"crush", USER, NULL, CONFIG, ".config|crush/crushrc"},
    {"crush", PROJECT, "mcp", NULL, "crush.json", .folds = true},
    {"crush", PROJECT, "mcp", NULL, ".crush.json", .folds = true},
    {"crush", PROJECT, "mcp", NULL, ".crush/crush.json", .folds = true},
    {"crush", PROJECT, NULL, NULL, "crushrc"},
    {"crush", PROJECT, NULL, NULL, ".crushrc"},
    {"factory", USER, "mcpServers", NULL, ".factory/mcp.json"},
    {"factory", USER, NULL, NULL, ".factory/settings.json"},
    {"factory", USER, NULL, NULL, ".factory/hooks.json"},
    {"factory", USER, NULL, NULL, ".factory/hooks/"},
    {"factory", USER, NULL, NULL, ".factory/droids/"},
    {"factory", USER, NULL, NULL, ".factory/commands/"},
    {"factory", PROJECT, "mcpServers", NULL, ".factory/mcp.json"},
    {"factory", PROJECT, NULL, NULL, ".factory/settings.json"},
    {"factory", PROJECT, NULL, NULL, ".factory/settings.local.json"},
    {"factory", PROJECT, NULL, NULL, ".factory/hooks.json"},
    {"factory", PROJECT, NULL, NULL, ".factory/hooks/"},
    {"factory", PROJECT, NULL, NULL, ".factory/droids/"},
    {"factory", PROJECT, NULL, NULL, ".factory/commands/"},
    {"factory", MANAGED, NULL, NULL, "/etc/factory/settings.json"},
    {"trae", PROJECT, "mcpServers", NULL, ".trae/mcp.json"},
    {"amp", USER, NULL, CONFIG, ".config|amp/settings.json"},
    {"amp", USER, NULL, CONFIG, ".config|amp/plugins/"},
    {"amp", USER, NULL, CONFIG, ".config|agents/skills/*/mcp.json"},
    {"amp", PROJECT, NULL, NULL, ".amp/settings.json"},
    {"amp", PROJECT, NULL, NULL, ".amp/plugins/"},
    {"amp", PROJECT, NULL, NULL, ".agents/skills/*/mcp.json"},
    {"lmstudio", USER, NULL, NULL, ".lmstudio/mcp.json"},
    {"aider", USER, NULL, NULL, ".aider.conf.yml"},
    {"aider", PROJECT, NULL, NULL, ".aider.conf.yml"},
    {"continue", USER, NULL, NULL, ".continue/config.yaml"},
    {"continue", USER, NULL, NULL, ".continue/config.json"},
    {"continue", USER, NULL, NULL, ".continue/config.ts"},
    {"continue", USER, NULL, NULL, ".continue/agents/"},
    {"continue", USER, NULL, NULL, ".continue/mcpServers/"},
    {"continue", PROJECT, NULL, NULL, ".continue/mcpServers/"},
    {"continue", PROJECT, NULL, NULL, ".continue/agents/"},
    {"continue", PROJECT, NULL, NULL, ".continuerc.json"},
    {"jetbrains", USER, NULL, CONFIG, ".config|JetBrains/*/options/llm.mcpServers.xml"},
    {"jetbrains", PROJECT, NULL, NULL, ".idea/startup.xml"},
    {"jetbrains", PROJECT, NULL, NULL, ".idea/watcherTasks.xml"},
    {"jetbrains", PROJECT, NULL, NULL, ".idea/runConfigurations/"},
    {"helix", USER, NULL, CONFIG, ".config|helix/languages.toml"},
    {"helix", PROJECT, NULL, NULL, ".helix/languages.toml"},
    {"vim", USER, NULL, NULL, ".vimrc"},
    {"vim", USER, NULL, NULL, ".vim/vimrc"},
    {"vim", USER, NULL, CONFIG, ".config|nvim/init.lua"},
    {"vim", USER, NULL, CONFIG, ".config|nvim/init.vim"},
    {"vim", PROJECT, NULL, NULL, ".exrc"},
    {"vim", PROJECT, NULL, NULL, ".vimrc"},
    {"vim", PROJECT, NULL, NULL, ".nvimrc"},
    {"vim", PROJECT, NULL, NULL, ".nvim.lua"},
    {"emacs", USER, NULL, NULL, ".emacs"},
    {"emacs", USER, NULL, NULL, ".emacs.d/init.el"},
    {"emacs", USER, NULL, CONFIG, ".config|emacs/init.el"},
    {"shell", USER, NULL, NULL, ".profile"},
    {"shell", USER, NULL, NULL, ".bash_profile"},
    {"shell", USER, NULL, NULL, ".bash_login"},
    {"shell", USER, NULL, NULL, ".bashrc"},
    {"shell", USER, NULL, NULL, ".zshenv"},
    {"shell", USER, NULL, NULL, ".zprofile"},
    {"shell", USER, NULL, NULL, ".zshrc"},
    {"shell", USER, NULL, CONFIG, ".config|fish/config.fish"},
    {"shell", USER, NULL, CONFIG, ".config|fish/conf.d/"},
    /* the user directories of VS Code, and of editors made of it */
    EDITOR("vscode", CONFIG, ".config|Code/User/"),
    EDITOR("vscode", CONFIG, ".config|Code - Insiders/User/"),
    EDITOR("vscode", CONFIG, ".config|Code - OSS/User/"),
    EDITOR("vscode", CONFIG, ".config|VSCodium/User/"),
    EDITOR("vscode", CONFIG, ".config|VSCodium - Insiders/User/"),
    EDITOR("vscode", NULL, ".vscode-server/data/User/"),
    EDITOR("vscode", NULL, ".vscode-server-insiders/data/User/"),
    EDITOR("vscode", NULL, ".vscodium-server/data/User/"),
    EDITOR("vscode", NULL, ".vscode-remote/data/User/"),
    EDITOR("vscode", NULL, ".openvscode-server/data/User/"),
    EDITOR("vscode", "XDG_DATA_HOME", ".local/share|code-server/User/"),
    EDITOR("cursor", CONFIG, ".config|Cursor/User/"),
    EDITOR("cursor", NULL, ".cursor-server/data/User/"),
    EDITOR("windsurf", CONFIG, ".config|Windsurf/User/"),
    EDITOR("windsurf", CONFIG, ".config|Windsurf - Next/User/"),
    EDITOR("windsurf", NULL, ".windsurf-server/data/User/"),
    EDITOR("kiro", CONFIG, ".config|Kiro/User/"),
    EDITOR("antigravity", CONFIG, ".config|Antigravity/User/"),
    EDITOR("trae", CONFIG, ".config|Trae/User/"),
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

const char *
client_any(const char *path)
{
	for (; path != NULL; path = strchr(path, '/')) {
		path += *path == '/';
		if (*path == '*')
			return path;
	}
	return NULL;
}

bool
client_part_is(const char *part, size_t n, const char *name, size_t len)
{
	if (n == 0 || part[0] != '*')
		return n == len && memcmp(part, name, n) == 0;
	n--;
	return len > n && memcmp(part + 1, name + len - n, n) == 0;
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
