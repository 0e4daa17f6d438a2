import type { CallView, ToolError } from '@toolfabric/contract';
import type { Json } from '@toolfabric/kernel';
import { z } from 'zod';

/** Something came out otherwise than the story tells it. */
export class StoryMismatch extends Error {
  override readonly name = 'StoryMismatch';
}

export const expectThat = (holds: boolean, what: string): void => {
  if (!holds) throw new StoryMismatch(`expected ${what}`);
};

/** The data of a call that went well, in the shape that the story needs. */
export const okData = <T>(call: CallView, shape: z.ZodType<T>): T => {
  expectThat(
    call.state === 'ok' && call.result?.status === 'ok',
    `ok, but it is ${call.state}: ${call.result?.summary ?? ''}`,
  );
  const parsed = shape.safeParse(call.result?.data as Json);
  if (!parsed.success) throw new StoryMismatch(`data of another shape: ${z.prettifyError(parsed.error)}`);
  return parsed.data;
};

/** The error of a call that was refused or failed as it should. */
export const errorOf = (call: CallView, type: ToolError['type']): ToolError => {
  const error = call.result?.error;
  if (error?.type !== type) throw new StoryMismatch(`${type}, but it is ${call.state} ${error?.type ?? ''}`);
  expectThat(call.result?.sideEffect === 'none', 'no side effect of a call that was refused');
  return error;
};
