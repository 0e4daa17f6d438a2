import type { DoorLife, EgressRevocation } from '@toolfabric/contract';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { connectEgress, type EgressBus } from './connect-egress.ts';
import { connectGateway, type GatewayBus } from './connect-gateway.ts';
import { connectLedger, type LedgerBus } from './connect-ledger.ts';
import { HopSeals } from './hop-seal.ts';
import { answerPlace, questionPlace, sealQuestion } from './serve-requests.ts';
import { bellPlace, bucketPrefix, DOOR_BELL, DOOR_BUCKETS, doorSubject, EGRESS_RPC_PREFIX } from './subjects.ts';
import { type RawUser, TemporaryServer, waitFor } from './testing/index.ts';

let server: TemporaryServer;
let router: LedgerBus;
let gateway: GatewayBus;
let egress: EgressBus;
let other: EgressBus;
const raw: Record<string, RawUser> = {};
const refused: string[] = [];
const told: string[] = [];

const sealsOf = (user: string) =>
  new HopSeals({ user, nkeySeed: server.keys.seeds[user] ?? '', publicKeys: server.keys.publicKeys });
const as = (user: string): RawUser => {
  const found = raw[user];
  if (found === undefined) throw new Error(user);
  return found;
};
/** The server takes what one connection says in its order: once this is answered, it knows what is heard there. */
const isHeard = (bus: EgressBus) => bus.floors.get('floor.acme.none');
const FLOOR_KEY = 'floor.acme.2969-0123456789abcdefghjkmnpqrs';
const revocation: EgressRevocation = { tenant: 'acme', callId: '2969-0123456789abcdefghjkmnpqrs', epoch: 2 };
const text = JSON.stringify(revocation);
const Note = z.strictObject({ note: z.string() });

beforeAll(async () => {
  server = await TemporaryServer.start({ kinds: ['cli', 'web'] });
  router = await connectLedger(server.configFor('router'));
  gateway = await connectGateway(server.configFor('gateway'));
  egress = await connectEgress(server.configFor('egress'));
  other = await connectEgress(server.configFor('egress'));
  for (const [name, bus] of Object.entries({ router, gateway, egress, other }))
    bus.onRefused((hop) => refused.push(`${name} ${hop}`));
  for (const user of ['router', 'gateway', 'egress']) raw[user] = await server.rawUser(user);
  egress.onRevocation('egress-1', async ({ callId, epoch }) => {
    told.push(`1 ${callId} ${epoch}`);
    if (epoch > 900) throw new Error('cannot');
    return { closed: 3 };
  });
  other.onRevocation('egress-2', async ({ epoch }) => {
    told.push(`2 ${epoch}`);
    return { closed: 0 };
  });
  await Promise.all([egress, other].map(isHeard));
});
beforeEach(() => {
  refused.splice(0);
  told.splice(0);
});
afterAll(async () => {
  await Promise.all([router, gateway, egress, other].map((bus) => bus.close()));
  await Promise.all(Object.values(raw).map((user) => user.close()));
  await server.stop();
});
const close = (incarnation: string, over: Partial<EgressRevocation> = {}, timeoutMs = 15_000) =>
  router.doors.close(incarnation, { ...revocation, ...over }, timeoutMs);

describe('protocol 7: whether an egress has closed', () => {
  it('is asked of one process, and told by that one alone', async () => {
    expect(await close('egress-1')).toBe(true);
    expect(told).toEqual([`1 ${revocation.callId} 2`]);
    expect(await close('egress-2')).toBe(true);
  });

  it('is not known where nobody answers, or where closing failed', async () => {
    expect(await close('egress-gone', {}, 500)).toBe(false);
    expect(await close('egress-1', { epoch: 901 }, 500)).toBe(false);
  });

  it('is not known from an answer that the egress did not seal, nor from one to another question', async () => {
    const [subject, seal] = [doorSubject('egress-3'), sealsOf('egress').with('router')];
    const lies = [
      '{"closed":0}',
      seal.close(answerPlace(doorSubject('egress-1'), 'A'.repeat(43)), '{"closed":0}'),
      sealsOf('worker-cli')
        .with('router')
        .close(answerPlace(subject, 'A'.repeat(43)), '{"closed":0}'),
    ];
    for (const lie of lies) {
      const answering = await as('egress').answer(subject, lie);
      expect(await close('egress-3', {}, 1_000)).toBe(false);
      answering();
    }
    expect(refused).toEqual(['router answer', 'router answer', 'router answer']);
  });

  it('is not known from an answer that was recorded', async () => {
    const [subject, seal] = [doorSubject('egress-1'), sealsOf('router').with('egress')];
    const { text: recorded } = await as('router').request(subject, sealQuestion(seal, subject, text), 15_000);
    expect(recorded).not.toBe('');
    const answering = await as('egress').answer(doorSubject('egress-4'), recorded);
    expect(await close('egress-4', {}, 1_000)).toBe(false);
    answering();
  });

  it('an answer that says something else than that all is closed is none', async () => {
    const stop = other.onRevocation('egress-5', async () => ({ closed: -1 }));
    await isHeard(other);
    expect(await close('egress-5')).toBe(false);
    stop();
    expect(await close('egress-5', {}, 500)).toBe(false);
  });
});

describe('what an egress is told', () => {
  it('is believed from routers alone: no bell and no request of anybody else closes anything', async () => {
    const forged = [
      text,
      sealsOf('gateway').with('egress').close(bellPlace(DOOR_BELL), text),
      sealsOf('router').with('egress').close(bellPlace('bell.other'), text),
    ];
    for (const body of forged) await as('router').publish(DOOR_BELL, body);
    const subject = doorSubject('egress-1');
    const asked = [
      text,
      sealsOf('gateway')
        .with('egress')
        .close(questionPlace(subject), `${'A'.repeat(22)}${text}`),
    ];
    for (const body of asked) {
      const { attempt } = await as('router').request(subject, body, 300);
      expect(attempt).toBe('unanswered');
    }
    await waitFor(async () => refused.length >= 8);
    expect(told).toEqual([]);
    expect(refused.filter((line) => line.endsWith(' bell'))).toHaveLength(6);
    expect(refused.filter((line) => line === 'egress request')).toHaveLength(2);
  });

  it('the bell of a router is heard by every process', async () => {
    await waitFor(async () => {
      router.doors.ring(revocation);
      return told.some((line) => line.startsWith('1 ')) && told.some((line) => line.startsWith('2 '));
    });
  });

  it('a floor is what routers stored, and none that somebody put there otherwise', async () => {
    await router.doors.floors.create(FLOOR_KEY, { callId: revocation.callId, epoch: 4 });
    expect((await egress.floors.get(FLOOR_KEY))?.value.epoch).toBe(4);
    await expect(egress.floors.create('floor.acme.other', { callId: 'other', epoch: 1 })).rejects.toThrow();
    await as('router').request(
      `${bucketPrefix(DOOR_BUCKETS.floors)}floor.acme.forged`,
      '{"callId":"x","epoch":0}',
      2_000,
    );
    await expect(egress.floors.get('floor.acme.forged')).rejects.toThrow();
  });
});

describe('what an egress keeps', () => {
  it('its life sign is read by routers, who alone may take it away', async () => {
    const life: DoorLife = { incarnation: 'egress-1', state: 'alive', beat: 1, kinds: ['web'] };
    await egress.lives.create('door.egress-1', life);
    const found = await router.doors.lives.get('door.egress-1');
    expect(found?.value).toEqual(life);
    await expect(egress.lives.remove('door.egress-1', found?.revision ?? 0)).rejects.toThrow();
    await router.doors.lives.remove('door.egress-1', found?.revision ?? 0);
    expect(await egress.lives.get('door.egress-1')).toBeUndefined();
  });

  it('PO-11: a record of a credential is read by routers; what is in the vault, by no other service', async () => {
    await egress.credentials(Note).create('credential.acme.x', { note: 'whose it is' });
    expect((await router.credentials(Note).get('credential.acme.x'))?.value).toEqual({ note: 'whose it is' });
    await egress.vault(Note).create('credential.acme.x', { note: 'sealed' });
    expect((await other.vault(Note).get('credential.acme.x'))?.value).toEqual({ note: 'sealed' });
  });
});

describe('the keeper of credentials', () => {
  it('is asked by the front door alone', async () => {
    const verbs: string[] = [];
    const stop = egress.serve(async (verb, body) => {
      verbs.push(`${verb} ${body}`);
      return '{"listed":[]}';
    });
    await isHeard(egress);
    const subject = `${EGRESS_RPC_PREFIX}listCredentials`;
    const forms = [
      '{}',
      sealsOf('router').with('egress').close(questionPlace(subject), '{}'),
      sealsOf('gateway')
        .with('egress')
        .close(questionPlace(`${EGRESS_RPC_PREFIX}revokeCredential`), '{}'),
    ];
    for (const body of forms) {
      const { text: answered } = await as('gateway').request(subject, body, 15_000);
      expect(answered).toContain('unauthenticated');
    }
    expect(verbs).toEqual([]);
    expect(await gateway.askEgress('listCredentials', '{}', 15_000)).toBe('{"listed":[]}');
    expect(verbs).toEqual(['listCredentials {}']);
    stop();
  });

  it('an answer without its code is none', async () => {
    const answering = await as('egress').answer(`${EGRESS_RPC_PREFIX}listCredentials`, '{"listed":["stolen"]}');
    await expect(gateway.askEgress('listCredentials', '{}', 1_000)).rejects.toThrow('no egress answered');
    answering();
    expect(refused).toEqual(['gateway answer']);
  });
});
