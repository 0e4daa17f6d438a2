/** Waiting times of everything that has to do with tokens, in milliseconds. */
export interface OAuthPace {
  /** One request to an authorisation server, with its whole answer. */
  readonly requestMs: number;
  /** How long tokens that came are tried to be stored. */
  readonly storeMs: number;
  /**
   * A lease that stood unchanged for so long is void. Longer than asking and storing together: who still does either
   * is not overtaken.
   */
  readonly leaseMs: number;
  /** How long one wait for a token goes on, a void lease included. */
  readonly patienceMs: number;
  /** Between two looks at what another one renews. */
  readonly pollMs: number;
  /** After a failure nothing is asked for so long. */
  readonly restMs: number;
  /** How long a login waits for its owner. */
  readonly loginMs: number;
}

export const OAUTH_PACE: OAuthPace = {
  requestMs: 10_000,
  storeMs: 10_000,
  leaseMs: 25_000,
  patienceMs: 45_000,
  pollMs: 100,
  restMs: 2_000,
  loginMs: 600_000,
};
