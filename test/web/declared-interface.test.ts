import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { EgressPermit, Outcome, ToolContract } from '@toolfabric/contract';
import { EGRESS_PERMIT_TYPE } from '@toolfabric/contract';
import { createEgressDoor } from '@toolfabric/egress-http';
import { FabricError } from '@toolfabric/kernel';
import { type EgressSession, RequestBroken } from '@toolfabric/ports';
import { type SpawnedService, spawnService, waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openEgress, permitFor, routerSigner, type TestEgress } from '../../apps/egress/src/testing/open-egress.ts';
import { httpRequestTool } from '../../apps/worker-web/src/http-request/http-request.ts';
import { openCall } from '../../apps/worker-web/src/http-request/testing/open-call.ts';
import { armTracker, disarmTracker, setTracker } from '../peers/tracker/src/client.ts';
import { trackerContracts } from '../peers/tracker/src/interface.ts';
import type { FaultMode } from '../peers/tracker/src/modes.ts';
import { commentsIn, readTrackerLog } from '../peers/tracker/src/truth-log.ts';

const folder = mkdtempSync(join(tmpdir(), 'toolfabric-interface-'));
const file = join(folder, 'tracker.log');
const tool = httpRequestTool({ agent: 'Test/1' });
let tracker: SpawnedService;
let address: string;
let egress: TestEgress;
let contracts: readonly ToolContract[];

beforeAll(async () => {
  tracker = spawnService(fileURLToPath(new URL('../peers/tracker', import.meta.url)), { TRACKER_FILE: file });
  const [ready, opened] = await Promise.all([tracker.ready, openEgress()]);
  egress = opened;
  address = String(ready.address);
  contracts = trackerContracts(address);
}, 30_000);
beforeEach(async () => {
  await disarmTracker(address);
  await setTracker(address, { dedupe: false });
});
afterAll(async () => {
  await egress.stop();
  tracker.kill('SIGKILL');
  await tracker.exited;
  rmSync(folder, { recursive: true });
});

const named = (name: string): ToolContract => {
  const contract = contracts.find((one) => one.name === `issue.${name}`);
  if (contract === undefined) throw new Error(`there is no ${name}`);
  return contract;
};

interface Made {
  /** An error where the tool has thrown: once its effect has begun that is an unknown end. */
  readonly end: Outcome | Error;
  readonly begun: number;
}

interface Under {
  /** The operation whose permit it has; its own when left out. */
  readonly permitOf?: string;
  readonly operationKey?: string;
  readonly permit?: Partial<EgressPermit>;
  during?(session: EgressSession): Promise<void>;
}

/** One call of a tool of the tracker, with the leave that its contract asks for. */
const call = async (name: string, args: object, under: Under = {}): Promise<Made> => {
  const { rules } = named(under.permitOf ?? name).execution.egress ?? { rules: [] };
  const permit = permitFor(rules, under.permit);
  const door = createEgressDoor({ socketPath: egress.socketPath });
  const session = door.session(routerSigner.sign(EGRESS_PERMIT_TYPE, JSON.stringify(permit)));
  const { operationKey = 'op.1' } = under;
  const { ctx, begun } = openCall(named(name).execution.options, { egress: session, operationKey });
  try {
    const running = tool.handle(ctx, args as never).catch((thrown: unknown) => thrown as Error);
    await under.during?.(session);
    return { end: await running, begun: begun.length };
  } finally {
    await session.close();
  }
};

const comment = (key: string, under?: Under) => call('comment', { number: 7, body: 'Both pass.', key }, under);
const written = (key: string) => commentsIn(file, key).length;

describe('WB-4: the tracker through a real way out', () => {
  it('is written to once, with its operation key, and gives the id as evidence', async () => {
    const { end, begun } = await comment('plain', { operationKey: 'op.plain' });
    const [line] = commentsIn(file, 'plain');
    expect(begun).toBe(1);
    expect(line).toMatchObject({ issue: 7, body: 'Both pass.', idempotencyKey: 'op.plain' });
    expect(end).toMatchObject({
      status: 'ok',
      sideEffect: 'confirmed',
      trust: 'untrusted',
      origin: `http://${address}`,
      evidence: [{ kind: 'http-resource', ref: line?.id }],
    });
  });

  it('is read, and finds by key', async () => {
    await comment('search me');
    const { end, begun } = await call('comments', { number: 7, key: 'search me' });
    expect(end).toMatchObject({ status: 'ok', data: { body: { comments: [{ key: 'search me' }], complete: true } } });
    expect(begun).toBe(0);
    expect((await call('read', { number: 99_999 })).end).toMatchObject({ error: { type: 'reported_failure' } });
  });

  it('RE-1: knows a repeated request by its key where it promises to', async () => {
    await setTracker(address, { dedupe: true });
    const [first, second] = [
      await comment('once', { operationKey: 'op.once' }),
      await comment('once', { operationKey: 'op.once' }),
    ];
    expect(written('once')).toBe(1);
    expect([first.end, second.end]).toMatchObject([{ sideEffect: 'confirmed' }, { sideEffect: 'confirmed' }]);
  });

  it('takes a change only at the version that is expected', async () => {
    const { end: read } = await call('read', { number: 12 });
    const { etag } = (read as unknown as { data: { headers: { etag: string } } }).data.headers;
    await call('comment', { number: 12, body: 'moved on', key: 'etag' });
    const stale = await call('close', { number: 12, state: 'closed', etag });
    expect(stale.end).toMatchObject({ status: 'error', sideEffect: 'none', error: { type: 'stale_version' } });
    expect((stale.end as Outcome).summary).toContain('it stands at "1" now');
    expect(readTrackerLog(file).filter(({ event }) => event === 'closed')).toEqual([]);
    expect((await call('close', { number: 12, state: 'closed', etag: '"1"' })).end).toMatchObject({
      sideEffect: 'confirmed',
    });
    // A refusal that the interface has named.
    expect((await call('comment', { number: 12, body: 'late', key: 'closed' })).end).toMatchObject({
      error: { type: 'reported_failure' },
      sideEffect: 'none',
      data: { status: 422 },
    });
  });

  it.each([
    ['none', 1, 'ok'],
    ['duplicate_answer', 1, 'ok'],
    ['error_after', 1, 'unknown'],
    ['error_before', 0, 'unknown'],
    ['drop_receipt', 1, 'broken'],
    ['drop_request', 0, 'broken'],
    ['rate_limited', 0, 'overloaded'],
  ] as const)('RE-2: with %s there are %i comments, and it ends %s', async (mode, count, expected) => {
    const key = `armed-${mode}`;
    if (mode !== 'none') await armTracker(address, { mode: mode as FaultMode });
    const { end } = await comment(key);
    const said =
      end instanceof Error ? (end instanceof RequestBroken ? 'broken' : end.message) : (end.error?.type ?? end.status);
    expect(said).toBe(expected);
    expect(written(key)).toBe(count);
    if (mode === 'rate_limited') expect(end).toMatchObject({ sideEffect: 'none', error: { retryAfterMs: 1_000 } });
  });

  it('RE-2: is not known when its permit is revoked under way, although it was written', async () => {
    await armTracker(address, { mode: 'delay', delayMs: 20_000 });
    const permit = { callId: '2969-revoked000000000000000000' };
    const { end, begun } = await comment('revoked', {
      permit,
      async during() {
        await waitFor(() => written('revoked') === 1, { timeoutMs: 20_000 });
        await egress.revoke({ callId: permit.callId, epoch: 1 });
      },
    });
    expect(end).toBeInstanceOf(RequestBroken);
    expect([begun, written('revoked')]).toEqual([1, 1]);
  });
});

describe('SB-2, WB-4: the permit of one operation', () => {
  const asked = () => readTrackerLog(file).filter(({ event }) => event === 'request').length;

  it.each([
    ['comment', { number: 7, body: 'x', key: 'k' }, 'read', 'method_not_permitted'],
    ['close', { number: 7, state: 'closed' }, 'comment', 'method_not_permitted'],
    ['read', { number: 7 }, 'close', 'method_not_permitted'],
  ])('%s: opens no other one', async (name, args, permitOf, reason) => {
    const before = asked();
    const { end } = await call(name, args, { permitOf });
    const said = end instanceof FabricError ? end.message : (end as Outcome).error?.message;
    expect(said).toContain(reason);
    expect(end).toMatchObject(
      end instanceof FabricError
        ? { type: 'egress_refused' }
        : { sideEffect: 'none', error: { type: 'egress_refused' } },
    );
    expect(asked()).toBe(before);
  });

  it('has expired: nothing is sent, and that is certain', async () => {
    const { end } = await comment('expired', { permit: { expires: Date.now() - 60_000 } });
    expect(end).toMatchObject({ status: 'error', sideEffect: 'none', error: { type: 'egress_refused' } });
    expect(written('expired')).toBe(0);
  });
});
