import type { RemoteProvider } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { type EgressResponse, type EgressSession, RequestBroken } from '@toolfabric/ports';
import { decodeText } from '../../content/charset.ts';
import { type BodyLimits, decodeBody } from '../../content/decode-body.ts';
import { parseMediaType } from '../../content/media-type.ts';
import { timed } from '../../fetch/ask-once.ts';
import { retryAfter } from '../../http-request/retry-after.ts';
import { brave } from './brave.ts';
import { failed, type ProviderAnswer } from './provider-answer.ts';
import { searxng } from './searxng.ts';
import { tavily } from './tavily.ts';
import type { Asked, ProviderKind, WebProvider } from './web-provider.ts';

const PROVIDERS: Readonly<Record<ProviderKind, WebProvider>> = { searxng, brave, tavily };

/** What an answer of a provider may take. */
const ANSWER_LIMITS: BodyLimits = {
  maxBytes: 2 * 1024 ** 2,
  maxEncodings: 2,
  maxRatio: 100,
  ratioFromBytes: 256 * 1024,
};

export interface ProviderDoor {
  readonly egress: EgressSession | undefined;
  /** How the worker calls itself. */
  readonly agent: string;
  readonly signal: AbortSignal;
  /** Milliseconds since the epoch. */
  now(): number;
}

/** Pages that stand between a robot and an answer, whatever their status. */
const CHALLENGE =
  /captcha|unusual traffic|not a robot|are you (?:a )?human|verify you are|cf-chl|challenge-platform|access denied/i;

const byStatus = ({ status, headers }: EgressResponse, now: number): ProviderAnswer | undefined => {
  const wait = retryAfter(headers['retry-after'], now);
  if (status === 429 || status === 432 || status === 433)
    return failed('rate_limited', `it answered with status ${status}`, wait);
  if (status === 401 || status === 407) return failed('auth', `it answered with status ${status}`);
  if (status >= 300 && status < 400) return failed('blocked', `it answered with status ${status}, a redirect`);
  if (status >= 500) return failed('unreachable', `it answered with status ${status}`, wait);
  return undefined;
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** By what it says: a page for people where an answer should be is a refusal, whatever its status. */
const byBody = (status: number, text: string, provider: WebProvider, now: number): ProviderAnswer => {
  const json = parseJson(text);
  if (json === undefined && CHALLENGE.test(text.slice(0, 100_000)))
    return failed('blocked', `it answered with status ${status} and a page that asks who is there`);
  if (status === 403) return failed(json === undefined ? 'blocked' : 'auth', 'it answered with status 403');
  if (status === 422 && /token/i.test(text.slice(0, 10_000))) return failed('auth', 'it answered with status 422');
  if (status !== 200) return failed('malformed', `it answered with status ${status}`);
  if (json === undefined) return failed('malformed', 'it answered with something that is no JSON');
  return provider.read(json, now) ?? failed('malformed', 'its answer is not of the documented shape');
};

const ask = async (
  { egress, agent, now }: ProviderDoor & { readonly egress: EgressSession },
  { kind, base }: RemoteProvider,
  asked: Asked,
  signal: AbortSignal,
): Promise<ProviderAnswer> => {
  const provider = PROVIDERS[kind];
  const { headers, ...request } = provider.request(new URL(base), asked);
  const response = await egress.request({
    ...request,
    headers: { 'user-agent': agent, 'accept-encoding': 'gzip, br', ...headers },
    signal,
  });
  try {
    const known = byStatus(response, now());
    if (known !== undefined) return known;
    const { bytes, isCut } = await decodeBody(
      response.body,
      response.headers['content-encoding'],
      ANSWER_LIMITS,
      signal,
    );
    if (isCut) return failed('malformed', `its answer is longer than ${ANSWER_LIMITS.maxBytes} bytes`);
    const { text } = decodeText(bytes, parseMediaType(response.headers['content-type']).charset, false);
    return byBody(response.status, text, provider, now());
  } finally {
    response.discard();
  }
};

const MEANINGS: Readonly<Partial<Record<FabricError['type'], [Parameters<typeof failed>[0], string]>>> = {
  egress_refused: ['refused', 'the way out does not let this call go there'],
  egress_unavailable: ['unreachable', 'there is no way out at the moment'],
  host_unreachable: ['unreachable', 'it cannot be reached'],
  content_refused: ['malformed', 'its answer cannot be decoded'],
  credential_missing: ['auth', 'its credential does not exist here, or was revoked'],
  credential_refused: ['auth', 'it does not accept the credential'],
  login_required: ['auth', 'its credential needs a new login'],
};

const ofThrown = (thrown: unknown): ProviderAnswer => {
  if (!(thrown instanceof FabricError)) {
    const isBroken = thrown instanceof RequestBroken || (thrown instanceof Error && 'code' in thrown);
    if (!isBroken) throw thrown;
    return failed('unreachable', 'it broke off before it had answered');
  }
  const meaning = MEANINGS[thrown.type];
  if (meaning === undefined) throw thrown;
  return failed(meaning[0], meaning[1], thrown.details.retryAfterMs);
};

/** Asks one provider. Its failure is an answer too; rejects with the reason of the call's signal, and for faults of ours. */
export const askProvider = async (
  door: ProviderDoor,
  provider: RemoteProvider,
  asked: Asked,
): Promise<ProviderAnswer> => {
  const { egress, signal } = door;
  if (egress === undefined) return failed('unconfigured', 'the contract gives this call no way out');
  const time = timed(signal, provider.timeout_ms);
  try {
    return await ask({ ...door, egress }, provider, asked, time.signal);
  } catch (thrown) {
    signal.throwIfAborted();
    if (time.isLate()) return failed('timeout', `it did not answer within ${provider.timeout_ms} ms`);
    return ofThrown(thrown);
  } finally {
    time.stop();
  }
};
