// The console's page.  Texts of servers and agents are put into it with textContent only.
"use strict";

// The key of this page: in the storage of this origin, which pages of other ports have not.
const KEY = "kennel-key";

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
		throw new Error(value.error.message);
	return value;
}

function say(text) {
	document.getElementById("message").textContent = text;
}

function show(left) {
	document.getElementById("logout").hidden = left === 0;
	say(left === 0 ? "Logged out." : "Logged in. Without use, this ends in "
	    + Math.ceil(left / 60) + " minutes.");
}

// Exchanges the secret in the link, which does not stay in the address bar or in the history.
async function login() {
	const link = location.hash.slice(1);

	if (link !== "")
		history.replaceState(null, "", location.pathname);
	try {
		return (await api("GET", "login")).left_seconds;
	} catch (error) {
		if (link === "")
			throw error;
	}
	const value = await api("POST", "login", {link});
	localStorage.setItem(KEY, value.key);
	return value.left_seconds;
}

async function logout() {
	await api("POST", "logout");
	localStorage.removeItem(KEY);
	show(0);
}

document.getElementById("logout").addEventListener("click",
    () => logout().catch((error) => say(error.message)));
login().then(show, (error) => say(error.message));
