import type { CallView, ErrorType } from '@toolfabric/contract';

/** What a script may rely on; documented in the help of the command. */
export const EXIT = { ok: 0, toolError: 1, usage: 2, refused: 3, unknown: 4, unavailable: 5 } as const;
/** As a shell says it for a program that Ctrl-C ended. */
export const INTERRUPTED = 130;

const BY_TYPE: Partial<Record<ErrorType, number>> = {
  unauthenticated: EXIT.refused,
  forbidden: EXIT.refused,
  denied_by_policy: EXIT.refused,
  approval_denied: EXIT.refused,
  approval_expired: EXIT.refused,
  credential_missing: EXIT.refused,
  login_required: EXIT.refused,
  invalid_request: EXIT.usage,
  unavailable: EXIT.unavailable,
  overloaded: EXIT.unavailable,
  no_executor: EXIT.unavailable,
  egress_unavailable: EXIT.unavailable,
};

export const exitOfError = (type: ErrorType): number => BY_TYPE[type] ?? EXIT.toolError;

/** A call that is still on its way is no failure: its handle was asked for. */
export const exitOfCall = ({ state, result }: CallView): number => {
  if (state === 'unknown' || result?.status === 'unknown') return EXIT.unknown;
  if (state === 'denied' || state === 'awaiting_approval') return EXIT.refused;
  if (result?.status === 'denied' || result?.status === 'needs_approval') return EXIT.refused;
  if (result?.error) return exitOfError(result.error.type);
  const failed = state === 'error' || state === 'expired' || state === 'cancelled' || state === 'dead_letter';
  return failed || state === 'refused' ? EXIT.toolError : EXIT.ok;
};
