import type { ActionType, SchemaJson, TypeOfAttribute } from '@cedar-policy/cedar-wasm/nodejs';
import { RiskGroup, type ToolContract } from '@toolfabric/contract';
import { recordType } from './argument-types.ts';

const TEXT = { type: 'String' } as const;
const TEXTS = { type: 'Set', element: TEXT } as const;
const TRUTH = { type: 'Boolean' } as const;

/** What every question tells beside the arguments. */
const CONTEXT: Readonly<Record<string, TypeOfAttribute<string>>> = {
  user: TEXT,
  /** Of the credential that asks. */
  roles: TEXTS,
  task: {
    type: 'Record',
    attributes: { id: TEXT, tenant: TEXT, writable: { ...TEXTS, required: false }, forbiddenHosts: TEXTS },
  },
  tool: { type: 'Record', attributes: { version: TEXT, adapter: TEXT, effect: TEXT } },
  hosts: TEXTS,
  paths: TEXTS,
  writes: TEXTS,
  /** Names of programs that the call starts; `bash` for a shell text that only bash can read. */
  programs: TEXTS,
  credential: TEXT,
  account: { ...TEXT, required: false },
  environment: TEXT,
  taint: { type: 'Record', attributes: { tainted: TRUTH, private: TRUTH, origins: TEXTS } },
  risk: TEXT,
  /** 0 read, 1 workspace_write, 2 external_write, 3 irreversible, 4 privileged. */
  level: { type: 'Long' },
  raisedBy: TEXTS,
  /** The task wants a person to confirm it. */
  confirm: TRUTH,
  /** `none`, `confirm` or `strong`; the router fills it in, never a caller. */
  approval: TEXT,
};

export const toolsetGroup = (toolset: string): string => `toolset:${toolset}`;

const ENTITIES = {
  Tenant: {},
  Agent: {
    memberOfTypes: ['Tenant'],
    shape: { type: 'Record' as const, attributes: { tenant: TEXT, name: TEXT } },
  },
  Scope: { memberOfTypes: ['Scope'], shape: { type: 'Record' as const, attributes: { tenant: TEXT } } },
};

/** The levels at which calls of a contract may stand: its own, and those that its rules raise to. */
export const levelsOf = ({ governance }: ToolContract): RiskGroup[] => {
  const raised = (governance.raise ?? []).map(({ to }) => to);
  const own = RiskGroup.options.indexOf(governance.risk);
  // Taint may raise a call to what is seen outside, whatever its contract says.
  return RiskGroup.options.filter(
    (risk, level) => risk === governance.risk || (level > own && (risk === 'external_write' || raised.includes(risk))),
  );
};

const actionOf = (contract: ToolContract, groups: readonly RiskGroup[]): ActionType<string> => ({
  memberOf: [...groups, toolsetGroup(contract.toolset)].map((id) => ({ id })),
  appliesTo: {
    principalTypes: ['Agent'],
    resourceTypes: ['Scope'],
    context: { type: 'Record', attributes: { ...CONTEXT, args: recordType(contract.input) } },
  },
});

const schemaFor = (entries: readonly (readonly [ToolContract, readonly RiskGroup[]])[]): SchemaJson<string> => {
  const toolsets = [...new Set(entries.map(([{ toolset }]) => toolsetGroup(toolset)))];
  const groups = [...RiskGroup.options, ...toolsets].map((id): [string, ActionType<string>] => [id, {}]);
  const actions = entries.map(([contract, own]): [string, ActionType<string>] => [
    contract.name,
    actionOf(contract, own),
  ]);
  return { '': { entityTypes: ENTITIES, actions: Object.fromEntries([...groups, ...actions]) } };
};

/**
 * What one call is judged by: its tool in the one risk group of the call, and in the group of its contract beside it
 * when the call was raised, so that prohibitions on that still hold.
 */
export const callSchema = (contract: ToolContract, risk: RiskGroup): SchemaJson<string> =>
  schemaFor([[contract, [...new Set([contract.governance.risk, risk])]]]);

/**
 * What files are validated against: every tool, and of a tool in several versions each of them in turn. At least one.
 */
export const fileSchemas = (contracts: readonly ToolContract[]): SchemaJson<string>[] => {
  const byName = Map.groupBy(contracts, ({ name }) => name);
  const most = Math.max(1, ...[...byName.values()].map((versions) => versions.length));
  return Array.from({ length: most }, (_, turn) =>
    schemaFor(
      [...byName.values()].flatMap((versions) => {
        const contract = versions[Math.min(turn, versions.length - 1)];
        return contract === undefined ? [] : [[contract, levelsOf(contract)] as const];
      }),
    ),
  );
};
