import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FabricClient } from '@toolfabric/client';
import { FabricError } from '@toolfabric/kernel';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { jsonOf, processesNaming, startCommand } from '../stories/command-line.ts';
import { CredentialWorld, type NotesToolName } from './support/credential-world.ts';

let world: CredentialWorld;
let ada: FabricClient;
let bob: FabricClient;
let grace: FabricClient;
let rival: FabricClient;
/** Every secret that was given, to be looked for everywhere at the end. */
const given: string[] = [];
const secret = (name: string): string => {
  const text = `canary-${name}-Zq7LmX2vB9nK4wR8`;
  given.push(text);
  world.peer.accepts.add(`Bearer ${text}`);
  return text;
};

beforeAll(async () => {
  world = await CredentialWorld.start();
  ada = world.client();
  bob = world.client({ user: 'bob' });
  grace = world.client({ user: 'grace', rights: ['credentials:manage', 'approvals:decide'] });
  rival = world.client({ tenant: 'rival', rights: ['credentials:manage'] });
  // A token is known once the gateway has read its file again.
  await waitFor(() => Promise.all([ada, bob, grace, rival].map((client) => client.listTools())), {
    timeoutMs: 20_000,
  });
}, 90_000);
afterAll(() => world.stop());
beforeEach(() => {
  world.peer.seen.length = 0;
});

const typeOf = (asked: Promise<unknown>): Promise<string> =>
  asked.then(
    () => 'answered',
    (thrown: unknown) => (thrown instanceof FabricError ? thrown.type : String(thrown)),
  );
const task = async (client: FabricClient) => (await client.createTask({ title: 'credentials' })).taskId;
const read = async (client: FabricClient, tool: NotesToolName, path = '/notes') =>
  client.call({ taskId: await task(client), tool: `notes.${tool}`, args: { path } });

const shown = () => world.peer.seen.map(({ shown: text }) => text);

describe('PO-11: a call that acts with a credential', () => {
  it('is refused before it is accepted while there is none', async () => {
    const view = await read(ada, 'mine');
    expect(view).toMatchObject({ state: 'refused', result: { error: { type: 'credential_missing' } } });
    expect(world.peer.seen).toEqual([]);
  });

  it('acts as its account, which the decision names; the secret is put in on the way out', async () => {
    const text = secret('first');
    const added = await ada.addCredential(world.credential('mine', text));
    expect(added).toMatchObject({ tenant: 'acme', user: 'ada', handle: 'user:notes', state: 'active', version: 1 });
    const view = await read(ada, 'mine');
    expect(view).toMatchObject({ state: 'ok', result: { data: { status: 200 } } });
    expect(shown()).toEqual([`Bearer ${text}`]);
    expect((await world.cluster.call(view.callId))?.decision.account).toBe('mine@notes.example.com');
  });

  it('has whose account acts in the preview of an approval', async () => {
    const { taskId } = await ada.createTask({ title: 'asks', constraints: { confirm: ['notes.mine'] } });
    const { approvalId = '', callId } = await ada.call({ taskId, tool: 'notes.mine', args: { path: '/notes' } });
    const approval = await grace.getApproval(approvalId);
    expect(approval).toMatchObject({ account: 'mine@notes.example.com' });
    expect(approval.preview).toContain('mine@notes.example.com');
    // Another account is another question.
    await ada.addCredential(world.credential('mine', secret('other'), { account: 'other@notes.example.com' }));
    await grace.grantApproval(approvalId).catch(() => undefined);
    const ended = await world.cluster.waitForState(callId, ['settled', 'denied', 'refused']);
    expect(ended.result?.error?.type).toBe('approval_changed');
    expect(world.peer.seen).toEqual([]);
  });

  it('takes a new secret at once', async () => {
    const text = secret('second');
    const added = await ada.addCredential(world.credential('mine', text));
    expect(added.version).toBe(3);
    expect(await read(ada, 'mine')).toMatchObject({ state: 'ok', result: { data: { status: 200 } } });
    expect(shown()).toEqual([`Bearer ${text}`]);
  });

  it('never shows it where it is not meant for', async () => {
    const view = await read(ada, 'mine', '/elsewhere');
    expect(view).toMatchObject({ state: 'error', result: { error: { type: 'egress_refused' } } });
    expect(world.peer.seen).toEqual([]);
    // Not to its own tool either, when the host says it again.
    const told = await read(ada, 'mine', '/notes/echo');
    expect(told).toMatchObject({ state: 'ok', result: { data: { text: expect.stringMatching(/^you showed .*\.$/) } } });
    expect(JSON.stringify(told)).not.toContain('canary');
  });
});

describe('PO-11: whose a credential is', () => {
  it('one’s own is nobody else’s: not of another user, not of another tenant', async () => {
    for (const other of [bob, rival]) {
      expect((await other.listCredentials()).credentials).toEqual([]);
      expect(await typeOf(other.revokeCredential('user:notes'))).toBe('not_found');
      expect(await typeOf(other.testCredential('user:notes'))).toBe('not_found');
      expect(await read(other, 'mine')).toMatchObject({ result: { error: { type: 'credential_missing' } } });
    }
    expect(world.peer.seen).toEqual([]);
  });

  it('PO-10: one of the tenant is given by whoever has the right, and acts for everybody there', async () => {
    const text = secret('tenant');
    const credential = world.credential('ours', text);
    expect(await typeOf(ada.addCredential(credential))).toBe('forbidden');
    await grace.addCredential(credential);
    expect(await typeOf(ada.revokeCredential('tenant:notes'))).toBe('forbidden');
    for (const user of [ada, bob]) expect(await read(user, 'ours')).toMatchObject({ state: 'ok' });
    expect(shown()).toEqual([`Bearer ${text}`, `Bearer ${text}`]);
    expect(await read(rival, 'ours')).toMatchObject({ result: { error: { type: 'credential_missing' } } });
    expect((await rival.listCredentials()).credentials).toEqual([]);
    const handles = (await ada.listCredentials()).credentials.map(({ handle }) => handle);
    expect(handles.sort()).toEqual(['tenant:notes', 'user:notes']);
  });

  it('one that says not for whom acts nowhere but in development', async () => {
    await grace.addCredential(world.credential('anyones', secret('shared')));
    expect(await read(ada, 'anyones')).toMatchObject({
      state: 'refused',
      result: { error: { type: 'denied_by_policy' } },
    });
    expect(world.peer.seen).toEqual([]);
  });
});

describe('PO-11: the life of a credential', () => {
  it('one that waits for a login of its owner says so', async () => {
    const oauth = { issuer: 'https://login.example.com', clientId: 'toolfabric', scopes: [] };
    const { secret: _, ...draft } = world.credential('login', '');
    const added = await ada.addCredential({ ...draft, kind: 'oauth_authorization_code', oauth });
    expect(added.state).toBe('needs_login');
    expect(await read(ada, 'login')).toMatchObject({ state: 'refused', result: { error: { type: 'login_required' } } });
  });

  it('is listed by pages', async () => {
    const first = await ada.listCredentials({ limit: 1 });
    const rest = await ada.listCredentials({ after: first.next ?? '' });
    const all = await ada.listCredentials();
    expect([...first.credentials, ...rest.credentials]).toEqual(all.credentials);
    expect(rest.next).toBeUndefined();
  });

  it('outlives the way out, without which it is said that nobody keeps credentials, and a change of its key', async () => {
    await world.kill('egress');
    expect(await typeOf(ada.testCredential('user:notes', { timeoutMs: 2_000 }))).toBe('egress_unavailable');
    const key = join(world.cluster.directory, 'vault-new.key');
    writeFileSync(key, randomBytes(32).toString('hex'), { mode: 0o600 });
    await world.run('egress', { TOOLFABRIC_VAULT_KEY_FILES: `${key}:${world.cluster.egress.vaultKeyFile}` });
    await waitFor(async () => (await read(ada, 'mine')).state === 'ok', { timeoutMs: 30_000 });
    expect(shown().at(-1)).toContain('canary-second');
    await ada.addCredential(world.credential('mine', secret('newest')));
    // All that was sealed before is sealed anew, so that the old key is needed no more.
    const lines = () => world.services.get('egress')?.log ?? [];
    await waitFor(async () => lines().some((line) => line.includes('vault.resealed')), { timeoutMs: 30_000 });
    await world.kill('egress');
    await world.run('egress', { TOOLFABRIC_VAULT_KEY_FILES: key });
    await waitFor(async () => (await read(ada, 'mine')).state === 'ok', { timeoutMs: 30_000 });
    expect(shown().at(-1)).toContain('canary-newest');
    expect(await read(ada, 'ours')).toMatchObject({ state: 'ok', result: { data: { status: 200 } } });
  });

  it('revoked, it closes what is open with it, and no call begins', async () => {
    const taskId = await task(ada);
    const held = ada.call({ taskId, tool: 'notes.mine', args: { path: '/held' } });
    await waitFor(async () => world.peer.held === 1, { timeoutMs: 15_000 });
    const revoked = await ada.revokeCredential('user:notes');
    expect(revoked.state).toBe('revoked');
    await waitFor(async () => world.peer.held === 0, { timeoutMs: 15_000 });
    expect((await held).state).toBe('error');
    expect(await read(ada, 'mine')).toMatchObject({ result: { error: { type: 'credential_missing' } } });
    const { credentials } = await ada.listCredentials();
    expect(credentials.find(({ handle }) => handle === 'user:notes')).toMatchObject({ state: 'revoked' });
  });
});

describe('PO-11: the command line', () => {
  const command = (args: readonly string[], input = '') =>
    startCommand(['credentials', ...args], {
      env: { TOOLFABRIC_ADDRESS: world.front.address, TOOLFABRIC_TOKEN: world.cluster.token() },
      input,
    });
  const where = ['--account', 'ada@cli.example.com', '--host', '127.0.0.1'];

  it('takes a secret from standard input, tests it, lists it and takes it away', async () => {
    const text = secret('command');
    const test = ['--test-address', `${world.origin}/notes`];
    const adding = command(['add', 'user:notes', ...where, ...test], `${text}\n`);
    expect(processesNaming(text)).toEqual([]);
    expect(await adding.ended).toMatchObject({ code: 0, stderr: '' });
    expect(await command(['test', 'user:notes']).ended).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('status 200'),
    });
    expect(shown()).toEqual([`Bearer ${text}`]);
    world.peer.accepts.delete(`Bearer ${text}`);
    expect(await command(['test', 'user:notes']).ended).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('status 401'),
    });
    const listed = await command(['list']).ended;
    expect(listed.stdout).toMatch(/user:notes +active +v\d+ +ada@cli.example.com/);
    const revoked = await command(['revoke', 'user:notes', '--json']).ended;
    expect(jsonOf(revoked)).toMatchObject({ handle: 'user:notes', state: 'revoked' });
    expect(await command(['revoke', 'user:nothing']).ended).toMatchObject({ code: 1 });
    expect(await command(['add', 'tenant:notes', ...where], 'x').ended).toMatchObject({ code: 3 });
  });

  it('logs in with a browser that comes back, and a tool acts with the token', async () => {
    const client = ['--kind', 'authorization-code', '--issuer', world.oauth.issuer, '--client-id', 'public'];
    const added = await command(['add', 'user:login', ...where, ...client, '--scope', 'read']).ended;
    expect(added).toMatchObject({ code: 0, stderr: expect.stringContaining('credentials login user:login') });
    const login = command(['login', 'user:login']);
    const said: string[] = [];
    login.child.stderr?.on('data', (chunk) => said.push(String(chunk)));
    const address = await waitFor(async () => /http:\S+\/authorize\?\S+(?=\s)/.exec(said.join(''))?.[0], {
      timeoutMs: 20_000,
    });
    const back = await fetch(await world.oauth.browse(address));
    expect(back.status).toBe(200);
    expect(await login.ended).toMatchObject({ code: 0, stdout: expect.stringContaining('user:login  active') });
    const view = await read(ada, 'login');
    expect(view).toMatchObject({ state: 'ok' });
    const issued = world.oauth.truth.flatMap((one) => (one.event === 'issued' ? [one] : []));
    expect(issued.map(({ accessToken }) => `Bearer ${accessToken}`)).toEqual(shown());
    given.push(...issued.flatMap(({ accessToken, refreshToken }) => [accessToken, refreshToken ?? accessToken]));
  });
});

describe('PO-11: a secret', () => {
  it('went by in no message of the bus or of the front door, and stands in no log', () => {
    const places = { bus: world.bus, front: world.front };
    for (const [name, tap] of Object.entries(places)) {
      // What must have gone by did, so that the taps are known to hear.
      expect(tap.saw('mine@notes.example.com'), name).toBe(true);
      for (const text of given) {
        for (const form of [text, Buffer.from(text).toString('base64url'), Buffer.from(text).toString('hex')])
          expect(tap.saw(form), `${text} on the ${name}`).toBe(false);
      }
    }
    const logs = world.logs.join('\n');
    expect(logs).not.toBe('');
    for (const text of given) expect(logs.includes(text)).toBe(false);
  });
});
