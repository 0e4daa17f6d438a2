import type { RegistryRecord, ToolContract } from '@toolfabric/contract';
import { editDistance } from '@toolfabric/routing';
import { isSchemaObject } from './schema-keywords.ts';

const PLACEHOLDER = /\b(todo|tbd|fixme|lorem ipsum|xxx)\b/i;
/** Control, format and private characters: text that a person does not see and a model does. */
const HIDDEN = /[^\P{C}\n\t]/u;
const NAMES_OTHER = /[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*|\b(use|instead|call|ask)\b/i;
const MIN_PHRASE = 12;
const SIMILAR = 0.75;

/** Every text of a contract that a model reads, with its path. */
function* textsOf(value: unknown, path: string): Generator<{ path: string; text: string }> {
  if (typeof value === 'string') yield { path, text: value };
  else if (Array.isArray(value)) for (const [i, item] of value.entries()) yield* textsOf(item, `${path}.${i}`);
  else if (isSchemaObject(value)) {
    for (const [key, item] of Object.entries(value)) {
      yield { path, text: key };
      yield* textsOf(item, `${path}.${key}`);
    }
  }
}

const hiddenText = ({ capability, input, output }: ToolContract): string[] => {
  const texts = [...textsOf(capability, 'capability'), ...textsOf(input, 'input'), ...textsOf(output, 'output')];
  const paths = new Set(texts.filter(({ text }) => HIDDEN.test(text)).map(({ path }) => path.slice(0, 120)));
  return [...paths].map((path) => `${path}: holds characters that cannot be seen`);
};

const phrases = (path: string, texts: readonly string[]): string[] =>
  texts.flatMap((text, i) => {
    if (PLACEHOLDER.test(text)) return [`${path}.${i}: a placeholder`];
    return text.trim().length < MIN_PHRASE ? [`${path}.${i}: too short to say anything`] : [];
  });

/** RG-4: a description says what the tool does, when to use it, and when to use another. Empty when it does. */
export const descriptionProblems = (contract: ToolContract): string[] => {
  const { description, use_when, not_for } = contract.capability;
  return [
    ...hiddenText(contract),
    ...(PLACEHOLDER.test(description) ? ['capability.description: a placeholder'] : []),
    ...phrases('capability.use_when', use_when),
    ...phrases('capability.not_for', not_for),
    ...(not_for.some((text) => NAMES_OTHER.test(text)) ? [] : ['capability.not_for: says nowhere what to use instead']),
    ...(not_for.some((text) => use_when.includes(text)) ? ['capability.not_for: repeats a phrase of use_when'] : []),
  ];
};

/** Arguments without a description: a model has to guess them. */
export const argumentWarnings = ({ input }: ToolContract): string[] =>
  Object.entries(isSchemaObject(input.properties) ? input.properties : {})
    .filter(
      ([, schema]) => isSchemaObject(schema) && schema.$ref === undefined && typeof schema.description !== 'string',
    )
    .map(([name]) => `input.properties.${name}: has no description`);

const wordsOf = (text: string): ReadonlySet<string> => new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);

const overlap = (a: ReadonlySet<string>, b: ReadonlySet<string>): number => {
  const common = [...a].filter((word) => b.has(word)).length;
  return common === 0 ? 0 : common / (a.size + b.size - common);
};

const sortedParts = (name: string): string => name.split(/[._]/).sort().join('.');

const isNearName = (a: string, b: string): boolean =>
  sortedParts(a) === sortedParts(b) || (Math.abs(a.length - b.length) <= 1 && editDistance(a, b) <= 1);

const capabilityText = ({ capability }: ToolContract): string =>
  [capability.description, ...capability.use_when].join(' ');

/** RG-4: other tools whose name or description a model could take for this one. */
export const duplicateWarnings = (contract: ToolContract, existing: Iterable<RegistryRecord>): string[] => {
  const words = wordsOf(capabilityText(contract));
  const warnings = new Set<string>();
  for (const { contract: other, state } of existing) {
    if (other.name === contract.name || state === 'retired') continue;
    if (isNearName(other.name, contract.name)) warnings.add(`name: easily taken for ${other.name}`);
    if (overlap(words, wordsOf(capabilityText(other))) >= SIMILAR) {
      warnings.add(`capability.description: nearly the same as that of ${other.name}`);
    }
  }
  return [...warnings];
};
