// One session of the official client (v2) with one server, as JSON: what was
// asked, what came back.
//
//	node client.mjs legacy|auto|VERSION COMMAND ARG...
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [mode, command, ...args] = process.argv.slice(2);
const seen = { results: [], asked: [], progress: [] };

const transport = new StdioClientTransport({ command, args, env: { ...process.env }, stderr: "ignore" });
const client = new Client({ name: "kennel-tests", version: "1" }, {
	capabilities: { sampling: {}, elicitation: {}, roots: {} },
	versionNegotiation: { mode: ["legacy", "auto"].includes(mode) ? mode : { pin: mode } },
});
client.setRequestHandler("sampling/createMessage", async () => {
	seen.asked.push("sampling");
	return { model: "none", role: "assistant", content: { type: "text", text: "sampled" } };
});
client.setRequestHandler("elicitation/create", async (r) => {
	seen.asked.push("elicitation");
	const names = Object.keys(r.params.requestedSchema?.properties ?? {});
	const value = (n) => r.params.requestedSchema.properties[n].type === "boolean" ? true : "x";
	return { action: "accept", content: Object.fromEntries(names.map((n) => [n, value(n)])) };
});
client.setRequestHandler("roots/list", async () => {
	seen.asked.push("roots");
	return { roots: [{ uri: "file:///tmp", name: "tmp" }] };
});

const call = (name, args = {}, options) => () => client.callTool({ name, arguments: args }, options);
const onprogress = (p) => seen.progress.push(p.progress);
const both = [
	["tools", () => client.listTools()],
	["resources", () => client.listResources()],
	["templates", () => client.listResourceTemplates()],
	["prompts", () => client.listPrompts()],
	["text", call("test_simple_text")],
	["mixed", call("test_multiple_content_types")],
	["fails", call("test_error_handling")],
	["progress", call("test_tool_with_progress", {}, { onprogress })],
	["none", call("no-such-tool")],
	["read", () => client.readResource({ uri: "test://static-binary" })],
	["template", () => client.readResource({ uri: "test://template/7/data" })],
	["missing", () => client.readResource({ uri: "test://nothing" })],
	["prompt", () => client.getPrompt({ name: "test_prompt_with_arguments", arguments: { arg1: "a", arg2: "b" } })],
	["complete", () => client.complete({ ref: { type: "ref/prompt", name: "test_prompt_with_arguments" },
		argument: { name: "arg1", value: "par" } })],
	["cancelled", async () => {
		const stop = new AbortController();
		setTimeout(() => stop.abort("enough"), 20);
		return client.callTool({ name: "test_reconnection", arguments: {} }, { signal: stop.signal });
	}],
	["text again", call("test_simple_text")],
];
const legacy = [
	["ping", () => client.ping()],
	["sampling", call("test_sampling", { prompt: "x" })],
	["elicitation", call("test_elicitation", { message: "who" })],
	["defaults", call("test_elicitation_sep1034_defaults")],
	["subscribe", () => client.subscribeResource({ uri: "test://watched-resource" })],
	["level", () => client.setLoggingLevel("info")],
	["logging", call("test_tool_with_logging")],
];
const modern = [
	["input", call("test_input_required_result_elicitation")],
	["input sampling", call("test_input_required_result_sampling")],
	["input roots", call("test_input_required_result_list_roots")],
	["input three", call("test_input_required_result_multiple_inputs")],
	["input rounds", call("test_input_required_result_multi_round")],
	["input state", call("test_input_required_result_request_state")],
	["listen", async () => {
		const heard = [];
		const changed = new Promise((done) => client.setNotificationHandler(
			"notifications/tools/list_changed", (n) => { heard.push(n.method); done(); }));
		const stream = await client.listen({ toolsListChanged: true });
		await client.callTool({ name: "test_trigger_prompt_change", arguments: {} });
		await client.callTool({ name: "test_trigger_tool_change", arguments: {} });
		await Promise.race([changed, new Promise((done) => setTimeout(done, 3000))]);
		await stream.close();
		return heard;
	}],
	["input prompt", () => client.getPrompt({ name: "test_input_required_result_prompt" })],
];

try {
	await client.connect(transport, { timeout: 30000 });
	seen.server = client.getServerVersion();
	seen.capabilities = client.getServerCapabilities();
	seen.version = client.getNegotiatedProtocolVersion?.();
	const steps = [...both, ...(seen.version >= "2026" ? modern : legacy)];
	for (const [step, act] of steps) {
		try {
			seen.results.push({ step, result: await act() });
		} catch (e) {
			seen.results.push({ step, error: { code: e.code, message: String(e.message) } });
		}
	}
	await client.close();
} catch (e) {
	seen.failed = { code: e.code, message: String(e.message) };
}
console.log(JSON.stringify(seen));
process.exit(0);
