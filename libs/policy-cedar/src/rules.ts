import { type PolicyJson, policyToJson } from '@cedar-policy/cedar-wasm/nodejs';
import type { DecisionSummary } from '@toolfabric/contract';
import { BASE_RULES, DEFAULT_RULES } from './base-rules.ts';
import type { PolicyFile, PolicySource, TenantFiles } from './policy-files.ts';
import { splitPolicies } from './split-policies.ts';

export type RuleLimits = { readonly [K in keyof DecisionSummary['limits']]?: number };

/** One policy, with the name that decisions tell. */
export interface Rule {
  readonly name: string;
  readonly text: string;
  readonly json: PolicyJson;
  readonly limits: RuleLimits;
  readonly path: string;
  readonly line: number;
}

/** What is wrong, and where: `path` and `line` of the file. */
export interface PolicyProblem {
  readonly path: string;
  readonly line: number;
  readonly message: string;
  /** It forbids nothing, and is probably not meant so. */
  readonly isWarning?: boolean;
}

export interface RuleSet {
  readonly rules: readonly Rule[];
  readonly problems: readonly PolicyProblem[];
}

const LIMITS = { timeout_ms: 'timeoutMs', output_bytes: 'outputBytes', output_tokens: 'outputTokens' } as const;
const ANNOTATIONS = ['id', 'description', ...Object.keys(LIMITS)];

const NAME = /^[a-z0-9][a-z0-9_-]*(\.[a-z0-9][a-z0-9_-]*)*$/;
const MOST_RULES = 5_000;

const annotationProblems = (annotations: Readonly<Record<string, string>>): string[] =>
  Object.entries(annotations).flatMap(([name, value]) => {
    if (!ANNOTATIONS.includes(name)) return [`@${name} means nothing here; known are @${ANNOTATIONS.join(', @')}`];
    if (name === 'id') return NAME.test(value) && value.length <= 60 ? [] : ['@id: lower-case words joined by "."'];
    if (name in LIMITS) return /^[1-9]\d{0,9}$/.test(value) ? [] : [`@${name}: a whole number above 0`];
    return [];
  });

const limitsOf = (annotations: Readonly<Record<string, string>>): RuleLimits =>
  Object.fromEntries(
    Object.entries(LIMITS).flatMap(([name, limit]) =>
      annotations[name] === undefined ? [] : [[limit, Number(annotations[name])]],
    ),
  );

const stemOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1).replace(/\.cedar$/, '');

/** `prefix` of every name; without an `@id` the name is that of the file and the place in it. */
const readFile = ({ path, text }: PolicyFile, prefix: string): RuleSet => {
  const rules: Rule[] = [];
  const problems: PolicyProblem[] = [];
  for (const [index, part] of splitPolicies(text).entries()) {
    const tell = (message: string) => problems.push({ path, line: part.line, message });
    const answer = policyToJson(part.text);
    if (answer.type !== 'success') {
      tell(
        answer.errors
          .map(({ message, sourceLocations = [] }) => [message, sourceLocations[0]?.label].filter(Boolean).join(': '))
          .join('; '),
      );
      continue;
    }
    const annotations = answer.json.annotations ?? {};
    const wrong = annotationProblems(annotations);
    for (const message of wrong) tell(message);
    const own = annotations['id'] ?? `${stemOf(path)}.${index + 1}`;
    if (wrong.length === 0)
      rules.push({
        name: `${prefix}${own}`,
        text: part.text,
        json: answer.json,
        limits: limitsOf(annotations),
        path,
        line: part.line,
      });
  }
  return { rules, problems };
};

const join = (sets: readonly RuleSet[]): RuleSet => ({
  rules: sets.flatMap(({ rules }) => rules),
  problems: sets.flatMap(({ problems }) => problems),
});

/** Names are what people and tests cite: two rules never share one. */
const withUniqueNames = ({ rules, problems }: RuleSet): RuleSet => {
  const first = new Map<string, Rule>();
  const twice = rules.flatMap((rule) => {
    const earlier = first.get(rule.name);
    if (earlier === undefined) first.set(rule.name, rule);
    return earlier === undefined
      ? []
      : [
          {
            path: rule.path,
            line: rule.line,
            message: `the name ${rule.name} is that of ${earlier.path}:${earlier.line}`,
          },
        ];
  });
  return { rules, problems: [...problems, ...twice] };
};

export const baseRules = (): readonly Rule[] => readFile({ path: 'base', text: BASE_RULES }, '').rules;

/** Names of `default.cedar` begin with `default.`, written or not. */
export const defaultRules = (source: Pick<PolicySource, 'defaults'>): RuleSet => {
  const set = readFile(source.defaults ?? { path: 'default', text: DEFAULT_RULES }, '');
  const named = set.rules.map((rule) => ({
    ...rule,
    name: rule.name.startsWith('default.') ? rule.name : `default.${rule.name}`,
  }));
  return withUniqueNames({ ...set, rules: named });
};

export const tenantRules = (tenant: string, { files }: Pick<TenantFiles, 'files'>): RuleSet => {
  const set = withUniqueNames(join(files.map((file) => readFile(file, `tenant.${tenant}.`))));
  if (set.rules.length <= MOST_RULES) return set;
  const path = files[0]?.path ?? '';
  return { ...set, problems: [...set.problems, { path, line: 1, message: `more than ${MOST_RULES} policies` }] };
};
