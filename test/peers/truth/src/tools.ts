import { appendFileSync, readFileSync } from 'node:fs';
import type { Outcome } from '@toolfabric/contract';
import { type AnyTool, defineTool, type ToolContext } from '@toolfabric/worker-runtime';
import { z } from 'zod';

const Write = z.strictObject({ identity: z.string(), delay_ms: z.int().optional() });
type Write = z.infer<typeof Write>;
const LongWrite = Write.extend({ hold_ms: z.int().optional() });
const Read = z.strictObject({ delay_ms: z.int().optional() });

export interface TruthLine {
  readonly identity: string;
  readonly callId: string;
}

export const readTruth = (file: string): TruthLine[] => {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as TruthLine);
  } catch {
    return [];
  }
};

const receipt = (identity: string): Outcome => ({
  status: 'ok',
  summary: `appended ${identity}`,
  data: { identity },
  sideEffect: 'confirmed',
  trust: 'trusted',
  evidence: [{ kind: 'truth-log', ref: identity }],
});

const answer = (summary: string): Outcome => ({ status: 'ok', summary, sideEffect: 'none', trust: 'trusted' });

/** Identities of the lines that a waiting tool leaves: when it begins, and when it was told to stop. */
export const WAITING = 'waiting';
export const ABORTED = 'aborted';

const note = (file: string, line: TruthLine): void => appendFileSync(file, `${JSON.stringify(line)}\n`);

const append = async (file: string, ctx: ToolContext, { identity, delay_ms = 0 }: Write): Promise<Outcome> => {
  await ctx.beginEffect({ identity });
  await ctx.clock.sleep(delay_ms);
  note(file, { identity, callId: ctx.callId });
  ctx.faults.at('worker.after-write');
  return receipt(identity);
};

const wait = async (file: string, ctx: ToolContext, ms: number): Promise<Outcome> => {
  if (ms > 0) note(file, { identity: WAITING, callId: ctx.callId });
  ctx.progress(`waiting ${ms} ms`);
  await ctx.clock.sleep(ms, ctx.signal);
  if (!ctx.signal.aborted) return answer('waited');
  note(file, { identity: ABORTED, callId: ctx.callId });
  throw ctx.signal.reason;
};

/** Waits, begins, waits again, and writes; told to stop in between, it says that it does not know. */
const appendLater = async (file: string, ctx: ToolContext, args: z.infer<typeof LongWrite>): Promise<Outcome> => {
  const { identity, delay_ms = 0, hold_ms = 0 } = args;
  await wait(file, ctx, delay_ms);
  await ctx.beginEffect({ identity });
  await wait(file, ctx, hold_ms);
  note(file, { identity, callId: ctx.callId });
  ctx.faults.at('worker.after-write');
  return receipt(identity);
};

const probeIn =
  (file: string) =>
  async (_ctx: ToolContext, { identity }: { identity: string }) => {
    const found = readTruth(file).some((line) => line.identity === identity);
    return found
      ? ({ answer: 'found', receipt: receipt(identity) } as const)
      : ({ answer: 'absent', fence: false } as const);
  };

export const truthTools = (file: string): AnyTool[] => {
  const write = (handler: string, effect: 'workspace' | 'outside', probed: boolean) =>
    defineTool<Write>({
      handler,
      effect,
      args: Write,
      handle: (ctx, args) => append(file, ctx, args),
      ...(probed ? { probe: probeIn(file) } : {}),
    });
  const read = (handler: string) =>
    defineTool({ handler, effect: 'none', args: Read, handle: (ctx, { delay_ms = 0 }) => wait(file, ctx, delay_ms) });
  return [
    write('truth.append', 'workspace', true),
    write('truth.append_blind', 'workspace', false),
    write('truth.append_outside', 'outside', true),
    defineTool({ handler: 'truth.noop', effect: 'none', args: Read, handle: async () => answer('nothing') }),
    read('truth.slow_read'),
    read('truth.slow_claimed'),
    read('truth.long_read'),
    defineTool({
      handler: 'truth.long_append',
      effect: 'workspace',
      args: LongWrite,
      handle: (ctx, args) => appendLater(file, ctx, args),
      probe: probeIn(file),
    }),
  ];
};
