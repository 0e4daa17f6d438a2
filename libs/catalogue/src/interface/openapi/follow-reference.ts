import { readPointer } from '../../json-pointer.ts';
import { isSchemaObject, type SchemaObject } from '../../schema-keywords.ts';

const MAX_STEPS = 20;

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** What a `$ref` names in the same document. Throws an `Error` for another document, and where there is nothing. */
export const targetOf = (document: SchemaObject, reference: unknown): unknown => {
  if (typeof reference !== 'string' || !reference.startsWith('#/'))
    throw new Error(
      `${String(reference).slice(0, 100)} is not in this document; only references within it are followed`,
    );
  const target = readPointer(document, decoded(reference.slice(1)));
  if (target === undefined) throw new Error(`${reference.slice(0, 100)} leads nowhere`);
  return target;
};

/** An object of the document, with references to it followed. Throws an `Error` for anything else. */
export const followed = (document: SchemaObject, value: unknown): SchemaObject => {
  let current = value;
  for (let step = 0; step < MAX_STEPS; step += 1) {
    if (!isSchemaObject(current)) throw new Error('an object is expected');
    if (current.$ref === undefined) return current;
    current = targetOf(document, current.$ref);
  }
  throw new Error('a reference leads from one to the next without an end');
};
