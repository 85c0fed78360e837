// The login, and the requests to the API.
"use strict";

// The key of this page: in the storage of this origin, which pages of other ports have not.
const KEY = "kennel-key";
const LINK = /^#([0-9a-f]{32})(\/keys)?$/; // of kennel console --keys

// A page that has just come to the front takes no click of a pointer: it was meant for what was
// in front.  No button has the keyboard's focus then.
const DEAF_MS = 700;
let frontSince = -DEAF_MS;

function isDeaf(since) {
	return performance.now() - since < DEAF_MS;
}

for (const event of ["focus", "visibilitychange"])
	addEventListener(event, () => { frontSince = performance.now(); }); // of the window: a focus in it does not bubble
addEventListener("click", (event) => {
	if (event.detail === 0 || !isDeaf(frontSince)) // 0: of the keyboard
		return;
	event.preventDefault();
	event.stopPropagation();
	say("Press it again.");
}, true);

const pages = {}; // a name of the address bar: {title, load, shown}; load returns the elements, then shown is called

async function api(method, path, body, background) {
	const headers = {"X-Kennel-Key": localStorage.getItem(KEY) || ""};

	if (background)
		headers["X-Kennel-Background"] = "1";
	if (method === "POST")
		headers["Content-Type"] = "application/json";
	const reply = await fetch("/api/" + path, {
		method, headers, body: method === "POST" ? JSON.stringify(body || {}) : undefined,
		cache: "no-store", credentials: "same-origin", redirect: "error",
	});
	const value = await reply.json();
	if (!reply.ok)
		throw Object.assign(new Error(value.error.message), {field: value.error.field});
	return value;
}

function say(text) {
	document.getElementById("message").textContent = inert(text);
}

// Exchanges the secret in the link, which does not stay in the address bar or in the history.
async function login() {
	const link = LINK.exec(location.hash);

	if (link)
		history.replaceState(null, "", location.pathname + (link[2] ? "#keys" : ""));
	try {
		await api("GET", "login");
		return;
	} catch (error) {
		if (!link)
			throw error;
	}
	localStorage.setItem(KEY, (await api("POST", "login", {link: link[1]})).key);
}

function showLogin(open) {
	document.getElementById("logout").hidden = !open;
	document.getElementById("pages").hidden = !open;
}

async function logout() {
	await api("POST", "logout");
	localStorage.removeItem(KEY);
	showLogin(false);
	document.getElementById("content").replaceChildren();
	say("Logged out. Run kennel console in a terminal for a new link.");
}

let turn = 0; // of the page that was asked for last

async function showPage(background) {
	const name = location.hash.slice(1) in pages ? location.hash.slice(1) : "servers";
	const mine = ++turn;

	for (const link of document.querySelectorAll("nav a"))
		if (link.getAttribute("href") === "#" + name)
			link.setAttribute("aria-current", "page");
		else
			link.removeAttribute("aria-current");
	const content = document.getElementById("content");
	document.title = pages[name].title + " - kennel console";
	try {
		const made = await pages[name].load(background);

		if (mine !== turn)
			return;
		const held = content.contains(document.activeElement) ? document.activeElement.id : null;
		content.replaceChildren(element("h2", {}, pages[name].title), ...made);
		pages[name].shown?.();
		say("");
		if (held !== null) // a keyboard stays where it was
			(document.getElementById(held) || content).focus();
	} catch (error) {
		if (mine === turn)
			say(error.message);
	}
}
