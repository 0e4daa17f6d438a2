import type { CallRecord, FabricEvent, PayloadRecord, ToolContract, ToolRef, ToolResult } from '@toolfabric/contract';
import { permittedHosts } from '@toolfabric/governance';
import { type Clock, type Logger, type Metrics, sha256Hex } from '@toolfabric/kernel';
import type { EventLog, PolicyAnswer, PolicyQuestion } from '@toolfabric/ports';
import { createRedactor, type Redactor, redactionRulesOf } from '@toolfabric/results';
import { cutToWire } from './cut-to-wire.ts';

/** Bytes that one payload may take in a message. */
const MOST_BYTES = 24 * 1024;
/** Calls whose payloads wait to be redacted; what comes while it is full is left out and counted. */
const MOST_WAITING = 256;
/** Redactors that are kept, one for each tenant and contract. */
const MOST_REDACTORS = 256;

export interface PayloadDeps {
  /** Of the installation. */
  readonly secret: Uint8Array;
  readonly events: EventLog;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly contractOf: (tool: ToolRef) => Promise<ToolContract>;
  /** Does a piece of work a moment later, with others, so that it is not between two calls of the same caller. */
  readonly later: (work: () => Promise<void>) => void;
}

export interface DecidedCall {
  readonly callId: string;
  readonly question: PolicyQuestion;
  readonly answer: PolicyAnswer;
}

/** All that a decision was made of, so that other policies can be put to the same question later. */
const inputOf = ({ question, answer }: DecidedCall) => {
  const { actor, task, tool, args, facts } = question;
  const { name, version } = tool.contract;
  const decided = answer.verdict === 'deny' ? answer : answer.decision;
  return {
    verdict: answer.verdict,
    rule: decided.rule,
    policyVersion: decided.policyVersion,
    ...(answer.verdict === 'needs_approval' ? { strength: answer.decision.strength } : {}),
    actor,
    task: {
      ...{ taskId: task.taskId, tenant: task.actor.tenant, constraints: task.constraints },
      permittedHosts: permittedHosts(task),
    },
    tool: { name, version, digest: tool.digest },
    facts,
    args,
  };
};

/** Words of our own stay as they are: `credential` is the name of a kind here, and no secret. */
const redactFacts = (redactor: Redactor, facts: DecidedCall['question']['facts']) => {
  const { credential, environment, risk, raisedBy, roles, ...said } = facts;
  return { ...(redactor.json(said) as object), credential, environment, risk, raisedBy, roles };
};

type Content = NonNullable<ToolResult['content']>[number];

/** Pictures and sounds are told by their size: their bytes cannot be searched for secrets. */
const readable = (block: Content): unknown =>
  block.type === 'image' || block.type === 'audio'
    ? { type: block.type, mediaType: block.mediaType, base64Characters: block.dataBase64.length }
    : block;

/** The pointers of a contract's rules are those of its data. */
const redactResult = (redactor: Redactor, result: ToolResult) => ({
  status: result.status,
  summary: redactor.text(result.summary),
  ...(result.data === undefined ? {} : { data: redactor.json(result.data) }),
  ...(result.content === undefined ? {} : { content: redactor.json(result.content.map(readable)) }),
  ...(result.error === undefined ? {} : { error: redactor.json(result.error) }),
  sideEffect: result.sideEffect,
  ...(result.evidence === undefined ? {} : { evidence: redactor.json(result.evidence) }),
  ...(result.artifacts === undefined ? {} : { artifacts: result.artifacts }),
  ...(result.truncation === undefined ? {} : { truncation: result.truncation }),
});

const payload = (kind: PayloadRecord['kind'], value: unknown): PayloadRecord => {
  const whole = JSON.stringify(value);
  const text = cutToWire(whole, MOST_BYTES);
  return { kind, sha256: sha256Hex(text), bytes: Buffer.byteLength(whole), text, cut: text.length < whole.length };
};

/**
 * `call.payloads` events: what a call was given and what it gave, redacted before it is cut, so that no secret is cut in
 * half and overlooked. It is a copy for the trace: it waits for nobody, and whoever is answered does not wait for it.
 */
export class PayloadLog {
  readonly #deps: PayloadDeps;
  readonly #redactors = new Map<string, Redactor>();
  #waiting = 0;

  constructor(deps: PayloadDeps) {
    this.#deps = deps;
  }

  record(call: CallRecord): void {
    this.#later(call.callId, () => this.#emit(call));
  }

  recordDecision(decided: DecidedCall): void {
    this.#later(decided.callId, () => this.#emitDecision(decided));
  }

  #later(callId: string, emit: () => Promise<void>): void {
    if (this.#waiting >= MOST_WAITING) {
      this.#deps.metrics.count('toolfabric_events_dropped_total', { type: 'call.payloads' });
      return;
    }
    this.#waiting += 1;
    this.#deps.later(() =>
      emit()
        .catch((thrown: unknown) => {
          const cause = thrown instanceof Error ? thrown.name : 'thrown';
          this.#deps.log.warn('payloads.not_recorded', { callId, cause });
        })
        .finally(() => {
          this.#waiting -= 1;
        }),
    );
  }

  async #emit(call: CallRecord): Promise<void> {
    const { events, clock } = this.#deps;
    const redactor = await this.#redactorOf(call);
    const payloads = [payload('arguments', redactor.json(call.args))];
    if (call.result !== undefined) payloads.push(payload('result', redactResult(redactor, call.result)));
    const event: FabricEvent = {
      id: `${call.callId}:payloads.${call.state}`,
      type: 'call.payloads',
      service: 'router',
      tenant: call.actor.tenant,
      at: clock.now(),
      callId: call.callId,
      taskId: call.taskId,
      actor: call.actor,
      attributes: { tool: call.tool.name, version: call.tool.version, state: call.state },
      payloads,
    };
    events.emit(event);
  }

  async #emitDecision(decided: DecidedCall): Promise<void> {
    const { actor, task, tool } = decided.question;
    const { name, version } = tool.contract;
    const redactor = await this.#redactorOf({ tool: { name, version, digest: tool.digest }, actor });
    const { args, facts, task: about, ...input } = inputOf(decided);
    // The pointers of the contract's rules are those of its arguments; what else a caller said is redacted by what it looks like.
    const redacted = {
      ...input,
      task: redactor.json(about),
      facts: redactFacts(redactor, facts),
      args: redactor.json(args),
    };
    this.#deps.events.emit({
      id: `${decided.callId}:policy.${sha256Hex(JSON.stringify(redacted)).slice(0, 16)}`,
      type: 'call.payloads',
      service: 'router',
      tenant: actor.tenant,
      at: this.#deps.clock.now(),
      callId: decided.callId,
      taskId: task.taskId,
      actor,
      attributes: { tool: name, version, state: 'decided' },
      payloads: [payload('policy_input', redacted)],
    });
  }

  /** Without the rules of its contract nothing of a call is recorded. */
  async #redactorOf({ tool, actor }: Pick<CallRecord, 'tool' | 'actor'>): Promise<Redactor> {
    const key = `${actor.tenant}\n${tool.digest}`;
    const known = this.#redactors.get(key);
    if (known) return known;
    const { governance } = await this.#deps.contractOf(tool);
    const made = createRedactor({
      secret: this.#deps.secret,
      tenant: actor.tenant,
      rules: redactionRulesOf(governance),
    });
    if (this.#redactors.size >= MOST_REDACTORS) this.#redactors.clear();
    this.#redactors.set(key, made);
    return made;
  }
}
