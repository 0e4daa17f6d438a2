import type { Actor, ToolContract } from '@toolfabric/contract';
import type { CallFacts } from '@toolfabric/ports';

/** Every credential that a call of this contract may act with: those it names, and those that its way out injects. */
export const credentialHandles = ({ execution }: ToolContract): string[] => {
  const injected = (execution.egress?.rules ?? []).flatMap(({ credential }) =>
    credential === undefined ? [] : [credential],
  );
  return [...new Set([...execution.credentials, ...injected])].sort();
};

/** A handle says whose it is by its beginning; one that says nothing is taken for everybody's. */
export const credentialOf = (contract: ToolContract): CallFacts['credential'] => {
  const owners = credentialHandles(contract).map((handle) => /^(user|tenant):/.exec(handle)?.[1] ?? 'shared');
  if (owners.includes('shared')) return 'shared';
  return owners.includes('tenant') ? 'tenant' : owners.includes('user') ? 'user' : 'none';
};

/** Whose account it is as far as handles can say: the record of a credential knows it better. */
export const accountByHandles = ({ tenant, user }: Actor, credential: CallFacts['credential']): string | undefined => {
  if (credential === 'none') return undefined;
  return credential === 'user' ? `${tenant}/${user}` : credential === 'tenant' ? tenant : 'shared';
};
