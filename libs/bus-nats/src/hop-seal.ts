import { createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto';
import { ed25519, x25519 } from '@noble/curves/ed25519.js';

/**
 * What one service says to one other carries a code that only these two can make (ADR 0024). Their common key is agreed
 * upon from their NKeys, which each of them has anyway: it is sent nowhere and stored nowhere.
 *
 * Invariants. (1) A code covers what kind of message it is and where it stands, so that it fits no other subject, record
 * or question. (2) What has no valid code is looked at no further: it is not parsed.
 */
export interface Seal {
  /** `text` with its code before it. `place`: the kind of message, and its subject or key. */
  close(place: string, text: string): string;
  /** The bytes of the text; undefined where the code is missing or is not of these two for that place. */
  open(place: string, data: Uint8Array): Buffer | undefined;
}

/** Base64url characters of a code, which is 32 bytes long. */
export const CODE_LENGTH = 43;
const SEED_BYTES = { at: 2, length: 32 };
const KEY_BYTES = { at: 1, length: 32 };
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** The key inside the text form of an NKey: base 32 of prefix, key and checksum. */
const keyIn = (nkey: string, { at, length }: typeof SEED_BYTES): Uint8Array => {
  const bytes: number[] = [];
  let bits = 0;
  let value = 0;
  for (const sign of nkey.trim()) {
    const digit = BASE32.indexOf(sign);
    if (digit === -1) throw new Error('an NKey has letters and digits of base 32 only');
    value = ((value << 5) | digit) & 0xffff;
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push((value >> bits) & 0xff);
  }
  if (bytes.length !== at + length + 2) throw new Error('an NKey of another length than expected');
  return Uint8Array.from(bytes.slice(at, at + length));
};

const agree = (own: { user: string; seed: string }, peer: { user: string; publicKey: string }): KeyObject => {
  const secret = ed25519.utils.toMontgomerySecret(keyIn(own.seed, SEED_BYTES));
  const shared = x25519.getSharedSecret(secret, ed25519.utils.toMontgomery(keyIn(peer.publicKey, KEY_BYTES)));
  const pair = [own.user, peer.user].sort().join('\n');
  return createSecretKey(Buffer.from(hkdfSync('sha256', shared, '', `toolfabric hop 1\n${pair}`, 32)));
};

const createSeal = (key: KeyObject): Seal => {
  const codeOf = (place: string, text: string | Uint8Array): string =>
    createHmac('sha256', key).update(`${place}\n`).update(text).digest('base64url');
  return {
    close: (place, text) => codeOf(place, text) + text,
    open(place, data) {
      if (data.length < CODE_LENGTH) return undefined;
      const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
      const text = bytes.subarray(CODE_LENGTH);
      const code = Buffer.from(codeOf(place, text), 'latin1');
      return timingSafeEqual(code, bytes.subarray(0, CODE_LENGTH)) ? text : undefined;
    },
  };
};

/** By the name of a service on the bus: its public NKey. */
export type PublicBusKeys = Readonly<Record<string, string>>;

export interface HopKeys {
  /** Name of this service on the bus. */
  readonly user: string;
  readonly nkeySeed: string;
  readonly publicKeys: PublicBusKeys;
}

/** What came without a valid code, by what it would have been. */
export const HOPS = ['request', 'answer', 'record', 'result', 'event', 'notice', 'bell'] as const;
export type Hop = (typeof HOPS)[number];

/** The seals of one service, one for each that it speaks with. */
export class HopSeals {
  readonly #keys: HopKeys;
  readonly #made = new Map<string, Seal>();
  #listener: (hop: Hop) => void = () => {};

  constructor(keys: HopKeys) {
    this.#keys = keys;
  }

  /** Throws for a service whose public key is not known: then nothing can be said to it. */
  with(peer: string): Seal {
    const known = this.#made.get(peer);
    if (known !== undefined) return known;
    const { user, nkeySeed, publicKeys } = this.#keys;
    const publicKey = Object.hasOwn(publicKeys, peer) ? publicKeys[peer] : undefined;
    if (publicKey === undefined) throw new Error(`the public bus key of ${peer} is not known here`);
    const seal = createSeal(agree({ user, seed: nkeySeed }, { user: peer, publicKey }));
    this.#made.set(peer, seal);
    return seal;
  }

  /** Told of everything that is refused from now on. */
  onRefused(listener: (hop: Hop) => void): void {
    this.#listener = listener;
  }

  refused(hop: Hop): void {
    this.#listener(hop);
  }

  /** The same, and undefined for whoever is not known: what it says cannot be believed. */
  of(peer: string): Seal | undefined {
    return Object.hasOwn(this.#keys.publicKeys, peer) ? this.with(peer) : undefined;
  }
}
