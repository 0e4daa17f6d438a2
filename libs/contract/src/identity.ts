import { z } from 'zod';

/** A name that may stand as one token in a bus subject: tenants, kinds and slots are checked against it. */
export const Token = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, 'lower-case letters, digits, "-" and "_", at most 63');

/** The user and the agent that acts for them, inside a tenant. Users and agents are free text and never enter a subject. */
export const Actor = z.strictObject({
  tenant: Token,
  user: z.string().min(1).max(200),
  agent: z.string().min(1).max(200),
});
export type Actor = z.infer<typeof Actor>;

/** Names of the rights that a credential gives, as its gateway has read them. */
export const Roles = z.array(z.string().min(1).max(64)).max(32);

/** `<week>-<hash>`: the week (since the epoch, from the request key) and 26 base-32 characters of a SHA-256. */
export const CallId = z.string().regex(/^\d{4,5}-[0-9a-hjkmnp-tv-z]{26}(\.r\d{1,4})?$/, 'a call id');
export const TaskId = z.string().regex(/^t-[0-9a-hjkmnp-tv-z]{26}$/, 'a task id');

export const ToolName = z
  .string()
  .max(80)
  .regex(/^[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+$/, 'dotted lower-case name such as workspace.read_file');
export const ToolVersion = z.string().regex(/^\d{1,5}\.\d{1,5}\.\d{1,5}$/, 'a version such as 1.0.0');

/** A tool that was resolved: its digest covers the whole contract. */
export const ToolRef = z.strictObject({ name: ToolName, version: ToolVersion, digest: z.string() });
export type ToolRef = z.infer<typeof ToolRef>;

/** A SHA-256 in lower-case hexadecimal. */
export const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'a SHA-256 in lower-case hexadecimal');
