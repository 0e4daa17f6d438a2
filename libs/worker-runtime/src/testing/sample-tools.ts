import type { Outcome } from '@toolfabric/contract';
import { z } from 'zod';
import { type AnyTool, defineTool, type ToolContext, type ToolDefinition } from '../define-tool.ts';

export const done = (changes: Partial<Outcome> = {}): Outcome => ({
  status: 'ok',
  summary: 'written',
  sideEffect: 'confirmed',
  trust: 'trusted',
  evidence: [{ kind: 'note', ref: '7' }],
  ...changes,
});

export const answer = (changes: Partial<Outcome> = {}): Outcome =>
  done({ summary: 'read', sideEffect: 'none', ...changes });

type Args = Record<string, unknown>;
type Handle = ToolDefinition<Args>['handle'];

export const toolOf = (handle: Handle, changes: Partial<ToolDefinition<Args>> = {}): AnyTool =>
  defineTool<Args>({ handler: 'tool', effect: 'outside', args: z.record(z.string(), z.unknown()), handle, ...changes });

/** One run of a tool that waits until the test lets it go on. */
export interface HeldRun {
  readonly ctx: ToolContext;
  finish(outcome: Outcome): void;
  fail(error: unknown): void;
}

/** A tool whose runs end when the test says so; with `began`, after it has stored its effect. */
export class HeldTool {
  readonly runs: HeldRun[] = [];
  readonly tool: AnyTool;

  constructor({ begins = true } = {}) {
    this.tool = toolOf(async (ctx) => {
      if (begins) await ctx.beginEffect({ to: 'a.md' });
      const end = Promise.withResolvers<Outcome>();
      this.runs.push({ ctx, finish: end.resolve, fail: end.reject });
      return end.promise;
    });
  }
}
