import { isScalar, parseDocument, visit, type YAMLMap } from 'yaml';

/** The library compares each key with each other one: with many keys that takes hours. */
const checkKeys = ({ items }: YAMLMap): void => {
  const seen = new Set<string>();
  for (const { key } of items) {
    if (!isScalar(key)) throw new Error('Map keys must be plain texts');
    const name = String(key.value);
    if (seen.has(name)) throw new Error(`Map keys must be unique: ${name.slice(0, 100)}`);
    seen.add(name);
  }
};

/**
 * The value of a YAML text that a person wrote: what JSON has, whatever the text says of its own version, and without
 * aliases, which could make it grow. Throws for what is none.
 */
export const parseYaml = (text: string): unknown => {
  const document = parseDocument(text, {
    uniqueKeys: false,
    schema: 'core',
    resolveKnownTags: false,
    logLevel: 'error',
  });
  const [error] = document.errors;
  if (error !== undefined) throw error;
  visit(document, { Map: (_, map) => checkKeys(map) });
  return document.toJS({ maxAliasCount: 0 });
};
