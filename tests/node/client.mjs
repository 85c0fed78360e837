// A session of the official SDK's client with one server, written down as JSON:
// what was asked, what came back.  The tests compare it with and without
// kennel between them.
//
//	node client.mjs SCRIPT COMMAND ARG...
//	node client.mjs SCRIPT URL		over Streamable HTTP
import { readFileSync } from "node:fs";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
	CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema,
	LoggingMessageNotificationSchema, ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";

const [script, command, ...args] = process.argv.slice(2);
const plan = JSON.parse(readFileSync(script, "utf8"));
const seen = { results: [], asked: [], notes: 0, progress: [] };

const env = { ...process.env };

const transport = command.startsWith("http:") ? new StreamableHTTPClientTransport(new URL(command))
	: new StdioClientTransport({ command, args, env, stderr: "pipe" });
const client = new Client({ name: "kennel-tests", version: "1" },
	{ capabilities: plan.capabilities ?? {} });
let noise = "";
transport.stderr?.on("data", (d) => { noise += d; });

if (plan.capabilities?.sampling)
	client.setRequestHandler(CreateMessageRequestSchema, async (r) => {
		seen.asked.push("sampling");
		return { model: "none", role: "assistant",
			content: { type: "text", text: "sampled " + r.params.maxTokens } };
	});
if (plan.capabilities?.elicitation)
	client.setRequestHandler(ElicitRequestSchema, async () => {
		seen.asked.push("elicitation");
		return { action: "decline" };
	});
if (plan.capabilities?.roots)
	client.setRequestHandler(ListRootsRequestSchema, async () => {
		seen.asked.push("roots");
		return { roots: [{ uri: "file:///tmp", name: "tmp" }] };
	});
client.setNotificationHandler(LoggingMessageNotificationSchema, () => { seen.notes++; });
client.setNotificationHandler(ResourceUpdatedNotificationSchema, () => { seen.notes++; });

const verbs = {
	tools: () => client.listTools(),
	resources: () => client.listResources(),
	templates: () => client.listResourceTemplates(),
	prompts: () => client.listPrompts(),
	ping: () => client.ping(),
	call: (s) => client.callTool({ name: s.name, arguments: s.arguments ?? {} }, undefined, {
		timeout: 20000,
		onprogress: s.progress ? (p) => seen.progress.push(p.progress) : undefined,
	}),
	time: async (s) => { // microseconds of each of n calls, after a tenth more
		const took = [];
		for (let k = -Math.floor(s.n / 10); k < s.n; k++) {
			const t0 = process.hrtime.bigint();
			await client.callTool({ name: s.name, arguments: s.arguments ?? {} });
			if (k >= 0)
				took.push(Number(process.hrtime.bigint() - t0) / 1000);
		}
		return took;
	},
	read: (s) => client.readResource({ uri: s.uri }),
	prompt: (s) => client.getPrompt({ name: s.name, arguments: s.arguments ?? {} }),
	subscribe: (s) => client.subscribeResource({ uri: s.uri }),
	level: (s) => client.setLoggingLevel(s.level),
	complete: (s) => client.complete(s.params),
	cancel: async (s) => {
		const stop = new AbortController();
		setTimeout(() => stop.abort("enough"), s.after ?? 200);
		return client.callTool({ name: s.name, arguments: s.arguments ?? {} }, undefined,
			{ signal: stop.signal, timeout: 20000 });
	},
};

try {
	await client.connect(transport, { timeout: 30000 });
	seen.server = client.getServerVersion();
	seen.capabilities = client.getServerCapabilities();
	seen.instructions = client.getInstructions();
	for (const step of plan.steps) {
		try {
			seen.results.push({ step, result: await verbs[step.do](step) });
		} catch (e) {
			seen.results.push({ step, error: { code: e.code, message: String(e.message) } });
		}
	}
	await client.close();
	console.log(JSON.stringify(seen));
	process.exit(0);
} catch (e) {
	console.error(String(e.stack ?? e), noise.slice(-2000));
	process.exit(1);
}
