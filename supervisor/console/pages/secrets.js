// Secrets: what is declared and when it expires.  There is no value here.
"use strict";

const DAY_MS = 86400000;

// "2026-12-01 (in 5 days)": never a colour alone.
function expiry(date) {
	const days = Math.round((Date.parse(date + "T00:00:00Z") - Math.floor(Date.now() / DAY_MS) * DAY_MS) / DAY_MS);
	const count = Math.abs(days) === 1 ? "1 day" : Math.abs(days) + " days";

	return date + (days > 0 ? " (in " + count + ")" : days === 0 ? " (today)" : " (" + count + " ago)");
}

// A page of another program takes the value: it never comes here.
async function openForm(event, path, mode) {
	const cell = event.target.closest("td");

	try {
		const link = formLink((await api("POST", "form", {what: "value", path, mode})).url);

		cell.querySelector("p")?.remove();
		cell.append(element("p", {}, link));
		link.focus();
		say("A form was opened for " + path + ". It closes after five minutes.");
	} catch (error) {
		say(error.message);
	}
}

// As `kennel secret versions` prints them: the current one, and those that it has replaced.
function versionCell(all, path) {
	const mine = (all || []).filter((v) => v.path === path).sort((a, b) => b.version - a.version);
	const line = (v) => "version " + v.version + ", made " + v.made + (v.replaced ? ", replaced " + v.replaced : ", current");

	if (mine.length < 2)
		return mine.length === 1 ? line(mine[0]) : all ? "-" : "not known (no vault, or it is locked)";
	return element("details", {}, element("summary", {}, line(mine[0])),
	    element("ul", {}, ...mine.slice(1).map((v) => element("li", {}, line(v)))));
}

function secretRow(s, versions) {
	const kind = {registered: "good", expiring: "wait", expired: "bad"};
	const granted = (v) => v.granted === null ? " (vault locked)" : v.granted ? "" : " (not granted)";

	return [element("code", {}, s.path), badge(s.status, kind[s.status] || "idle"), s.expires_at ? expiry(s.expires_at) : "-",
	    s.approve_on_use || "never", (s.servers || []).map((v) => v.name + granted(v)).join(", ") || "-",
	    versionCell(versions, s.path), element("span", {class: "answers"},
	        button("Set", (event) => openForm(event, s.path, "set"), {"aria-label": "Set " + inert(s.path)}),
	        button("Rotate", (event) => openForm(event, s.path, "rotate"), {"aria-label": "Rotate " + inert(s.path)}))];
}

pages.secrets = {
	title: "Secrets",
	async load(background) {
		const [{secrets}, {versions}] = await Promise.all([api("GET", "secrets", null, background),
		    api("GET", "versions", null, background)]);
		const rank = (s) => s.expires_at || "9999"; // those that expire first are at the top

		if (secrets.length === 0)
			return [element("p", {}, "No secrets are declared. A value is stored with "),
			    element("pre", {}, "kennel secret set PATH")];
		secrets.sort((a, b) => rank(a) < rank(b) ? -1 : rank(a) > rank(b) ? 1 : 0);
		return [element("p", {}, "The secrets that manifests and policies name; those that expire first are at the top. A value is typed "
		    + "into a page of its own, or in a terminal with kennel secret set PATH, and is never shown. A value that was replaced is "
		    + "kept for 30 days: kennel secret versions PATH --restore N makes it current again."),
		table("Declared secrets", ["Path", "Status", "Expires", "Asked before use", "Servers", "Versions", "Value"],
		    secrets.map((s) => secretRow(s, versions)))];
	},
};
