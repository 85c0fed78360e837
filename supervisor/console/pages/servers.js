// MCP Servers: a card for each, with its tools.
"use strict";

const STATUS_KIND = {connected: "good", connecting: "wait", disconnected: "idle", error: "bad"};

const opened = new Set(); // the ids of the cards that are expanded

// Hints of a definition are claims of the server.
function toolBadges(tool) {
	const hints = tool.annotations || {};
	const made = [];

	if (hints.readOnlyHint === true)
		made.push(badge("read-only", "good"));
	else if (hints.destructiveHint === true)
		made.push(badge("destructive", "bad"));
	if (hints.idempotentHint === true)
		made.push(badge("idempotent", "idle"));
	if (hints.openWorldHint === true)
		made.push(badge("open-world", "wait"));
	if (tool.drift)
		made.push(badge("quarantined", "bad"));
	made.push(badge(tool.verdict === "ask" ? "asks" : tool.verdict === "allow" ? "allowed" : "denied",
	    tool.verdict === "allow" ? "good" : tool.verdict === "ask" ? "wait" : "idle"));
	return made;
}

function toolList(server) {
	if (server.tool_list.length === 0)
		return element("p", {}, "No tools are known: the server was never listed.");
	return element("ul", {class: "tools"}, ...server.tool_list.map((tool) => element("li", {},
	    element("code", {}, tool.name), " ", ...toolBadges(tool),
	    tool.description ? element("p", {}, tool.description) : null)));
}

async function setEnabled(server, on) {
	try {
		await api("POST", "mcp/" + encodeURIComponent(server.name), {enabled: on});
		await showPage();
		say(server.name + (on ? " is enabled." : " is disabled."));
	} catch (error) {
		say(error.message);
	}
}

function serverCard(server) {
	const details = element("details", {open: opened.has(server.id)},
	    element("summary", {}, server.tools === 1 ? "1 tool" : server.tools + " tools"), toolList(server));
	const toggle = button(server.enabled ? "Disable" : "Enable", () => setEnabled(server, !server.enabled),
	    {"aria-label": (server.enabled ? "Disable " : "Enable ") + inert(server.name)});

	details.addEventListener("toggle", () => opened[details.open ? "add" : "delete"](server.id));
	return element("article", {class: "card"},
	    element("h4", {}, server.name),
	    element("p", {}, badge(server.transport, "idle"), " ",
	        server.enabled ? badge(server.status, STATUS_KIND[server.status] || "idle") : badge("disabled", "idle"),
	        server.reason && server.enabled ? badge(server.reason, "bad") : null,
	        server.pinned ? badge("pinned", "good") : null),
	    server.detail ? element("p", {}, server.detail) : null,
	    server.reason === "no-policy" ? element("p", {}, "Draft a policy: ",
	        element("code", {}, "kennel init " + server.name + " -- COMMAND")) : null,
	    details, toggle);
}

function serverSection(title, note, servers) {
	return element("section", {}, element("h3", {}, title), element("p", {}, note),
	    servers.length === 0 ? element("p", {}, "None.")
	        : element("div", {class: "cards"}, ...servers.map(serverCard)));
}

pages.servers = {
	title: "MCP Servers",
	async load(background) {
		const servers = (await api("GET", "mcp", null, background)).servers;

		return [element("p", {}, "The servers that agents of this user may start, each in a sandbox of its own. "
		    + "What a server may do is in its policy; nothing on this page grants anything."),
		serverSection("Your Servers", "From policies, from the registry, and from agents. "
		    + "One that an agent has added is disabled until you enable it.",
		    servers.filter((s) => s.scope === "user")),
		serverSection("Global Servers", "From mcp-servers.json, which is edited by hand.",
		    servers.filter((s) => s.scope === "global"))];
	},
};
