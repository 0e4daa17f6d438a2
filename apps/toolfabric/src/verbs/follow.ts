import type { CallView } from '@toolfabric/contract';
import { withFabric } from '../cli/connect.ts';
import { describeCall } from '../cli/describe-call.ts';
import { EXIT, exitOfCall } from '../cli/exit-codes.ts';
import { CONNECT_FLAGS, type Verb } from '../cli/verb.ts';

export const watch: Verb = {
  name: 'watch',
  summary: 'Follow a call until it has ended.',
  usage: '<call id>',
  positionals: [1, 1],
  flags: CONNECT_FLAGS,
  notes: 'With --json: one line of news a change, {"type":"call",…} or {"type":"progress",…}.',
  run: (context) =>
    withFabric(context, async (fabric) => {
      const { args, output, signal } = context;
      let last: CallView | undefined;
      for await (const news of fabric.watchCall(args.positionals[0] ?? '', { signal })) {
        if (news.type === 'call') last = news.call;
        const { message, fraction } = news.type === 'progress' ? news.progress : { message: '', fraction: undefined };
        const share = fraction === undefined ? '' : ` ${Math.round(fraction * 100)} %`;
        output.show(news, news.type === 'call' ? describeCall(news.call) : `…${share} ${message}`);
      }
      return last ? exitOfCall(last) : EXIT.unavailable;
    }),
};

export const get: Verb = {
  name: 'get',
  summary: 'Show a call as it is now.',
  usage: '<call id>',
  positionals: [1, 1],
  flags: CONNECT_FLAGS,
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const view = await fabric.getCall(context.args.positionals[0] ?? '', request);
      context.output.show(view, describeCall(view));
      return exitOfCall(view);
    }),
};

export const cancel: Verb = {
  name: 'cancel',
  summary: 'Ask for a call to be stopped; says how far it was.',
  usage: '<call id>',
  positionals: [1, 1],
  flags: CONNECT_FLAGS,
  notes: `Exit code 0 when the request was taken, whatever the call's state; 4 when its outcome is unknown.`,
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const view = await fabric.cancelCall(context.args.positionals[0] ?? '', request);
      context.output.show(view, describeCall(view));
      return view.state === 'unknown' ? EXIT.unknown : EXIT.ok;
    }),
};
