// Log: the newest records, filtered here.
"use strict";

const filter = {kind: "", server: "", verdict: "", text: ""};

function logRow(record) {
	const fields = record.fields || {};
	const verdict = fields.verdict || "";
	const rest = Object.entries(fields).filter(([key]) => key !== "server" && key !== "verdict");

	return [String(record.idx), new Date(record.ts / 1e6).toISOString().slice(0, 19).replace("T", " "), record.kind,
	    fields.server || "-",
	    verdict ? badge(verdict, verdict === "allow" ? "good" : verdict === "ask" ? "wait" : "bad") : "-",
	    element("code", {}, rest.map(([key, value]) => key + "=" + JSON.stringify(value)).join(" "))];
}

function logMatches(record) {
	const fields = record.fields || {};

	return (!filter.kind || record.kind === filter.kind) && (!filter.server || fields.server === filter.server)
	    && (!filter.verdict || fields.verdict === filter.verdict)
	    && (!filter.text || JSON.stringify(record).includes(filter.text));
}

function choice(label, key, values, redraw) {
	const select = element("select", {}, element("option", {value: ""}, "all"),
	    ...[...new Set(values)].filter(Boolean).sort().map((v) => element("option", {value: v}, v)));

	select.value = filter[key];
	select.addEventListener("change", () => {
		filter[key] = select.value;
		redraw();
	});
	return element("label", {}, label, " ", select);
}

pages.log = {
	title: "Log",
	async load(background) {
		const {log, records} = await api("GET", "log", null, background);
		const body = element("div");
		const redraw = () => body.replaceChildren(table("Records, the newest first",
		    ["Number", "Time (UTC)", "Kind", "Server", "Verdict", "Fields"],
		    records.filter(logMatches).reverse().map(logRow)));
		const text = element("input", {type: "search"});

		text.value = filter.text;
		text.addEventListener("input", () => {
			filter.text = text.value;
			redraw();
		});
		redraw();
		return [element("p", {}, log.verified ? badge("verified", "good") : badge("not verified", "wait"),
		    " " + log.size + " records in the log. kennel audit verify checks all of them."),
		element("form", {role: "search", class: "filters"},
		    choice("Kind", "kind", records.map((r) => r.kind), redraw),
		    choice("Server", "server", records.map((r) => (r.fields || {}).server), redraw),
		    choice("Verdict", "verdict", records.map((r) => (r.fields || {}).verdict), redraw),
		    element("label", {}, "Text ", text)), body];
	},
};
