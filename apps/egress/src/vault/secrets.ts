import { SecretParts } from '@toolfabric/contract';
import { z } from 'zod';

const TokenText = z
  .string()
  .min(1)
  .max(16 * 1024)
  .regex(/^[!-~]+$/, 'printable ASCII without spaces');

/** What the vault keeps of one credential: what its owner gave, and what an authorisation server gave for it. */
export const Secrets = z.strictObject({
  ...SecretParts.shape,
  refreshToken: TokenText.optional(),
  accessToken: TokenText.optional(),
  /** Milliseconds since the epoch at which the access token ends. */
  accessUntil: z.int().optional(),
  /** From when on another one is fetched, while this one still holds. */
  renewFrom: z.int().optional(),
  /** The server was seen to leave the refresh token as it is: using it twice does no harm. */
  keepsRefreshToken: z.boolean().optional(),
});
export type Secrets = z.infer<typeof Secrets>;

/** A login that waits for its owner to come back. */
export const PendingLogin = z.strictObject({
  state: z.string(),
  /** PKCE. */
  verifier: z.string(),
  redirectUri: z.string(),
  /** Version of the credential when it began. */
  version: z.int(),
  /** Milliseconds since the epoch. */
  expiresAt: z.int(),
});
export type PendingLogin = z.infer<typeof PendingLogin>;
