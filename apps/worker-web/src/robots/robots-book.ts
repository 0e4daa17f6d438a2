import { FabricError } from '@toolfabric/kernel';
import { type EgressResponse, type EgressSession, RequestBroken } from '@toolfabric/ports';
import robotsParser from 'robots-parser';
import { BODY_LIMITS, decodeBody } from '../content/decode-body.ts';
import { boundedRules } from './bounded-rules.ts';

/** Bytes of a robots.txt that are read (RFC 9309: at least 500 KiB). */
const MAX_BYTES = 512 * 1024;
/** Milliseconds that rules are kept (RFC 9309: at most a day). */
const KEEP_MS = 3_600_000;
/** Milliseconds that a site whose rules could not be had is left alone. */
const RETRY_MS = 60_000;
/** Milliseconds for one robots.txt. */
const ASK_MS = 10_000;
const MAX_SITES = 1_000;
/** Characters of rules of all sites that are kept, and what a rule takes beside its text. */
const MAX_KEPT = 16 * 1024 ** 2;
const RULE_CHARACTERS = 100;
const MAX_REDIRECTS = 5;

/** Its types name a default export that its module is itself. */
const parseRobots = robotsParser as unknown as (
  address: string,
  text: string,
) => { isAllowed(address: string, agent: string): boolean | undefined };

/** Who asks, and by which way. What one tenant was told is not told to another. */
export interface RobotsQuestion {
  readonly tenant: string;
  readonly egress: EgressSession;
}

interface Rules {
  /** That it could not be had; then nothing is allowed for a while. */
  readonly isLost?: true;
  readonly allows: (url: URL) => boolean;
  /** Characters that it takes. */
  readonly size: number;
  /** On the clock of this process, in milliseconds. */
  readonly until: number;
}

/** The first group of RFC 9309, 2.3.1.3: not there means that everything is allowed. */
const isMissing = (status: number): boolean => status >= 400 && status < 500 && status !== 429;
const isRedirect = (status: number): boolean => status >= 300 && status < 400;
const isRefused = (thrown: unknown): boolean => thrown instanceof FabricError && thrown.type === 'egress_refused';

/** The site answered in a way that tells nothing. One that cannot be reached is told as that: it has no address to allow. */
const isOfSite = (thrown: unknown): boolean =>
  thrown instanceof RequestBroken || !(thrown instanceof FabricError) || thrown.type === 'content_refused';

/**
 * What the robots.txt of each site says about this agent, by RFC 9309: a 4xx allows everything, a 5xx, a 429 or a
 * connection that breaks forbids everything for a while, redirects are followed five times.
 */
export class RobotsBook {
  readonly #agent: string;
  readonly #now: () => number;
  readonly #sites = new Map<string, Rules>();
  #kept = 0;

  /** @param now milliseconds on the clock of this process. */
  constructor(agent: string, now: () => number) {
    this.#agent = agent;
    this.#now = now;
  }

  /** Rejects with the reason of `signal`, and with `denied_by_robots` where the site does not want it. */
  async check(question: RobotsQuestion, url: URL, signal: AbortSignal): Promise<void> {
    const rules = await this.#rulesOf(question, url.origin, signal);
    if (rules.allows(url)) return;
    const why = rules.isLost ? 'could not be read, which counts as a no for a minute' : 'does not allow this address';
    throw new FabricError('denied_by_robots', `the robots.txt of ${url.host} ${why}`);
  }

  async #rulesOf({ tenant, egress }: RobotsQuestion, origin: string, signal: AbortSignal): Promise<Rules> {
    const key = `${tenant} ${origin}`;
    const known = this.#sites.get(key);
    if (known !== undefined && known.until > this.#now()) return known;
    const rules = await this.#ask(egress, origin, signal);
    this.#drop(key);
    this.#sites.set(key, rules);
    this.#kept += rules.size;
    while (this.#sites.size > MAX_SITES || this.#kept > MAX_KEPT) this.#drop(this.#sites.keys().next().value ?? '');
    return rules;
  }

  #drop(key: string): void {
    this.#kept -= this.#sites.get(key)?.size ?? 0;
    this.#sites.delete(key);
  }

  /** Sites whose rules are kept. */
  get sites(): number {
    return this.#sites.size;
  }

  async #ask(egress: EgressSession, origin: string, signal: AbortSignal): Promise<Rules> {
    const nothing: Rules = { isLost: true, allows: () => false, size: 0, until: this.#now() + RETRY_MS };
    const everything: Rules = { allows: () => true, size: 0, until: this.#now() + KEEP_MS };
    const until = AbortSignal.any([signal, AbortSignal.timeout(ASK_MS)]);
    try {
      const response = await this.#follow(egress, new URL('/robots.txt', origin), until);
      if (response === undefined) return everything;
      const { status, headers, body } = response;
      if (status !== 200) response.discard();
      if (isMissing(status) || isRedirect(status)) return everything;
      if (status !== 200) return nothing;
      const limits = { ...BODY_LIMITS, maxBytes: MAX_BYTES };
      const { bytes } = await decodeBody(body, headers['content-encoding'], limits, until);
      const rules = boundedRules(bytes.toString('utf8'), this.#agent.toLowerCase());
      const robots = parseRobots(new URL('/robots.txt', origin).href, rules);
      const size = rules.length + RULE_CHARACTERS * rules.split('\n').length;
      return { ...everything, size, allows: (url) => robots.isAllowed(url.href, '*') !== false };
    } catch (thrown) {
      signal.throwIfAborted();
      // What the way out itself refuses, and a host that is not there, is told as it is.
      if (!isOfSite(thrown)) throw thrown;
      return nothing;
    }
  }

  /** Undefined where the rules stand on a host that this call may not reach: for it there are none. */
  async #follow(egress: EgressSession, first: URL, signal: AbortSignal): Promise<EgressResponse | undefined> {
    let url = first;
    for (let hop = 0; ; hop += 1) {
      const asked = egress.request({ method: 'GET', url, headers: { 'user-agent': this.#agent }, signal });
      const response = await asked.catch((thrown: unknown) => {
        if (hop > 0 && isRefused(thrown)) return undefined;
        throw thrown;
      });
      const to = response?.headers['location'];
      if (response === undefined || !isRedirect(response.status) || to === undefined) return response;
      if (hop === MAX_REDIRECTS || !URL.canParse(to, url.href)) return response;
      response.discard();
      url = new URL(to, url.href);
      if (url.protocol !== 'https:' && url.protocol !== 'http:') return response;
    }
  }
}
