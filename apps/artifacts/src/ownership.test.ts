import { waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ADA,
  BOB,
  callPermit,
  idOf,
  listPermit,
  managePermit,
  RIVAL,
  readPermit,
  sign,
  startUnderTest,
  type UnderTest,
} from './testing/artifacts-under-test.ts';

let under: UnderTest;
beforeAll(async () => {
  under = await startUnderTest();
});
afterAll(() => under?.stop());

type Actor = typeof ADA | typeof BOB | typeof RIVAL;
const put = async (name: string): Promise<string> => {
  await under.put(callPermit(), name, 'secret');
  return idOf(callPermit(), name);
};
const read = async (id: string, actor: { tenant: string; user: string; agent: string }): Promise<number> =>
  (await under.ask(`/v1/artifacts/${id}`, { permit: readPermit(id, actor) })).status;
const change = (id: string, verb: string, body?: unknown, actor: Actor = ADA) =>
  under.ask(`/v1/artifacts/${id}/${verb}`, {
    method: 'POST',
    permit: managePermit(id, actor),
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

describe('ownership', () => {
  it('RS-4: only tenant, user and agent together read; the rest hear the same as of what is not there', async () => {
    const id = await put('own');
    expect(await read(id, ADA)).toBe(200);
    for (const other of [BOB, { ...ADA, agent: 'reviewer' }, RIVAL]) expect(await read(id, other)).toBe(404);
    const absent = 'a-00000000000000000000000000';
    const [hidden, none] = await Promise.all([
      under.ask(`/v1/artifacts/${id}`, { permit: readPermit(id, BOB) }),
      under.ask(`/v1/artifacts/${absent}`, { permit: readPermit(absent, BOB) }),
    ]);
    expect(hidden.body.toString()).toBe(none.body.toString());
  });

  it('RS-4: a share lets another user in, inside the tenant only, and unsharing takes effect at the next read', async () => {
    const id = await put('shared');
    expect((await change(id, 'share', { user: BOB.user })).json()).toMatchObject({ sharedWith: [{ user: 'bob' }] });
    expect(await read(id, BOB)).toBe(200);
    expect(await read(id, { ...BOB, agent: 'other' })).toBe(200);
    expect(await read(id, { ...ADA, user: 'eve' })).toBe(404);
    expect(await read(id, { ...BOB, tenant: 'rival' })).toBe(404);
    await change(id, 'share', { user: BOB.user });
    expect((await change(id, 'unshare', { user: BOB.user })).json()).toMatchObject({ sharedWith: [] });
    expect(await read(id, BOB)).toBe(404);
  });

  it('a share may name an agent, or a user with an agent', async () => {
    const id = await put('with-agent');
    await change(id, 'share', { user: 'bob', agent: 'reviewer' });
    expect([await read(id, { ...BOB, agent: 'reviewer' }), await read(id, BOB)]).toEqual([200, 404]);
    await change(id, 'share', { agent: 'auditor' });
    expect(await read(id, { tenant: 'acme', user: 'anyone', agent: 'auditor' })).toBe(200);
  });

  it.each([[{}], [{ tenant: 'rival' }], [{ user: 5 }], ['text'], [{ user: 'x'.repeat(300) }]])(
    'refuses a share that says %j',
    async (body) => {
      expect((await change(await put('bad-share'), 'share', body)).error).toBe('invalid_request');
    },
  );

  it('has a bound on shares', async () => {
    const id = await put('many');
    for (let n = 0; n < 32; n++) expect((await change(id, 'share', { user: `u${n}` })).status).toBe(200);
    expect((await change(id, 'share', { user: 'one-more' })).error).toBe('invalid_request');
    expect((await change(id, 'share', { user: 'u3' })).status).toBe(200);
  });

  it('only the owner changes; a reader by share hears why, others nothing', async () => {
    const id = await put('managed');
    await change(id, 'share', { user: 'bob' });
    for (const verb of ['pin', 'unpin', 'share', 'unshare']) {
      const body = verb.endsWith('share') ? { user: 'eve' } : undefined;
      expect((await change(id, verb, body, BOB)).error).toBe('forbidden');
      expect((await change(id, verb, body, RIVAL)).error).toBe('not_found');
    }
    const remove = (actor: Actor) =>
      under.ask(`/v1/artifacts/${id}`, { method: 'DELETE', permit: managePermit(id, actor) });
    expect([(await remove(BOB)).error, (await remove(RIVAL)).error]).toEqual(['forbidden', 'not_found']);
  });

  it('deletes what is not pinned, and then it is gone', async () => {
    const id = await put('deleted');
    const remove = () => under.ask(`/v1/artifacts/${id}`, { method: 'DELETE', permit: managePermit(id) });
    await change(id, 'pin');
    expect((await remove()).error).toBe('conflict');
    await change(id, 'unpin');
    expect((await remove()).status).toBe(204);
    expect([(await remove()).error, await read(id, ADA)]).toEqual(['not_found', 404]);
  });

  it('a permit to read does not manage, one to manage does not read, and neither goes for another id', async () => {
    const [id, other] = [await put('one'), await put('two')];
    const results = await Promise.all([
      under.ask(`/v1/artifacts/${id}/pin`, { method: 'POST', permit: readPermit(id) }),
      under.ask(`/v1/artifacts/${id}`, { method: 'DELETE', permit: readPermit(id) }),
      under.ask(`/v1/artifacts/${id}`, { permit: managePermit(id) }),
      under.ask(`/v1/artifacts/${id}`, { permit: readPermit(other) }),
      under.ask(`/v1/artifacts/${id}/record`, { permit: readPermit(other) }),
      under.ask(`/v1/artifacts/${id}/pin`, { method: 'POST', permit: managePermit(other) }),
      under.ask(`/v1/artifacts/${id}`, { permit: listPermit() }),
      under.ask('/v1/artifacts', { permit: readPermit(id) }),
    ]);
    expect(results.map(({ error }) => error)).toEqual(Array(8).fill('forbidden'));
  });

  it('snapshots are read by their owner and changed by nobody, and no list tells them', async () => {
    const permit = callPermit({ workspace: 'w9', callId: '2969-snap', taskId: 't-snap' });
    await under.put(permit, 'snapshot-1', 'state');
    const id = idOf(permit, 'snapshot-1');
    expect(await read(id, ADA)).toBe(200);
    expect((await change(id, 'pin')).error).toBe('forbidden');
    const listed = await under.ask('/v1/artifacts?task=t-snap', { permit: listPermit() });
    expect(listed.json()).toEqual({ artifacts: [] });
  });

  it('lists what the actor may read, newest first, page by page', async () => {
    const permit = callPermit({ callId: '2969-listed', taskId: 't-listed' });
    for (const name of ['1', '2', '3', '4', '5']) await under.put(permit, name, name);
    await change(idOf(permit, '2'), 'share', { user: 'bob' });
    const list = async (query: string, actor: Actor = ADA) => {
      const answer = await under.ask(`/v1/artifacts?${query}`, { permit: listPermit(actor) });
      return answer.json<{ artifacts: { name: string }[]; next?: string }>();
    };
    const seen: string[] = [];
    for (let next: string | undefined = ''; next !== undefined; ) {
      const page: Awaited<ReturnType<typeof list>> = await list(`call=2969-listed&limit=2${next && `&after=${next}`}`);
      expect(page.artifacts.length).toBeLessThanOrEqual(2);
      seen.push(...page.artifacts.map(({ name }) => name));
      next = page.next;
    }
    expect(seen.toSorted()).toEqual(['1', '2', '3', '4', '5']);
    expect((await list('task=t-listed', BOB)).artifacts.map(({ name }) => name)).toEqual(['2']);
    expect((await list('task=t-listed', RIVAL)).artifacts).toEqual([]);
    expect((await list('task=t-listed&call=2969-other')).artifacts).toEqual([]);
  });

  it.each(['limit=0', 'limit=5000', 'limit=x', 'after=nowhere', 'task=a&task=b', 'more=1', `call=${'x'.repeat(200)}`])(
    'refuses the list %s',
    async (query) => {
      expect((await under.ask(`/v1/artifacts?${query}`, { permit: listPermit() })).error).toBe('invalid_request');
    },
  );

  it('RS-4: reads are told, the first one apart from later ones, also after a restart', async () => {
    const id = await put('read-twice');
    await change(id, 'share', { user: 'bob' });
    await under.ask(`/v1/artifacts/${id}`, { permit: readPermit(id), headers: { range: 'bytes=0-2' } });
    await under.ask(`/v1/artifacts/${id}`, { permit: readPermit(id, BOB) });
    await under.ask(`/v1/artifacts/${id}`, { permit: sign(callPermit()) });
    const told = () =>
      under.events
        .filter(({ type, attributes }) => type === 'artifact.read' && attributes['artifact'] === id)
        .map(({ actor, attributes: { bytes, from, byOwner, read, by } }) => [
          actor?.user,
          bytes,
          from,
          byOwner,
          read,
          by,
        ]);
    await waitFor(() => told().length === 3);
    expect(told()).toEqual([
      ['ada', 3, 0, true, 'first', 'front'],
      ['bob', 6, 0, false, 'again', 'front'],
      ['ada', 6, 0, true, undefined, 'worker'],
    ]);
    under = await under.restart();
    await under.ask(`/v1/artifacts/${id}`, { permit: readPermit(id) });
    await waitFor(() => told().length === 1);
    expect(told().map(([, , , , read]) => read)).toEqual(['again']);
  });
});
