import { posix } from 'node:path';
import { compileRaise, type RaiseCondition, readPointer } from '@toolfabric/catalogue';
import type { Actor, CallLimits, RiskGroup, TaintMark, TaskRecord, ToolContract } from '@toolfabric/contract';
import type { CallFacts } from '@toolfabric/ports';
import { accountByHandles, credentialOf } from './credential-handles.ts';
import { hostsOf } from './extract-hosts.ts';
import { programFacts } from './extract-programs.ts';
import { resourceOf } from './extract-resource.ts';
import { higherRisk, riskLevel } from './risk-order.ts';

export interface FactsInput {
  readonly contract: ToolContract;
  readonly args: Readonly<Record<string, unknown>>;
  readonly actor: Actor;
  readonly task: Pick<TaskRecord, 'taskId' | 'constraints' | 'testCommand'>;
  /** Compiled for the digest of the contract; compiled here when left out. */
  readonly raises?: CompiledRaises;
  readonly environment: CallFacts['environment'];
  readonly taint?: readonly TaintMark[];
  readonly roles?: readonly string[];
  readonly requestLimits?: CallFacts['requestLimits'];
  /** Whose account acts outside, as the credentials say that the call acts with; told by their handles when left out. */
  readonly account?: string;
}

export type CompiledRaises = readonly {
  readonly name: string;
  readonly to: RiskGroup;
  readonly holds: RaiseCondition;
}[];

/** Throws `contract_invalid`. */
export const compileRaises = (contract: ToolContract): CompiledRaises =>
  (contract.governance.raise ?? []).map(({ name, when, to }) => ({ name, to, holds: compileRaise(contract, when) }));

interface Found {
  readonly pointer: string;
  readonly text: string;
}

/** The texts at the pointers; a list gives its items. What is not there is not reached. */
export const textsAt = (args: unknown, pointers: readonly string[] = []): Found[] =>
  pointers.flatMap((pointer) => {
    const value = readPointer(args, pointer);
    const items: readonly unknown[] = Array.isArray(value) ? value : [value];
    return items.flatMap((item, index) =>
      typeof item === 'string' ? [{ pointer: Array.isArray(value) ? `${pointer}/${index}` : pointer, text: item }] : [],
    );
  });

const IS_PATH = /^\/(?![/\\])/;

/** What the arguments of a call name as hosts, as it is written; a path of the machine names none. */
export const hostTextsAt = (args: unknown, { governance }: Pick<ToolContract, 'governance'>): Found[] =>
  textsAt(args, governance.hosts).filter(({ text }) => !IS_PATH.test(text));

/** Hosts that every call of the tool may reach; a suffix and `*` name none that could be judged before. */
const fixedHosts = ({ execution: { egress } }: ToolContract): string[] =>
  (egress?.rules ?? []).map(({ host }) => host).filter((host) => !host.startsWith('*'));

const pathsOf = (texts: readonly Found[]): string[] =>
  [...new Set(texts.map(({ text }) => posix.normalize(text).replace(/(?<=.)\/$/, '')))].sort();

/** A rule that cannot be said of these arguments raises: what nobody can judge is no reason for less care. */
const applies = (holds: RaiseCondition, { args, task }: FactsInput): boolean => {
  try {
    return holds(args, task);
  } catch {
    return true;
  }
};

const raisedRisk = (input: FactsInput): Pick<CallFacts, 'risk' | 'raisedBy'> => {
  const { risk } = input.contract.governance;
  const raising = (input.raises ?? compileRaises(input.contract)).filter(
    ({ to, holds }) => riskLevel(to) > riskLevel(risk) && applies(holds, input),
  );
  return {
    risk: raising.reduce((highest, { to }) => higherRisk(highest, to), risk),
    raisedBy: raising.map(({ name }) => name),
  };
};

const LIMITS = ['timeoutMs', 'outputBytes', 'outputTokens'] as const;

/** The lower of two for each limit; undefined where neither says anything. */
const leastLimits = (...given: readonly (CallLimits | undefined)[]): CallLimits | undefined => {
  const least = LIMITS.flatMap((name) => {
    const known = given.map((limits) => limits?.[name]).filter((limit) => limit !== undefined);
    return known.length === 0 ? [] : [[name, Math.min(...known)] as const];
  });
  return least.length === 0 ? undefined : Object.fromEntries(least);
};

const asksToConfirm = ({ name, capability }: ToolContract, { constraints }: FactsInput['task']): boolean =>
  (constraints?.confirm ?? []).some((named) => named === name || named === capability.intent);

/**
 * What policy, constraints, taint and approvals need to know of a proposal whose arguments fit its contract. Pure.
 * Throws `invalid_arguments` for a host or a resource that cannot be told, `shell_refused` for a text that never runs.
 */
export const factsOf = (input: FactsInput): CallFacts => {
  const { contract, args, actor, task, environment, taint = [], roles = [] } = input;
  const requestLimits = leastLimits(input.requestLimits, task.constraints?.limits);
  const { governance } = contract;
  const credential = credentialOf(contract);
  const account = input.account ?? accountByHandles(actor, credential);
  const ran = programFacts(contract, args);
  const written = [...textsAt(args, governance.writes), ...ran.writes.map((text) => ({ pointer: '', text }))];
  return {
    hosts: [...new Set([...hostsOf(hostTextsAt(args, contract)), ...fixedHosts(contract)])].sort(),
    paths: pathsOf([...written, ...textsAt(args, governance.executes)]),
    writes: pathsOf(written),
    programs: ran.programs,
    ...(governance.resource === undefined ? {} : { resource: resourceOf(governance.resource, args) }),
    ...(account === undefined ? {} : { account: account.slice(0, 200) }),
    credential,
    environment,
    taint,
    ...raisedRisk(input),
    ...(asksToConfirm(contract, task) ? { confirm: true } : {}),
    ...(requestLimits === undefined ? {} : { requestLimits }),
    roles,
  };
};
