// The fixture over HTTP, as 2026-07-28 has it: a process for each request, like supergateway, but started before the
// request comes.  Behind kennel a request starts kennel, too, and the suite gives some of them 500 ms.
//
//	node far.mjs FIXTURE PORT
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { createInterface } from "node:readline";

const [fixture, port] = process.argv.slice(2);
const SPARE = 4;
const spare = [];
const kept = new Map(); // requestState -> the process that wrote it: its key is its own

function more() {
	while (spare.length < SPARE)
		spare.push(spawn(process.execPath, [fixture], { stdio: ["pipe", "pipe", "inherit"] }));
}

function answer(message, res) {
	const p = kept.get(message.params?.requestState) ?? spare.shift();
	const lines = createInterface({ input: p.stdout });
	let goesOn = false;
	kept.delete(message.params?.requestState);
	more();
	res.writeHead(200, { "Content-Type": "text/event-stream" });
	lines.on("line", (line) => {
		const m = JSON.parse(line), state = m.result?.requestState;
		res.write("data: " + line + "\n\n");
		if (m.id !== message.id || m.method !== undefined)
			return;
		if (state !== undefined)
			kept.set(state, p);
		goesOn = state !== undefined;
		res.end();
	});
	res.on("close", () => goesOn ? lines.close() : p.kill());
	p.stdin.write(JSON.stringify(message) + "\n");
}

more();
createServer((req, res) => {
	const parts = [];
	if (req.method !== "POST")
		return res.writeHead(405).end();
	req.on("data", (d) => parts.push(d));
	req.on("end", () => {
		const message = JSON.parse(Buffer.concat(parts));
		if (message.id === undefined || message.method === undefined)
			res.writeHead(202).end();
		else
			answer(message, res);
	});
}).listen(Number(port), "localhost");
