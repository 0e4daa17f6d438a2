import { Refused } from '../refuse.ts';
import { isBelow } from '../target/normalise-path.ts';
import type { Target } from '../target/parse-target.ts';
import type { Rule } from './compile-rules.ts';

/** By whole labels: `*.` stands for one label or more, and for no address. */
const fitsHost = (rule: Rule, target: Target): boolean =>
  rule.any ||
  (rule.suffix ? target.address === undefined && target.host.endsWith(`.${rule.host}`) : target.host === rule.host);

/** A prohibition means the whole of a suffix, itself too; one label alone is always one, as `*.` cannot stand before it. */
export const isExcepted = (except: readonly string[] = [], { host }: Pick<Target, 'host'>): boolean =>
  except.some((pattern) => {
    const named = pattern.startsWith('*.') ? pattern.slice(2) : pattern;
    const isWide = named !== pattern || !named.includes('.');
    return host === named || (isWide && host.endsWith(`.${named}`));
  });

/**
 * The rules under which a connection may go there, in their order. Throws when none does: `host_not_permitted`,
 * `port_not_permitted`, `scheme_not_permitted`. Without `scheme` (a CONNECT) what comes inside decides later.
 */
export const rulesFor = (rules: readonly Rule[], target: Target, scheme?: Rule['scheme']): readonly Rule[] => {
  const ofHost = rules.filter((rule) => fitsHost(rule, target));
  if (ofHost.length === 0) throw new Refused('host_not_permitted');
  const ofPort = ofHost.filter((rule) => rule.ports.includes(target.port));
  if (ofPort.length === 0) throw new Refused('port_not_permitted');
  const fitting = ofPort.filter((rule) => scheme === undefined || rule.scheme === scheme);
  if (fitting.length === 0) throw new Refused('scheme_not_permitted');
  return fitting;
};

const allowsMethod = ({ written }: Rule, method: string) => written.methods?.includes(method) ?? true;
const allowsPath = ({ written }: Rule, path: string) => written.paths?.some((prefix) => isBelow(path, prefix)) ?? true;

/** The first rule that allows the request; throws `method_not_permitted` or `path_not_permitted`. */
export const ruleForRequest = (rules: readonly Rule[], method: string, path: string): Rule => {
  const ofMethod = rules.filter((rule) => allowsMethod(rule, method));
  if (ofMethod.length === 0) throw new Refused('method_not_permitted');
  const found = ofMethod.find((rule) => allowsPath(rule, path));
  if (found === undefined) throw new Refused('path_not_permitted');
  return found;
};
