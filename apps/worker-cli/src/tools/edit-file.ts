import { ERROR_TABLE, type Outcome } from '@toolfabric/contract';
import { isWritable } from '@toolfabric/governance';
import { FabricError, type Json, toFabricError } from '@toolfabric/kernel';
import { defineTool, type ProbeAnswer, type Redactor, type ToolContext } from '@toolfabric/worker-runtime';
import { z } from 'zod';
import type { Driver } from '../driver.ts';
import { carryOut } from '../edit/carry-out.ts';
import { fileError } from '../edit/file-error.ts';
import { type EditPlan, planEdit } from '../edit/plan-edit.ts';
import { answerProbe } from '../edit/probe-edit.ts';
import { receiptOf } from '../edit/receipt.ts';
import { toldError } from '../output/told-error.ts';
import { removeLeftover } from '../workspace/leftovers.ts';
import type { OpenWorkspace } from '../workspace/open-workspace.ts';
import { showPath } from '../workspace/path-parts.ts';
import type { WorkspaceLock } from '../workspace/workspace-lock.ts';

const Args = z.strictObject({
  path: z.string().min(1),
  old_text: z.string(),
  new_text: z.string(),
  expected_sha256: z.string().regex(/^(absent|[0-9a-f]{64})$/),
  replace_all: z.boolean().default(false),
});
type Args = z.infer<typeof Args>;

/** Bytes of the diff that are stored with the intent, so that a probe can give back a receipt with a real diff. */
const INTENT_DIFF_BYTES = 4_096;

const intentOf = (plan: EditPlan): Json => ({
  path: plan.path,
  before: plan.before,
  after: plan.after,
  replacements: plan.replacements,
  diff: plan.diff.length <= INTENT_DIFF_BYTES ? plan.diff : plan.diff.slice(0, INTENT_DIFF_BYTES).toWellFormed(),
  diff_bytes: Buffer.byteLength(plan.diff),
});

/** The effect had begun in name, and the target is untouched: an error without effect, not an unknown end. */
const notWritten = (workspace: OpenWorkspace, redactor: Redactor, error: FabricError): Outcome => ({
  ...toldError(redactor, error, 'Nothing was written.'),
  origin: workspace.origin,
});

const uncertain = (workspace: OpenWorkspace, plan: EditPlan): Outcome => ({
  status: 'unknown',
  summary: 'The file was replaced, and could not be looked at afterwards.',
  error: {
    type: 'tool_failed',
    layer: ERROR_TABLE.tool_failed.layer,
    message: 'the file was replaced, and could not be looked at afterwards',
    retryable: false,
  },
  sideEffect: 'possible',
  evidence: [{ kind: 'file', ref: plan.path, detail: `intended sha256:${plan.after}` }],
  trust: 'trusted',
  origin: workspace.origin,
});

/** The router saw the path that was asked for; links may lead elsewhere. */
const checkWritable = ({ writable }: ToolContext, { path }: EditPlan): void => {
  if (writable === undefined || isWritable(writable, path)) return;
  throw new FabricError('constraint_violated', `${showPath(path)} may not be written in this task`);
};

const edit = async (workspace: OpenWorkspace, lock: WorkspaceLock, ctx: ToolContext, args: Args): Promise<Outcome> => {
  const { root } = workspace;
  await removeLeftover(root, lock);
  const planned = await planEdit(root, args).catch((thrown: unknown) => {
    throw fileError(thrown);
  });
  // The intent and the receipt show as much of it as they have room for.
  const plan = { ...planned, diff: ctx.redactor.text(planned.diff) };
  checkWritable(ctx, plan);
  await ctx.beginEffect(intentOf(plan));
  let renamed = false;
  const afterRename = () => {
    renamed = true;
    ctx.faults.at('worker.after-write');
  };
  try {
    await carryOut(plan, { root, lock, signal: ctx.signal, afterRename });
  } catch (thrown) {
    return renamed
      ? uncertain(workspace, plan)
      : notWritten(workspace, ctx.redactor, toFabricError(fileError(thrown), 'tool_failed'));
  }
  return receiptOf(workspace, plan, ctx.limits.outputBytes);
};

const probe = (driver: Driver, ctx: ToolContext, intent: Json | undefined): Promise<ProbeAnswer> =>
  driver.probing(ctx, intent, async (workspace, lock) => {
    await removeLeftover(workspace.root, lock);
    return answerProbe(workspace, intent, ctx.limits.outputBytes);
  });

/** Without the lock, or without the workspace, nobody can tell yet. */
const notVisible = (thrown: unknown): ProbeAnswer => {
  const { type } = toFabricError(thrown, 'tool_failed');
  return { answer: 'not_visible', reason: type };
};

/** `workspace.edit_file`: exact replacement in one file, or a new file, under the lock of the workspace. */
export const editFileTool = (driver: Driver) =>
  defineTool<Args>({
    handler: 'workspace.edit_file',
    effect: 'workspace',
    args: Args,
    handle: (ctx, args) => driver.changing(ctx, (workspace, lock, inner) => edit(workspace, lock, inner, args)),
    probe: (ctx, _args, intent) => probe(driver, ctx, intent).catch(notVisible),
  });
