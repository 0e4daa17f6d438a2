import { FabricError } from '@toolfabric/kernel';
import type { EgressResponse } from '@toolfabric/ports';
import { type DecodedBody, decodeBody } from '../content/decode-body.ts';
import type { Driver } from '../driver.ts';
import { askOnce, brokenRead, timed } from './ask-once.ts';
import type { Fetched, FetchRequest, Hop, Unfollowed } from './fetched.ts';
import { nextAddress } from './next-address.ts';
import { conditionsOf, type StoredAnswer } from './response-cache.ts';

type Web = Pick<Driver, 'robots' | 'agent' | 'limits' | 'cache'>;

/** The last answer of a chain of redirects. */
interface Arrived {
  readonly url: URL;
  readonly answer: EgressResponse;
  readonly hops: readonly Hop[];
  readonly stored: StoredAnswer | undefined;
  readonly unfollowed?: Unfollowed;
}

/** The way out says no to the place that a redirect names: no fault of the call, and for its caller to decide. */
const isNotPermitted = (thrown: unknown): boolean =>
  thrown instanceof FabricError &&
  thrown.type === 'egress_refused' &&
  /^(?:host|port|scheme|path)_not_permitted:/.test(thrown.message);

const follow = async (web: Web, request: FetchRequest): Promise<Arrived> => {
  const hops: Hop[] = [];
  let url = request.url;
  let last: Pick<Arrived, 'url' | 'answer'> | undefined;
  for (;;) {
    const stored = request.method === 'GET' ? web.cache.get(request.tenant, url.href) : undefined;
    let answer: EgressResponse;
    try {
      answer = await askOnce(web, request, url, stored === undefined ? {} : conditionsOf(stored));
    } catch (thrown) {
      if (last === undefined || !isNotPermitted(thrown)) throw thrown;
      const unfollowed = { to: url.href, why: 'not_permitted' } as const;
      return { ...last, hops: hops.slice(0, -1), stored: undefined, unfollowed };
    }
    const next = nextAddress(answer, url);
    if (next === undefined) return { url, answer, hops, stored };
    answer.discard();
    if (!(next instanceof URL)) return { url, answer, hops, stored: undefined, unfollowed: next };
    if (hops.length === web.limits.redirects)
      throw new FabricError('content_refused', `there are more than ${web.limits.redirects} redirects`);
    hops.push({ status: answer.status, to: next.href });
    last = { url, answer };
    url = next;
  }
};

const NOTHING: DecodedBody = { bytes: Buffer.alloc(0), isCut: false, receivedBytes: 0 };

const readBody = async ({ limits }: Web, { url, answer }: Arrived, signal: AbortSignal): Promise<DecodedBody> => {
  const time = timed(signal, limits.bodyMs);
  // A body that waits for its next byte hears of nothing else.
  time.signal.addEventListener('abort', () => answer.discard(), { once: true });
  try {
    return await decodeBody(answer.body, answer.headers['content-encoding'], limits.body, time.signal);
  } catch (thrown) {
    signal.throwIfAborted();
    if (time.isLate())
      throw new FabricError('host_unreachable', `${url.host} did not send the whole body within ${limits.bodyMs} ms`);
    if (thrown instanceof FabricError) throw thrown;
    throw brokenRead(thrown, url) === thrown
      ? new FabricError('host_unreachable', `${url.host} broke off in the middle of its answer`, { cause: thrown })
      : brokenRead(thrown, url);
  } finally {
    time.stop();
    answer.discard();
  }
};

/** A 304 renews what it says of the copy (RFC 9111, 3.2), but for what belongs to the bytes. */
const renewed = (stored: StoredAnswer, { headers }: EgressResponse): StoredAnswer => {
  const news = Object.entries(headers).filter(([name]) => !/^(?:content-|transfer-encoding$)/.test(name));
  return { headers: { ...stored.headers, ...Object.fromEntries(news) }, body: stored.body };
};

/**
 * Fetches an address by a safe method. Redirects are followed one by one, each through the way out again; one that this
 * call may not follow is told in `unfollowed`. Any status is an answer. Bodies are bounded while they stream.
 *
 * Rejects with `egress_refused` (its message begins with the reason of the way out), `egress_unavailable`,
 * `host_unreachable`, `denied_by_robots`, `content_refused` (redirects without an end, encodings, bombs) and with the
 * reason of the signal.
 */
export const fetchAddress = async (web: Web, request: FetchRequest): Promise<Fetched> => {
  const arrived = await follow(web, request);
  const { url, answer, hops, stored, unfollowed } = arrived;
  const where = { address: url.href, hops, ...(unfollowed === undefined ? {} : { unfollowed }) };
  if (answer.status === 304 && stored !== undefined) {
    answer.discard();
    const kept = renewed(stored, answer);
    web.cache.put(request.tenant, url.href, kept);
    return { ...where, ...kept, status: 200, isCut: false, receivedBytes: 0, isRevalidated: true };
  }
  const hasBody = request.method === 'GET' && unfollowed === undefined;
  if (!hasBody) answer.discard();
  const { bytes, isCut, receivedBytes } = hasBody ? await readBody(web, arrived, request.signal) : NOTHING;
  const { status, headers } = answer;
  if (request.method === 'GET' && status === 200 && !isCut)
    web.cache.put(request.tenant, url.href, { headers, body: bytes });
  return { ...where, status, headers, body: bytes, isCut, receivedBytes, isRevalidated: false };
};
