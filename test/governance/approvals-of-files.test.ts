import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { contractDigests } from '@toolfabric/catalogue';
import { sha256Hex } from '@toolfabric/kernel';
import { toolKey } from '@toolfabric/ledger';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ApprovalCluster, RUN } from './support/approval-cluster.ts';

/** One for each test: its path is the identity of the write. */
let path = '';
let made = 0;
let world: ApprovalCluster;
let folder = '';
let taskId = '';

const script = (text: string) => writeFileSync(join(folder, path), text);
const ask = () => world.ask(path, { tool: RUN, taskId });

beforeAll(async () => {
  world = await ApprovalCluster.start(['router', 'gateway', 'truth', 'cli']);
  folder = join(world.cluster.workspaceRoot, 'project');
  mkdirSync(join(folder, 'scripts'), { recursive: true });
  const workspace = { type: 'existing', path: folder } as const;
  taskId = (await world.ada.createTask({ title: 'files', workspace }, { timeoutMs: 30_000 })).taskId;
}, 60_000);
beforeEach(() => {
  made += 1;
  path = `scripts/deploy-${made}.sh`;
  script('echo one\n');
});
afterAll(() => world.stop());

/** Holds the lock of the workspace until it is told to go on; then it rewrites what is to run next. */
const RACER = `import { existsSync, writeFileSync } from 'node:fs';
const [victim, name] = process.argv.slice(2);
writeFileSync(name + '.begun', '');
while (!existsSync(name + '.go')) await new Promise((resolve) => setTimeout(resolve, 20));
if (victim !== '-') writeFileSync(victim, "import { writeFileSync } from 'node:fs'; writeFileSync('planted', '');");
`;
const VICTIM = "import { writeFileSync } from 'node:fs'; writeFileSync('ran', '');";
const SCRIPT = 'script.run';

/** The tool of commands under another name: it says that its second word is a file that it runs. */
const publishScript = async (): Promise<void> => {
  const version = (await world.ada.listTools()).tools.find(({ name }) => name === 'process.run')?.version ?? '';
  const found = await world.cluster.ledger.registry.get(toolKey('process.run', version));
  if (found === undefined) throw new Error('the tool is not there');
  const { contract } = found.value;
  const script = { ...contract, name: SCRIPT, governance: { ...contract.governance, executes: ['/argv/1'] } };
  const record = { ...found.value, contract: script, ...contractDigests(script) };
  await world.cluster.ledger.registry.create(toolKey(SCRIPT, version), record);
  await waitFor(async () => (await world.ada.listTools()).tools.some(({ name }) => name === SCRIPT), {
    timeoutMs: 10_000,
  });
};

describe('design §8, between the last look of the router and the effect', () => {
  beforeAll(async () => {
    await publishScript();
    writeFileSync(join(folder, 'racer.mjs'), RACER);
    // Commands run as another user than the one whose directory it is.
    chmodSync(folder, 0o777);
  });

  /** The yes is used while another call holds the workspace; resolves with the end of the approved call. */
  const race = async (name: string, victim: string) => {
    writeFileSync(join(folder, 'victim.mjs'), VICTIM);
    chmodSync(join(folder, 'victim.mjs'), 0o666);
    for (const made of ['ran', 'planted']) rmSync(join(folder, made), { force: true });
    const workspace = { type: 'existing', path: folder } as const;
    const constraints = { confirm: [SCRIPT] };
    const { taskId: racing } = await world.ada.createTask({ title: name, workspace, constraints });
    const holder = await world.ada.startCall({
      ...{ taskId: racing, tool: 'process.run' },
      args: { argv: ['node', 'racer.mjs', victim, name] },
    });
    await waitFor(() => existsSync(join(folder, `${name}.begun`)), {
      timeoutMs: 20_000,
      what: 'the other call to run',
    });
    const args = { argv: ['node', 'victim.mjs'] };
    const { callId, approvalId = '' } = await world.ada.call({ taskId: racing, tool: SCRIPT, args });
    await world.grace.grantApproval(approvalId);
    await world.cluster.waitForState(callId, ['queued']);
    writeFileSync(join(folder, `${name}.go`), '');
    expect((await world.ended(holder.callId)).state).toBe('ok');
    return world.ended(callId);
  };

  it('PO-4: a file that another call rewrites meanwhile is not run', async () => {
    expect(await race('racing', 'victim.mjs')).toMatchObject({
      state: 'error',
      result: { sideEffect: 'none', error: { type: 'approval_changed', retryable: false } },
    });
    expect(existsSync(join(folder, 'planted'))).toBe(false);
  }, 60_000);

  it('PO-4: one that stays as it was is', async () => {
    expect(await race('waiting', '-')).toMatchObject({ state: 'ok' });
    expect(existsSync(join(folder, 'ran'))).toBe(true);
  }, 60_000);
});

describe('design §8: an approval is bound to the files that would run', () => {
  it('PO-4: shows them with their hashes, and runs what is still the same', async () => {
    const { callId, approvalId } = await ask();
    const shown = await world.grace.getApproval(approvalId);
    expect(shown.files).toEqual([{ path, sha256: sha256Hex('echo one\n') }]);
    expect(shown.preview).toContain(`file: ${path} as it is now, ${sha256Hex('echo one\n').slice(0, 16)}`);
    await world.grace.grantApproval(approvalId);
    expect(await world.ended(callId)).toMatchObject({ state: 'ok' });
    expect(world.times(path)).toBe(1);
  });

  it.each<[string, () => void]>([
    ['was changed', () => script('echo two; rm -rf .\n')],
    ['was taken away', () => rmSync(join(folder, path))],
  ])('PO-4: one that %s after the question makes the yes void', async (_, change) => {
    const { callId, approvalId } = await ask();
    change();
    await world.grace.grantApproval(approvalId);
    expect(await world.ended(callId)).toMatchObject({
      state: 'denied',
      result: { sideEffect: 'none', error: { type: 'approval_changed' } },
    });
    expect(world.times(path)).toBe(0);
  });

  it('PO-4: one that comes after the question makes the yes void as well', async () => {
    rmSync(join(folder, path));
    const { callId, approvalId } = await ask();
    expect((await world.grace.getApproval(approvalId)).files).toEqual([{ path, sha256: 'absent' }]);
    script('echo planted\n');
    await world.grace.grantApproval(approvalId);
    expect(await world.ended(callId)).toMatchObject({ state: 'denied' });
    expect(world.times(path)).toBe(0);
  });

  it('what cannot be looked at is not asked about', async () => {
    const args = { identity: 'no/workspace.sh' };
    const bare = await world.ada.call({ taskId: world.taskId, tool: RUN, args });
    expect(bare).toMatchObject({ state: 'refused', result: { error: { type: 'invalid_arguments' } } });
    const outside = await world.ada.call({ taskId, tool: RUN, args: { identity: 'up/../../secret' } });
    expect(outside.state).toBe('refused');
  });
});
