// Approvals: what waits for a person, live.
"use strict";

const AGAIN_MS = 1000; // between two streams
const accepted = new Set(); // digests of which a part is not shown, and that was accepted

// Arguments, one a line; a detail that was cut is no JSON.
function detailLines(approval) {
	try {
		return Object.entries(JSON.parse(approval.detail)).map(([key, value]) => key + ": " + JSON.stringify(value));
	} catch (error) {
		return [approval.detail];
	}
}

async function give(approval, answer) {
	try {
		await api("POST", "approvals/" + approval.id,
		    {answer, sha256: approval.sha256, unseen: accepted.has(approval.sha256)});
		await showPage();
		say((answer === "deny" ? "Denied: " : "Allowed: ") + approval.server + " " + approval.subject);
	} catch (error) {
		say(error.message);
	}
}

function unseenBox(approval) {
	const box = element("input", {type: "checkbox"});

	box.checked = accepted.has(approval.sha256);
	box.addEventListener("change", () => accepted[box.checked ? "add" : "delete"](approval.sha256));
	return element("p", {}, element("label", {}, box, " A part of it is not shown. I have checked the rest."));
}

function approvalCard(approval) {
	const what = inert(approval.server + " " + approval.subject);
	const term = (name, value) => value ? [element("dt", {}, name), element("dd", {}, value)] : [];

	return element("article", {class: "card"},
	    element("h3", {}, approval.server + " asks for the " + approval.kind + " "),
	    element("p", {}, element("code", {}, approval.subject)),
	    approval.detail ? element("p", {}, "The agent or the server says:") : null,
	    element("ul", {class: "tools"}, ...(approval.detail ? detailLines(approval) : [])
	        .map((line) => element("li", {}, element("code", {}, line)))),
	    element("dl", {}, ...term("Rule", approval.rule), ...term("Because", approval.because),
	        ...term("Second factor", approval.factor === "none" ? "" : approval.factor),
	        ...term("Time left", Math.ceil(approval.left_ms / 1000) + " s"),
	        ...term("Refused in the last 10 min", approval.refusals || "")),
	    approval.whole ? null : unseenBox(approval),
	    element("p", {class: "answers"},
	        button("Allow once", () => give(approval, "once"), {"aria-label": "Allow once: " + what}),
	        button("Allow for the session", () => give(approval, "session"),
	            {"aria-label": "Allow for the session: " + what}),
	        button("Deny", () => give(approval, "deny"), {"aria-label": "Deny: " + what})));
}

let shown = ""; // ids of the cards, so that a button is not replaced under a pointer

pages.approvals = {
	title: "Approvals",
	async load(background) {
		const approvals = (await api("GET", "approvals", null, background)).approvals;

		shown = approvals.map((a) => a.id).join();
		return [element("p", {}, "What servers and agents want to do and may not do unasked. "
		    + "An answer is for exactly what is shown."),
		approvals.length === 0 ? element("p", {}, "Nothing is pending.")
		    : element("div", {class: "cards"}, ...approvals.map(approvalCard))];
	},
};

async function refresh() {
	if (location.hash !== "#approvals")
		return;
	const now = (await api("GET", "approvals", null, true)).approvals.map((a) => a.id).join();

	if (now !== shown) // what a person may be reading stays as it is
		await showPage(true);
}

// The stream of events: each one says that the list has changed.
async function follow() {
	const reply = await fetch("/api/events", {cache: "no-store", credentials: "same-origin",
		headers: {"X-Kennel-Key": localStorage.getItem(KEY) || "", "X-Kennel-Background": "1"}});
	const reader = reply.ok ? reply.body.pipeThrough(new TextDecoderStream()).getReader() : null;

	for (let part = reader && await reader.read(); part && !part.done; part = await reader.read())
		if (part.value.includes("event: approvals"))
			await refresh();
}

// The stream is opened with the page, and again when it has ended.
async function followApprovals() {
	for (;;) {
		if (location.hash === "#approvals" && !document.hidden && localStorage.getItem(KEY))
			await follow().then(refresh).catch((error) => say(error.message));
		await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
	}
}

followApprovals();
