import { armFaultPoints, parseFaults } from '@toolfabric/kernel';
import { z } from 'zod';
import type { Kept } from '../oauth/renewals.ts';
import { type BusPlace, inside, openOAuth, TEST_OAUTH_PACE } from './open-oauth.ts';

/** What the test says to this process first: all that it has to know. */
export interface RenewerStart {
  readonly bus: BusPlace;
  readonly keys: string;
  readonly issuer: string;
  readonly faults: string;
  /** After so long it takes over what another one left. */
  readonly leaseMs: number;
}
/** Then it says whose token so many callers want at once; the answers come back as they end. */
export interface RenewerWish {
  readonly kept: Kept;
  readonly callers: number;
}

const Message = z.looseObject({ bus: z.unknown().optional() });
const tell = (message: unknown) => process.send?.(message);
let oauth: Awaited<ReturnType<typeof openOAuth>> | undefined;

const begin = async ({ bus, keys, issuer, faults, leaseMs }: RenewerStart) => {
  const settings = { privateOrigins: inside(issuer), pace: { ...TEST_OAUTH_PACE, leaseMs } };
  oauth = await openOAuth(bus, keys, { settings, faults: armFaultPoints(parseFaults(faults), true) });
  tell({ ready: true });
};

const fetchAll = async ({ kept, callers }: RenewerWish) => {
  const asked = Array.from({ length: callers }, () => oauth?.tokenFor(kept, AbortSignal.timeout(60_000)));
  const ended = await Promise.allSettled(asked);
  tell(ended.map((one) => (one.status === 'fulfilled' ? { token: one.value?.token } : { error: one.reason.type })));
};

process.on('message', (message) => {
  const isStart = Message.parse(message).bus !== undefined;
  void (isStart ? begin(message as RenewerStart) : fetchAll(message as RenewerWish));
});
process.on('disconnect', () => process.exit(0));
