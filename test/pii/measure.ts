import { findPersonalData, PERSONAL_DATA_TYPES, type PersonalDataType } from '@toolfabric/results';
import { HARD } from './hard.ts';
import { NEGATIVES } from './negatives.ts';
import { POSITIVES } from './positives.ts';

const MARK = /⟦([^⟧]+)⟧/g;

export interface Labelled {
  readonly text: string;
  readonly labels: readonly string[];
}

export const readLabels = (source: string): Labelled => ({
  text: source.replace(MARK, '$1'),
  labels: [...source.matchAll(MARK)].map(([, label = '']) => label),
});

export interface TypeScore {
  readonly type: PersonalDataType;
  readonly labelled: number;
  readonly found: number;
  readonly missed: readonly string[];
}

export interface Measure {
  readonly types: readonly TypeScore[];
  /** The same of the texts that were written to escape. */
  readonly hard: readonly TypeScore[];
  /** Findings that no label covers, in the texts with and without personal data, with the text. */
  readonly wrong: readonly string[];
  readonly negatives: number;
  readonly precision: number;
  readonly recall: number;
}

const overlaps = (label: string, found: string): boolean => label.includes(found) || found.includes(label);

type Corpus = Readonly<Record<PersonalDataType, readonly string[]>>;

/** A label counts as found when a finding covers it whole. */
const scoreType = (corpus: Corpus, type: PersonalDataType, wrong: string[]): TypeScore => {
  const missed: string[] = [];
  let labelled = 0;
  for (const source of corpus[type]) {
    const { text, labels } = readLabels(source);
    const found = findPersonalData(text).map((each) => each.text);
    labelled += labels.length;
    for (const label of labels) if (!found.some((each) => each.includes(label))) missed.push(`${label} in: ${text}`);
    for (const each of found) if (!labels.some((label) => overlaps(label, each))) wrong.push(`${each} in: ${text}`);
  }
  return { type, labelled, found: labelled - missed.length, missed };
};

export const measure = (): Measure => {
  const wrong: string[] = [];
  const types = PERSONAL_DATA_TYPES.map((type) => scoreType(POSITIVES, type, wrong));
  const hard = PERSONAL_DATA_TYPES.map((type) => scoreType(HARD, type, []));
  const negatives = Object.values(NEGATIVES).flat();
  for (const text of negatives) for (const each of findPersonalData(text)) wrong.push(`${each.text} in: ${text}`);
  const sum = (key: 'labelled' | 'found') => types.reduce((total, score) => total + score[key], 0);
  return {
    types,
    hard,
    wrong,
    negatives: negatives.length,
    precision: sum('found') / (sum('found') + wrong.length),
    recall: sum('found') / sum('labelled'),
  };
};
