import type { ToolContract } from '@toolfabric/contract';
import type { CallFacts } from '@toolfabric/ports';
import { credentialHandles } from '../credential-handles.ts';
import { reachesOut } from '../egress/reaches-out.ts';
import { hostTextsAt } from '../extract.ts';
import { hostOf } from '../extract-hosts.ts';
import { higherRisk } from '../risk-order.ts';

export const TAINT_RULES = {
  /** To a host that the content did not come from. */
  sendsElsewhere: 'taint_sends_elsewhere',
  /** To a host that cannot be known before. */
  sendsAnywhere: 'taint_sends_anywhere',
  /** What was read under somebody's credential could go with it. */
  privateElsewhere: 'taint_private_elsewhere',
  usesCredential: 'taint_uses_credential',
} as const;

/** Whether taint can change what a call of this contract may do, or where it may run. */
export const mindsTaint = (contract: ToolContract, args: Readonly<Record<string, unknown>>): boolean =>
  contract.governance.risk === 'privileged' ||
  reachesOut(contract, args) ||
  credentialHandles(contract).length > 0 ||
  hostTextsAt(args, contract).length > 0;

/** The host that content came from. `tool:x` and `folder:x` name none, and neither does a list of several. */
const hostOfOrigin = (origin: string): string | undefined => {
  const address = origin.replace(/^web:(?=https?:\/\/)/, '');
  return /^[a-z]+:(?!\/\/)/.test(address) ? undefined : hostOf(address);
};

/** Whether a call may reach hosts that neither its arguments nor the rules of its contract name. */
const reachesUnnamed = ({ execution: { network, egress }, governance }: ToolContract): boolean => {
  const ruled = egress?.rules ?? [];
  if (network === 'none') return false;
  return ruled.some(({ host }) => host.startsWith('*')) || (governance.hosts === undefined && ruled.length === 0);
};

const elsewhere = (facts: CallFacts, isPermitted: (host: string) => boolean): string[] => {
  const origins = facts.taint.map((mark) => ({ host: hostOfOrigin(mark.origin), isPrivate: mark.private === true }));
  const held = new Set(origins.map(({ host }) => host));
  const sent = facts.hosts.filter((host) => !isPermitted(host));
  return [
    ...(sent.some((host) => !held.has(host)) ? [TAINT_RULES.sendsElsewhere] : []),
    ...(sent.some((host) => origins.some((origin) => origin.isPrivate && origin.host !== host))
      ? [TAINT_RULES.privateElsewhere]
      : []),
  ];
};

/**
 * RS-6: who has read untrusted content may be speaking for somebody else. Sending to another origin, or using a
 * credential, is then an external write. The rule is the same for whatever adapter the content came through. Pure.
 *
 * `isPermitted` says which hosts a person has permitted to this task by name.
 */
export const raiseByTaint = (
  facts: CallFacts,
  contract: ToolContract,
  isPermitted: (host: string) => boolean = () => false,
): CallFacts => {
  if (facts.taint.length === 0) return facts;
  const raising = [
    ...elsewhere(facts, isPermitted),
    ...(reachesUnnamed(contract) ? [TAINT_RULES.sendsAnywhere] : []),
    ...(facts.credential === 'none' ? [] : [TAINT_RULES.usesCredential]),
  ];
  if (raising.length === 0) return facts;
  return { ...facts, risk: higherRisk(facts.risk, 'external_write'), raisedBy: [...facts.raisedBy, ...raising] };
};
