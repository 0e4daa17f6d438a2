import { armTracker, disarmTracker } from '../peers/tracker/src/client.ts';
import { commentsIn } from '../peers/tracker/src/truth-log.ts';
import type { AdapterUnderTest } from './adapter.ts';

const ISSUE = 4821;

/** `http.request` for the declared interface of an outside service, through the egress. */
export const TRACKER: AdapterUnderTest = {
  name: 'tracker',
  kind: 'web',
  worker: 'web',
  services: ['tracker', 'egress'],
  loseReceipt: 'worker.handled:kill',
  writeTool: 'issue.comment',
  async rig(cluster, client) {
    const { taskId } = await client.createTask({ title: 'conformance' });
    const comment = (identity: string, body = 'Both suites pass.') => ({
      tool: 'issue.comment',
      args: { number: ISSUE, body, key: identity },
    });
    const happened = (identity: string) => commentsIn(cluster.trackerFile, identity).length;
    return {
      taskId,
      taskUnder: async (constraints) => (await client.createTask({ title: 'under', constraints })).taskId,
      read: { tool: 'issue.read', args: { number: ISSUE } },
      malformed: { action: { tool: 'issue.comment', args: { number: 0, body: 'x', key: 'y' } }, field: '/number' },
      write: (identity) => comment(identity),
      happened,
      async slowWrite(identity) {
        await armTracker(cluster.trackerAddress, { mode: 'delay', delayMs: 30_000 });
        return comment(identity);
      },
      begun: (identity) => happened(identity) > 0,
      hasStopped: () => true,
      calm: () => disarmTracker(cluster.trackerAddress),
      async echo(text) {
        const key = `echo-${text.length}`;
        await fetch(`http://${cluster.trackerAddress}/issues/7/comments`, {
          method: 'POST',
          body: JSON.stringify({ body: text, key }),
        });
        return { tool: 'issue.comments', args: { number: 7, key } };
      },
      loud: undefined,
      asking: (identity) => comment(identity),
      asked: happened,
      origin: /^http:\/\/127\.0\.0\.1:\d+$/,
    };
  },
};
