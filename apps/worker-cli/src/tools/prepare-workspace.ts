import type { Outcome } from '@toolfabric/contract';
import { defineTool, type ToolContext } from '@toolfabric/worker-runtime';
import { z } from 'zod';
import type { Driver } from '../driver.ts';

const Args = z.strictObject({});
type Args = z.infer<typeof Args>;

const prepare = async (driver: Driver, ctx: ToolContext): Promise<Outcome> => {
  const record = await driver.preparing(ctx);
  const user = record.child?.uid ?? driver.settings.worker.uid;
  return {
    status: 'ok',
    summary: `The workspace is ready (${record.source.type}).`,
    data: { workspace: record.id, type: record.source.type, user },
    // Its contract is idempotent: it may be run again without anybody asking what became of the first run.
    sideEffect: 'none',
    evidence: [{ kind: 'workspace', ref: record.id, detail: `user ${user}` }],
    trust: 'trusted',
  };
};

/** `workspace.prepare`, called by the fabric itself when a task is made. */
export const prepareWorkspaceTool = (driver: Driver) =>
  defineTool<Args>({
    handler: 'workspace.prepare',
    effect: 'workspace',
    args: Args,
    handle: (ctx) => prepare(driver, ctx),
  });
