import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BusKeys, generateBusKeys, usersFor } from '@toolfabric/bus-nats';
import { FabricError } from '@toolfabric/kernel';
import { z } from 'zod';
import { writePrivate } from './state-dir.ts';

const PublicKeys = z.record(z.string(), z.string());

/** Each seed has a file of its own, so that each service is given its own and no other. */
export const seedFileOf = (folder: string, user: string): string => join(folder, `${user}.nk`);
/** The public keys of all of them: what each says is checked against these. */
export const publicFileOf = (folder: string): string => join(folder, 'bus-public.json');

/** Keys of every user of the bus for these kinds, made and stored on the first start. Gives the public ones. */
export const ensureBusKeys = (folder: string, kinds: readonly string[]): BusKeys['publicKeys'] => {
  const file = publicFileOf(folder);
  const known = existsSync(file) ? PublicKeys.parse(JSON.parse(readFileSync(file, 'utf8'))) : {};
  const missing = usersFor(kinds).filter((user) => known[user] === undefined || !existsSync(seedFileOf(folder, user)));
  if (missing.length === 0) return known;
  const made = generateBusKeys(kinds);
  const publicKeys: Record<string, string> = { ...known };
  for (const user of missing) {
    const [seed, key] = [made.seeds[user], made.publicKeys[user]];
    if (seed === undefined || key === undefined) throw new FabricError('internal', `no key was made for ${user}`);
    writePrivate(seedFileOf(folder, user), `${seed}\n`);
    publicKeys[user] = key;
  }
  writePrivate(file, `${JSON.stringify(publicKeys, null, 2)}\n`);
  return publicKeys;
};
