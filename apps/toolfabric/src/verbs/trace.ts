import type { TraceCall } from '@toolfabric/contract';
import { withFabric } from '../cli/connect.ts';
import { drawTrace } from '../cli/draw-trace.ts';
import { EXIT } from '../cli/exit-codes.ts';
import { timeOf } from '../cli/time-of.ts';
import { CONNECT_FLAGS, type Verb } from '../cli/verb.ts';

/** `toolfabric trace`: everything that is stored about one call. */
export const trace: Verb = {
  name: 'trace',
  summary: 'Draw the trace of a call: decision, attempts, timings, artifacts.',
  usage: '<call id>',
  positionals: [1, 1],
  flags: CONNECT_FLAGS,
  notes: 'Traces are written a moment after the call; arguments and results stand in them redacted.',
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const callId = context.args.positionals[0] ?? '';
      const found = await fabric.getTrace(callId, request);
      context.output.show(found, drawTrace(callId, found));
      return EXIT.ok;
    }),
};

const line = (call: TraceCall): string =>
  [
    new Date(call.settledAt).toISOString().slice(0, 19),
    call.callId,
    `${call.tool}@${call.version}`.padEnd(30),
    (call.errorType === '' ? call.state : call.errorType).padEnd(18),
    `${Math.round(call.durationMs)} ms`.padStart(9),
    call.sideEffect,
  ].join('  ');

/** `toolfabric calls`: past calls of this token, by filter. */
export const calls: Verb = {
  name: 'calls',
  summary: 'List past calls, the newest first.',
  usage: '',
  positionals: [0, 0],
  flags: {
    task: { type: 'string', value: 'ID', help: 'of this task' },
    tool: { type: 'string', value: 'NAME', help: 'of this tool' },
    'call-state': { type: 'string', value: 'STATE', help: 'ended so: ok, error, unknown, cancelled, …' },
    error: { type: 'string', value: 'TYPE', help: 'with this type of error' },
    truncated: { type: 'boolean', help: 'whose output was cut' },
    since: { type: 'string', value: 'TIME', help: 'ended since; a date, or a span back such as 2h' },
    until: { type: 'string', value: 'TIME', help: 'ended before' },
    after: { type: 'string', value: 'NEXT', help: 'the page after this one' },
    limit: { type: 'string', value: 'N', help: 'calls on a page, 100 at most (50)' },
    ...CONNECT_FLAGS,
  },
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const { args, output } = context;
      const now = Date.now();
      const filter = {
        taskId: args.text('task'),
        tool: args.text('tool'),
        state: args.text('call-state'),
        errorType: args.text('error'),
        truncated: args.on('truncated') ? true : undefined,
        since: timeOf(args, 'since', now),
        until: timeOf(args, 'until', now),
        after: args.text('after'),
        limit: args.integer('limit', 1, 100),
      };
      const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
      const page = await fabric.listCalls(given, request);
      const more = page.next === undefined ? [] : [`more: --after ${page.next}`];
      output.show(page, [...page.calls.map(line), ...more].join('\n') || 'no calls');
      return EXIT.ok;
    }),
};
