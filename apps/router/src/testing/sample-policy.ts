import { createCedarPolicy, type PolicySource } from '@toolfabric/policy-cedar';
import type { RouterPolicy } from '../policy/router-policy.ts';

/** For tests: the text of one file of policies for each tenant. */
export type PolicyTexts = Readonly<Record<string, string>>;

const sourceOf = (texts: PolicyTexts): PolicySource => ({
  tenants: new Map(
    Object.entries(texts).map(([tenant, text]) => [
      tenant,
      { files: [{ path: `tenants/${tenant}/rules.cedar`, text }], settings: { show_denied: false } },
    ]),
  ),
});

/** For tests: what comes with the fabric, and the rules of some tenants. */
export const samplePolicy = (texts: PolicyTexts = {}): RouterPolicy => {
  const engine = createCedarPolicy({ source: sourceOf(texts), environment: 'development' });
  return {
    version: engine.version,
    decide: (question) => engine.decide(question),
    explain: (question) => engine.explain(question),
    couldAllow: (actor, tool) => engine.couldAllow(actor, tool),
    tried: () => undefined,
    showsDenied: () => false,
  };
};
