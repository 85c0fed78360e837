// Approvals: what waits for a person, live.
"use strict";

const AGAIN_MS = 1000; // between two streams
const FORM = /^http:\/\/localhost:\d+\/[0-9a-f]{32}\/$/; // of kennel-form
const ticked = new Set(); // digests with a box that was ticked: of what is not shown, or, with " confirm", of what is destroyed
const chosen = new Map(); // the path that was chosen for a new one, by digest

function cardOf(approval) {
	return document.getElementById("approval " + approval.id);
}

// A link to a form of another program, which the person opens.
function formLink(url) {
	return FORM.test(url) ? element("a", {href: url, target: "_blank", rel: "noopener"},
	    "Open the form for the value (a new tab)") : element("span", {}, "The form has an unexpected address.");
}

async function give(approval, answer, more) {
	try {
		if (answer !== "deny" && approval.factor === "key")
			more = {...more, assertion: await keyAssertion(approval.sha256)};
		const reply = await api("POST", "approvals/" + approval.id,
		    {answer, sha256: approval.sha256, unseen: ticked.has(approval.sha256), ...more});

		if (reply.url) { // it stays pending until the form is saved
			const link = formLink(reply.url);

			cardOf(approval).querySelector(".answers").after(element("p", {}, link));
			link.focus();
			say("A form was opened for the value. It closes after five minutes.");
			return;
		}
		end(cardOf(approval), answer === "deny" ? "Denied." : "Allowed.");
		say((answer === "deny" ? "Denied: " : "Allowed: ") + approval.server + " " + approval.subject);
	} catch (error) {
		say(error.message);
	}
}

/* ---- parts of a card ---- */

// A box that has to be ticked before the approval can be allowed; key: what it is remembered by.
function tickBox(key, text) {
	const box = element("input", {type: "checkbox"});

	box.checked = ticked.has(key);
	box.addEventListener("change", () => ticked[box.checked ? "add" : "delete"](key));
	return element("p", {}, element("label", {}, box, " " + text));
}

function valueText(value) {
	return value === null || value === undefined ? element("i", {}, "not set")
	    : element("code", {}, typeof value === "string" ? value : JSON.stringify(value));
}

// The members that would change: what is, what would be.
function difference(current, proposed) {
	const same = (key) => current && JSON.stringify(current[key]) === JSON.stringify(proposed[key]);
	const rows = Object.keys(proposed).filter((key) => !same(key)
	    && (current || proposed[key] !== null)); // a new path has nothing to unset

	return element("div", {class: "diff"}, ...rows.map((key) => element("div", {role: "group", "aria-label": inert(key)},
	    element("b", {}, key.replaceAll("_", " ")),
	    current ? element("del", {}, element("span", {}, "Current "), valueText(current[key])) : null,
	    element("ins", {}, element("span", {}, "Proposed "), valueText(proposed[key])))));
}

function proposalDetail(approval) {
	const detail = JSON.parse(approval.detail);

	return [element("p", {}, detail.current ? "The agent proposes other metadata. Accepting changes the manifest:"
	    : "The agent proposes a secret that the project does not declare. Accepting adds it to the manifest, without a value:"),
	approval.kind === "new-path" && detail.current ? element("p", {}, "The project declares this path already.") : null,
	difference(detail.current, detail.proposed),
	detail.reason ? element("p", {}, "The agent says: ", element("code", {}, detail.reason)) : null,
	element("dl", {}, ...term("Project", detail.project), ...term("Used by", (detail.servers || []).map((one) => one.server).join(", "))),
	element("details", {}, element("summary", {}, "As it was sent"), sent(approval))];
}

// As the session sent it (of a call, its canonical form): a parser would drop what is there twice, and round numbers.
function sent(approval) {
	return approval.detail ? element("pre", {}, element("code", {}, approval.detail)) : null;
}

function plainDetail(approval) {
	return [approval.detail ? element("p", {}, "The agent or the server says:") : null, sent(approval)];
}

function nameField(approval) {
	const input = element("input", {value: chosen.get(approval.sha256) || approval.subject, size: "32",
		spellcheck: "false", autocomplete: "off"});

	input.addEventListener("input", () => {
		chosen.set(approval.sha256, input.value);
		input.setAttribute("aria-invalid", String(!/^[^/\s]+(\/[^/\s]+){2,}$/.test(input.value)));
	});
	return element("p", {}, element("label", {}, "Accept as ", input));
}

/* ---- what each kind shows, and how it is answered ---- */

const DENY = ["Deny", "deny"], DECLINE = ["Decline", "deny"];
const KINDS = {
	metadata: {detail: proposalDetail, answers: [["Accept", "once"], DECLINE]},
	"new-path": {
		detail: proposalDetail, answers: [["Accept", "once"], DECLINE], field: nameField,
		more: (a) => chosen.has(a.sha256) && chosen.get(a.sha256) !== a.subject ? {name: chosen.get(a.sha256)} : {},
	},
	provision: {answers: [["Enter the value", "once"], DECLINE]},
	rotation: {
		answers: [["Enter the new value", "once"], DECLINE],
		confirm: "I understand that this overwrites the current secret.",
	},
};
const DESTRUCTIVE = "I understand that this may destroy or overwrite something, as its reviewed definition says.";
const AMBIGUOUS = "It has no canonical form (a key twice, a NUL or half a surrogate pair): programs may read it differently.";
const PLAIN = {answers: [["Allow once", "once"], ["Allow for the session", "session"], DENY]};
const WITH_FACTOR = {answers: [["Allow once", "once"], DENY]};

function kindOf(approval) {
	const kind = Object.hasOwn(KINDS, approval.kind) ? KINDS[approval.kind]
	    : approval.factor !== "none" ? WITH_FACTOR : PLAIN;

	return {detail: plainDetail, field: () => null, more: () => ({}), confirm: approval.destructive ? DESTRUCTIVE : null, ...kind};
}

function term(name, value) {
	return value ? [element("dt", {}, name), element("dd", {}, value)] : [];
}

function timeLeft(approval) {
	const shown = element("span", {class: "left"}, Math.ceil(approval.left_ms / 1000) + " s");

	shown.until = performance.now() + approval.left_ms;
	return shown;
}

setInterval(() => {
	for (const shown of document.querySelectorAll(".card:not(.over) .left"))
		shown.textContent = Math.max(0, Math.ceil((shown.until - performance.now()) / 1000)) + " s";
}, 5000);

function detailOf(approval, kind) {
	try {
		return kind.detail(approval);
	} catch { // not JSON: cut, or not kennel's
		return plainDetail(approval);
	}
}

function approvalCard(approval) {
	const what = inert(approval.server + " " + approval.subject);
	const drawn = performance.now();
	const kind = kindOf(approval);
	const answer = (how) => {
		if (isDeaf(drawn)) // a card that has just come: the click was meant for something else
			return say("Press it again.");
		if (how !== "deny" && kind.confirm && !ticked.has(approval.sha256 + " confirm"))
			return say("Tick the box first: " + kind.confirm);
		return give(approval, how, how === "deny" ? {} : kind.more(approval));
	};

	return element("article", {class: "card", id: "approval " + approval.id, tabindex: "-1"},
	    element("h3", {}, approval.server + " asks for the " + approval.kind + " "),
	    element("p", {}, element("code", {}, approval.subject)), ...detailOf(approval, kind),
	    approval.canonical ? null : element("p", {}, AMBIGUOUS),
	    element("dl", {}, ...term("Method", approval.method), ...term("Rule", approval.rule), ...term("Because", approval.because),
	        ...term("Second factor", approval.factor === "none" ? "" : approval.factor),
	        ...term("Time left", timeLeft(approval)), ...term("Refused in the last 10 min", approval.refusals || "")),
	    approval.whole ? null : tickBox(approval.sha256, "A part of it is not shown. I have checked the rest."),
	    kind.confirm ? tickBox(approval.sha256 + " confirm", kind.confirm) : null, kind.field(approval),
	    element("p", {class: "answers"}, ...kind.answers.map(([label, how]) =>
	        button(label, () => answer(how), {"aria-label": label + ": " + what, class: how === "deny" ? "no" : "yes"}))));
}

// A card that is over stays where it is: another one's button must not come under a pointer.
function end(card, text) {
	if (card === null || card.classList.contains("over"))
		return;
	const answers = card.querySelector(".answers"), held = card.contains(document.activeElement);

	card.classList.add("over");
	answers.style.height = answers.offsetHeight + "px";
	answers.replaceChildren(text);
	for (const control of card.querySelectorAll("input"))
		control.disabled = true;
	if (held)
		card.focus();
}

/* ---- the page ---- */

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

	if (cards === null) { // none is shown: nothing to press
		if (approvals.length > 0) {
			await showPage(true);
			say(approvals.length === 1 ? "An approval is pending." : approvals.length + " approvals are pending.");
		}
		return;
	}
	const added = approvals.filter((a) => cardOf(a) === null);
	cards.append(...added.map(approvalCard));
	if (added.length > 0)
		say(added.length === 1 ? "One more is pending." : added.length + " more are pending.");
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
