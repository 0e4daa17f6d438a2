import { type CallRequest, type FabricEvent, ToolName } from '@toolfabric/contract';
import { traceIdOf } from './spans.ts';

type Told = Partial<
  Pick<CallRequest, 'turn' | 'modelCallId' | 'model' | 'catalogueDigest' | 'repairs' | 'background' | 'traceparent'>
>;

/** Who proposed a call, when, and after what: the same in every event about a call. */
export const proposalAttributes = (told: Told): FabricEvent['attributes'] => {
  const { turn, modelCallId, model, catalogueDigest, repairs, background } = told;
  return {
    traceId: traceIdOf(told.traceparent),
    ...(turn === undefined ? {} : { turn }),
    ...(modelCallId === undefined ? {} : { modelCallId }),
    ...(model === undefined ? {} : { model }),
    ...(catalogueDigest === undefined ? {} : { catalogueDigest }),
    ...(repairs === undefined ? {} : { repairs }),
    ...(background === undefined ? {} : { background }),
  };
};

/** What a model wrote as `name` or `name@version`, where it can be the name of a tool; else nothing of it is told. */
export const proposedTool = (tool: string): string => {
  const [name = ''] = tool.split('@', 1);
  return ToolName.safeParse(name).success ? name : '';
};
