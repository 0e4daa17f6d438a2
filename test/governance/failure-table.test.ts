import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FabricClient } from '@toolfabric/client';
import { ERROR_TABLE, type ErrorType, MAX_EPOCH, type ToolResult } from '@toolfabric/contract';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { armTracker, disarmTracker, setTracker } from '../peers/tracker/src/client.ts';
import { commentsIn, readTrackerLog } from '../peers/tracker/src/truth-log.ts';
import { Cluster } from '../support/cluster.ts';

/**
 * Which layer a fault ends in, and what its caller is told, for every row that the adapters of today can have. Rows of
 * adapters that do not exist yet, each to be added here with its adapter:
 *  - a model's interface that limits its rate (runtime: bounded back-off): the model gateway; the outside service that
 *    limits its rate stands for it below;
 *  - an element of a page that is stale (adapter: look again before acting again): the browser;
 *  - a server of tools that is not trusted (registry: disable, isolate, or ask for consent): MCP.
 */
let cluster: Cluster;
let client: FabricClient;
let approver: FabricClient;
let bare: string;
let workspace = '';

beforeAll(async () => {
  cluster = await Cluster.startWith(['router', 'gateway', 'tracker', 'egress', 'web']);
  await cluster.spawn('cli', '', { TOOLFABRIC_COMMAND_MEMORY_BYTES: String(256 * 1024 ** 2) }).ready;
  client = cluster.client();
  approver = cluster.client({ user: 'grace', rights: ['approvals:decide'] });
  workspace = mkdtempSync(join(cluster.workspaceRoot, 'table-'));
  chmodSync(workspace, 0o755);
  writeFileSync(join(workspace, 'a.txt'), 'one\n');
  bare = (await client.createTask({ title: 'bare' })).taskId;
}, 60_000);
beforeEach(async () => {
  await cluster.ensure('web');
  await disarmTracker(cluster.trackerAddress);
  await setTracker(cluster.trackerAddress, { dedupe: false, searchLagMs: 0 });
});
afterAll(() => cluster.stop());

let made: string | undefined;
const withFiles = async (): Promise<string> =>
  (made ??= (
    await client.createTask({ title: 'table', workspace: { type: 'existing', path: workspace } }, { timeoutMs: 20_000 })
  ).taskId);

const resultOf = async (taskId: string, tool: string, args: Record<string, string | number | string[]>) => {
  const { result } = await client.call({ taskId, tool, args });
  if (result === undefined) throw new Error('there is no result');
  return result;
};

const granted = async (tool: string, key: string): Promise<{ callId: string }> => {
  const started = await client.startCall({ taskId: bare, tool, args: { number: 7, body: 'x', key } });
  await cluster.grant(started.callId);
  return started;
};

/** As the table of errors has it: who must act, and whether the same may be tried again. */
const expectRow = (result: ToolResult, type: ErrorType): void => {
  const { layer, retryable, hint } = ERROR_TABLE[type];
  expect(result.error).toMatchObject({ type, layer, retryable });
  expect(result.error?.hint ?? hint).not.toBe('');
};

describe('RT-8: a fault ends in the layer that must act', () => {
  it('arguments that do not fit the schema: the protocol names the fields, and nothing was run', async () => {
    const before = readTrackerLog(cluster.trackerFile).length;
    const result = await resultOf(bare, 'issue.read', { number: 'seven' });
    expect(result).toMatchObject({ status: 'error', sideEffect: 'none', attempt: 0, error: { layer: 'protocol' } });
    expectRow(result, 'invalid_arguments');
    expect(result.error?.fields).toMatchObject([{ field: '/number' }]);
    expect(readTrackerLog(cluster.trackerFile)).toHaveLength(before);
  });

  it('a path outside of the workspace: the policy refuses, says what may be used, and nothing was read', async () => {
    const taskId = await withFiles();
    const result = await resultOf(taskId, 'workspace.read_file', { path: '../../etc/passwd' });
    expect(result).toMatchObject({ sideEffect: 'none', error: { layer: 'policy', retryable: false } });
    expectRow(result, 'path_outside_workspace');
    expect(result.error?.hint).toContain('workspace root');
    expect(JSON.stringify(result)).not.toContain('root:');
  });

  it('an outside service that limits its rate: the runtime says when to come again, and nothing was written', async () => {
    await armTracker(cluster.trackerAddress, { mode: 'rate_limited' });
    const { callId } = await granted('issue.comment', 'limited');
    const { result } = await cluster.waitForState(callId, ['ok', 'error', 'unknown']);
    expect(result).toMatchObject({
      status: 'error',
      sideEffect: 'none',
      error: { type: 'overloaded', layer: 'runtime', retryable: true, retryAfterMs: 1_000 },
    });
    expect(commentsIn(cluster.trackerFile, 'limited')).toHaveLength(0);
  });

  it('the same about a read: the runtime tries again after the pause, and its caller hears the answer alone', async () => {
    const reads = () => readTrackerLog(cluster.trackerFile).filter(({ event }) => event === 'request').length;
    const before = reads();
    await armTracker(cluster.trackerAddress, { mode: 'read_limited' });
    const result = await resultOf(bare, 'issue.read', { number: 7 });
    expect(result).toMatchObject({ status: 'ok', attempt: 2 });
    expect(reads() - before).toBe(2);
  });

  it('and where the limit stays: as often as a call has epochs, then its caller is told', async () => {
    await armTracker(cluster.trackerAddress, { mode: 'read_limited', times: 5 });
    const result = await resultOf(bare, 'issue.read', { number: 7 });
    expect(result).toMatchObject({ status: 'error', sideEffect: 'none', attempt: MAX_EPOCH });
    expectRow(result, 'overloaded');
  });

  it('a cancel while the runtime waits: nothing is tried any more', async () => {
    await armTracker(cluster.trackerAddress, { mode: 'read_limited' });
    const { callId } = await client.startCall({ taskId: bare, tool: 'issue.read', args: { number: 7 } });
    const waits = async () => (await cluster.call(callId))?.notBefore !== undefined;
    await waitFor(waits, { what: 'the pause before the next try' });
    await client.cancelCall(callId);
    expect(await cluster.waitForState(callId, ['ok', 'error', 'cancelled'])).toMatchObject({
      state: 'cancelled',
      result: { sideEffect: 'none' },
    });
  });

  it('a program that ends with another exit code than 0: an answer for whoever asked, with what it said', async () => {
    const taskId = await withFiles();
    writeFileSync(join(workspace, 'fail.js'), 'console.error("it broke here"); process.exit(3);\n');
    const result = await resultOf(taskId, 'process.run', { argv: ['node', 'fail.js'] });
    expect(result.data).toMatchObject({ exit_code: 3 });
    expect(JSON.stringify(result)).toContain('it broke here');
    expect(result.error === undefined || result.error.layer === 'tool' || result.error.layer === 'adapter').toBe(true);
    expect(result.status).not.toBe('unknown');
  });

  it('a receipt that was lost: unknown and asked about by the executor, never an error, and written once', async () => {
    await setTracker(cluster.trackerAddress, { searchLagMs: 60_000 });
    await armTracker(cluster.trackerAddress, { mode: 'drop_receipt' });
    const { callId } = await granted('issue.comment', 'lost');
    const unknown = await cluster.waitForState(callId, ['ok', 'error', 'unknown']);
    expect(unknown.result).toMatchObject({ status: 'unknown', sideEffect: 'possible' });
    expect(unknown.result?.error).toBeUndefined();
    expect((await client.getCall(callId)).reconciling).toBe(true);
    await setTracker(cluster.trackerAddress, { searchLagMs: 0 });
    const end = await cluster.waitForState(callId, ['ok', 'error']);
    expect(end.result).toMatchObject({ status: 'ok', sideEffect: 'confirmed' });
    expect(commentsIn(cluster.trackerFile, 'lost')).toHaveLength(1);
  });

  it('a sandbox without room: ended, with the limit that was reached, and not tried again', async () => {
    const taskId = await withFiles();
    writeFileSync(join(workspace, 'eat.js'), 'const a = []; for (;;) a.push(Buffer.alloc(16 << 20, 1));\n');
    const result = await resultOf(taskId, 'process.run', { argv: ['node', 'eat.js'] });
    expect(result).toMatchObject({ status: 'error', attempt: 1, error: { layer: 'sandbox', retryable: false } });
    expectRow(result, 'limit_reached');
    expect(JSON.stringify(result)).toContain('memory');
  });

  it('a tool that nobody can run at the moment: the runtime, and the same may be sent again', async () => {
    const result = await resultOf(bare, 'truth.noop', {});
    expect(result).toMatchObject({ status: 'error', sideEffect: 'none', attempt: 0 });
    expect(result.error).toMatchObject({ layer: 'runtime', retryable: true });
    expectRow(result, 'no_executor');
    await cluster.ensure('truth');
    expect(await resultOf(bare, 'truth.noop', {})).toMatchObject({ status: 'ok' });
  });

  it('a tool that is not there: the registry, with the nearest names', async () => {
    const result = await resultOf(bare, 'issue.raed', { number: 7 });
    expect(result).toMatchObject({
      status: 'error',
      sideEffect: 'none',
      error: { layer: 'registry', retryable: false },
    });
    expectRow(result, 'unknown_tool');
    expect(result.error?.hint).toContain('issue.read');
  });

  it('an action that a person denied: the policy, and no other wording helps', async () => {
    const { callId } = await client.startCall({
      taskId: bare,
      tool: 'issue.comment',
      args: { number: 7, body: 'x', key: 'denied' },
    });
    const { approvalId = '' } = await cluster.waitForState(callId, ['awaiting_approval']);
    await approver.denyApproval(approvalId, 'not today');
    const { result } = await cluster.waitForState(callId, ['denied', 'ok', 'error']);
    expect(result).toMatchObject({ status: 'denied', sideEffect: 'none', attempt: 0, error: { layer: 'policy' } });
    expect(result && expectRow(result, 'approval_denied')).toBeUndefined();
    expect(commentsIn(cluster.trackerFile, 'denied')).toHaveLength(0);
  });
});

describe('RT-8: the router tries again only what is safe', () => {
  const attempts = (key: string) => commentsIn(cluster.trackerFile, key).length;

  it('a read whose worker died runs again, within the deadline of its call', async () => {
    const taskId = await withFiles();
    const armed = await cluster.arm('cli', 'worker.reading:kill');
    const { callId } = await client.startCall({ taskId, tool: 'workspace.read_file', args: { path: 'a.txt' } });
    await armed.exited;
    await cluster.ensure('cli');
    expect(await cluster.waitForState(callId, ['ok', 'error', 'expired', 'dead_letter'])).toMatchObject({
      state: 'ok',
    });
  });

  it.each(['router.after-retry-claim', 'router.after-retry'])(
    'RE-3: a router that is killed at %s: another one tries again',
    async (fault) => {
      const armed = await cluster.arm('router', `${fault}:kill`);
      await armTracker(cluster.trackerAddress, { mode: 'read_limited' });
      const reading = client.call(
        { taskId: bare, tool: 'issue.read', args: { number: 7 } },
        { waitMs: 20_000, timeoutMs: 40_000 },
      );
      expect((await armed.exited).signal).toBe('SIGKILL');
      await cluster.ensure('router');
      expect(await reading).toMatchObject({ state: 'ok', result: { attempt: 2 } });
    },
  );

  it('a write without a fence is never run again, however long it is asked about', async () => {
    await armTracker(cluster.trackerAddress, { mode: 'drop_request' });
    const { callId } = await granted('issue.comment', 'once');
    await cluster.waitForState(callId, ['unknown']);
    await expect
      .poll(async () => (await cluster.call(callId))?.probe?.asked ?? 0, { timeout: 20_000 })
      .toBeGreaterThan(2);
    expect(await cluster.call(callId)).toMatchObject({ state: 'unknown', epoch: 1 });
    expect(attempts('once')).toBe(0);
  });

  it('a write that the other side knows again is run again, a bounded number of times', async () => {
    await setTracker(cluster.trackerAddress, { dedupe: true });
    await armTracker(cluster.trackerAddress, { mode: 'drop_request', times: 10 });
    const { callId } = await granted('issue.comment_once', 'bounded');
    await expect.poll(async () => (await cluster.call(callId))?.epoch, { timeout: 20_000 }).toBe(3);
    await cluster.waitForState(callId, ['unknown']);
    await expect
      .poll(async () => (await cluster.call(callId))?.probe?.asked ?? 0, { timeout: 20_000 })
      .toBeGreaterThan(4);
    expect(await cluster.call(callId)).toMatchObject({ state: 'unknown', epoch: 3 });
    expect(attempts('bounded')).toBe(0);
  });
});
