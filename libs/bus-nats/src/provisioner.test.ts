import { RING_SLOTS, WEEK_MS } from '@toolfabric/contract';
import { PACES } from '@toolfabric/kernel';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectLedger } from './connect-ledger.ts';
import { isProductionGrade } from './probe-features.ts';
import type { Provisioner } from './provisioner.ts';
import { purgeableSlot } from './purge-slot.ts';
import { SIZES } from './sizes.ts';
import { eventStreams } from './subjects.ts';
import { TemporaryServer } from './testing/index.ts';
import { type Topology, topologyFor, topologyMark } from './topology.ts';

let server: TemporaryServer;
let provisioner: Provisioner;

beforeEach(async () => {
  server = await TemporaryServer.start({ kinds: ['cli', 'web'], provisioned: false });
  provisioner = await server.provisioner();
});
afterEach(async () => {
  await provisioner.close();
  await server.stop();
});

const changed = (topology: Topology, name: string, change: Record<string, unknown>): Topology => ({
  ...topology,
  streams: topology.streams.map((spec) =>
    spec.name === name ? { ...spec, config: { ...spec.config, ...change } } : spec,
  ),
});

const MIB = 1024 * 1024;

describe('provisioner', () => {
  it('plans everything on an empty server, applies it, and then finds nothing left to do', async () => {
    const { topology } = server;
    const plan = await provisioner.plan(topology);
    const consumers = topology.streams.flatMap((spec) => spec.consumers);
    expect(plan).toHaveLength(topology.streams.length + consumers.length);
    expect(plan.every(({ action }) => action === 'create')).toBe(true);
    expect(await provisioner.apply(topology)).toEqual(plan);
    expect(await provisioner.plan(topology)).toEqual([]);
    expect(await provisioner.apply(topology)).toEqual([]);
  });

  it('a plan changes nothing', async () => {
    await provisioner.plan(server.topology);
    expect(await provisioner.fill()).toEqual([]);
  });

  it('names each field that drifted, and mends it', async () => {
    const { topology } = server;
    await provisioner.apply(changed(topology, 'WORK_CLI', { max_bytes: 7 * MIB }));
    expect(await provisioner.plan(topology)).toEqual([
      { target: 'WORK_CLI', action: 'update', fields: [`max_bytes: ${7 * MIB} → ${SIZES.laptop.work}`] },
    ]);
    await provisioner.apply(topology);
    expect(await provisioner.plan(topology)).toEqual([]);
  });

  it('takes over another pace into the consumers', async () => {
    await provisioner.apply(server.topology);
    const slower = topologyFor(['cli', 'web'], PACES.production, SIZES.laptop);
    const plan = await provisioner.plan(slower);
    expect(plan.map(({ target }) => target).sort()).toEqual(
      [
        ...['RESULTS_CLI/router', 'RESULTS_WEB/router', 'WORK_CLI/hi', 'WORK_CLI/lo', 'WORK_WEB/hi', 'WORK_WEB/lo'],
        ...['CLI', 'WEB'].flatMap((kind) => [0, 1, 2, 3, 4, 5, 6, 7].map((slot) => `WORK_${kind}/pin-p${slot}`)),
        ...eventStreams(['cli', 'web']).map((stream) => `${stream}/trace`),
      ].sort(),
    );
    await provisioner.apply(slower);
    expect(await provisioner.plan(slower)).toEqual([]);
  });

  it('adds a kind beside what is there, and reports one that is gone without deleting it', async () => {
    const before = topologyFor(['cli'], server.pace, server.sizes);
    await provisioner.apply(before);
    const plan = await provisioner.plan(server.topology);
    expect(plan.length).toBeGreaterThan(0);
    expect(plan.every(({ target, action }) => action === 'create' && target.includes('WEB'))).toBe(true);
    await provisioner.apply(server.topology);
    const gone = await provisioner.apply(before);
    expect(gone.length).toBeGreaterThan(0);
    expect(gone.every(({ action }) => action === 'unexpected')).toBe(true);
    expect(await provisioner.plan(server.topology)).toEqual([]);
  });

  it('refuses what cannot be changed in place, and changes nothing then', async () => {
    await provisioner.apply(server.topology);
    const wanted = changed(changed(server.topology, 'DEAD', { storage: 'memory' }), 'EVENTS', { max_bytes: MIB });
    await expect(provisioner.apply(wanted)).rejects.toThrow('DEAD (storage');
    expect(await provisioner.plan(server.topology)).toEqual([]);
  });

  it('sees that the server dropped an option that it does not know', async () => {
    const wanted = changed(server.topology, 'DEAD', { an_option_of_tomorrow: true });
    await expect(provisioner.apply(wanted)).rejects.toThrow('an_option_of_tomorrow');
  });

  it('leaves a server alone that shows a later topology', async () => {
    const later = topologyMark(99);
    await provisioner.apply(server.topology);
    const { apply } = provisioner;
    await apply(changed(server.topology, 'DEAD', { description: later }));
    await expect(apply(server.topology)).rejects.toThrow('later than');
  });

  it('the sum of all streams fits the file store that the configuration gives', () => {
    for (const sizes of Object.values(SIZES)) {
      const { totalBytes, streams } = topologyFor(['cli'], PACES.test, sizes);
      expect(totalBytes).toBe(streams.reduce((sum, { config }) => sum + config.max_bytes, 0));
      expect(streams.every(({ config }) => config.max_bytes > 0)).toBe(true);
    }
  });

  it('probes what the server really does', async () => {
    const features = await provisioner.probeFeatures();
    expect(features.serverVersion).toMatch(/^\d+\.\d+\.\d+/);
    expect(features.discardNewPerSubject).toBe(true);
    const [major = 0, minor = 0] = features.serverVersion.split('.').map(Number);
    expect(features.metadata).toBe(major > 2 || minor >= 10);
    expect(features.messageTtl).toBe(major > 2 || minor >= 11);
    expect(features.productionGrade).toBe(isProductionGrade(features.serverVersion));
    expect(await provisioner.fill()).toEqual([]);
  });

  it.each([
    ['2.9.10', false],
    ['2.10.29', false],
    ['2.11.15', false],
    ['2.11.16', true],
    ['2.12.6', false],
    ['2.12.7', true],
    ['2.12.7-RC.1', true],
    ['2.14.0', true],
    ['3.0.0', true],
    ['', false],
  ])('version %s is of production grade: %s', (version, expected) => {
    expect(isProductionGrade(version)).toBe(expected);
  });
});

describe('the ring of weeks', () => {
  const WEEK = 2969;
  const now = WEEK * WEEK_MS + WEEK_MS / 2;
  const next = (WEEK + 1) % RING_SLOTS;
  const call = (slot: number) =>
    `${[...Array(RING_SLOTS).keys()].map((n) => WEEK - n).find((week) => week % RING_SLOTS === slot)}-abc`;

  it('offers only the slot of the next week, and none near the change of the week', () => {
    expect(purgeableSlot(now)).toBe(next);
    expect(purgeableSlot(WEEK * WEEK_MS + 1)).toBeUndefined();
    expect(purgeableSlot((WEEK + 1) * WEEK_MS - 1)).toBeUndefined();
  });

  it('purges the calls and claims of that slot, and no others', async () => {
    await provisioner.apply(server.topology);
    const router = await connectLedger(server.configFor('router'));
    const claim = {
      state: 'claimed',
      epoch: 1,
      sequence: 1,
      incarnation: 'w',
      nonce: 'n',
      cancelRequested: false,
    } as const;
    for (let slot = 0; slot < RING_SLOTS; slot += 1) {
      for (const kind of ['cli', 'web']) await router.claims(kind).create(`claim.${kind}.${slot}.acme.x`, claim);
    }
    expect(await provisioner.purgeSlot(next, now)).toEqual({ outcome: 'purged', records: 2 });
    for (let slot = 0; slot < RING_SLOTS; slot += 1) {
      expect(await router.claims('cli').keys(`claim.cli.${slot}`)).toHaveLength(slot === next ? 0 : 1);
    }
    await router.close();
  });

  it('purges nothing while an open call names the slot', async () => {
    await provisioner.apply(server.topology);
    const router = await connectLedger(server.configFor('router'));
    const actor = { tenant: 'acme', user: 'u', agent: 'a' };
    const callId = call(next);
    const revision = await router.open.create(`open.3.acme.${callId}`, { callId, actor, openedAt: 1 });
    expect(await provisioner.purgeSlot(next, now)).toEqual({ outcome: 'busy', openCalls: 1 });
    await router.open.remove(`open.3.acme.${callId}`, revision);
    expect(await provisioner.purgeSlot(next, now)).toEqual({ outcome: 'purged', records: 0 });
    await router.close();
  });

  it('refuses every other slot', async () => {
    await provisioner.apply(server.topology);
    for (let slot = 0; slot < RING_SLOTS; slot += 1) {
      if (slot !== next) expect(await provisioner.purgeSlot(slot, now)).toEqual({ outcome: 'in_use' });
    }
  });
});
