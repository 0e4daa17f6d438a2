/**
 * One task and two calls. `npm start` must be running in this folder:
 *
 *   node_modules/.bin/node docs/examples/first-call.ts
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { connectFabric } from '@toolfabric/client';

// `npm start` writes the address and the token of its gateway here, and the sample repository beside them.
const { address, token } = JSON.parse(readFileSync('.toolfabric/client.json', 'utf8'));
const sample = resolve('.toolfabric/sample/tally');

const fabric = connectFabric({ address, token });
const task = await fabric.createTask({ title: 'first call', workspace: { type: 'clone', path: sample } });

const propose = async (tool: string, args: Record<string, string>) => {
  const call = await fabric.call({ taskId: task.taskId, tool, args });
  // A tool that fails is an answer, not an exception. `unknown` is an answer too: look before you repeat a write.
  console.log(call.callId, tool, call.state, call.result?.error?.type ?? '');
  console.log(call.result?.summary, JSON.stringify(call.result?.evidence ?? []));
  return call;
};

await propose('workspace.search_code', { pattern: 'FIXME' });
await propose('workspace.read_file', { path: 'src/nowhere.js' });

await fabric.endTask(task.taskId, 'succeeded');
fabric.close();
