import type { Bind } from '../sandbox/sandbox-command.ts';

/** Where programs inside find their proxy: the network namespace of a command is its own, so the port is free. */
export const INSIDE_PROXY = { host: '127.0.0.1', port: 3_128 } as const;

/** Where the command sees what its way out is made of. */
const INSIDE = '/network';
const NODE = `${INSIDE}/node`;
export const INSIDE_TRUST = `${INSIDE}/trust.pem`;

/**
 * Listens where it runs, hands the socket to the worker over the channel, and ends when the worker has it. Nothing
 * connects before: the program of the call begins later.
 */
const LISTEN = `
const server = require('node:net').createServer();
process.once('message', () => process.exit(0));
process.once('disconnect', () => process.exit(1));
server.once('error', () => process.exit(1));
server.listen(${INSIDE_PROXY.port}, '${INSIDE_PROXY.host}', () => process.send('listening', server));
`;

/** Run inside before the program of a call, with nothing of the call at hand. */
export const listenInside: readonly string[] = [NODE, '-e', LISTEN];

/** What is shown for it, read-only: the Node.js that this worker runs on, and whom programs may trust. */
export const networkBinds = (trustFile: string): Bind[] => [
  { source: process.execPath, target: NODE, writable: false },
  { source: trustFile, target: INSIDE_TRUST, writable: false },
];
