// Compares kennel's verdicts on tool arguments with those of ajv:
//
//	compare.mjs JUDGE VALUES [SEED]
//
// Schemas: of the servers that `make test` installs and, where they exist, of those
// that `make servers` installs and of the protocol itself; and generated ones. Values:
// VALUES of each kind of schema, generated from it, half of them changed. JUDGE is
// build/tests/schema.
import { spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

const root = path.dirname(path.dirname(path.dirname(fileURLToPath(import.meta.url))));
const modules = root + "/build/node/node_modules";
const require = createRequire(modules + "/x.js");
const Ajv = require("ajv").default;
const Ajv2020 = require("ajv/dist/2020.js").default;
const [judge, values, seed = "1"] = process.argv.slice(2);

// ---- chance, the same for one seed -----------------------------------------------

let state = Number(seed) >>> 0;
function chance() { // mulberry32
	state = (state + 0x6d2b79f5) >>> 0;
	let t = state;
	t = Math.imul(t ^ (t >>> 15), t | 1);
	t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
	return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
}
const below = (n) => Math.floor(chance() * n);
const pick = (list) => list[below(list.length)];
const maybe = (p) => chance() < p;

// ---- schemas -----------------------------------------------------------------------

const names = ["a", "b", "c", "x-1", "long name"];
const texts = ["", "a", "ab", "x-1", "12", "é", "😀", "a b", "line\n", "A", "2024-01-01", "\u2028", "toolong"];
const numbers = [0, 1, -1, 2, 3, 0.5, 2.5, 10, 100, 1e6, -7];
const patterns = ["^a", "b$", "^[a-z]+$", "^\\d+$", "^.$", "\\s", "^\\S*$", "^x-", "[\\s\\S]", "^(a|b)*$",
	"^\\p{Lu}$", "\\u{1f600}", "^\\d{4}-\\d\\d-\\d\\d$", "^[^\\n]*$", "(?!a)b", "^$", "\\bA\\b", "\\/|\\-"];
const types = ["string", "number", "integer", "boolean", "object", "array", "null"];

function anyValue(depth = 2) {
	const kind = below(depth > 0 ? 7 : 5);
	if (kind === 0)
		return pick(texts);
	if (kind === 1)
		return pick(numbers);
	if (kind === 2)
		return maybe(0.5);
	if (kind === 3)
		return null;
	if (kind === 4)
		return below(5);
	if (kind === 5)
		return Array.from({ length: below(4) }, () => anyValue(depth - 1));
	return Object.fromEntries(Array.from({ length: below(4) }, () => [pick(names), anyValue(depth - 1)]));
}

const some = (make, least = 1) => Array.from({ length: least + below(2) }, make);
const few = (list) => [...new Set(some(() => pick(list)))];

// Each: fills in one keyword, or a few that belong together.
const keywords = [
	(s) => { s.type = maybe(0.7) ? pick(types) : few(types); },
	(s) => { s.enum = [...new Map(some(() => anyValue(1), 2).map((v) => [JSON.stringify(v), v])).values()]; },
	(s) => { s.const = anyValue(); },
	(s) => { s[pick(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"])] = pick(numbers); },
	(s) => { s.multipleOf = pick([1, 2, 3, 0.5]); },
	(s) => { s[pick(["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"])] = below(4); },
	(s) => { s.pattern = pick(patterns); },
	(s) => { s.format = "date"; },
	(s) => { s.required = few(names); },
	(s) => { s.dependentRequired = { [pick(names)]: few(names) }; },
	(s, d) => { s.dependentSchemas = { [pick(names)]: anySchema(d) }; },
	(s, d) => { s.properties = Object.fromEntries(some(() => [pick(names), anySchema(d)], 2)); },
	(s, d) => { s.properties = Object.fromEntries(some(() => [pick(names), anySchema(d)], 2)); },
	(s, d) => { s.patternProperties = { [pick(patterns)]: anySchema(d) }; },
	(s, d) => { s.additionalProperties = maybe(0.4) ? false : anySchema(d); },
	(s, d) => { s.propertyNames = anySchema(d); },
	(s, d) => { s.items = anySchema(d); },
	(s, d) => { s.prefixItems = some(() => anySchema(d)); },
	(s, d) => { s.contains = anySchema(d); if (maybe(0.4)) s.minContains = below(3); if (maybe(0.4)) s.maxContains = 1 + below(3); },
	(s) => { s.uniqueItems = true; },
	(s, d) => { s.allOf = some(() => anySchema(d)); },
	(s, d) => { s.anyOf = some(() => anySchema(d), 2); },
	(s, d) => { s.oneOf = some(() => anySchema(d), 2); },
	(s, d) => { s.not = anySchema(d); },
	(s, d) => { s.if = anySchema(d); if (maybe(0.8)) s.then = anySchema(d); if (maybe(0.5)) s.else = anySchema(d); },
	(s) => { s.$ref = pick(["#/$defs/one", "#/$defs/two", "#two"]); },
	(s, d) => { s.unevaluatedProperties = maybe(0.6) ? false : anySchema(d); },
	(s, d) => { s.unevaluatedItems = maybe(0.6) ? false : anySchema(d); },
];

function anySchema(depth) {
	if (depth <= 0 || maybe(0.1))
		return maybe(0.3) ? maybe(0.7) : { type: pick(types) };
	const s = {};
	for (let n = 1 + below(3); n > 0; n--)
		pick(keywords)(s, depth - 1);
	return s;
}

function document() {
	const s = anySchema(3);
	if (typeof s === "boolean")
		return s;
	// Neither refers to itself without progress.
	s.$defs = { one: { type: pick(types), title: "one" }, two: { $anchor: "two",
		properties: { a: { $ref: maybe(0.5) ? "#" : "#/$defs/one" } }, items: { $ref: "#/$defs/one" } } };
	if (s.$ref === undefined && s.$defs.two.properties.a.$ref === "#")
		return s;
	s.$defs.two.properties.a.$ref = "#/$defs/one";
	return s;
}

// draft-07: what 2020-12 spells in another way.
function older() {
	const s = { type: pick(["array", "object"]) };
	s.items = maybe(0.7) ? some(() => anySchema07()) : anySchema07();
	if (maybe(0.6))
		s.additionalItems = maybe(0.4) ? false : anySchema07();
	s.dependencies = { a: maybe(0.5) ? few(names) : { required: few(names) } };
	s.properties = { b: { $ref: "#/definitions/d" } };
	s.definitions = { d: { type: pick(types) } };
	return s;
}
const anySchema07 = () => pick([true, false, { type: pick(types) }, { const: anyValue(1) }, { $ref: "#/definitions/d" }]);

// ---- values ------------------------------------------------------------------------

function resolve(ref, doc) {
	if (ref === "#two")
		return doc.$defs?.two;
	return ref.split("/").slice(1).reduce((at, k) => at?.[k.replace(/~1/g, "/").replace(/~0/g, "~")],
		ref.startsWith("#") ? doc : undefined);
}

// A value that often matches.
function valueFor(s, doc, depth = 6) {
	if (typeof s !== "object" || s === null || depth <= 0)
		return anyValue(1);
	if (s.const !== undefined)
		return s.const;
	if (s.enum?.length > 0)
		return pick(s.enum);
	if (typeof s.$ref === "string")
		return valueFor(resolve(s.$ref, doc), doc, depth - 1);
	for (const k of ["anyOf", "oneOf", "allOf"])
		if (Array.isArray(s[k]) && s[k].length > 0 && (s.type === undefined || maybe(0.3)))
			return valueFor(pick(s[k]), doc, depth - 1);
	let type = Array.isArray(s.type) ? pick(s.type) : s.type;
	type ??= s.properties || s.required || s.patternProperties || s.additionalProperties !== undefined ? "object"
		: s.items !== undefined || s.prefixItems || s.contains ? "array" : s.pattern ? "string" : pick(types);
	const between = (low, high) => low + below(Math.max(1, high - low + 1));
	if (type === "object") {
		const v = {};
		for (const [k, sub] of Object.entries(s.properties ?? {}))
			if (s.required?.includes(k) || maybe(0.6))
				v[k] = valueFor(sub, doc, depth - 1);
		for (const k of s.required ?? [])
			v[k] ??= anyValue(1);
		if (maybe(0.2))
			v[pick(names)] = typeof s.additionalProperties === "object"
				? valueFor(s.additionalProperties, doc, depth - 1) : anyValue(1);
		return v;
	}
	if (type === "array") {
		const n = between(s.minItems ?? 0, Math.min(s.maxItems ?? 3, 6));
		const sub = Array.isArray(s.items) ? s.items : s.prefixItems ?? [];
		const rest = Array.isArray(s.items) ? s.additionalItems : s.items;
		return Array.from({ length: n }, (_, i) => valueFor(sub[i] ?? rest ?? true, doc, depth - 1));
	}
	if (type === "string")
		return maybe(0.5) ? pick(texts) : pick(["http://h/", "2024-01-01T00:00:00Z", "abc", "x".repeat(between(s.minLength ?? 0, (s.minLength ?? 0) + 3))]);
	if (type === "number" || type === "integer")
		return maybe(0.7) ? between(Math.ceil(s.minimum ?? 0), Math.ceil(s.minimum ?? 0) + 5) : pick(numbers);
	return type === "boolean" ? maybe(0.5) : null;
}

// One place of it, changed.
function change(v) {
	if (typeof v !== "object" || v === null || maybe(0.2))
		return anyValue();
	const copy = Array.isArray(v) ? [...v] : { ...v };
	const keys = Object.keys(copy);
	if (keys.length === 0 || maybe(0.25)) {
		if (Array.isArray(copy))
			copy.push(anyValue(1));
		else
			copy[pick(names)] = anyValue(1);
	} else if (maybe(0.25) && !Array.isArray(copy))
		delete copy[pick(keys)];
	else {
		const k = pick(keys);
		copy[k] = change(copy[k]);
	}
	return copy;
}

// ---- the schemas of servers ------------------------------------------------------------

// The inputSchemas of a server that runs on this machine.
function ask(argv) {
	return new Promise((done) => {
		const p = spawn(process.execPath, argv, { stdio: ["pipe", "pipe", "ignore"], cwd: os.tmpdir() });
		const timer = setTimeout(() => p.kill(), 60000);
		let text = "", tools = [];
		const send = (m) => p.stdin.write(JSON.stringify({ jsonrpc: "2.0", ...m }) + "\n");
		p.stdin.on("error", () => {});
		p.stdout.on("data", (d) => {
			text += d;
			for (let end; (end = text.indexOf("\n")) >= 0; text = text.slice(end + 1)) {
				const m = JSON.parse(text.slice(0, end));
				if (m.id === 1) {
					send({ method: "notifications/initialized" });
					send({ id: 2, method: "tools/list" });
				}
				if (m.id === 2) {
					tools = m.result.tools;
					p.stdin.end();
				}
			}
		});
		p.on("close", () => { clearTimeout(timer); done(tools.map((t) => t.inputSchema)); });
		send({ id: 1, method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } } });
	});
}

async function serverSchemas() {
	const found = [];
	for (const [folder, list] of [[modules, ["everything", "filesystem", "memory", "sequential-thinking"]],
		[root + "/build/servers/node_modules", ["github", "puppeteer"]]]) {
		for (const name of list) {
			const file = `${folder}/@modelcontextprotocol/server-${name}/dist/index.js`;
			if (!fs.existsSync(file))
				continue;
			const schemas = await ask(name === "filesystem" ? [file, os.tmpdir()] : [file]);
			if (schemas.length === 0)
				throw new Error(`server-${name} lists no tools`);
			found.push(...schemas);
		}
	}
	return found;
}

// The definitions that this one needs.
function reachable(all, name, into = {}) {
	if (into[name] !== undefined)
		return into;
	into[name] = all[name];
	for (const [, other] of JSON.stringify(all[name]).matchAll(/"\$ref":"#\/[$a-z]+\/(\w+)"/gi))
		reachable(all, other, into);
	return into;
}

// Definitions of the protocol's own schemas, as one schema each.
function protocolSchemas() {
	const folder = path.dirname(root) + "/shared/data/schemas", found = [];
	for (const version of fs.existsSync(folder) ? fs.readdirSync(folder) : []) {
		const file = `${folder}/${version}/schema.json`;
		if (!fs.existsSync(file))
			continue;
		const doc = JSON.parse(fs.readFileSync(file));
		for (const where of ["$defs", "definitions"])
			for (const name of Object.keys(doc[where] ?? {}).filter(() => maybe(0.15)))
				found.push({ $ref: `#/${where}/${name}`, [where]: reachable(doc[where], name) });
	}
	return found;
}

// ---- comparison -------------------------------------------------------------------------

// ajv computes with doubles, and reads an object's last duplicate.
const known = [
	['{"multipleOf":0.01}', "19.99", true, "19.99 is 1999 hundredths; as doubles it is not"],
	['{"multipleOf":0.5}', "1e21", true, "2e21 halves; ajv reads a number from 1e21 on as its first digits"],
	['{"items":{"contains":{"type":"null"}}}', "[[null],[]]", false,
		"the second has no such item; ajv keeps the result of the first for an empty array"],
	['{"contains":{"type":"null"},"unevaluatedItems":false}', "[null,1]", false,
		"`contains` checks the items that match it; ajv takes all for checked"],
	['{"if":true,"else":{"prefixItems":[true]},"unevaluatedItems":false}', "[1]", false,
		"`else` is not evaluated; ajv counts its items"],
	['{"properties":{"b":true},"dependentSchemas":{"c":{"unevaluatedProperties":false}},'
		+ '"unevaluatedProperties":{"const":false}}', '{"b":3}', true,
		"`properties` checks `b`; ajv forgets it for a schema that does not apply"],
	['{"maximum":9007199254740992}', "9007199254740993", false, "one more; as doubles they are equal"],
	['{"const":9007199254740993}', "9007199254740992", false, "as doubles they are equal"],
	['{"type":"integer"}', "1.00000000000000000001", false, "a fraction; as a double it is 1"],
	['{"properties":{"a":{"type":"string"}}}', '{"a":1,"a":"x"}', false, "a server may read the first"],
	['{"pattern":"a"}', '"\\u0000a"', false, "a string with a NUL is refused where its text matters"],
	['{"properties":{"a":{"$ref":"#"}},"$ref":"#/$defs/b","$defs":{"b":{"pattern":"(?>a)"}}}', '"b"', true,
		"a pattern that is not of ECMA-262 is not checked; ajv refuses the schema"],
];

const options = { strict: false, validateFormats: false, logger: false, unicodeRegExp: true };
const is07 = (s) => Array.isArray(s?.items) || s?.dependencies !== undefined || /draft-07/.test(s?.$schema ?? "");

// What four lines of `known` are about is not generated.
const ajvErrsFor = (schema, value) => schema.includes('"contains":') && value.includes("[]");
const ajvErrs = (text) => text.includes('"unevaluatedItems"') && /"(contains|else)":/.test(text)
	|| text.includes('"unevaluatedProperties"') && text.includes('"dependentSchemas"');

function compile(schema) {
	try {
		return is07(schema) ? new Ajv(options).compile(schema) : new Ajv2020(options).compile(schema);
	} catch {
		return null;
	}
}

// ajv's, or null: some code that it generates for unevaluated* fails.
function verdict(validate, value) {
	try {
		return validate(value);
	} catch {
		return null;
	}
}

function verdicts(lines) {
	const r = spawnSync(judge, { input: lines.join("\n") + "\n", encoding: "utf8", maxBuffer: 1 << 30 });
	if (r.status !== 0)
		throw new Error(`${judge} ended with ${r.status ?? r.signal}`);
	const out = [];
	let warnings = [];
	for (const line of r.stdout.split("\n").slice(0, -1)) {
		if (line.startsWith("warn ")) {
			warnings.push(line);
			continue;
		}
		out.push({ line, warnings });
		warnings = [];
	}
	if (out.length !== lines.length)
		throw new Error(`${out.length} verdicts on ${lines.length} values`);
	return out;
}

let failed = 0, printed = 0;
function result(ok, text) {
	console.log(`${ok ? "ok" : "not ok"} - ${text}`);
	failed += !ok;
}

function compare(title, schemas, each, n) {
	const lines = [], wanted = [];
	let unusable = 0;
	while (lines.length < n) {
		const schema = each === null ? schemas() : schemas[lines.length % schemas.length];
		const odd = each === null && ajvErrs(JSON.stringify(schema));
		const validate = odd ? null : each === null ? compile(schema) : each.get(schema);
		if (validate === null) {
			if (++unusable > n)
				break;
			if (each !== null)
				throw new Error("ajv refuses " + JSON.stringify(schema).slice(0, 200));
			continue;
		}
		for (let i = 0; i < (each === null ? 10 : 1); i++) {
			let value = valueFor(schema, schema);
			if (maybe(0.5))
				value = change(value);
			value = JSON.parse(JSON.stringify(value ?? null));
			const fits = verdict(validate, value);
			if (fits === null || (each === null && ajvErrsFor(JSON.stringify(schema), JSON.stringify(value))))
				continue;
			lines.push(JSON.stringify({ schema, value }));
			wanted.push(fits);
		}
	}
	let differ = 0;
	verdicts(lines).forEach(({ line, warnings }, i) => {
		if ((line === "ok") === wanted[i] && (wanted[i] || line.startsWith("no ")) && warnings.length === 0)
			return;
		differ++;
		if (printed++ < 10)
			console.log(`# ajv: ${wanted[i]}; kennel: ${line} ${warnings.join("; ")}\n# ${lines[i].slice(0, 2000)}`);
	});
	const fit = wanted.filter((w) => w).length;
	result(differ === 0 && fit > n / 20 && n - fit > n / 20,
		`${title}: kennel and ajv agree on ${lines.length - differ} of ${lines.length} values, ${fit} of which match`);
}

function compareKnown() {
	const out = verdicts(known.map(([schema, value]) => `{"schema":${schema},"value":${value}}`));
	known.forEach(([schema, value, fits, why], i) => {
		const validate = compile(JSON.parse(schema));
		const differs = validate === null || validate(JSON.parse(value)) !== fits;
		result((out[i].line === "ok") === fits && differs, `differs from ajv: ${schema} ${value}: ${why}`);
	});
}

const count = Number(values);
compareKnown();
for (const [title, schemas] of [["servers", await serverSchemas()], ["the protocol", protocolSchemas()]]) {
	if (schemas.length === 0) {
		console.log(`# ${title}: no schemas on this machine`);
		continue;
	}
	compare(`${schemas.length} schemas of ${title}`, schemas, new Map(schemas.map((s) => [s, compile(s)])), count);
}
compare("generated schemas", document, null, count);
compare("generated schemas of draft-07", older, null, count / 5);
process.exit(failed > 0 ? 1 : 0);
