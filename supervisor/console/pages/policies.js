// Policies: the score of each with its reasons, its warnings, and explain in a form.
"use strict";

// What a kind of request is about: the label of its argument, and of what follows.
const REQUEST_KINDS = {
	tool: ["Tool", "Arguments as JSON (optional)"],
	exec: ["Program", "Arguments, separated by commas (optional)"],
	net: ["HOST:PORT"],
	read: ["Path"],
	write: ["Path"],
	resource: ["URI"],
	prompt: ["Prompt", "Arguments as JSON (optional)"],
	method: ["Method"],
	sampling: [],
	elicitation: [],
	roots: [],
};
const VERDICT_KIND = {allow: "good", ask: "wait", deny: "bad"};

const explainAsked = {server: "", kind: "tool", first: "", rest: ""}; // stays while the page is open

function policyPlace(at) {
	return at.file ? at.file + (at.line ? ":" + at.line : "") : "";
}

function policyLine(at) {
	return element("li", {}, element("code", {}, at.text || ""), " ", policyPlace(at), at.detail ? element("p", {}, at.detail) : null);
}

function explainLines(title, list) {
	return list.length === 0 ? null : element("div", {}, element("h4", {}, title), element("ul", {}, ...list));
}

function explainLink(to) {
	return to ? element("p", {}, "A link on this path leads to ", element("code", {}, to.path), " now: ",
	    badge(to.verdict, VERDICT_KIND[to.verdict] || "idle"), " ", to.by ? element("code", {}, to.by.text) : null,
	    " " + to.enforced) : null;
}

function explainAnswer(answer) {
	const by = answer.by;

	return [element("p", {}, badge(answer.verdict, VERDICT_KIND[answer.verdict] || "idle"),
	    " ", [answer.kind, ...answer.words].join(" ")),
	element("p", {}, by ? "By " : "No line matches: denied by default.", by ? element("code", {}, by.text) : null,
	    by ? " " + policyPlace(by) : null),
	by && by.because ? element("p", {}, "Because: " + by.because) : null,
	by && by.instead ? element("p", {}, "Instead: " + by.instead) : null,
	element("p", {}, "Enforced by: " + answer.enforced),
	explainLink(answer.leads_to),
	explainLines("Limited by", answer.limits.map(policyLine)),
	explainLines("Near", answer.near.map(policyLine)),
	explainLines("To make it " + answer.change.then, answer.change.edits.map((edit) => element("li", {}, edit.verb + ": ",
	    element("code", {}, edit.text), " ", policyPlace(edit))))].filter(Boolean);
}

function selectField(name, label, values, now) {
	const select = element("select", {}, ...values.map((v) => element("option", {value: v}, v)));

	select.value = values.includes(now) ? now : values[0];
	return formField(name, label, "", select);
}

function requestWords(kind, first, rest) {
	if (REQUEST_KINDS[kind].length === 0 || first === "")
		return [];
	if (!rest || REQUEST_KINDS[kind].length === 1)
		return [first];
	return kind === "exec" ? [first, ...splitArgs(rest)] : [first, rest];
}

function explainForm(servers) {
	const server = selectField("server", "Server", servers, explainAsked.server);
	const kind = selectField("kind", "Kind", Object.keys(REQUEST_KINDS), explainAsked.kind);
	const first = formField("words", "", "", textInput(explainAsked.first));
	const rest = formField("rest", "", "", textInput(explainAsked.rest));
	const fields = {server, kind, words: first};
	const status = element("p", {role: "alert"});
	const result = element("div", {role: "status", id: "explained"});
	const label = () => {
		const labels = REQUEST_KINDS[kind.input.value];

		for (const [i, field] of [first, rest].entries()) {
			field.made.hidden = labels.length <= i;
			field.made.querySelector("label").textContent = labels[i] || "";
		}
	};
	const form = element("form", {novalidate: true, "aria-labelledby": "explain-title"}, server.made, kind.made, first.made,
	    rest.made, status, element("p", {}, element("button", {type: "submit"}, "Explain")));

	kind.input.addEventListener("change", label);
	label();
	form.addEventListener("submit", async (event) => {
		event.preventDefault();
		clearErrors(fields);
		status.textContent = "";
		Object.assign(explainAsked, {server: server.input.value, kind: kind.input.value, first: first.input.value, rest: rest.input.value});
		try {
			result.replaceChildren(...explainAnswer(await api("POST", "policies/explain", {server: explainAsked.server, kind: explainAsked.kind,
				words: requestWords(explainAsked.kind, explainAsked.first, explainAsked.rest)})));
		} catch (error) {
			result.replaceChildren();
			showFieldError(fields, error, status);
		}
	});
	return element("section", {class: "wrap"}, element("h3", {id: "explain-title"}, "Explain a request"),
	    element("p", {}, "Whether a server may do something, by which line, and what would change that."), form, result);
}

function policyCard(policy, findings) {
	const reasons = (policy.items || []).map((i) => [i.points === 0 ? "?" : String(i.points), i.why, i.text ? element("code", {}, i.text) : "-", policyPlace(i)]);

	return element("article", {class: "card"},
	    element("h4", {}, policy.server || "(unknown)"),
	    element("p", {}, policy.score === null ? badge("no score", "bad") : badge("score " + policy.score, "idle"),
	    policy.unknown > 0 ? badge(policy.unknown + " not known", "wait") : null,
	        policy.errors > 0 ? badge("errors", "bad") : null,
	        findings.length > 0 ? badge(findings.length + (findings.length === 1 ? " finding" : " findings"), "wait") : null,
	        policy.stale ? badge("stale", "bad") : null, badge(policy.form, "idle"),
	        policy.used ? null : badge("not used", "idle")),
	    element("p", {}, element("code", {}, policy.policy)),
	    element("ul", {}, ...findings.map(findingLine)),
	    reasons.length === 0 ? null : element("details", {}, element("summary", {}, "Reasons for the score"),
	        table("Reasons for the score of " + policy.server, ["Points", "Reason", "Line", "File"], reasons)));
}

function findingLine(finding) {
	return element("li", {}, badge(finding.severity, finding.severity === "error" ? "bad" : "wait"),
	    finding.line ? "line " + finding.line + ": " : "", finding.message);
}

pages.policies = {
	title: "Policies",
	async load(background) {
		const [scores, check] = await Promise.all([api("GET", "policies", null, background),
			api("GET", "policies/check", null, background)]);
		const files = new Set(scores.servers.map((p) => p.policy));
		const others = check.diagnostics.filter((d) => !files.has(d.file));
		const known = [...new Set(scores.servers.filter((p) => p.score !== null && p.used).map((p) => p.server))];

		if (scores.servers.length === 0)
			return [element("p", {}, "No policy was found. One is drafted with "), element("pre", {}, "kennel init NAME -- COMMAND")];
		return [element("p", {}, scores.note.replace(/\s+/g, " ").trim()),
			known.length > 0 ? explainForm(known) : null,
			element("section", {}, element("h3", {}, "Scores and findings"), element("div", {class: "cards"},
			    ...scores.servers.map((p) => policyCard(p, check.diagnostics.filter((d) => d.file === p.policy))))),
			others.length === 0 ? null : element("section", {class: "wrap"}, element("h3", {}, "Other findings"),
			    element("ul", {}, ...others.map((d) => element("li", {}, element("code", {}, d.file), " ", findingLine(d)))))].filter(Boolean);
	},
};
