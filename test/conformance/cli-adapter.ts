import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AdapterUnderTest } from './adapter.ts';

/** Appends a line that names its argument, then waits as long as it is told. */
const APPEND = `import fs from 'node:fs';
fs.appendFileSync('happened.txt', process.argv[2] + '\\n');
setTimeout(() => {}, Number(process.argv[3] ?? 0));
`;

const LOUD = 'for (let n = 0; n < 40_000; n += 1) console.log("line " + n + " of what is too much");\n';

const FILES = { 'loud.mjs': LOUD, 'append.mjs': APPEND, 'read-me.txt': 'a file of the workspace\n' };

const isRunning = (marker: string): boolean =>
  readdirSync('/proc').some((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      return readFileSync(`/proc/${name}/cmdline`, 'latin1').split('\0').includes(marker);
    } catch {
      return false;
    }
  });

const readLines = (file: string): string[] => {
  try {
    return readFileSync(file, 'utf8').split('\n');
  } catch {
    return [];
  }
};

/** Two people are asked about each text for a shell. */
const shell = (identity: string) => ({
  tool: 'shell.run',
  args: { run: `run-${identity}`, script: `cat read-me.txt > asked-${identity}.txt` },
});

const run = (...argv: string[]) => ({ tool: 'process.run', args: { argv } });

export const CLI: AdapterUnderTest = {
  name: 'cli',
  kind: 'cli',
  worker: 'cli',
  services: [],
  loseReceipt: 'worker.handled:kill',
  writeTool: 'process.run',
  policy: '@id("shell")\npermit (principal, action == Action::"shell.run", resource);\n',
  async rig(cluster, client) {
    const { taskId } = await client.createTask({ title: 'conformance', workspace: { type: 'empty' } });
    const folder = join(cluster.directory, 'state/workspaces', taskId);
    for (const [path, text] of Object.entries(FILES)) {
      const args = { path, old_text: '', new_text: text, expected_sha256: 'absent' };
      const { state } = await client.call({ taskId, tool: 'workspace.edit_file', args }, { waitMs: 20_000 });
      if (state !== 'ok') throw new Error(`${path} could not be written: ${state}`);
    }
    const lines = () => readLines(join(folder, 'happened.txt'));
    return {
      taskId,
      async taskUnder(constraints) {
        const under = await client.createTask({ title: 'under', workspace: { type: 'empty' }, constraints });
        const args = { path: 'read-me.txt', old_text: '', new_text: 'read me\n', expected_sha256: 'absent' };
        await client.call({ taskId: under.taskId, tool: 'workspace.edit_file', args }, { waitMs: 20_000 });
        return under.taskId;
      },
      read: { tool: 'workspace.read_file', args: { path: 'read-me.txt' } },
      malformed: { action: { tool: 'process.run', args: { argv: 'not a list' } }, field: '/argv' },
      write: (identity) => run('node', 'append.mjs', identity),
      happened: (identity) => lines().filter((line) => line === identity).length,
      slowWrite: async (identity) => run('node', 'append.mjs', identity, '60000'),
      begun: (identity) => lines().includes(identity),
      hasStopped: (identity) => !isRunning(identity),
      calm: async () => {},
      echo: async (text) => run('echo', text),
      loud: run('node', 'loud.mjs'),
      asking: shell,
      asked: (identity) => Number(existsSync(join(folder, `asked-${identity}.txt`))),
      origin: /^workspace:t-/,
    };
  },
};
