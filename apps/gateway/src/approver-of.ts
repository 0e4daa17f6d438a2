import type { Approver } from '@toolfabric/contract';
import type { Identity } from './authenticate.ts';

/** Somebody who answers, as their credential says: never as the request does. */
export const approverOf = ({ actor, tokenId, rights, freshAt }: Identity): Approver => ({
  ...actor,
  tokenId,
  rights: [...rights],
  ...(freshAt === undefined ? {} : { freshAt }),
});
