// One value for the vault, or one security key.  What is typed goes to kennel-form, which
// serves this page, and to no other place.
"use strict";

const field = (id) => document.getElementById(id);
let state = null; // of the vault, and what the page is for
let over = false;

function say(text) {
	field("message").textContent = text;
}

function encode(part) {
	const bytes = typeof part === "string" ? new TextEncoder().encode(part) : new Uint8Array(part);
	let text = "";

	for (const byte of bytes)
		text += String.fromCharCode(byte);
	return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function decode(text) {
	return Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
}

// Each part becomes a line of base64url.
async function post(path, parts) {
	const reply = await fetch(path, {method: "POST", headers: {"Content-Type": "application/octet-stream"},
		body: parts.map(encode).join("\n"), cache: "no-store", credentials: "omit", redirect: "error",
		keepalive: path === "cancel"});
	const got = await reply.json();

	if (got.vault)
		show(got);
	if (!reply.ok)
		throw new Error(got.message);
	return got;
}

function show(now) {
	state = {...state, ...now};
	field("part-value").hidden = state.what !== "value";
	field("part-label").hidden = state.what !== "key";
	field("part-passphrase").hidden = state.what !== "key" && state.vault === "open";
	field("part-again").hidden = state.vault !== "none";
	field("label-passphrase").textContent = state.vault === "none" ? "A passphrase for a new vault" : "Passphrase of the vault";
	field("part-replace").hidden = !state.replaces;
	showGrants();
	field("form").hidden = over;
	field("save").disabled = false;
}

// The servers that get no value until a person grants it: kennel has read this from their policies.
function showGrants() {
	const servers = state.grants ? state.grants.servers : [];

	field("part-grants").hidden = servers.length === 0;
	field("servers").replaceChildren(...servers.map((one) => {
		const list = document.createElement("dl");

		for (const [name, value] of [["Server", one.server], ["Policy", one.policy], ["File", one.file],
		    ["Network", one.network.join("\n")], ["The grant is for", one.grant]]) {
			list.append(document.createElement("dt"), document.createElement("dd"));
			list.children[list.children.length - 2].textContent = name;
			list.lastChild.textContent = inert(value);
		}
		return list;
	}));
}

// Texts of policies: what is invisible, or reorders a line, is shown as its number.
function inert(text) {
	return Array.from(text, (c) => c === "\n" || (c >= " " && c <= "~") ? c
	    : "\\u{" + c.codePointAt(0).toString(16).toUpperCase() + "}").join("");
}

function typed() {
	return field("several").checked ? field("lines").value.replace(/\n$/, "") : field("value").value;
}

// Only hides the form: the characters that the browser has stay with it.
function end(text) {
	over = true;
	for (const id of ["value", "lines", "passphrase", "again"])
		field(id).value = "";
	field("form").hidden = true;
	say(text);
}

async function saveValue() {
	const grant = state.grants && field("grant").checked;

	await post("save", [field("passphrase").value, typed(), field("replace").checked ? "1" : "", grant ? "1" : "",
	    field("again").value]);
	end("The value is in the vault" + (!state.grants ? "" : grant ? ", and the servers are granted it"
	    : ", and the servers are not granted it") + ". You can close this page.");
}

async function saveKey() {
	const label = field("label").value.trim();

	if (label === "" || field("passphrase").value === "")
		throw new Error("Type a name for the key, and the passphrase of the vault.");
	const asked = await post("challenge", [field("passphrase").value]);

	say("Touch the security key. It also asks for its PIN or a fingerprint.");
	const made = await navigator.credentials.create({publicKey: {
		rp: {id: asked.rp_id, name: "kennel"},
		user: {id: crypto.getRandomValues(new Uint8Array(16)), name: label, displayName: label},
		challenge: decode(asked.challenge), timeout: asked.timeout_ms, attestation: "none",
		pubKeyCredParams: [{type: "public-key", alg: -7}, {type: "public-key", alg: -8}],
		excludeCredentials: asked.keys.map((id) => ({type: "public-key", id: decode(id)})),
		authenticatorSelection: {userVerification: "required", residentKey: "discouraged"},
	}});
	await post("save", [field("passphrase").value, decode(asked.challenge), made.response.clientDataJSON,
	    made.response.getAuthenticatorData(), label]);
	end("The key is registered. You can close this page.");
}

const REASONS = {
	InvalidStateError: "This key is registered already.",
	NotAllowedError: "The browser has no answer of a key: it was not touched, has no PIN or fingerprint, or was declined.",
};

field("form").addEventListener("submit", async (event) => {
	event.preventDefault();
	field("save").disabled = true;
	say("Saving.");
	try {
		await (state.what === "key" ? saveKey() : saveValue());
	} catch (error) {
		say(REASONS[error.name] || error.message);
	}
	field("save").disabled = false;
});

function several(on) {
	const [from, to] = on ? ["value", "lines"] : ["lines", "value"];

	field("several").checked = on;
	field(to).value = field(from).value;
	field(from).value = "";
	field(from).hidden = true;
	field(to).hidden = false;
	field(to).focus();
}

field("several").addEventListener("change", () => several(field("several").checked));
// a line of text would lose what follows the first one
field("value").addEventListener("paste", (event) => {
	const text = event.clipboardData.getData("text");

	if (!text.replace(/\r?\n$/, "").includes("\n"))
		return;
	event.preventDefault();
	several(true);
	field("lines").value = text;
});

field("cancel").addEventListener("click", () => post("cancel", []).catch(() => {})
    .then(() => end("Cancelled. Nothing was saved; you can close this page.")));
window.addEventListener("pagehide", () => over || post("cancel", []).catch(() => {}));

fetch("state", {cache: "no-store", credentials: "omit"}).then((reply) => reply.json()).then((now) => {
	field("title").textContent = now.what === "key" ? "Register a security key" : "Value of " + now.path;
	field("about").textContent = now.what === "key"
		? "The key confirms approvals that a policy wants with key. Its public half is kept in the vault."
		: "The value is typed here, kept in the vault, and shown to no one." + (now.format ? " Its format: " + now.format + "." : "");
	say(now.replaces ? "This path has a value. Saving replaces it; running servers keep the old one." : "");
	show(now);
}).catch((error) => say(error.message));
