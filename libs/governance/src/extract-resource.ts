import { parseTemplate, readPointer } from '@toolfabric/catalogue';
import { FabricError } from '@toolfabric/kernel';

/** What a scope is told apart by; in a value it stands escaped, so that an argument cannot name another scope. */
const escaped = (text: string, keepSlash: boolean): string =>
  text.replace(keepSlash ? /[^\p{L}\p{N}._~/@+-]/gu : /[^\p{L}\p{N}._~@+-]/gu, (character) =>
    encodeURIComponent(character).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`),
  );

const refuse = (pointer: string, expected: string): never => {
  throw new FabricError('invalid_arguments', `${pointer} cannot be part of the name of a resource`, {
    fields: [{ field: pointer, expected }],
  });
};

const partText = (args: unknown, pointer: string, keepSlash: boolean): string => {
  const value = readPointer(args, pointer);
  if (typeof value === 'number' && Number.isSafeInteger(value)) return String(value);
  if (typeof value !== 'string' || value === '' || !value.isWellFormed()) return refuse(pointer, 'a text or a number');
  if (value.split('/').some((segment) => segment === '' || segment === '.' || segment === '..'))
    return refuse(pointer, 'no empty, "." or ".." part');
  return escaped(value, keepSlash);
};

const MOST_CHARACTERS = 500;

/**
 * Fills the template of a resource, `github:repo:{/repository}#{/number}`. A `/` of a value stays one, except where the
 * template itself puts a `/` beside it. Throws `invalid_arguments` for a value that could name something else.
 */
export const resourceOf = (template: string, args: unknown): string => {
  const parts = parseTemplate(template);
  const textAt = (index: number): string => {
    const part = parts[index];
    return part !== undefined && 'text' in part ? part.text : '';
  };
  const resource = parts
    .map((part, index) => {
      if ('text' in part) return part.text;
      const isBesideSlash = textAt(index - 1).endsWith('/') || textAt(index + 1).startsWith('/');
      return partText(args, part.pointer, !isBesideSlash);
    })
    .join('');
  return resource.length <= MOST_CHARACTERS
    ? resource
    : refuse('', `a resource of at most ${MOST_CHARACTERS} characters`);
};

/** The scopes that contain a resource, the nearest first: of `a:b/c#d` they are `a:b/c`, `a:b` and `a`. */
export const scopesAround = (resource: string): string[] => {
  const ends = [...resource.matchAll(/[:/#]/g)].map(({ index }) => index).filter((index) => index > 0);
  return [...new Set(ends.slice(0, 32).map((end) => resource.slice(0, end)))].reverse();
};
