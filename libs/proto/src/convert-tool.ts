import { LifeCycle, type ModelTool, type ToolSummary } from '@toolfabric/contract';
import { enumCodec } from './enum-codec.ts';
import * as wire from './gen/toolfabric/v1/tool.ts';
import { parseWireJson } from './wire-json.ts';

const states = enumCodec('tool state', wire.ToolState, LifeCycle.options);

export const toolSummaryToWire = (tool: ToolSummary): wire.ToolSummary => ({
  name: tool.name,
  version: tool.version,
  state: states.toWire(tool.state) as wire.ToolState,
  description: tool.description,
  risk: tool.risk,
  digest: tool.digest,
  modelDigest: tool.modelDigest,
  denied: tool.denied === true,
});

/** Throws `WireMismatch` for a state that this side does not know. */
export const toolSummaryFromWire = ({
  name,
  version,
  state,
  description,
  risk,
  digest,
  modelDigest,
  denied,
}: wire.ToolSummary): ToolSummary => ({
  name,
  version,
  state: states.fromWire(state),
  description,
  risk,
  digest,
  modelDigest,
  ...(denied ? { denied } : {}),
});

export const modelToolToWire = (tool: ModelTool): wire.ModelTool => ({
  name: tool.name,
  version: tool.version,
  capabilityJson: JSON.stringify(tool.capability),
  inputJson: JSON.stringify(tool.input),
  outputJson: JSON.stringify(tool.output),
});

/** Throws `WireMismatch` where a part is not JSON. */
export const modelToolFromWire = (tool: wire.ModelTool): ModelTool => ({
  name: tool.name,
  version: tool.version,
  capability: parseWireJson('capability', tool.capabilityJson),
  input: parseWireJson('input', tool.inputJson),
  output: parseWireJson('output', tool.outputJson),
});
