import { claimsOf } from './check-audience.ts';

/** When a token is fetched anew, and when it ends; milliseconds since the epoch. Without `until` it does not end. */
export interface TokenLife {
  readonly renewFrom?: number;
  readonly until?: number;
}

/** Before its end, so that it still holds when it arrives, by whichever clock. */
const EARLY_MS = 60_000;
/** Of a short life so much is left over. */
const EARLY_PART = 0.25;
const ASSUMED_MS = 600_000;

/** The life of a token that came just now. `isRenewable`: one without a stated end is fetched anew after ten minutes. */
export const lifeOf = (token: string, expiresIn: number | undefined, isRenewable: boolean, now: number): TokenLife => {
  const exp = claimsOf(token)?.exp;
  const told = expiresIn === undefined ? (exp === undefined ? undefined : exp * 1_000 - now) : expiresIn * 1_000;
  const ms = told ?? (isRenewable ? ASSUMED_MS : undefined);
  if (ms === undefined) return {};
  return { renewFrom: Math.floor(now + ms - Math.min(EARLY_MS, ms * EARLY_PART)), until: Math.floor(now + ms) };
};
