import { readdirSync, readFileSync } from 'node:fs';
import { callTool, makeFixture, makeWorkspace } from './driver-fixture.ts';

/** A worker that is process 1 of its container, where nobody else takes in what is left to nobody; says how many. */
const fixture = await makeFixture();
const workspace = await makeWorkspace(fixture);
const call = (argv: string[], args = {}) => callTool(fixture.driver, 'process.run', workspace, { argv, ...args });
await call(['true']);
const late = await call(['sleep', '20'], { timeout_ms: 200 });
const abort = new AbortController();
setTimeout(() => abort.abort(), 300);
await callTool(fixture.driver, 'process.run', workspace, { argv: ['sleep', '20'] }, { signal: abort.signal });
await callTool(fixture.driver, 'workspace.list_files', workspace, {});
const isZombie = (pid: string): boolean => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).startsWith('Z');
  } catch {
    return false;
  }
};
const zombies = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isZombie(name)).length;
await fixture.remove();
process.stdout.write(JSON.stringify({ pid: process.pid, zombies, limit: (late.data as { limit: string }).limit }));
