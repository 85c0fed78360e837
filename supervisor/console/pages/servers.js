// MCP Servers: a card for each, with its tools; the form that adds or changes one.
"use strict";

const STATUS_KIND = {connected: "good", connecting: "wait", disconnected: "idle", error: "bad"};

const opened = new Set(); // the ids of the cards that are expanded
const ownNames = new Set(); // of the servers that this page may change

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
	let done = server.name + (on ? " is enabled." : " is disabled.");

	try {
		await api("POST", "mcp/" + encodeURIComponent(server.name),
		    {enabled: on, generation: server.updated_gen || 0}); // what this card shows
	} catch (error) {
		done = error.message;
	}
	await showPage();
	say(done);
}

// ---- what is typed -------------------------------------------------------------------

function joinArgs(args) {
	return (args || []).map((arg) => arg.replace(/[\\,]/g, "\\$&")).join(", ");
}

// A reference as a person types it: vault:a/b/c, env:NAME, file:/path, or JSON; else a text.
function referenceOf(text) {
	const typed = /^(vault|env|file):(.*)$/.exec(text);

	if (typed)
		return {[typed[1]]: typed[2]};
	try {
		return text.startsWith("{") ? JSON.parse(text) : text;
	} catch (error) {
		return text;
	}
}

function referenceText(value) {
	const keys = typeof value === "object" && value !== null ? Object.keys(value) : [];

	if (keys.length === 1 && typeof value[keys[0]] === "string")
		return keys[0] + ":" + value[keys[0]];
	return typeof value === "string" ? value : JSON.stringify(value);
}

// NAME=REFERENCE, one in a line.
function readEnv(text) {
	const env = {};

	for (const line of text.split("\n").map((l) => l.trim()).filter(Boolean)) {
		const at = line.indexOf("=");

		if (at < 1)
			throw Object.assign(new Error("expected NAME=REFERENCE in each line"), {field: "env"});
		env[line.slice(0, at)] = referenceOf(line.slice(at + 1));
	}
	return env;
}

function envText(env) {
	return Object.entries(env || {}).map(([name, value]) => name + "=" + referenceText(value)).join("\n");
}

// ---- the form --------------------------------------------------------------------------

function serverFields(server) {
	const env = element("textarea", {rows: "3", spellcheck: "false", autocomplete: "off"});
	const reference = "Never the value: vault:team/github/token, env:NAME or file:/path.";

	env.value = envText(server.env);
	return [
		formField("name", "Name", "Up to 64 letters, digits, _ and -; also the name of its policy.",
		    textInput(server.name, {"aria-required": "true", readonly: Boolean(server.name)})),
		formField("command", "Command", "The path of the program.", textInput(server.command)),
		formField("args", "Arguments", "Separated by commas; \\, is a comma in an argument.", textInput(joinArgs(server.args))),
		formField("env", "Environment", "A line for each variable, NAME=REFERENCE. " + reference, env),
		formField("url", "URL", "As in the line remote of its policy.", textInput(server.url, {inputmode: "url"})),
		formField("headers", "Authorization header (optional)", reference,
		    textInput(server.headers && server.headers.Authorization ? referenceText(server.headers.Authorization) : "")),
	];
}

function transportSwitch(now, changed) {
	const radios = ["stdio", "http"].map((value) => {
		const radio = element("input", {type: "radio", name: "transport", value, checked: value === now});

		radio.addEventListener("change", () => changed(value));
		return element("label", {}, radio, value === "stdio" ? " stdio: a program on this machine " : " http: a server at a URL ");
	});

	return element("fieldset", {class: "field"}, element("legend", {}, "Transport"), ...radios);
}

// What is not edited is sent as it was: a text may not show all of it.
function serverOf(server, transport, fields) {
	const text = {};
	const is = (name, parse, before) => fields[name].input.value === fields[name].first && before
	    ? before : parse(fields[name].input.value);

	for (const name of Object.keys(fields))
		text[name] = fields[name].input.value.trim();
	const env = is("env", readEnv, server.env);
	const made = Object.assign({name: text.name, transport}, Object.keys(env).length > 0 ? {env} : {});

	if (transport === "stdio")
		return Object.assign(made, {command: text.command, args: is("args", splitArgs, server.args)});
	const headers = {...server.headers};

	delete headers.Authorization;
	if (text.headers)
		headers.Authorization = is("headers", referenceOf, server.headers && server.headers.Authorization);
	return Object.assign(made, {url: text.url}, Object.keys(headers).length > 0 ? {headers} : {});
}

function connectionText(saved) {
	const name = saved.server.name;

	if (saved.connection === "connected")
		return name + " is connected: " + saved.server.tools + (saved.server.tools === 1 ? " tool." : " tools.");
	return name + " is saved" + (saved.connection ? " and not connected (" + saved.connection + ")" : "")
	    + (saved.detail ? ": " + saved.detail : ".");
}

// server: {} for a new one.
function editServer(server) {
	const list = serverFields(server);
	const fields = Object.fromEntries(list.map((field) => [field.name, field]));
	const status = element("p", {role: "status"});
	const save = element("button", {type: "submit"}, "Connect & Save");
	let transport = server.transport || "stdio";
	const show = (value) => {
		transport = value;
		for (const field of list)
			field.made.hidden = (["command", "args"].includes(field.name) && value !== "stdio")
			    || (["url", "headers"].includes(field.name) && value !== "http");
	};
	const form = element("form", {novalidate: true}, list[0].made, transportSwitch(transport, show),
	    ...list.slice(1).map((field) => field.made), status, element("p", {class: "answers"}, save,
	        button("Cancel", () => dialog.close())));
	const dialog = element("dialog", {"aria-labelledby": "server-form"},
	    element("h3", {id: "server-form"}, server.name ? "Edit " + server.name : "Add Server"),
	    element("p", {}, "This grants nothing: the server starts only if its policy grants this command or URL."), form);

	show(transport);
	form.addEventListener("submit", async (event) => {
		event.preventDefault();
		clearErrors(fields);
		save.disabled = true;
		status.textContent = "Connecting. This may take 20 seconds.";
		try {
			const body = serverOf(server, transport, fields);

			if (server.name)
				body.enabled = server.enabled;
			else if (ownNames.has(body.name))
				throw Object.assign(new Error(body.name + " exists: close this, and edit it"), {field: "name"});
			const saved = await api("POST", "mcp", body);

			dialog.close();
			await showPage();
			say(connectionText(saved));
			focusButton("Edit " + inert(saved.server.name));
		} catch (error) {
			showFieldError(fields, error, status);
			if (fields[error.field])
				status.textContent = "";
		}
		save.disabled = false;
	});
	openDialog(dialog);
}

function removeServer(server) {
	const status = element("p", {role: "status"});
	const dialog = element("dialog", {role: "alertdialog", "aria-labelledby": "remove-title", "aria-describedby": "remove-text"},
	    element("h3", {id: "remove-title"}, "Remove " + server.name + "?"),
	    element("p", {id: "remove-text"}, "Its entry and the list of its tools are removed, and running sessions end its process. "
	        + "Its policy stays."), status,
	    element("p", {class: "answers"}, button("Cancel", () => dialog.close()), button("Remove", async () => {
		    try {
			    await api("DELETE", "mcp/" + encodeURIComponent(server.name));
			    dialog.close();
			    await showPage();
			    say(server.name + " is removed.");
			    focusButton("Add Server");
		    } catch (error) {
			    status.textContent = inert(error.message);
		    }
	    }, {"aria-label": "Remove " + inert(server.name) + " now"})));

	openDialog(dialog);
}

// ---- the cards ---------------------------------------------------------------------------

const DEFINED_BY = {policy: "Defined by its policy, and changed there.", file: "Defined by mcp-servers.json, and changed there."};

function serverButtons(server) {
	const labelled = (id, verb, action) => button(verb, action,
	    {id: id + " " + server.id, "aria-label": verb + " " + inert(server.name)});

	return element("p", {class: "answers"},
	    labelled("toggle", server.enabled ? "Disable" : "Enable", () => setEnabled(server, !server.enabled)),
	    server.source in DEFINED_BY ? null : labelled("edit", "Edit", () => editServer(server)),
	    server.source in DEFINED_BY ? null : labelled("remove", "Remove", () => removeServer(server)));
}

// What drafts a policy, to be pasted into a shell; null: the command is unknown.
function initLine(server) {
	const quoted = (word) => /^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replaceAll("'", "'\\''") + "'";

	return server.reason !== "no-policy" || !server.command ? null
	    : ["kennel init", server.name, "--", ...[server.command, ...(server.args || [])].map(quoted)].join(" ");
}

// How the last attempt to list its tools ended, which is kept while it does not run.
function lastCheck(server) {
	if (server.discovery_status === "pending")
		return null;
	return badge("last check: " + server.discovery_status, server.discovery_status === "connected" ? "good" : "bad");
}

function serverCard(server) {
	const init = initLine(server);
	const starts = server.url || (server.command && [server.command, ...(server.args || [])].join(" ")); // what is enabled
	const details = element("details", {open: opened.has(server.id)},
	    element("summary", {}, server.tools === 1 ? "1 tool" : server.tools + " tools"), toolList(server));

	details.addEventListener("toggle", () => opened[details.open ? "add" : "delete"](server.id));
	return element("article", {class: "card"},
	    element("h4", {}, server.name),
	    element("p", {}, badge(server.transport, "idle"), " ",
	        server.enabled ? badge(server.status, STATUS_KIND[server.status] || "idle") : badge("disabled", "idle"),
	        server.reason && server.enabled ? badge(server.reason.replace("no-policy", "no policy"), "bad") : null,
	        lastCheck(server), server.pinned ? badge("pinned", "good") : null),
	    server.detail && !init ? element("p", {}, server.detail) : null,
	    init ? element("p", {}, "It does not start without a policy. This drafts one: ", element("code", {}, init)) : null,
	    init || !starts ? null : element("p", {}, element("code", {}, starts)),
	    DEFINED_BY[server.source] ? element("p", {}, DEFINED_BY[server.source]) : null,
	    details, serverButtons(server));
}

function serverSection(title, note, servers, ...more) {
	return element("section", {}, element("h3", {}, title), element("p", {}, note), ...more,
	    servers.length === 0 ? element("p", {}, "None.")
	        : element("div", {class: "cards"}, ...servers.map(serverCard)));
}

pages.servers = {
	title: "MCP Servers",
	async load(background) {
		const servers = (await api("GET", "mcp", null, background)).servers;

		ownNames.clear();
		for (const server of servers.filter((one) => !(one.source in DEFINED_BY)))
			ownNames.add(server.name);
		return [element("p", {}, "The servers that agents of this user may start, each in a sandbox of its own. "
		    + "What a server may do is in its policy; nothing on this page grants anything."),
		serverSection("Your Servers", "From policies, from the registry, and from agents. "
		    + "One that an agent has added is disabled until you enable it.",
		    servers.filter((s) => s.scope === "user"), element("p", {}, button("Add Server", () => editServer({})))),
		serverSection("Global Servers", "From mcp-servers.json, which is edited by hand.",
		    servers.filter((s) => s.scope === "global"))];
	},
};
