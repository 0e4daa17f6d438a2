import { assertPublishable, draftOf, modelView, moveLifeCycle, parseContract } from '@toolfabric/catalogue';
import type { Actor, LifeCycle, RegistryRecord, RpcReply, ToolSummary } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { changeRecord, toolKey } from '@toolfabric/ledger';
import { compareVersions, resolveTool } from '@toolfabric/routing';
import type { RouterServices } from './router-services.ts';

/** The right that moves contracts through their life cycle. */
const PUBLISH_RIGHT = 'registry:publish';

const summaryOf = ({ contract, state, digest, modelDigest }: RegistryRecord): ToolSummary => ({
  name: contract.name,
  version: contract.version,
  state,
  description: contract.capability.description,
  risk: contract.governance.risk,
  digest,
  modelDigest,
});

const needRight = (rights: readonly string[]): void => {
  if (!rights.includes(PUBLISH_RIGHT))
    throw new FabricError('forbidden', `this verb needs a token with the right ${PUBLISH_RIGHT}`);
};

/** Characters of one page of a listing. */
const PAGE_CHARACTERS = 40_000;

type Place = Pick<ToolSummary, 'name' | 'version'>;

const isBefore = (a: Place, b: Place): number =>
  a.name === b.name ? compareVersions(a.version, b.version) : a.name < b.name ? -1 : 1;

/** As many as fit a page, at least one; `next` is the last of them when more follow. */
const pageOf = (tools: readonly ToolSummary[]): { tools: ToolSummary[]; next?: string } => {
  let left = PAGE_CHARACTERS;
  const page: ToolSummary[] = [];
  for (const tool of tools) {
    left -= tool.description.length + 500;
    const last = page.at(-1);
    if (left < 0 && last !== undefined) return { tools: page, next: `${last.name}@${last.version}` };
    page.push(tool);
  }
  return { tools: page };
};

/** What this actor may ever call: the current version of each tool, or every version and state. */
export const listTools = (
  services: RouterServices,
  actor: Actor,
  allStates: boolean,
  after: string | undefined,
): RpcReply<'listTools'> => {
  const { registry, policy } = services;
  const isCurrent = ({ contract }: RegistryRecord) =>
    registry.index.tools.get(contract.name)?.current?.contract.version === contract.version;
  const tools = registry.records
    .filter(
      (record) => !record.contract.internal && (policy.couldAllow(actor, record) || policy.showsDenied(actor.tenant)),
    )
    .filter((record) => allStates || isCurrent(record))
    .map((record) => ({ ...summaryOf(record), ...(policy.couldAllow(actor, record) ? {} : { denied: true as const }) }))
    .sort(isBefore);
  // By order and not by equality: what the last page ended with may be gone by now.
  const [name = '', version = '0.0.0'] = (after ?? '').split('@');
  const rest = after === undefined ? tools : tools.filter((tool) => isBefore({ name, version }, tool) < 0);
  return { ...pageOf(rest), catalogueDigest: registry.catalogueDigest };
};

export const describeTool = (services: RouterServices, actor: Actor, tool: string): RpcReply<'describeTool'> => {
  const visible = (record: RegistryRecord) => services.policy.couldAllow(actor, record);
  const record = resolveTool(services.registry.index, tool, { visible });
  if (!visible(record)) throw new FabricError('unknown_tool', 'no tool of this name can be called by this actor');
  return { summary: summaryOf(record), model: modelView(record.contract) };
};

const emit = (services: RouterServices, actor: Actor, record: RegistryRecord): void => {
  const { ctx } = services;
  const { name, version } = record.contract;
  ctx.ports.events.emit({
    id: `tool:${record.digest}:${record.state}`,
    type: 'tool.life_cycle',
    service: 'router',
    tenant: actor.tenant,
    at: ctx.clock.now(),
    actor,
    attributes: { name, version, state: record.state, digest: record.digest, user: actor.user },
  });
};

/** Stores a draft. A draft may be replaced; what was published once may not. */
export const putDraft = async (
  services: RouterServices,
  actor: Actor,
  rights: readonly string[],
  contract: unknown,
): Promise<ToolSummary> => {
  needRight(rights);
  const draft = draftOf(parseContract(contract));
  const { ctx, registry } = services;
  const { name, version } = draft.contract;
  const change = await changeRecord(
    ctx.ports.registry,
    toolKey(name, version),
    (current) => (current === undefined || current.state === 'draft' ? draft : undefined),
    { clock: ctx.clock },
  );
  if (!change.done && change.current?.value.digest !== draft.digest)
    throw new FabricError('incompatible_change', `${name}@${version} was published and cannot be changed any more`);
  await registry.refresh();
  emit(services, actor, draft);
  return summaryOf(change.done ? change.value : (change.current?.value ?? draft));
};

export const moveTool = async (
  services: RouterServices,
  actor: Actor,
  rights: readonly string[],
  tool: { readonly name: string; readonly version: string },
  to: LifeCycle,
): Promise<ToolSummary> => {
  needRight(rights);
  const { ctx, registry } = services;
  await registry.refresh();
  const change = await changeRecord(
    ctx.ports.registry,
    toolKey(tool.name, tool.version),
    (record) => {
      if (record === undefined || record.state === to) return undefined;
      if (to === 'published') assertPublishable(record.contract, registry.records);
      return moveLifeCycle(record, to, ctx.clock.now());
    },
    { clock: ctx.clock },
  );
  const record = change.done ? change.value : change.current?.value;
  if (record === undefined) throw new FabricError('unknown_version', `there is no ${tool.name}@${tool.version}`);
  await registry.refresh();
  emit(services, actor, record);
  return summaryOf(record);
};
