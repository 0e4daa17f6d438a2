import type { Actor, RegistryRecord, ToolContract } from '@toolfabric/contract';
import type { Clock, Logger, Metrics } from '@toolfabric/kernel';
import { createCedarPolicy, NO_FILES } from '@toolfabric/policy-cedar';
import type { CallFacts, EventLog, PolicyEngine, PolicyQuestion } from '@toolfabric/ports';
import { type LoadedPolicies, type LoadedSource, PolicyLoader } from './policy-loader.ts';
import type { RouterPolicy, ShadowAnswer } from './router-policy.ts';

export interface LivePolicyOptions {
  readonly folder: string | undefined;
  readonly environment: CallFacts['environment'];
  readonly contracts: () => readonly ToolContract[];
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly events: EventLog;
  readonly clock: Clock;
}

/** The policies of this router: loaded at its start, and again when their files change. */
export class LivePolicy implements RouterPolicy {
  readonly #options: LivePolicyOptions;
  readonly #loader: PolicyLoader;
  #loaded: LoadedPolicies = { active: { source: NO_FILES.active, broken: new Set() }, problems: [] };
  #engine: PolicyEngine;
  #shadow: PolicyEngine | undefined;

  constructor(options: LivePolicyOptions) {
    this.#options = options;
    this.#loader = new PolicyLoader(options);
    this.#engine = this.#engineOf(this.#loaded.active);
    options.metrics.gauge('toolfabric_policy_problems', {}, () => this.#errors().length);
  }

  /** Throws when what holds for everybody cannot be used: a router without its rules does not start. */
  open(): void {
    this.#use(this.#loader.load());
  }

  get version(): string {
    return this.#engine.version;
  }

  decide(question: PolicyQuestion) {
    return this.#engine.decide(question);
  }

  explain(question: PolicyQuestion) {
    return this.#engine.explain(question);
  }

  couldAllow(actor: Actor, tool: RegistryRecord): boolean {
    return this.#engine.couldAllow(actor, tool);
  }

  showsDenied(tenant: string): boolean {
    return this.#loaded.active.source.tenants.get(tenant)?.settings.show_denied === true;
  }

  tried(question: PolicyQuestion): ShadowAnswer | undefined {
    const shadow = this.#shadow;
    return shadow && { version: shadow.version, answer: shadow.decide(question) };
  }

  /** Looks at the files; asked once a second. True when other rules hold from here on. */
  refresh(): boolean {
    const before = this.#engine.version;
    const loaded = this.#loader.look();
    if (loaded === undefined) return false;
    this.#use(loaded);
    return this.version !== before;
  }

  #use(loaded: LoadedPolicies): void {
    this.#loaded = loaded;
    this.#engine = this.#engineOf(loaded.active);
    this.#shadow = loaded.shadow && this.#engineOf(loaded.shadow);
    this.#tell();
  }

  #engineOf({ source, broken }: LoadedSource): PolicyEngine {
    const { environment, log, metrics } = this.#options;
    return createCedarPolicy({
      ...{ source, broken, environment },
      onFailure: (details) => {
        metrics.count('toolfabric_policy_failures_total', {});
        log.error('policy.failed', details);
      },
    });
  }

  #errors() {
    return this.#loaded.problems.filter(({ isWarning }) => isWarning !== true);
  }

  #tell(): void {
    const { log, events, clock } = this.#options;
    const { source } = this.#loaded.active;
    for (const { path, line, message } of this.#errors().slice(0, 20))
      log.error('policy.problem', { at: `${path}:${line}`, problem: message.slice(0, 300) });
    log.info('policy.loaded', { version: this.version, tenants: source.tenants.size });
    for (const [tenant, { files }] of source.tenants)
      events.emit({
        id: `policy:${this.version}:${tenant}`,
        type: 'policy.loaded',
        service: 'router',
        tenant,
        at: clock.now(),
        attributes: { policyVersion: this.version, files: files.length, shadow: this.#shadow?.version ?? '' },
      });
  }
}
