import { createUser } from '@nats-io/nkeys';
import { z } from 'zod';
import type { PublicBusKeys } from './hop-seal.ts';
import { usersFor } from './permissions.ts';

/** Keys of the users of the bus: the public ones go into the server's configuration, each seed to its one service. */
export interface BusKeys {
  readonly publicKeys: Readonly<Record<string, string>>;
  readonly seeds: Readonly<Record<string, string>>;
}

const PublicKeysFile = z.record(z.string().min(1), z.string().regex(/^U[A-Z2-7]{55}$/, 'the public NKey of a user'));

/** What the file of public bus keys holds: a JSON object, by the name of the service. Throws for anything else. */
export const parsePublicBusKeys = (text: string): PublicBusKeys => PublicKeysFile.parse(JSON.parse(text));

/** New keys for every user that these kinds need: `router`, `gateway`, `artifacts`, `trace-writer`, `provisioner`, `worker-<kind>`. */
export const generateBusKeys = (kinds: readonly string[]): BusKeys => {
  const publicKeys: Record<string, string> = {};
  const seeds: Record<string, string> = {};
  for (const user of usersFor(kinds)) {
    const pair = createUser();
    publicKeys[user] = pair.getPublicKey();
    seeds[user] = new TextDecoder().decode(pair.getSeed());
  }
  return { publicKeys, seeds };
};
