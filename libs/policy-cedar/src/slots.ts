import { type PolicySet, preparsePolicySet, preparseSchema, type SchemaJson } from '@cedar-policy/cedar-wasm/nodejs';

/** What the engine holds ready, under one name for both. */
export interface Prepared {
  readonly policies: PolicySet;
  readonly schema: SchemaJson<string>;
}

export class EngineFailure extends Error {
  override readonly name = 'EngineFailure';
}

/** The engine forgets nothing by itself, so a fixed number of names is used again and again; for the whole process. */
const MOST_SLOTS = 1_024;

const slots = new Map<string, string>();
let made = 0;

const take = (): string => {
  if (made < MOST_SLOTS) {
    made += 1;
    return `s${made}`;
  }
  const [oldest] = slots;
  if (oldest === undefined) throw new EngineFailure('there is no slot');
  slots.delete(oldest[0]);
  return oldest[1];
};

const load = (name: string, { policies, schema }: Prepared): void => {
  for (const answer of [preparseSchema(name, schema), preparsePolicySet(name, policies)])
    if (answer.type !== 'success') throw new EngineFailure(answer.errors.map(({ message }) => message).join('; '));
};

/** The name under which the engine knows what `prepare` gives for this key; the least lately used one makes room. */
export const slotOf = (key: string, prepare: () => Prepared): string => {
  const known = slots.get(key);
  if (known !== undefined) {
    slots.delete(key);
    slots.set(key, known);
    return known;
  }
  const name = take();
  try {
    load(name, prepare());
  } catch (error) {
    // Nobody may find the rules of another in it.
    slots.set(`broken\n${name}`, name);
    throw error;
  }
  slots.set(key, name);
  return name;
};
