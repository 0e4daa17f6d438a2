import type { EgressRule } from '@toolfabric/contract';
import { Refused } from '../refuse.ts';
import { normalisePath } from '../target/normalise-path.ts';
import { parseHost } from '../target/parse-target.ts';
import { isRange } from './address-class.ts';

/** A rule with nothing left open. */
export interface Rule {
  readonly index: number;
  readonly written: EgressRule;
  /** Canonical; with `suffix` the part behind `*.`. */
  readonly host: string;
  readonly suffix: boolean;
  /** Fits every host. */
  readonly any: boolean;
  readonly scheme: 'https' | 'http';
  readonly ports: readonly number[];
  /** The exchange must be read to keep it. */
  readonly reads: boolean;
}

/** For reading alone. */
const READING = ['GET', 'HEAD'];

const checkAny = ({ methods, addresses, credential, keys }: EgressRule): void => {
  const reads = methods?.every((method) => READING.includes(method)) ?? false;
  if (!reads || addresses !== undefined || credential !== undefined || keys !== undefined)
    throw new Refused('permit_malformed');
};

const compileRule = (written: EgressRule, index: number): Rule => {
  const any = written.host === '*';
  if (any) checkAny(written);
  const suffix = written.host.startsWith('*.');
  const named = { host: '', address: undefined };
  const { host, address } = any ? named : parseHost(suffix ? written.host.slice(2) : written.host);
  if (suffix && address !== undefined) throw new Refused('permit_malformed');
  const scheme = written.scheme ?? 'https';
  if (scheme === 'http' && written.keys !== undefined) throw new Refused('permit_malformed');
  if (written.addresses?.some((range) => !isRange(range))) throw new Refused('permit_malformed');
  if (written.paths?.some((path) => path.includes('?') || normalisePath(path, true) !== path)) {
    throw new Refused('permit_malformed');
  }
  return {
    index,
    written,
    host,
    suffix,
    any,
    scheme,
    ports: written.ports ?? [scheme === 'https' ? 443 : 80],
    reads: scheme === 'http' || [written.methods, written.paths, written.credential, written.keys].some(Boolean),
  };
};

/** Throws `permit_malformed` for a rule that cannot be kept: no part of a permit is left out. */
export const compileRules = (rules: readonly EgressRule[]): readonly Rule[] => {
  try {
    return rules.map(compileRule);
  } catch (thrown) {
    throw new Refused('permit_malformed', thrown);
  }
};
