import type { CredentialAudience } from '@toolfabric/contract';
import { isBelow } from '../target/normalise-path.ts';

/** By whole labels; `*.` stands for one label or more. */
const fitsHost = (named: string, host: string): boolean =>
  named.startsWith('*.') ? host.endsWith(named.slice(1)) && !/^[\d.]+$/.test(host) : named === host;

/** Whether a credential is meant for a host, in canonical form. */
export const fitsHosts = ({ hosts }: CredentialAudience, host: string): boolean =>
  hosts.some((named) => fitsHost(named, host));

/** Whether a credential may be shown there. `host` in canonical form, `path` normalised, with its query. */
export const fitsAudience = (audience: CredentialAudience, host: string, path: string): boolean =>
  fitsHosts(audience, host) && (audience.paths?.some((prefix) => isBelow(path, prefix)) ?? true);
