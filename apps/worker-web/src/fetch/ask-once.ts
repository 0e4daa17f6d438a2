import { FabricError } from '@toolfabric/kernel';
import { type EgressResponse, RequestBroken } from '@toolfabric/ports';
import type { Driver } from '../driver.ts';
import type { FetchRequest } from './fetched.ts';

/** The same for whoever asks: a copy of an answer is as good for the next one. */
const ACCEPT = {
  accept: 'text/html, application/xhtml+xml, text/markdown, text/plain;q=0.9, application/json;q=0.9, */*;q=0.5',
  'accept-encoding': 'gzip, br, deflate',
} as const;

/** A read that broke changed nothing, wherever it broke. */
export const brokenRead = (thrown: unknown, url: URL): unknown =>
  thrown instanceof RequestBroken
    ? new FabricError('host_unreachable', `${url.host} broke off before it had answered`, { cause: thrown })
    : thrown;

/** What is aborted when a time is over, for as long as it is not stopped. */
export const timed = (signal: AbortSignal, ms: number) => {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), ms);
  return {
    signal: AbortSignal.any([signal, late.signal]),
    isLate: () => late.signal.aborted,
    stop: () => clearTimeout(timer),
  };
};

/**
 * One request through the way out, after the rules that the site has for robots. Resolves with the head of the answer.
 * Rejects with `denied_by_robots`, with what the way out says, with `host_unreachable`, and with the reason of the signal.
 */
export const askOnce = async (
  { robots, agent, limits }: Pick<Driver, 'robots' | 'agent' | 'limits'>,
  { tenant, egress, method, signal }: FetchRequest,
  url: URL,
  conditions: Readonly<Record<string, string>>,
): Promise<EgressResponse> => {
  await robots?.check({ tenant, egress }, url, signal);
  const time = timed(signal, limits.headMs);
  try {
    const headers = { 'user-agent': agent, ...ACCEPT, ...conditions };
    return await egress.request({ method, url, headers, signal: time.signal });
  } catch (thrown) {
    signal.throwIfAborted();
    if (time.isLate())
      throw new FabricError('host_unreachable', `${url.host} did not answer within ${limits.headMs} ms`);
    throw brokenRead(thrown, url);
  } finally {
    time.stop();
  }
};
