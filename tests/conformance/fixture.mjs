// An MCP server with the tools, resources and prompts that the conformance suite
// asks for by name, over stdio, in both eras: what says initialize is answered as
// 2025-11-25 and older, what carries _meta with a version as 2026-07-28.
import { createHmac, randomBytes } from "node:crypto";

const PREFIX = "io.modelcontextprotocol/";
const LEGACY = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const MODERN = ["2026-07-28"];
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";
const INFO = { name: "kennel-fixture", version: "1.0.0" };
const key = randomBytes(32);

const say = (m) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", ...m }) + "\n");
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const text = (t) => ({ content: [{ type: "text", text: t }] });

class Refusal extends Error {
	constructor(code, message, data) {
		super(message);
		this.code = code;
		this.data = data;
	}
}

// ---- requests of our own (before 2026-07-28) -----------------------------------

const asked = new Map();
let asked_n = 0;
let client = {}; // its capabilities, as initialize said
const watched = new Set();
const listening = new Map(); // 2026-07-28: id -> what it wants to hear

function ask(method, params) {
	const id = "ask-" + ++asked_n;
	say({ id, method, params });
	return new Promise((resolve, reject) => asked.set(id, { resolve, reject }));
}

function needs(capability) {
	if (!client[capability])
		throw new Refusal(-32602, "the client has no " + capability);
}

async function elicit(message, requestedSchema) {
	needs("elicitation");
	const r = await ask("elicitation/create", { message, requestedSchema });
	return text(`Elicitation completed: action=${r.action}, content=${JSON.stringify(r.content ?? {})}`);
}

// ---- input_required (2026-07-28) -----------------------------------------------

const object = (properties, required = Object.keys(properties)) =>
	({ type: "object", properties, required });
const form = (message, properties) =>
	({ method: "elicitation/create", params: { message, requestedSchema: object(properties) } });
const sample = (t, maxTokens) => ({ method: "sampling/createMessage",
	params: { messages: [{ role: "user", content: { type: "text", text: t } }], maxTokens } });
const roots = () => ({ method: "roots/list", params: {} });
const CAPABILITY = { "elicitation/create": "elicitation", "sampling/createMessage": "sampling",
	"roots/list": "roots" };

const seal = (word) => word + "." + createHmac("sha256", key).update(word).digest("hex");
function unseal(state) {
	const word = String(state ?? "").split(".")[0];
	if (seal(word) !== state)
		throw new Refusal(-32602, "requestState is not what was given");
	return word;
}

const fits = {
	"elicitation/create": (r) => ["accept", "decline", "cancel"].includes(r?.action) &&
		(r.action !== "accept" || typeof r.content === "object"),
	"sampling/createMessage": (r) => typeof r?.content === "object" && typeof r?.role === "string",
	"roots/list": (r) => Array.isArray(r?.roots),
};

// All answers that are wanted, or null when one is missing or no answer.
function answers(params, wanted) {
	const got = params.inputResponses;
	if (typeof got !== "object" || got === null)
		return null;
	return Object.entries(wanted).every(([k, r]) => fits[r.method](got[k])) ? got : null;
}

const required = (inputRequests, state) => ({ resultType: "input_required", inputRequests,
	...(state ? { requestState: seal(state) } : {}) });

const once = (wanted, done, state) => (params) => {
	const got = answers(params, wanted);
	if (got === null)
		return required(wanted, state);
	if (state && unseal(params.requestState) !== state)
		throw new Refusal(-32602, "another requestState");
	return done(got);
};

const NAME = { user_name: form("What is your name?", { name: { type: "string" } }) };
const QUESTION = { capital_question: sample("What is the capital of France?", 100) };
const ROOTS = { client_roots: roots() };
const CONFIRM = { confirm: form("Please confirm", { ok: { type: "boolean" } }) };
const THREE = { ...NAME, greeting: sample("Generate a greeting", 50), ...ROOTS };
const STEPS = [
	{ step1: form("Step 1: What is your name?", { name: { type: "string" } }) },
	{ step2: form("Step 2: What is your favorite color?", { color: { type: "string" } }) },
];
const CONTEXT = { user_context: form("What context should the prompt use?", { context: { type: "string" } }) };

function multi_round(params) {
	const step = params.requestState === undefined ? 0 : Number(unseal(params.requestState).slice(-1));
	if (step === 0)
		return required(STEPS[0], "round-1");
	if (answers(params, STEPS[step - 1]) === null)
		return required(STEPS[step - 1], "round-" + step);
	return step === 2 ? text("All steps are done.") : required(STEPS[1], "round-2");
}

// ---- tools -----------------------------------------------------------------------

const NONE = { type: "object", properties: {} };
const RICH = {
	$schema: "https://json-schema.org/draft/2020-12/schema", type: "object",
	$defs: { address: { $anchor: "addressDef", type: "object",
		properties: { street: { type: "string" }, city: { type: "string" } } } },
	properties: { name: { type: "string" }, address: { $ref: "#/$defs/address" },
		contactMethod: { type: "string", enum: ["phone", "email"] },
		phone: { type: "string" }, email: { type: "string" } },
	allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
	if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
	then: { required: ["phone"] }, else: { required: ["email"] }, additionalProperties: false,
};
const image = { type: "image", data: PNG, mimeType: "image/png" };
const enums = (n, titles) => titles.map((title, i) => ({ const: `value${i + 1}`, title }));

const log = (data) => say({ method: "notifications/message", params: { level: "info", logger: "fixture", data } });

async function slowly(words, tell) {
	for (const [i, word] of words.entries()) {
		if (i > 0)
			await sleep(50);
		tell(word);
	}
}

// One more tool or prompt, or one fewer: a client is told of a change, not of the word.
function changed(what, list, it) {
	if (Object.hasOwn(list, "test_changing"))
		delete list.test_changing;
	else
		list.test_changing = it;
	const method = `notifications/${what}/list_changed`;
	for (const [id, wants] of listening)
		if (wants[what + "ListChanged"])
			say({ method, params: { _meta: { [PREFIX + "subscriptionId"]: id } } });
	return text(what + " changed");
}

// name -> [description, what it does, its input schema]; c is the call.
const tools = {
	test_simple_text: ["Simple text", () => text("This is a simple text response for testing.")],
	test_image_content: ["An image", () => ({ content: [image] })],
	test_audio_content: ["A sound", () => ({ content: [{ type: "audio", data: WAV, mimeType: "audio/wav" }] })],
	test_embedded_resource: ["A resource inside", () => ({ content: [{ type: "resource", resource: {
		uri: "test://embedded-resource", mimeType: "text/plain",
		text: "This is an embedded resource content." } }] })],
	test_multiple_content_types: ["Several kinds", () => ({ content: [
		{ type: "text", text: "Multiple content types test:" }, image,
		{ type: "resource", resource: { uri: "test://mixed-content-resource", mimeType: "application/json",
			text: JSON.stringify({ test: "data", value: 123 }) } }] })],
	test_tool_with_logging: ["Logs three times", async () => {
		await slowly(["Tool execution started", "Tool processing data", "Tool execution completed"], log);
		return text("logged");
	}],
	test_tool_with_progress: ["Tells its progress", async (c) => {
		const progressToken = c.meta.progressToken;
		await slowly([0, 50, 100], (progress) => progressToken !== undefined &&
			say({ method: "notifications/progress", params: { progressToken, progress, total: 100 } }));
		return text("progressed");
	}],
	test_error_handling: ["Always fails", () =>
		({ isError: true, ...text("This tool intentionally returns an error for testing") })],
	test_reconnection: ["Takes a moment", async () => {
		await sleep(100);
		return text("still here");
	}],
	test_sampling: ["Asks the client's model", async (c) => {
		needs("sampling");
		const r = await ask("sampling/createMessage", sample(c.args.prompt, 100).params);
		return text("LLM response: " + r.content.text);
	}, object({ prompt: { type: "string" } })],
	test_elicitation: ["Asks the user", async (c) => {
		needs("elicitation");
		const r = await ask("elicitation/create", { message: c.args.message, requestedSchema: object({
			username: { type: "string", description: "User's response" },
			email: { type: "string", description: "User's email address" } }) });
		return text(`User response: action=${r.action}, content=${JSON.stringify(r.content ?? {})}`);
	}, object({ message: { type: "string" } })],
	test_elicitation_sep1034_defaults: ["Asks with defaults", () => elicit("Please check", object({
		name: { type: "string", default: "John Doe" }, age: { type: "integer", default: 30 },
		score: { type: "number", default: 95.5 },
		status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
		verified: { type: "boolean", default: true } }, []))],
	test_elicitation_sep1330_enums: ["Asks with enums", () => elicit("Please choose", object({
		untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
		titledSingle: { type: "string", oneOf: enums(3, ["First Option", "Second Option", "Third Option"]) },
		legacyEnum: { type: "string", enum: ["opt1", "opt2", "opt3"],
			enumNames: ["Option One", "Option Two", "Option Three"] },
		untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2", "option3"] } },
		titledMulti: { type: "array", items: { anyOf: enums(3, ["First Choice", "Second Choice", "Third Choice"]) } },
	}, []))],
	json_schema_2020_12_tool: ["Tool with JSON Schema 2020-12 features", () => text("ok"), RICH],
	test_streaming_elicitation: ["Asks while it runs", once(NAME, () => text("answered"))],
	test_logging_tool: ["Logs where it is asked to", async (c) => {
		if (c.meta[PREFIX + "logLevel"] !== undefined)
			log("a word");
		return text("done");
	}],
	test_missing_capability: ["Needs sampling", (c) => {
		if (!c.capabilities.sampling)
			throw new Refusal(-32021, "the client has no sampling", { requiredCapabilities: { sampling: {} } });
		return text("it has");
	}],
	test_x_mcp_header: ["Has a parameter that travels as a header", (c) => text(String(c.args.region)),
		object({ region: { type: "string", "x-mcp-header": "Region" } })],
	test_input_required_result_elicitation: ["Needs a name",
		once(NAME, (r) => text(`Hello, ${r.user_name.content?.name}!`))],
	test_input_required_result_sampling: ["Needs a sample",
		once(QUESTION, (r) => text(r.capital_question.content.text ?? "no text"))],
	test_input_required_result_list_roots: ["Needs the roots",
		once(ROOTS, (r) => text("roots: " + r.client_roots.roots.map((x) => x.uri).join(" ")))],
	test_input_required_result_request_state: ["Keeps a state", once(CONFIRM, () => text("state-ok"), "confirming")],
	test_input_required_result_multiple_inputs: ["Needs three things", once(THREE, () => text("all there"), "three")],
	test_input_required_result_multi_round: ["Asks twice", multi_round],
	test_input_required_result_tampered_state: ["Looks at its state",
		once(CONFIRM, () => text("untouched"), "sealed")],
	test_input_required_result_capabilities: ["Asks what can be answered", (c) => {
		const can = Object.fromEntries(Object.entries(THREE).filter(([, r]) => c.capabilities[CAPABILITY[r.method]]));
		return Object.keys(can).length === 0 ? text("nothing to ask") : once(can, () => text("asked"))(c.params);
	}],
	test_trigger_tool_change: ["Says that the tools changed", () =>
		changed("tools", tools, ["Comes and goes", () => text("here")])],
	test_trigger_prompt_change: ["Says that the prompts changed", () =>
		changed("prompts", prompts, ["Comes and goes", [], () => user(line("here"))])],
};
const takes_params = (name) => /^test_input_required_result_(?!capabilities)|streaming/.test(name);

function call(params, c) {
	const tool = Object.hasOwn(tools, params.name) ? tools[params.name] : undefined;
	if (tool === undefined)
		throw new Refusal(-32602, "no tool of that name: " + params.name);
	return tool[1](takes_params(params.name) ? params : { ...c, params, args: params.arguments ?? {} });
}

// ---- resources and prompts ---------------------------------------------------------

const resources = [
	{ uri: "test://static-text", name: "static-text", description: "A text", mimeType: "text/plain" },
	{ uri: "test://static-binary", name: "static-binary", description: "An image", mimeType: "image/png" },
	{ uri: "test://watched-resource", name: "watched", description: "One to watch", mimeType: "text/plain" },
];

function read(params, c) {
	const uri = params.uri;
	const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1];
	if (uri === "test://static-text")
		return { contents: [{ uri, mimeType: "text/plain", text: "This is the content of the static text resource." }] };
	if (uri === "test://static-binary")
		return { contents: [{ uri, mimeType: "image/png", blob: PNG }] };
	if (uri === "test://watched-resource")
		return { contents: [{ uri, mimeType: "text/plain", text: "watched" }] };
	if (id !== undefined)
		return { contents: [{ uri, mimeType: "application/json",
			text: JSON.stringify({ id, templateTest: true, data: "Data for ID: " + id }) }] };
	throw new Refusal(c.modern ? -32602 : -32002, "Resource not found", { uri });
}

const user = (...content) => ({ messages: content.map((x) => ({ role: "user", content: x })) });
const line = (t) => ({ type: "text", text: t });
const argument = (name, description) => ({ name, description, required: true });
const prompts = {
	test_simple_prompt: ["Simple", [], () => user(line("This is a simple prompt for testing."))],
	test_prompt_with_arguments: ["Two arguments", [argument("arg1", "First"), argument("arg2", "Second")],
		(a) => user(line(`Prompt with arguments: arg1='${a.arg1}', arg2='${a.arg2}'`))],
	test_prompt_with_embedded_resource: ["A resource inside", [argument("resourceUri", "Which")],
		(a) => user({ type: "resource", resource: { uri: a.resourceUri, mimeType: "text/plain",
			text: "Embedded resource content for testing." } },
		line("Please process the embedded resource above."))],
	test_prompt_with_image: ["An image", [], () => user(image, line("Please analyze the image above."))],
	test_input_required_result_prompt: ["Needs a context", [], (a, params) =>
		once(CONTEXT, (r) => user(line("Context: " + r.user_context.content?.context)))(params)],
};

function prompt(params) {
	const p = Object.hasOwn(prompts, params.name) ? prompts[params.name] : undefined;
	if (p === undefined)
		throw new Refusal(-32602, "no prompt of that name: " + params.name);
	return p[2](params.arguments ?? {}, params);
}

// ---- methods -------------------------------------------------------------------------

const capabilities = (modern) => ({
	...(modern ? {} : { logging: {} }), completions: {},
	prompts: { listChanged: true }, resources: { subscribe: true, listChanged: true }, tools: { listChanged: true },
});
const cached = { ttlMs: 1000, cacheScope: "public" };

const both = {
	"tools/list": () => ({ tools: Object.entries(tools).map(([name, [description, , inputSchema]]) =>
		({ name, description, inputSchema: inputSchema ?? NONE })) }),
	"tools/call": call,
	"resources/list": () => ({ resources }),
	"resources/templates/list": () => ({ resourceTemplates: [{ uriTemplate: "test://template/{id}/data",
		name: "template", description: "One by id", mimeType: "application/json" }] }),
	"resources/read": read,
	"prompts/list": () => ({ prompts: Object.entries(prompts).map(([name, [description, args]]) =>
		({ name, description, arguments: args })) }),
	"prompts/get": prompt,
	"completion/complete": () => ({ completion: { values: ["paris", "park", "party"], total: 3, hasMore: false } }),
};
const legacy = { ...both,
	"initialize": (params) => {
		client = params.capabilities ?? {};
		const wanted = params.protocolVersion;
		return { protocolVersion: LEGACY.includes(wanted) ? wanted : LEGACY.at(-1),
			capabilities: capabilities(false), serverInfo: INFO };
	},
	"ping": () => ({}),
	"logging/setLevel": () => ({}),
	"resources/subscribe": (params) => { watched.add(params.uri); return {}; },
	"resources/unsubscribe": (params) => { watched.delete(params.uri); return {}; },
};
const modern = { ...both,
	"server/discover": () => ({ supportedVersions: MODERN, capabilities: capabilities(true) }),
	"subscriptions/listen": (params, c) => {
		const wants = Object.fromEntries(Object.entries(params.notifications ?? {}).filter(([, v]) => v));
		listening.set(c.id, wants);
		say({ method: "notifications/subscriptions/acknowledged", params: { notifications: wants,
			_meta: { [PREFIX + "subscriptionId"]: c.id } } });
		return new Promise(() => {}); // until it is cancelled
	},
};
const cacheable = ["server/discover", "tools/list", "prompts/list", "resources/list",
	"resources/templates/list", "resources/read"];

function envelope(meta) {
	const version = meta[PREFIX + "protocolVersion"], can = meta[PREFIX + "clientCapabilities"];
	if (typeof version !== "string" || typeof can !== "object" || can === null)
		throw new Refusal(-32602, "_meta lacks protocolVersion or clientCapabilities");
	if (!MODERN.includes(version))
		throw new Refusal(-32022, "unsupported protocol version", { supported: MODERN, requested: version });
	return can;
}

let greeted = false; // initialize was said: this session is a legacy one
const one = process.argv.includes("--modern"); // there are no legacy ones

async function answer(m) {
	const params = m.params ?? {}, meta = params._meta ?? {};
	if (one && m.method === "initialize")
		throw new Refusal(-32601, "Method not found");
	greeted = greeted || (m.method === "initialize" && meta[PREFIX + "protocolVersion"] === undefined);
	const c = { id: m.id, meta, capabilities: greeted ? client : envelope(meta), modern: !greeted };
	const methods = greeted ? legacy : modern;
	if (!Object.hasOwn(methods, m.method))
		throw new Refusal(-32601, "Method not found");
	const result = await methods[m.method](params, c);
	if (greeted)
		return result;
	return { resultType: "complete", ...(cacheable.includes(m.method) ? cached : {}), ...result,
		_meta: { ...result._meta, [PREFIX + "serverInfo"]: INFO } };
}

async function request(m) {
	try {
		const result = await answer(m);
		say({ id: m.id, result });
	} catch (e) {
		const data = e.data === undefined ? {} : { data: e.data };
		say({ id: m.id, error: { code: e.code ?? -32603, message: String(e.message), ...data } });
	}
}

function message(m) {
	const waiting = asked.get(m.id);
	if (m.method === undefined) {
		asked.delete(m.id);
		if (m.error === undefined)
			waiting?.resolve(m.result);
		else
			waiting?.reject(new Refusal(-32603, m.error.message));
	} else if (m.id !== undefined)
		request(m);
	else if (m.method === "notifications/cancelled")
		listening.delete(m.params?.requestId);
}

let rest = "";
process.stdin.setEncoding("utf8");
process.stdin.on("data", (d) => {
	const lines = (rest + d).split("\n");
	rest = lines.pop();
	for (const l of lines)
		if (l.trim() !== "")
			message(JSON.parse(l));
});
process.stdin.on("end", () => process.exit(0));
