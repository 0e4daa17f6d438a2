import type { HttpOperation } from '@toolfabric/contract';
import { cleanUntrusted } from '../content/clean-untrusted.ts';
import type { Answer } from './read-answer.ts';

const MAX_ID = 500;

const tokensOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));

/** The id of what was written, where the interface says that its answer gives one. */
export const readId = ({ id }: HttpOperation, { body }: Answer): string | undefined => {
  if (id === undefined || body.form !== 'json') return undefined;
  let value: unknown = body.value;
  for (const token of tokensOf(id)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, token)) return undefined;
    value = (value as Record<string, unknown>)[token];
  }
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? cleanUntrusted(value.slice(0, MAX_ID)).text : undefined;
};
