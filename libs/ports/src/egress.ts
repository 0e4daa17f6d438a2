import type { Envelope } from '@toolfabric/contract';

export interface EgressRequest {
  /** In capitals. */
  readonly method: string;
  /** http or https, without user and fragment. */
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  readonly signal: AbortSignal;
}

/** One answer of the other side, its body still to be read. */
export interface EgressResponse {
  readonly status: number;
  /** Names in lower case; several of one name joined by ", ". */
  readonly headers: Readonly<Record<string, string>>;
  /** Read to its end, left early, or discarded: else the connection stays open. */
  readonly body: AsyncIterable<Uint8Array>;
  discard(): void;
}

/** What a program that only knows proxies is told: where the way out listens, and what to show there. */
export interface EgressProxy {
  readonly socketPath: string;
  /** Secret: the password of the proxy, with any user. */
  readonly token: string;
  /** PEM file of the authority that vouches for hosts whose exchange is read; none where none is read. */
  readonly caFile?: string;
}

/** The request went out, at least in part, and no whole answer came: it is not known whether the other side acted on it. */
export class RequestBroken extends Error {
  override readonly name = 'RequestBroken';
}

/**
 * The way out as one call may use it; its permit is opened at the first use. Methods throw a `FabricError`:
 * `egress_refused` when the way out said no (its message begins with the `EgressRefusal` and a colon),
 * `host_unreachable` when the other side did not take the connection, `egress_unavailable` when the way out did not
 * answer. With each of them nothing was sent.
 */
export interface EgressSession {
  /** Follows no redirects, keeps no cookies and takes no encodings off. Throws `RequestBroken` when it may have acted. */
  request(request: EgressRequest): Promise<EgressResponse>;
  proxy(signal: AbortSignal): Promise<EgressProxy>;
  /** Ends everything that is open; resolves when the way out has closed it, or is gone. Never rejects. */
  close(): Promise<void>;
}

export interface EgressDoor {
  /** `permit` is the signed leave that came with the call. */
  session(permit: Envelope): EgressSession;
}
