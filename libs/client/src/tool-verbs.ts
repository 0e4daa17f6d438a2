import {
  type DescribeToolResponse,
  type ListToolsResponse,
  modelToolFromWire,
  type RegistryServiceClient,
  type ToolServiceClient,
  toolSummaryFromWire,
  type wireTool,
} from '@toolfabric/proto';
import type { FabricClient } from './client-types.ts';
import { present, type Requester } from './requester.ts';

type ToolVerbs = Pick<FabricClient, 'listTools' | 'describeTool'>;
type RegistryVerbs = Pick<FabricClient, 'putDraft' | 'publish' | 'deprecate' | 'retire'>;

const catalogueOf = ({ tools, catalogueDigest }: ListToolsResponse) => ({
  tools: tools.map(toolSummaryFromWire),
  catalogueDigest,
});

const descriptionOf = ({ summary, model }: DescribeToolResponse) => ({
  summary: toolSummaryFromWire(present(summary)),
  model: modelToolFromWire(present(model)),
});

const summaryOf = ({ tool }: { tool: wireTool.ToolSummary | undefined }) => toolSummaryFromWire(present(tool));

export const toolVerbs = (tools: ToolServiceClient, requester: Requester): ToolVerbs => ({
  listTools: ({ allStates = false } = {}, options = {}) =>
    requester.ask(tools.listTools.bind(tools), { allStates }, catalogueOf, options),
  describeTool: (tool, options = {}) => requester.ask(tools.describeTool.bind(tools), { tool }, descriptionOf, options),
});

export const registryVerbs = (registry: RegistryServiceClient, requester: Requester): RegistryVerbs => ({
  putDraft: (contract, options = {}) =>
    requester.ask(registry.putDraft.bind(registry), { contractJson: JSON.stringify(contract) }, summaryOf, options),
  publish: (name, version, options = {}) =>
    requester.ask(registry.publishTool.bind(registry), { name, version }, summaryOf, options),
  deprecate: (name, version, options = {}) =>
    requester.ask(registry.deprecateTool.bind(registry), { name, version }, summaryOf, options),
  retire: (name, version, options = {}) =>
    requester.ask(registry.retireTool.bind(registry), { name, version }, summaryOf, options),
});
