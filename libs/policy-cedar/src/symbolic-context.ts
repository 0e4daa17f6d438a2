import { type Actor, effectOf, type RiskGroup, type ToolContract } from '@toolfabric/contract';
import { credentialHandles, readsShell, riskLevel, startsPrograms } from '@toolfabric/governance';
import { recordType } from './argument-types.ts';
import type { Unknown } from './formula.ts';

export type Known = string | number | boolean | readonly string[];
/** A record of which some attributes are known and some are not; `optional` ones may be missing. */
export interface SymbolicRecord {
  readonly attributes: Readonly<Record<string, Symbolic>>;
  readonly optional: ReadonlySet<string>;
  readonly path: string;
}
export interface EntityValue {
  readonly entity: string;
  readonly id: string;
}
export type Symbolic = Known | Unknown | SymbolicRecord | EntityValue;

/** A question of which the arguments, the task and the resource are left open. */
export interface OpenQuestion {
  readonly tenant: string;
  readonly agent?: string;
  readonly action: string;
  /** The groups that the action is in. */
  readonly groups: readonly string[];
  /** What every resource of the tool begins with; undefined when nothing is known. */
  readonly resourcePrefix?: string;
  readonly context: SymbolicRecord;
}

const open = (path: string): Unknown => ({ unknown: path });

const openBy = (path: string, schema: Record<string, unknown>): Unknown => {
  const { enum: values, minimum, maximum } = schema;
  const few = Array.isArray(values) ? values : numbersBetween(minimum, maximum);
  return { unknown: path, accepts: acceptsBy(schema), ...(few === undefined ? {} : { values: few }) };
};

const MOST_NUMBERS = 64;

const numbersBetween = (from: unknown, to: unknown): number[] | undefined => {
  if (!Number.isSafeInteger(from) || !Number.isSafeInteger(to)) return undefined;
  const length = (to as number) - (from as number) + 1;
  return length > MOST_NUMBERS ? undefined : Array.from({ length }, (_, step) => (from as number) + step);
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A pattern that is read differently here takes everything. */
const matches = (pattern: string, value: string): boolean => {
  try {
    return new RegExp(pattern, 'u').test(value);
  } catch {
    return true;
  }
};

/** Whether a schema of a scalar takes a literal, by its plain keywords; those it does not know take everything. */
const acceptsBy =
  (schema: Record<string, unknown>): NonNullable<Unknown['accepts']> =>
  (value) => {
    const { enum: values, const: only, minimum, maximum, minLength, maxLength, pattern } = schema;
    if (Array.isArray(values) && !values.includes(value)) return false;
    if (only !== undefined && only !== value) return false;
    if (typeof value === 'number')
      return !(typeof minimum === 'number' && value < minimum) && !(typeof maximum === 'number' && value > maximum);
    if (typeof value !== 'string') return true;
    const { length } = [...value];
    if (typeof minLength === 'number' && length < minLength) return false;
    if (typeof maxLength === 'number' && length > maxLength) return false;
    return typeof pattern !== 'string' || matches(pattern, value);
  };

const argumentsOf = (schema: Record<string, unknown>, path: string): SymbolicRecord => {
  const { attributes } = recordType(schema);
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const symbolic = Object.keys(attributes).map((name): [string, Symbolic] => {
    const property = properties[name];
    const below = `${path}.${name}`;
    if (!isObject(property)) return [name, open(below)];
    return [name, property['type'] === 'object' ? argumentsOf(property, below) : openBy(below, property)];
  });
  const optional = Object.entries(attributes).filter(([, { required }]) => required === false);
  return { attributes: Object.fromEntries(symbolic), optional: new Set(optional.map(([name]) => name)), path };
};

const openRecord = (
  path: string,
  names: readonly string[],
  known: Record<string, Symbolic> = {},
  optional: readonly string[] = [],
) => ({
  path,
  attributes: { ...Object.fromEntries(names.map((name) => [name, open(`${path}.${name}`)])), ...known },
  optional: new Set(optional),
});

export interface ListingInput {
  readonly tenant: string;
  readonly actor?: Actor;
  readonly contract: ToolContract;
  readonly risk: RiskGroup;
  readonly approval: 'none' | 'confirm' | 'strong';
  readonly environment?: string;
}

const prefixOf = ({ governance }: ToolContract): { resourcePrefix?: string } => {
  const template = governance.resource;
  return { resourcePrefix: template === undefined ? 'task' : template.slice(0, Math.max(0, template.indexOf('{'))) };
};

/** What is known of a call before its arguments are: who asks, which tool at which level, with which yes. */
export const listingQuestion = ({
  tenant,
  actor,
  contract,
  risk,
  approval,
  environment,
}: ListingInput): OpenQuestion => {
  const groups = [...new Set([contract.governance.risk, risk])];
  const isSafe = credentialHandles(contract).length === 0;
  const known: Record<string, Symbolic> = {
    task: openRecord('context.task', ['id', 'writable', 'forbiddenHosts'], { tenant }, ['writable']),
    tool: openRecord('context.tool', [], {
      version: contract.version,
      adapter: contract.execution.adapter,
      effect: effectOf(contract.governance.risk),
    }),
    taint: openRecord('context.taint', ['tainted', 'private', 'origins']),
    args: argumentsOf(contract.input, 'context.args'),
    risk,
    level: riskLevel(risk),
    approval,
    ...(actor === undefined ? {} : { user: actor.user }),
    ...(environment === undefined ? {} : { environment }),
    ...(isSafe ? { credential: 'none' } : {}),
    ...((contract.governance.hosts ?? []).length === 0 ? { hosts: [] } : {}),
    ...((contract.governance.writes ?? []).length === 0 && !readsShell(contract) ? { writes: [] } : {}),
    ...(startsPrograms(contract) ? {} : { programs: [] }),
  };
  const names = [
    'user',
    'roles',
    'hosts',
    'paths',
    'writes',
    'programs',
    'credential',
    'account',
    'environment',
    'raisedBy',
    'confirm',
  ];
  return {
    tenant,
    ...(actor === undefined ? {} : { agent: `${actor.tenant}/${actor.agent}` }),
    action: contract.name,
    groups: [...groups, `toolset:${contract.toolset}`],
    ...prefixOf(contract),
    context: openRecord('context', names, known, ['account']),
  };
};
