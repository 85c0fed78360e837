// Log: a page of records, live while it is the newest one, and what is known of them.
"use strict";

const POLL_MS = 2000, ROWS_MAX = 500;
const FILTERS = {server: "Server", kind: "Kind", verdict: "Verdict", contains: "Contains"};
const seen = {server: new Set(), kind: new Set(), verdict: new Set(["allow", "ask", "deny", "killed", "absent"])};
const view = {
	filter: {server: "", kind: "", verdict: "", contains: ""},
	before: "", // the number of a record; "": the newest page
	log: {size: 0}, records: [],
	sure: 0, // records before this one were verified, and are shown as they were read then
	at: "", // when
};

function utc(ms) {
	return new Date(ms).toISOString().slice(0, 19).replace("T", " ");
}

function logRow(record) {
	const fields = record.fields || {};
	const verdict = fields.verdict || "";
	const rest = Object.entries(fields).filter(([key]) => key !== "server" && key !== "verdict");

	return element("tr", {}, element("td", {}, record.idx + " ",
	    view.sure > 0 && record.idx >= view.sure ? badge("not verified", "wait") : null),
	element("td", {}, utc(record.ts / 1e6)), element("td", {}, record.kind),
	element("td", {}, fields.server || "-"),
	element("td", {}, verdict ? badge(verdict, verdict === "allow" ? "good" : verdict === "ask" ? "wait" : "bad") : "-"),
	element("td", {}, element("code", {}, rest.map(([key, value]) => key + "=" + JSON.stringify(value)).join(" "))));
}

// Exactly what is known: of all rows, or of none.
function logMark() {
	const count = view.log.size + (view.log.size === 1 ? " record is" : " records are") + " in the log. ";

	if (view.sure === 0)
		return [badge("not verified", "wait"), " " + count + "The rows are shown as they are in the file. Verify reads every record "
		    + "of the log, checks them, and shows the rows that it has checked."];
	return [badge("verified to record " + (view.sure - 1), "good"), " " + count + "At " + view.at + " UTC kennel-verify checked all records before "
	    + view.sure + " and their signatures and found none altered; these rows are the ones that were checked. "
	    + (view.log.complete ? "" : "Records may be missing at the end. ")
	    + "Later records are not covered, nor another log that the owner of the log's key has signed: a witness shows that."];
}

function keep(records) {
	for (const record of records) {
		seen.kind.add(record.kind);
		if ((record.fields || {}).server)
			seen.server.add(record.fields.server);
	}
}

function ask(more, background) {
	return api("POST", "log", {...view.filter, ...more}, background);
}

let logTurn = 0; // of what was asked for last: an earlier reply that comes later is not shown

// False: something else was asked for meanwhile.
async function loadLog(more, background) {
	const mine = ++logTurn;
	const {log, records} = await ask({before: view.before, ...more}, background);

	if (mine !== logTurn)
		return false;
	view.log = log;
	view.records = records;
	view.sure = log.verified ? log.size : 0;
	view.at = utc(Date.now());
	keep(records);
	return true;
}

// Draws it again, and says what it shows.
async function turnLog(change, more, first) {
	Object.assign(view, change);
	try {
		if (first)
			say(first);
		if (!await loadLog(more))
			return;
		document.getElementById("log-mark").replaceChildren(...element("p", {}, ...logMark()).childNodes);
		drawRows();
		say(view.records.length + (view.records.length === 1 ? " record." : " records.") + (more ? " The log is verified." : ""));
	} catch (error) {
		say(error.message);
	}
}

function drawRows() {
	const rows = document.getElementById("log-rows"), older = document.getElementById("older");
	const newest = document.getElementById("newest");

	rows.replaceChildren(...view.records.map(logRow).reverse());
	older.disabled = view.records.length < ROWS_MAX;
	newest.disabled = view.before === "";
	document.getElementById("log-text").textContent = view.records.length === 0 ? "No records match."
	    : "Records " + view.records[0].idx + " to " + view.records.at(-1).idx + (view.before === "" ? ", and new ones as they come." : ".");
}

// New records, while the newest page is shown.
async function pollLog() {
	const rows = document.getElementById("log-rows"), mine = logTurn;

	if (rows === null || document.hidden || view.before !== "" || view.log.size === 0 || !localStorage.getItem(KEY))
		return;
	const {log, records} = await ask({after: String(view.log.size - 1)}, true);

	if (mine !== logTurn || view.before !== "" || log.size < view.log.size || records.length === 0 || rows !== document.getElementById("log-rows"))
		return;
	keep(records);
	view.log = {...log, complete: view.log.complete};
	view.records = [...view.records, ...records].slice(-ROWS_MAX);
	rows.prepend(...records.map(logRow).reverse());
	while (rows.childElementCount > ROWS_MAX)
		rows.lastElementChild.remove();
	document.getElementById("log-mark").replaceChildren(...element("p", {}, ...logMark()).childNodes);
}

setInterval(() => pollLog().catch(() => {}), POLL_MS); // what is wrong is said when a person asks

// Any value of the log; those that were seen are offered.
function filterField(name) {
	const input = element("input", {type: "search", name, list: seen[name] ? "seen-" + name : null, autocomplete: "off"});

	input.value = view.filter[name];
	input.addEventListener("change", () => turnLog({filter: {...view.filter, [name]: input.value}, before: ""}));
	return element("span", {}, element("label", {}, FILTERS[name] + " ", input),
	    seen[name] ? element("datalist", {id: "seen-" + name}, ...[...seen[name]].sort().map((v) => element("option", {value: inert(v)}))) : null);
}

pages.log = {
	title: "Log",
	async load(background) {
		view.before = "";
		await loadLog({}, background);
		const form = element("form", {role: "search", class: "filters", "aria-label": "Filters"}, ...Object.keys(FILTERS).map(filterField),
		    element("button", {type: "submit"}, "Show"));

		form.addEventListener("submit", (event) => event.preventDefault()); // a field that has changed has done it
		const made = [element("p", {id: "log-mark"}, ...logMark()), form,
			element("p", {class: "answers"},
			    button("Verify the log", () => turnLog({}, {verified: true}, "Verifying the log.")),
			    button("Newest records", () => turnLog({before: ""}), {id: "newest"}),
			    button("Older records", () => turnLog({before: String(view.records[0].idx)}), {id: "older"})),
			element("p", {id: "log-text"}),
			table("Records, the newest first", ["Number", "Time (UTC)", "Kind", "Server", "Verdict", "Fields"], [])];

		made.at(-1).querySelector("tbody").id = "log-rows";
		return made;
	},
	shown: drawRows,
};
