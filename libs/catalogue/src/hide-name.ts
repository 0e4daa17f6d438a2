import { createRedactor, type Redactor } from '@toolfabric/results';
import { looksSecret } from './describe-value.ts';
import { escapeToken, pointerTokens } from './json-pointer.ts';

let redactor: Redactor | undefined;

/** Its marks are never shown, so that no installation's secret is needed for them. */
const holdsSecret = (name: string): boolean => {
  redactor ??= createRedactor({ secret: new Uint8Array(16), tenant: '' });
  return redactor.text(name) !== name;
};

const described = (name: string): string => `[a name of ${[...name].length} characters]`;

/** The name of a field that the schema does not know: told only where it does not look like a secret. */
export const hideName = (name: string): string => (looksSecret(name) || holdsSecret(name) ? described(name) : name);

/**
 * A place in the arguments, whose names come from the schema or from whoever sent them. Those that stand in the path of
 * the schema are the schema's own, and hidden only where they surely are a secret.
 */
export const hidePointer = (pointer: string, schemaPath: string): string => {
  const own = new Set(pointerTokens(schemaPath));
  const shown = (token: string) => (own.has(token) && !holdsSecret(token) ? token : hideName(token));
  return pointerTokens(pointer)
    .map((token) => `/${escapeToken(shown(token))}`)
    .join('');
};
