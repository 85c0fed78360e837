// Approvals: what waits for a person, live.
"use strict";

const AGAIN_MS = 1000; // between two streams
const DEAF_MS = 700; // a card that has just come takes no answer: the click was meant for something else
const accepted = new Set(); // digests of which a part is not shown, and that was accepted

async function give(approval, answer) {
	try {
		await api("POST", "approvals/" + approval.id,
		    {answer, sha256: approval.sha256, unseen: accepted.has(approval.sha256)});
		accepted.delete(approval.sha256);
		end(document.getElementById("approval " + approval.id), answer === "deny" ? "Denied." : "Allowed.");
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
	const drawn = performance.now();
	const answer = (kind) => performance.now() - drawn < DEAF_MS ? say("Press it again.") : give(approval, kind);
	const term = (name, value) => value ? [element("dt", {}, name), element("dd", {}, value)] : [];

	return element("article", {class: "card", id: "approval " + approval.id},
	    element("h3", {}, approval.server + " asks for the " + approval.kind + " "),
	    element("p", {}, element("code", {}, approval.subject)),
	    approval.detail ? element("p", {}, "The agent or the server says:") : null,
	    // as it was sent: a parser would drop what is there twice, and round numbers
	    approval.detail ? element("pre", {}, element("code", {}, approval.detail)) : null,
	    element("dl", {}, ...term("Rule", approval.rule), ...term("Because", approval.because),
	        ...term("Second factor", approval.factor === "none" ? "" : approval.factor),
	        ...term("Time left", Math.ceil(approval.left_ms / 1000) + " s"),
	        ...term("Refused in the last 10 min", approval.refusals || "")),
	    approval.whole ? null : unseenBox(approval),
	    element("p", {class: "answers"},
	        button("Allow once", () => answer("once"), {"aria-label": "Allow once: " + what}),
	        button("Allow for the session", () => answer("session"),
	            {"aria-label": "Allow for the session: " + what}),
	        button("Deny", () => answer("deny"), {"aria-label": "Deny: " + what})));
}

// A card that is over stays where it is: another one's button must not come under a pointer.
function end(card, text) {
	if (card === null || card.classList.contains("over"))
		return;
	const answers = card.querySelector(".answers");

	card.classList.add("over");
	answers.style.height = answers.offsetHeight + "px";
	answers.replaceChildren(text);
}

pages.approvals = {
	title: "Approvals",
	async load(background) {
		const approvals = (await api("GET", "approvals", null, background)).approvals;

		return [element("p", {}, "What servers and agents want to do and may not do unasked. "
		    + "An answer is for exactly what is shown."),
		approvals.length === 0 ? element("p", {}, "Nothing is pending.")
		    : element("div", {class: "cards", id: "approvals"}, ...approvals.map(approvalCard))];
	},
};

async function refresh() {
	if (location.hash !== "#approvals")
		return;
	const approvals = (await api("GET", "approvals", null, true)).approvals;
	const cards = document.getElementById("approvals");

	if (cards === null) // none is shown: nothing to press
		return showPage(true);
	for (const approval of approvals)
		if (document.getElementById("approval " + approval.id) === null)
			cards.append(approvalCard(approval));
	const pending = new Set(approvals.map((a) => "approval " + a.id));
	for (const card of cards.children)
		if (!pending.has(card.id))
			end(card, "It is no longer pending.");
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
