import { FabricError } from '@toolfabric/kernel';
import type { ToolContext } from '@toolfabric/worker-runtime';
import { type AllowedPrograms, type ResolvedCommand, resolveProgram } from '../programs/resolve-program.ts';

/** As `resolveProgram`; what a refusal quotes of the arguments is redacted. */
export const resolveFor = (ctx: ToolContext, programs: AllowedPrograms, argv: readonly string[]): ResolvedCommand => {
  try {
    return resolveProgram(programs, argv, ctx.redactor.text);
  } catch (thrown) {
    if (!(thrown instanceof FabricError)) throw thrown;
    throw new FabricError(thrown.type, ctx.redactor.text(thrown.message), thrown.details);
  }
};
