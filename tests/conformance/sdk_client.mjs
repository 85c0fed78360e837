// One session of the official client (v2) with the server of sdk_server.mjs, as JSON.
//
//	node sdk_client.mjs legacy|auto|VERSION http://...
//	node sdk_client.mjs legacy|auto|VERSION COMMAND ARG...
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [mode, command, ...args] = process.argv.slice(2);
const seen = { results: [] };
const transport = command.startsWith("http:") ? new StreamableHTTPClientTransport(new URL(command))
    : new StdioClientTransport({ command, args, env: { ...process.env }, stderr: "ignore" });
const client = new Client({ name: "kennel-tests", version: "1" },
    { versionNegotiation: { mode: ["legacy", "auto"].includes(mode) ? mode : { pin: mode } } });
const call = (name, args = {}) => () => client.callTool({ name, arguments: args });

try {
	await client.connect(transport, { timeout: 30000 });
	seen.server = client.getServerVersion();
	seen.capabilities = client.getServerCapabilities();
	seen.instructions = client.getInstructions();
	seen.version = client.getNegotiatedProtocolVersion?.();
	for (const [step, act] of [
		["tools", () => client.listTools()],
		["resources", () => client.listResources()],
		["templates", () => client.listResourceTemplates()],
		["prompts", () => client.listPrompts()],
		["text", call("test_simple_text")],
		["mixed", call("test_multiple_content_types")],
		["fails", call("test_error_handling")],
		["echo", call("echo", { message: "ä \" \\ \u2028 " + "y".repeat(20000) })],
		["invalid", call("echo", { message: 7 })],
		["long", call("long")],
		["none", call("no-such-tool")],
		["read", () => client.readResource({ uri: "test://static-binary" })],
		["template", () => client.readResource({ uri: "test://template/7/data" })],
		["missing", () => client.readResource({ uri: "test://nothing" })],
		["prompt", () => client.getPrompt({ name: "test_prompt_with_arguments", arguments: { arg1: "a", arg2: "b" } })],
		["together", () => Promise.all([1, 2, 3, 4, 5].map((n) => call("echo", { message: String(n) })()))],
	])
		try {
			seen.results.push({ step, result: await act() });
		} catch (e) {
			seen.results.push({ step, error: { code: e.code, message: String(e.message) } });
		}
	await client.close();
} catch (e) {
	seen.failed = { code: e.code, message: String(e.message) };
}
process.stdout.write(JSON.stringify(seen), () => process.exit(0));
