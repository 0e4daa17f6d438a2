import { FabricError } from '@toolfabric/kernel';

const refuse = (expected: string): FabricError =>
  new FabricError('invalid_arguments', `the address is not one that can be fetched: it has to be ${expected}`, {
    fields: [{ field: '/url', expected }],
  });

/**
 * An address as it was meant, without its fragment. What two parsers could read in two ways is refused, so that what was
 * decided about is what is asked. Throws `invalid_arguments`.
 */
export const parseAddress = (text: string): URL => {
  if (/[\p{Cc}\s\\]/u.test(text)) throw refuse('without spaces, control characters and backslashes');
  if (!/^https?:\/\/[^/]/i.test(text) || !URL.canParse(text)) throw refuse('a whole address with http:// or https://');
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') throw refuse('without a user and a password');
  url.hash = '';
  return url;
};
