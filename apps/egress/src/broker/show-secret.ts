import type { CredentialInjection } from '@toolfabric/contract';
import type { Shown } from '../credential-source.ts';

/** The header that shows a secret, and all of it that is secret. */
export const showSecret = (inject: CredentialInjection, secret: string): Shown => {
  if (inject.type === 'basic') {
    const pair = Buffer.from(`${inject.user}:${secret}`, 'utf8').toString('base64');
    return { headers: { authorization: `Basic ${pair}` }, secrets: [secret, pair] };
  }
  const value = inject.template.replace('{secret}', () => secret);
  return { headers: { [inject.header.toLowerCase()]: value }, secrets: [secret] };
};
