import { RING_SLOTS } from '@toolfabric/contract';
import type { BucketFamily } from './record-store.ts';
import { claimBucket, ledgerBucket } from './subjects.ts';

const slots = Array.from({ length: RING_SLOTS }, (_, slot) => slot);

const ring = (prefix: string, nameOf: (slot: number) => string): BucketFamily => {
  const names = slots.map(nameOf);
  return {
    all: names,
    bucketOf(key) {
      const name = key.startsWith(prefix) ? names[Number(key.slice(prefix.length).split('.', 1)[0])] : undefined;
      if (name === undefined) throw new RangeError(`the key does not begin with ${prefix}<slot>`);
      return name;
    },
  };
};

/** Calls stand in the slot that their key names: `call.<s>.…` (protocol 1). */
export const ledgerFamily: BucketFamily = ring('call.', ledgerBucket);
export const claimFamily = (kind: string): BucketFamily => ring(`claim.${kind}.`, (slot) => claimBucket(kind, slot));
