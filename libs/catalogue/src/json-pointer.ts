/** One token of a JSON pointer (RFC 6901). */
export const escapeToken = (token: string): string => token.replaceAll('~', '~0').replaceAll('/', '~1');

export const pointerTokens = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));

/** The value at a pointer, through own fields and array items only; undefined where there is none. */
export const readPointer = (value: unknown, pointer: string): unknown => {
  let current = value;
  for (const token of pointerTokens(pointer)) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, token)) return undefined;
    if (Array.isArray(current) && !/^\d+$/.test(token)) return undefined;
    current = (current as Record<string, unknown>)[token];
  }
  return current;
};
