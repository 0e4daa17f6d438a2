import type { Actor, RegistryRecord, RiskGroup } from '@toolfabric/contract';
import { digestOf } from '@toolfabric/kernel';
import type { CallFacts, PolicyAnswer, PolicyEngine, PolicyExplanation, PolicyQuestion } from '@toolfabric/ports';
import { answerOf, denial, RUNGS, type Rung } from './answer.ts';
import { askEngine, contextOf, type EngineAnswer, resourceIdOf } from './ask-engine.ts';
import { BASE_RULES } from './base-rules.ts';
import { type ContextReads, projectionOf, readsOf } from './context-reads.ts';
import { couldHold } from './could-hold.ts';
import { NO_FILES, type PolicySource } from './policy-files.ts';
import { baseRules, defaultRules, type Rule, tenantRules } from './rules.ts';
import { callSchema, levelsOf } from './schema.ts';
import { sliceOf } from './slice.ts';
import { EngineFailure, slotOf } from './slots.ts';
import { listingQuestion } from './symbolic-context.ts';

export interface CedarPolicyOptions {
  readonly source?: PolicySource;
  /** Tenants whose files cannot be used: nothing is allowed for them. */
  readonly broken?: ReadonlySet<string>;
  /** What listings suppose; a question brings its own. */
  readonly environment?: CallFacts['environment'];
  /** Told of each question that the engine could not answer, without arguments. */
  readonly onFailure?: (details: { readonly tool: string; readonly tenant: string; readonly error: string }) => void;
}

const MOST_SLICES = 4_096;
const MOST_LISTED = 20_000;
const MOST_ANSWERS = 10_000;

/** The rules of one tool at one level, and what they read. */
interface Slice {
  readonly rules: readonly Rule[];
  readonly reads: ContextReads;
}

let engines = 0;

const versionOf = (source: PolicySource, defaults: readonly Rule[], broken: ReadonlySet<string>): string => {
  const texts = [...source.tenants].map(([tenant, { files }]) => [tenant, files.map(({ path, text }) => [path, text])]);
  return `cedar-${digestOf([BASE_RULES, defaults.map(({ text }) => text), texts, [...broken].sort()]).slice(0, 16)}`;
};

class CedarPolicy implements PolicyEngine {
  readonly version: string;
  readonly #id: number;
  readonly #byDefault: readonly Rule[];
  readonly #byTenant: ReadonlyMap<string, readonly Rule[]>;
  readonly #slices = new Map<string, Slice>();
  /** Answers of the engine, by everything that the rules which gave them can read. */
  readonly #answers = new Map<string, EngineAnswer>();
  readonly #listed = new Map<string, boolean>();
  readonly #broken: ReadonlySet<string>;
  readonly #environment: CallFacts['environment'] | undefined;
  readonly #onFailure: NonNullable<CedarPolicyOptions['onFailure']>;

  constructor({ source = NO_FILES.active, broken = new Set(), environment, onFailure = () => {} }: CedarPolicyOptions) {
    engines += 1;
    this.#id = engines;
    this.#broken = broken;
    this.#environment = environment;
    this.#onFailure = onFailure;
    const defaults = defaultRules(source).rules;
    this.#byDefault = [...baseRules(), ...defaults];
    const tenants = [...source.tenants].map(([tenant, files]): [string, readonly Rule[]] => [
      tenant,
      [...this.#byDefault, ...tenantRules(tenant, files).rules],
    ]);
    this.#byTenant = new Map(tenants);
    this.version = versionOf(source, defaults, broken);
  }

  decide(question: PolicyQuestion): PolicyAnswer {
    return this.#put(question, false).answer;
  }

  explain(question: PolicyQuestion): PolicyExplanation {
    return this.#put(question, true);
  }

  couldAllow(actor: Actor, tool: RegistryRecord): boolean {
    const { name, version } = tool.contract;
    const key = [tool.digest, name, version, actor.tenant, actor.user, actor.agent].join('\n');
    const known = this.#listed.get(key);
    if (known !== undefined) return known;
    const could = this.#couldAllow(actor, tool);
    if (this.#listed.size >= MOST_LISTED) this.#listed.clear();
    this.#listed.set(key, could);
    return could;
  }

  #couldAllow(actor: Actor, tool: RegistryRecord): boolean {
    if (this.#broken.has(actor.tenant)) return false;
    const { contract } = tool;
    const environment = this.#environment === undefined ? {} : { environment: this.#environment };
    const known = { tenant: actor.tenant, actor, contract, ...environment };
    return levelsOf(contract).some((risk) => {
      const slice = this.#sliceFor(actor.tenant, tool, risk).rules.map(({ json }) => json);
      const permits = slice.filter(({ effect }) => effect === 'permit');
      const forbids = slice.filter(({ effect }) => effect === 'forbid');
      return RUNGS.some((approval) => couldHold(permits, forbids, listingQuestion({ ...known, risk, approval })));
    });
  }

  /** Tenants without files of their own share what holds by default. */
  #key(tenant: string, { contract, digest }: RegistryRecord, risk: RiskGroup): string {
    const owner = this.#byTenant.has(tenant) ? tenant : '';
    return [this.#id, owner, contract.name, contract.version, digest, risk].join('\n');
  }

  #sliceFor(tenant: string, tool: RegistryRecord, risk: RiskGroup): Slice {
    const key = this.#key(tenant, tool, risk);
    const known = this.#slices.get(key);
    if (known !== undefined) return known;
    const rules = sliceOf(this.#byTenant.get(tenant) ?? this.#byDefault, tool.contract, risk);
    const made = { rules, reads: readsOf(rules.map(({ json }) => json)) };
    if (this.#slices.size >= MOST_SLICES) this.#slices.clear();
    this.#slices.set(key, made);
    return made;
  }

  /** The engine is asked once for questions between which no rule can tell a difference. */
  #ask(question: PolicyQuestion, { rules, reads }: Slice, approval: Rung): EngineAnswer {
    const { actor, task, tool, facts } = question;
    const sliceKey = this.#key(actor.tenant, tool, facts.risk);
    const context = contextOf(question, approval);
    const who = [actor.tenant, actor.agent, task.actor.tenant, resourceIdOf(question)];
    const key = `${sliceKey}\n${JSON.stringify(who)}\n${projectionOf(context, reads)}`;
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    const slot = slotOf(sliceKey, () => ({
      policies: { staticPolicies: Object.fromEntries(rules.map((rule) => [rule.name, rule.text])) },
      schema: callSchema(tool.contract, facts.risk),
    }));
    const answer = askEngine(slot, question, context);
    if (this.#answers.size >= MOST_ANSWERS) this.#answers.clear();
    this.#answers.set(key, answer);
    return answer;
  }

  /** From the yes that was really given upwards, to the first that is allowed; with `all` to the top. */
  #climb(question: PolicyQuestion, slice: Slice, all: boolean) {
    const steps: PolicyExplanation['steps'][number][] = [];
    for (const approval of RUNGS.slice(RUNGS.indexOf(question.approval ?? 'none'))) {
      steps.push({ approval, ...this.#ask(question, slice, approval) });
      if (!all && steps.at(-1)?.allowed) break;
    }
    return steps;
  }

  #put(question: PolicyQuestion, all: boolean): PolicyExplanation {
    const { actor, tool, facts } = question;
    try {
      if (this.#broken.has(actor.tenant)) throw new EngineFailure('the files of the tenant cannot be used');
      const slice = this.#sliceFor(actor.tenant, tool, facts.risk);
      const steps = this.#climb(question, slice, all);
      return { answer: answerOf(this.version, question, slice.rules, steps), steps };
    } catch (thrown) {
      const error = thrown instanceof Error ? thrown.name : 'thrown';
      this.#onFailure({ tool: tool.contract.name, tenant: actor.tenant, error });
      const reason = 'the policy cannot be evaluated, so nothing is allowed';
      return { answer: denial(this.version, 'engine_error', reason), steps: [] };
    }
  }
}

/**
 * Decides by Cedar: the base rules, `default.cedar` or what comes with the fabric, and the files of the tenant. The
 * ladder puts the question plain, then with a yes, then with a strong one; the first that is allowed is the answer.
 * Whatever goes wrong denies, with the rule `engine_error`. It checks no files: give it what `checkPolicies` accepts.
 */
export const createCedarPolicy = (options: CedarPolicyOptions = {}): PolicyEngine => new CedarPolicy(options);
