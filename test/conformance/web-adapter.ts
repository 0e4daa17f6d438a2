import { readFileSync } from 'node:fs';
import { ToolContract } from '@toolfabric/contract';
import { parse } from 'yaml';
import { armTracker, disarmTracker } from '../peers/tracker/src/client.ts';
import { commentsIn } from '../peers/tracker/src/truth-log.ts';
import type { AdapterUnderTest } from './adapter.ts';

const ISSUE = 4821;
const FETCH = new URL('../../libs/catalogue/contracts/url.fetch.yaml', import.meta.url);

/** A tool that reads what lies on this machine, as an installation publishes one for its own network. */
const pageContract = (): unknown => {
  const { execution, ...contract } = ToolContract.parse(parse(readFileSync(FETCH, 'utf8')));
  const { egress } = execution;
  const from = { ...egress?.from_arguments, addresses: ['127.0.0.0/8'] };
  return {
    ...contract,
    name: 'intranet.page',
    toolset: 'intranet',
    execution: { ...execution, egress: { ...egress, from_arguments: from } },
  };
};

const post = async (address: string, key: string, body: string): Promise<void> => {
  const sent = { method: 'POST', body: JSON.stringify({ body, key }), signal: AbortSignal.timeout(10_000) };
  const { status } = await fetch(`http://${address}/issues/7/comments`, sent);
  if (status !== 201) throw new Error(`the tracker answered ${status}`);
};

/** Reads by the handler `url.fetch` and writes by a declared interface, both through a real way out. */
export const WEB: AdapterUnderTest = {
  name: 'web',
  kind: 'web',
  worker: 'web',
  services: ['egress', 'tracker'],
  loseReceipt: 'worker.handled:kill',
  writeTool: 'issue.comment',
  prepare: (cluster) => cluster.publish([pageContract()]),
  async rig(cluster, client) {
    const { taskId } = await client.createTask({ title: 'conformance' });
    const { trackerAddress: address } = cluster;
    const page = (path: string) => ({
      tool: 'intranet.page',
      args: { url: `http://${address}${path}`, max_chars: 40_000 },
    });
    const comment = (identity: string) => ({
      tool: 'issue.comment',
      args: { number: ISSUE, body: 'Both suites pass.', key: identity },
    });
    const happened = (identity: string) => commentsIn(cluster.trackerFile, identity).length;
    await post(address, 'loud', 'more than is shown at once. '.repeat(2_000));
    return {
      taskId,
      taskUnder: async (constraints) => (await client.createTask({ title: 'under', constraints })).taskId,
      read: page(`/issues/${ISSUE}`),
      malformed: { action: { tool: 'intranet.page', args: { url: 'file:///etc/passwd' } }, field: '/url' },
      write: comment,
      happened,
      async slowWrite(identity) {
        await armTracker(address, { mode: 'delay', delayMs: 30_000 });
        return comment(identity);
      },
      begun: (identity) => happened(identity) > 0,
      hasStopped: () => true,
      calm: () => disarmTracker(address),
      async echo(text) {
        const key = `echo-${text.length}`;
        await post(address, key, text);
        return page(`/issues/7/comments?key=${key}`);
      },
      loud: page('/issues/7/comments?key=loud'),
      asking: comment,
      asked: happened,
      origin: /^web:http:\/\/127\.0\.0\.1:\d+$/,
    };
  },
};
