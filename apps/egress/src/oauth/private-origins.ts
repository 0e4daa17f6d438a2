import { z } from 'zod';
import { isRange } from '../decide/address-class.ts';

/** A host inside the own network, named by the operator, that credentials may have to do with. */
export interface PrivateOrigin {
  /** Scheme, host and port of an authorisation server, or of a test address; without TLS when the scheme is `http`. */
  readonly origin: string;
  /** Address ranges, as CIDR, that it may lie in although they are not public. */
  readonly addresses: readonly string[];
}

const Entry = z
  .string()
  .regex(/^https?:\/\/[^\s/=?#@]+=[0-9a-fA-F:./|]+$/, 'origin=range|range')
  .transform((text): PrivateOrigin => {
    const [origin = '', ranges = ''] = text.split('=');
    return { origin: URL.parse(origin)?.origin ?? '', addresses: ranges.split('|') };
  })
  .refine(({ origin, addresses }) => origin.startsWith('http') && addresses.every(isRange), 'origin=range|range');

/** `https://login.corp=10.1.0.0/16,http://127.0.0.1:9000=127.0.0.1/32`; nothing for an empty text. */
export const PrivateOrigins = z
  .string()
  .transform((text) => text.split(',').filter((entry) => entry !== ''))
  .pipe(z.array(Entry).max(32));
