// A server of the official SDK (v2) over HTTP on 127.0.0.1, in both eras: 2026-07-28,
// and without sessions what older clients ask.
//
//	node sdk_server.mjs      prints its port
import { createServer } from "node:http";
import { createMcpHandler, fromJsonSchema, McpServer, ResourceTemplate } from "@modelcontextprotocol/server";

const text = (t) => ({ content: [{ type: "text", text: t }] });
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const schema = (properties, required = []) => fromJsonSchema({ type: "object", properties, required });

function make() {
	const server = new McpServer({ name: "sdk-server", version: "1" }, { instructions: "for tests" });

	server.registerTool("test_simple_text", { description: "A text." }, () => text("This is a text."));
	server.registerTool("test_multiple_content_types", { description: "A text and a picture." }, () => ({
		content: [{ type: "text", text: "both" }, { type: "image", data: pixel, mimeType: "image/png" }],
	}));
	server.registerTool("test_error_handling", { description: "Fails." }, () => {
		throw new Error("it fails");
	});
	server.registerTool("echo", { description: "The same.", inputSchema: schema({ message: { type: "string" } }, ["message"]) },
	    ({ message }) => text(message));
	server.registerTool("long", { description: "A long text." }, () => text("x".repeat(300000) + "äöü"));
	server.registerResource("static", "test://static-binary", { mimeType: "image/png" },
	    (uri) => ({ contents: [{ uri: uri.href, blob: pixel, mimeType: "image/png" }] }));
	server.registerResource("template", new ResourceTemplate("test://template/{id}/data", { list: undefined }), {},
	    (uri, { id }) => ({ contents: [{ uri: uri.href, text: "data of " + id }] }));
	server.registerPrompt("test_prompt_with_arguments", { argsSchema: schema({ arg1: { type: "string" }, arg2: { type: "string" } }, ["arg1"]) },
	    ({ arg1, arg2 }) => ({ messages: [{ role: "user", content: { type: "text", text: arg1 + " and " + arg2 } }] }));
	return server;
}

const handler = createMcpHandler(make);

createServer(async (request, response) => {
	const parts = [];

	for await (const part of request)
		parts.push(part);
	const answer = await handler.fetch(new Request("http://" + request.headers.host + request.url, {
		method: request.method, headers: Object.entries(request.headers).flatMap(([k, v]) => [v].flat().map((x) => [k, x])),
		body: parts.length > 0 ? Buffer.concat(parts) : undefined,
	}));
	response.writeHead(answer.status, Object.fromEntries(answer.headers));
	if (answer.body !== null)
		for await (const part of answer.body)
			response.write(part);
	response.end();
}).listen(0, "127.0.0.1", function () {
	console.log(this.address().port);
});
