import type { WorkBody } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import type { AnyTool } from './define-tool.ts';
import type { WorkerContext } from './worker-context.ts';

export const toolOf = (ctx: WorkerContext, body: WorkBody): AnyTool => {
  const tool = ctx.tools.get(body.handler);
  if (!tool) throw new FabricError('malformed_message', 'no such handler in this worker');
  return tool;
};
