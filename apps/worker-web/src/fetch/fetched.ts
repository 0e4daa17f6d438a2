import type { EgressSession } from '@toolfabric/ports';

export interface FetchRequest {
  /** Whose cache is looked at: no tenant meets what another was given. */
  readonly tenant: string;
  readonly egress: EgressSession;
  readonly method: 'GET' | 'HEAD';
  /** http or https, without user and fragment. */
  readonly url: URL;
  readonly signal: AbortSignal;
}

/** One redirect that was followed. */
export interface Hop {
  readonly status: number;
  /** The address that it led to. */
  readonly to: string;
}

/** A redirect that was not followed: the caller decides whether to ask there. */
export interface Unfollowed {
  /** As the other side wrote it, made whole; cut to 2,000 characters. */
  readonly to: string;
  readonly why: 'not_permitted' | 'not_http' | 'less_secure' | 'has_user';
}

/** What the other side answered, whatever its status. */
export interface Fetched {
  /** The address that answered. */
  readonly address: string;
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly hops: readonly Hop[];
  readonly unfollowed?: Unfollowed;
  /** Without its encodings. */
  readonly body: Buffer;
  /** There was more of it than is read. */
  readonly isCut: boolean;
  /** Bytes that came, as they were encoded; 0 where the copy of an earlier fetch was still good. */
  readonly receivedBytes: number;
  /** The other side said that the copy of an earlier fetch of this tenant is still good. */
  readonly isRevalidated: boolean;
}
