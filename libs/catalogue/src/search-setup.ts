import { CredentialHandle, EgressRule, SearchOptions, SearchProvider, ToolVersion } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { z } from 'zod';
import type { ProviderSetup, SearchSetup } from './search-contract.ts';

const Beside = { credential: CredentialHandle.optional(), addresses: EgressRule.shape.addresses };

const Provider = z.looseObject(Beside).transform(({ credential, addresses, ...rest }, ctx): ProviderSetup => {
  const read = SearchProvider.safeParse(rest);
  if (!read.success) {
    for (const { path, message } of read.error.issues)
      ctx.issues.push({ code: 'custom', path, message, input: undefined });
    return z.NEVER;
  }
  return {
    provider: read.data,
    ...(credential === undefined ? {} : { credential }),
    ...(addresses === undefined ? {} : { addresses }),
  };
});

const Setup = z.strictObject({
  version: ToolVersion,
  reads_pages: z.boolean().default(false),
  groups: SearchOptions.shape.groups,
  providers: z.array(Provider).min(1).max(8),
});

/**
 * What an operator says of the providers of an installation: `{version, providers: [{kind, base?, name?, timeout_ms?,
 * credential?, addresses?}], groups?, reads_pages?}`. Throws `contract_invalid` with the field that is wrong.
 */
export const parseSearchSetup = (value: unknown): SearchSetup => {
  const read = Setup.safeParse(value);
  if (read.success) {
    const { reads_pages: readsPages, ...rest } = read.data;
    return { ...rest, readsPages };
  }
  const told = read.error.issues.slice(0, 5).map(({ path, message }) => `${path.join('.')}: ${message}`);
  throw new FabricError('contract_invalid', told.join('; '));
};
