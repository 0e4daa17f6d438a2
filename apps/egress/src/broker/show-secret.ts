import type { CredentialInjection } from '@toolfabric/contract';

/** The header that shows a secret. */
export const showSecret = (inject: CredentialInjection, secret: string): Readonly<Record<string, string>> => {
  if (inject.type === 'basic') {
    return { authorization: `Basic ${Buffer.from(`${inject.user}:${secret}`, 'utf8').toString('base64')}` };
  }
  return { [inject.header.toLowerCase()]: inject.template.replace('{secret}', () => secret) };
};
