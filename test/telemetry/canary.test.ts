import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@toolfabric/bus-nats/testing';
import type { CallView } from '@toolfabric/contract';
import { sha256Hex } from '@toolfabric/kernel';
import { type SpawnedService, waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ADA, type AppName, Cluster } from '../support/cluster.ts';
import { EventTap } from './event-tap.ts';

/** Have the form of secrets, each of another kind: nobody told the fabric that they are. */
const CANARIES = {
  argument: `ghp_${'Zq7LmX2vB9nK4wR8tY1pC6sD3fG5hJ0aQe7u'}`,
  file: 'wQ7zLmXvB2nK4wR8tY1pC6sD/f3G5hJ0aQe7uVx9',
  result: `xoxb-${'2847561093-5738291046-Kd83jsLq02mZxPw91vBt'}`,
} as const;

const SERVICES: readonly AppName[] = ['router', 'gateway', 'truth', 'cli'];
let cluster: Cluster;
let tap: EventTap;
const services = new Map<AppName, SpawnedService>();
const ports = new Map<AppName, number>();

beforeAll(async () => {
  cluster = await Cluster.start();
  await cluster.publishTruth();
  tap = await EventTap.on(cluster.nats);
  for (const app of SERVICES) {
    ports.set(app, await freePort());
    services.set(app, cluster.spawn(app, '', { TOOLFABRIC_HEALTH_PORT: String(ports.get(app)) }));
  }
  await Promise.all([...services.values()].map(({ ready }) => ready));
}, 60_000);
afterAll(async () => {
  await tap.stop();
  await cluster.stop();
});

/** Everything that is told to whoever watches: events with spans and payloads, logs of every service, metrics. */
const watched = async (): Promise<string> => {
  const pages = await Promise.all(
    [...ports.values()].map(async (port) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()),
  );
  return [...tap.texts, ...[...services.values()].flatMap(({ log }) => log), ...pages].join('\n');
};

const settledAll = (calls: readonly CallView[]) =>
  waitFor(
    async () => {
      const missing = calls.filter(({ callId, state }) =>
        state === 'refused'
          ? tap.ofCall(callId, 'call.refused') === undefined
          : tap.ofCall(callId, 'call.payloads') === undefined ||
            tap.ofCall(callId, 'call.settled') === undefined ||
            tap.spansOf(ADA.tenant).filter((span) => span.callId === callId).length < 4,
      );
      return missing.length === 0;
    },
    { timeoutMs: 20_000, what: 'events, payloads and spans of all calls' },
  );

describe('RS-5: what is secret', () => {
  it('is in no event, no span, no log and no number, whether it was an argument, a result or the content of a file', async () => {
    const folder = join(cluster.workspaceRoot, 'shop');
    mkdirSync(folder);
    const text = `region = eu\naws_secret_access_key = ${CANARIES.file}\n`;
    writeFileSync(join(folder, 'settings.ini'), text);
    const client = cluster.client();
    const { taskId } = await client.createTask({ title: 'canary', workspace: { type: 'existing', path: folder } });
    const call = (tool: string, args: Parameters<typeof client.call>[0]['args']) => client.call({ taskId, tool, args });
    const { argument, file, result } = CANARIES;
    const calls = [
      await call('truth.append', { identity: `order ${argument}` }),
      await call('truth.append', { identity: argument, [argument]: 1 }),
      await call('truth.append', `{"identity": "${argument}`),
      await call('truth.append', { identity: { token: argument } }),
      await call('workspace.read_file', { path: 'settings.ini' }),
      await call('workspace.read_file', { path: `no/${argument}` }),
      await call('workspace.search_code', { pattern: 'secret_access' }),
      await call('workspace.search_code', { pattern: `secret_key: ${file}` }),
      await call('workspace.edit_file', {
        path: 'settings.ini',
        old_text: 'region = eu',
        new_text: `slack = ${result}`,
        expected_sha256: sha256Hex(text),
      }),
      await call('workspace.read_file', { path: 'settings.ini' }),
    ];
    expect(calls.map(({ state }) => state)).toEqual([
      'ok',
      'refused',
      'refused',
      'refused',
      'ok',
      'error',
      'ok',
      'ok',
      'ok',
      'ok',
    ]);
    await settledAll(calls);
    const seen = await watched();
    for (const [name, canary] of Object.entries(CANARIES)) expect(seen.includes(canary), name).toBe(false);
    const recorded = tap.events
      .filter(({ type, callId }) => type === 'call.payloads' && callId === calls[0]?.callId)
      .flatMap(({ payloads = [] }) => payloads);
    expect(new Set(recorded.map(({ kind }) => kind))).toEqual(new Set(['policy_input', 'arguments', 'result']));
    const first = recorded.find(({ kind }) => kind === 'arguments');
    expect(first?.text).toMatch(/^\{"identity":"order \[redacted:[a-z_-]+:[0-9a-f]{8}\]"\}$/);
    // The first words of a secret tell as much.
    for (const canary of Object.values(CANARIES)) expect(seen.includes(canary.slice(0, 12))).toBe(false);
  });

  it('and equal secrets have equal marks in one tenant, and others in another', async () => {
    const marks = (tenant: string) =>
      new Set(
        tap.events
          .filter((event) => event.tenant === tenant && event.type === 'call.payloads')
          .flatMap(({ payloads = [] }) =>
            payloads.flatMap((payload) => payload.text.match(/\[redacted:[^\]]+\]/g) ?? []),
          ),
      );
    const client = cluster.client({ tenant: 'rival' });
    const { taskId } = await client.createTask({ title: 'canary' });
    const args = { identity: `order ${CANARIES.argument}` };
    const { callId } = await client.call({ taskId, tool: 'truth.append', args });
    await waitFor(async () => tap.ofCall(callId, 'call.payloads'));
    const [ours, theirs] = [marks(ADA.tenant), marks('rival')];
    expect(ours.size).toBeGreaterThan(0);
    expect(theirs.size).toBe(1);
    // Router and worker make the same one.
    expect([...theirs].filter((mark) => ours.has(mark))).toEqual([]);
  });
});
