import {
  type Context,
  type EntityJson,
  type EntityUidJson,
  statefulIsAuthorized,
} from '@cedar-policy/cedar-wasm/nodejs';
import { type ApprovalStrength, effectOf } from '@toolfabric/contract';
import { riskLevel, scopesAround } from '@toolfabric/governance';
import type { PolicyQuestion } from '@toolfabric/ports';
import { recordType, recordValue } from './argument-types.ts';
import { EngineFailure } from './slots.ts';

export interface EngineAnswer {
  readonly allowed: boolean;
  /** Names of the rules that decided it. */
  readonly rules: readonly string[];
}

const distinct = (texts: readonly string[]): string[] => [...new Set(texts)];

/** What rules may look at. Throws `EngineFailure` for what cannot be told to the engine. */
export const contextOf = (
  { actor, task, tool, args, facts }: PolicyQuestion,
  approval: 'none' | ApprovalStrength,
): Context => {
  const { contract } = tool;
  const { constraints } = task;
  const { taint, account } = facts;
  return {
    user: actor.user,
    roles: distinct(facts.roles),
    task: {
      id: task.taskId,
      tenant: task.actor.tenant,
      forbiddenHosts: distinct(constraints?.forbiddenHosts ?? []),
      ...(constraints?.writable === undefined ? {} : { writable: distinct(constraints.writable) }),
    },
    tool: {
      version: contract.version,
      adapter: contract.execution.adapter,
      effect: effectOf(contract.governance.risk),
    },
    hosts: distinct(facts.hosts),
    paths: distinct(facts.paths),
    writes: distinct(facts.writes),
    programs: distinct(facts.programs ?? []),
    credential: facts.credential,
    ...(account === undefined ? {} : { account }),
    environment: facts.environment,
    taint: {
      tainted: taint.length > 0,
      private: taint.some((mark) => mark.private === true),
      origins: distinct(taint.map(({ origin }) => origin)),
    },
    risk: facts.risk,
    level: riskLevel(facts.risk),
    raisedBy: distinct(facts.raisedBy),
    confirm: facts.confirm === true,
    approval,
    args: recordValue(args, recordType(contract.input)),
  };
};

/** What is acted on where a contract names nothing: the workspace of the task. */
export const resourceIdOf = ({ task, facts }: Pick<PolicyQuestion, 'task' | 'facts'>): string =>
  facts.resource ?? `task:${task.taskId}`;

const scope = (id: string): EntityUidJson => ({ type: 'Scope', id });

const entitiesOf = (question: PolicyQuestion, agent: EntityUidJson): EntityJson[] => {
  const { actor, task } = question;
  const owner = { tenant: task.actor.tenant };
  const id = resourceIdOf(question);
  const chain = [id, ...scopesAround(id)];
  const scopes = chain.map((one, index): EntityJson => {
    const parent = chain[index + 1];
    return { uid: scope(one), attrs: owner, parents: parent === undefined ? [] : [scope(parent)] };
  });
  const tenant: EntityUidJson = { type: 'Tenant', id: actor.tenant };
  return [
    { uid: agent, attrs: { tenant: actor.tenant, name: actor.agent }, parents: [tenant] },
    { uid: tenant, attrs: {}, parents: [] },
    ...scopes,
  ];
};

/**
 * One question with one supposed yes. Throws `EngineFailure` for whatever is not a clean answer: a rule that could not
 * be evaluated was left out of it, and may have been a prohibition.
 */
export const askEngine = (slot: string, question: PolicyQuestion, context: Context): EngineAnswer => {
  const agent: EntityUidJson = { type: 'Agent', id: `${question.actor.tenant}/${question.actor.agent}` };
  const answer = statefulIsAuthorized({
    principal: agent,
    action: { type: 'Action', id: question.tool.contract.name },
    resource: scope(resourceIdOf(question)),
    context,
    entities: entitiesOf(question, agent),
    validateRequest: true,
    preparsedSchemaName: slot,
    preparsedPolicySetId: slot,
  });
  if (answer.type !== 'success') throw new EngineFailure(answer.errors.map(({ message }) => message).join('; '));
  const { decision, diagnostics } = answer.response;
  const [broken] = diagnostics.errors;
  if (broken !== undefined)
    throw new EngineFailure(`the rule ${broken.policyId} cannot be evaluated: ${broken.error.message}`);
  return { allowed: decision === 'allow', rules: [...diagnostics.reason].sort() };
};
