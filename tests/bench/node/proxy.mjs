// A Node proxy from npm between two pipes, for the bench: node proxy.mjs PROG ARG...
// The packages are found beside this file.
import { PassthroughContext } from '@civic/passthrough-mcp-server';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';

// It talks about each message on standard output, where only messages may stand.
console.log = () => {};
const [command, ...args] = process.argv.slice(2);
const between = new PassthroughContext();

process.stdin.on('end', () => between.close().finally(() => process.exit(0)));
await between.connect(
	new StdioServerTransport(),
	new StdioClientTransport({ command, args, env: process.env, stderr: 'ignore' }),
);
