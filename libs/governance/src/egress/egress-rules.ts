import { EgressHost, type EgressRule, type ToolContract } from '@toolfabric/contract';
import { hostTextsAt } from '../extract.ts';
import { hostOf } from '../extract-hosts.ts';

/** Rules that one permit may hold (`EgressPermit.rules`). */
const MOST_RULES = 64;

type FromArguments = NonNullable<NonNullable<ToolContract['execution']['egress']>['from_arguments']>;
type Scheme = NonNullable<EgressRule['scheme']>;

const USUAL_PORT = { https: 443, http: 80 } as const;
const HAS_SCHEME = /^([a-z][a-z0-9+.-]*):\/\//i;
const HOST_AND_PORT = /^(?:\[[^\]]*\]|[^/@:]+):(\d{1,5})(?:\/|$)/;

/** The schemes that a text may mean under the contract: the one that it names, or each that is allowed. */
const schemesOf = (text: string, { schemes = ['https'] }: FromArguments): readonly Scheme[] => {
  const named = HAS_SCHEME.exec(text)?.[1]?.toLowerCase();
  return schemes.filter((scheme) => named === undefined || scheme === named);
};

const portNamed = (text: string): number | undefined => {
  const port = HAS_SCHEME.test(text) ? (URL.canParse(text) ? new URL(text).port : '') : HOST_AND_PORT.exec(text)?.[1];
  return port === undefined || port === '' ? undefined : Number(port);
};

const ruleOf = (text: string, scheme: Scheme, allowed: FromArguments): EgressRule | undefined => {
  const host = hostOf(text);
  const port = portNamed(text) ?? USUAL_PORT[scheme];
  const fits = allowed.ports === undefined || allowed.ports.includes(port);
  if (host === undefined || !EgressHost.safeParse(host).success || host.startsWith('*') || !fits || port < 1) return;
  const { methods, paths, addresses } = allowed;
  return {
    host,
    scheme,
    ports: [port],
    ...(methods === undefined ? {} : { methods }),
    ...(paths === undefined ? {} : { paths }),
    ...(addresses === undefined ? {} : { addresses }),
  };
};

/**
 * What one call may reach: the rules of its contract, and one for each host that its arguments name where the contract
 * lets them. Nothing else is ever added: an argument that names no host, or one that may not be, has no rule. Pure.
 */
export const egressRulesOf = (
  contract: ToolContract,
  args: Readonly<Record<string, unknown>>,
): readonly EgressRule[] => {
  const { network, egress } = contract.execution;
  if (network !== 'permit' || egress === undefined) return [];
  const { rules, from_arguments: allowed } = egress;
  if (allowed === undefined) return rules;
  const named = hostTextsAt(args, contract).flatMap(({ text }) =>
    schemesOf(text, allowed).flatMap((scheme) => ruleOf(text, scheme, allowed) ?? []),
  );
  const distinct = new Map([...rules, ...named].map((rule) => [JSON.stringify(rule), rule]));
  return [...distinct.values()].slice(0, MOST_RULES);
};

const READING = ['GET', 'HEAD'];

/** The same for a question that may change nothing: only what reads is left of the rules. */
export const readingRules = (rules: readonly EgressRule[]): readonly EgressRule[] =>
  rules.flatMap((rule) => {
    const methods = (rule.methods ?? READING).filter((method) => READING.includes(method));
    return methods.length === 0 ? [] : [{ ...rule, methods }];
  });
