import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sha256Hex } from '@toolfabric/kernel';
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
