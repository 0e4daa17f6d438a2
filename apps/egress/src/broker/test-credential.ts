import type { CredentialRecord } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { createGuardedFetch, type FetchSettings, NoAnswer } from '../oauth/guarded-fetch.ts';
import { showSecret } from './show-secret.ts';
import { type SecretPorts, secretOf } from './usable-secret.ts';

/** Asks the test address of a credential with it, once. Says the status, never what was shown or answered. */
export const testCredential = async (ports: SecretPorts, record: CredentialRecord, settings: FetchSettings) => {
  const { testAddress, inject } = record;
  if (testAddress === undefined) throw new FabricError('invalid_request', 'the credential has no test address');
  const shown = showSecret(inject, await secretOf(ports, record, AbortSignal.timeout(settings.requestMs)));
  const url = new URL(testAddress);
  try {
    const options = {
      method: 'GET',
      headers: { accept: '*/*', ...shown.headers },
      body: undefined,
      redirect: 'manual',
    } as const;
    return { status: (await createGuardedFetch(url, settings)(testAddress, options)).status };
  } catch (thrown) {
    if (thrown instanceof NoAnswer) return { refusal: thrown.reason };
    throw thrown;
  }
};
