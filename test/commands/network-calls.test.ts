import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { FabricClient } from '@toolfabric/client';
import type { CallView } from '@toolfabric/contract';
import { waitFor } from '@toolfabric/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { Cluster } from '../support/cluster.ts';

const CONTRACT = new URL('../../libs/catalogue/contracts/process.run.yaml', import.meta.url);
const WAIT = { waitMs: 60_000, timeoutMs: 75_000 };

const GET = `
import { request } from 'node:http';
const path = process.argv[2];
const near = process.env.http_proxy === undefined ? {} : { host: '127.0.0.1', port: 3128 };
request({ host: '127.0.0.1', port: 9, ...near, path, headers: { host: new URL(path).host } }, async (got) => {
  let text = '';
  for await (const chunk of got) text += chunk;
  console.log(got.statusCode, text);
}).on('error', (error) => console.log(error.code)).end();
`;

describe('CL-6: a command with a network, through the whole fabric', () => {
  let cluster: Cluster;
  let client: FabricClient;
  let approver: FabricClient;
  let site: Server;
  let taskId: string;
  let asked = 0;
  const address = () => `127.0.0.1:${(site.address() as AddressInfo).port}`;
  beforeAll(async () => {
    site = createServer((_, response) => {
      asked += 1;
      response.end('from outside');
    });
    await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
    cluster = await Cluster.startWith(['artifacts', 'router', 'gateway', 'egress', 'cli']);
    const contract = parse(readFileSync(CONTRACT, 'utf8'));
    contract.version = '1.2.1';
    contract.execution.egress.from_arguments.addresses = ['127.0.0.0/8'];
    await cluster.publish([contract]);
    client = cluster.client();
    approver = cluster.client({ user: 'grace', rights: ['approvals:decide'] });
    const source = join(cluster.workspaceRoot, 'project');
    mkdirSync(source, { recursive: true });
    writeFileSync(join(source, 'get.mjs'), GET);
    const constraints = { forbiddenHosts: ['forbidden.example.com'] };
    ({ taskId } = await client.createTask({ workspace: { type: 'existing', path: source }, constraints }));
    const known = () => client.call({ taskId, tool: 'process.run@1.2.1', args: { argv: ['true'] } }, WAIT);
    const isKnown = async () => (await known()).state === 'ok';
    await waitFor(isKnown, { timeoutMs: 60_000, everyMs: 250, what: 'the router to know the contract' });
  }, 90_000);
  afterAll(async () => {
    site.close();
    await cluster.stop();
  });

  /** A person sees the hosts, and says yes. */
  const call = async (url: string, hosts?: readonly string[]): Promise<CallView> => {
    const network = hosts === undefined ? {} : { network: { hosts: [...hosts] } };
    const args = { argv: ['node', 'get.mjs', url], ...network };
    const view = await client.call({ taskId, tool: 'process.run@1.2.1', args }, WAIT);
    if (view.state !== 'awaiting_approval') return view;
    await approver.grantApproval(view.approvalId ?? '');
    const settled = async () => {
      const seen = await client.getCall(view.callId);
      return seen.settledAt === undefined ? undefined : seen;
    };
    return waitFor(settled, { timeoutMs: 30_000, everyMs: 100, what: 'the end of the call' });
  };
  const said = (view: CallView) => (view.result?.data as { stdout?: { text?: string } } | undefined)?.stdout?.text;

  it('reaches the host that its call names, once a person has said yes', async () => {
    const view = await call(`http://${address()}/`, [`http://${address()}`]);
    expect(view, JSON.stringify(view)).toMatchObject({ state: 'ok' });
    expect(said(view)).toBe('200 from outside\n');
    expect(asked).toBe(1);
  });

  it('reaches no other, says which, and without hosts none at all', async () => {
    const other = await call(`http://${address()}/`, ['https://other.example.com']);
    expect(said(other)).toMatch(/^403 /);
    expect(other.result?.summary).toContain(`The egress refused ${address()} (host_not_permitted)`);
    expect(said(await call(`http://${address()}/`))).toBe('ECONNREFUSED\n');
    expect(asked).toBe(1);
  });

  it('PO-9: is refused before it runs where the task forbids the host', async () => {
    const view = await call('http://forbidden.example.com/', ['forbidden.example.com']).catch((thrown) => thrown);
    expect(JSON.stringify([view, view.type])).toContain('constraint_violated');
  });
});
