import { ArtifactId, ERROR_TABLE, type Outcome, type ToolContract } from '@toolfabric/contract';
import { compileCheck } from './compile-input.ts';
import { compileCondition } from './outcome-condition.ts';
import { isSchemaObject } from './schema-keywords.ts';

/**
 * What a contract says about the outcomes of its tool, applied to one of them (RG-8). Pure and idempotent: whoever
 * derives an end from the same stored outcome derives the same one. Only an `ok` is judged, and it becomes an error at
 * most: what happened in the world, and the proof of it, stay as they were (L3).
 */
export type OutputRules = (outcome: Outcome) => Outcome;

type Output = ToolContract['output'];
/** What is wrong with an outcome, or nothing. */
type Judge = (outcome: Outcome) => string | undefined;

const errorOf = (type: 'output_invalid' | 'reported_failure', message: string) => {
  const { layer, retryable, hint } = ERROR_TABLE[type];
  return { type, layer, retryable, hint, message: message.slice(0, 1_000) };
};

/** What breaks its contract is not handed on; summary, side effect, evidence and artifacts are. */
const invalid = ({ data, content, ...rest }: Outcome, why: string): Outcome => ({
  ...rest,
  status: 'error',
  error: errorOf('output_invalid', `The answer breaks the contract of the tool: ${why}.`),
});

/** The answer stands as it is: it says what went wrong. */
const failed = (outcome: Outcome): Outcome => ({
  ...outcome,
  status: 'error',
  error: errorOf('reported_failure', `The tool answered that the action failed: ${outcome.summary}`),
});

const leftOut = ({ data, truncation }: Outcome): string | undefined =>
  data === undefined && truncation !== undefined
    ? 'its data was left out for its size and cannot be checked'
    : undefined;

const schemaJudge = (schema: NonNullable<Output['schema']>): Judge => {
  const check = compileCheck(schema, 'output');
  return (outcome) => {
    const faults = check(outcome.data).slice(0, 5);
    if (faults.length === 0) return undefined;
    return leftOut(outcome) ?? faults.map(({ field, expected }) => `data${field}: expected ${expected}`).join('; ');
  };
};

const isWebAddress = (url: unknown): boolean => {
  if (typeof url !== 'string' || !/^https?:\/\//i.test(url) || !URL.canParse(url)) return false;
  return new URL(url).hostname !== '';
};

const citationsOf = ({ data }: Outcome): readonly unknown[] =>
  isSchemaObject(data) && Array.isArray(data.citations) ? data.citations : [];

/** Every source has an absolute address of the web: what cannot be looked up is no citation. */
const citationJudge: Judge = (outcome) => {
  const blocks = (outcome.content ?? []).filter((block) => block.type === 'citation');
  if (blocks.some(({ url }) => !isWebAddress(url))) return 'a citation has no http(s) address';
  const named = citationsOf(outcome).every((item) => isSchemaObject(item) && isWebAddress(item.url));
  return named ? undefined : 'an entry of data.citations has no http(s) address';
};

const IMAGES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

const fileJudge: Judge = ({ content = [] }) =>
  content.some((block) => block.type === 'file' && ArtifactId.safeParse(block.artifact).success)
    ? undefined
    : 'it holds no file';

const imageJudge: Judge = ({ content = [] }) =>
  content.some((block) => (block.type === 'image' || block.type === 'file') && IMAGES.has(block.mediaType))
    ? undefined
    : 'it holds no image';

const FORMATS: Partial<Record<Output['format'], Judge>> = {
  citations: citationJudge,
  file: fileJudge,
  image: imageJudge,
};

/** What a condition says of an outcome; a condition that cannot be said breaks the contract. */
const conditionRule = (expression: string, field: string, isFailure: (holds: boolean) => boolean): OutputRules => {
  const holds = compileCondition(expression);
  return (outcome) => {
    const missing = leftOut(outcome);
    if (missing !== undefined) return invalid(outcome, missing);
    try {
      return isFailure(holds(outcome)) ? failed(outcome) : outcome;
    } catch {
      return invalid(outcome, `${field} cannot be said of it`);
    }
  };
};

const judgeRule =
  (judge: Judge): OutputRules =>
  (outcome) => {
    const why = judge(outcome);
    return why === undefined ? outcome : invalid(outcome, why);
  };

/**
 * Compiles the rules of a contract, in their order: schema, format, `error_when`, `success_when`; undefined when it has
 * none. Throws `contract_invalid` for a schema or an expression that is refused.
 */
export const compileOutput = ({ output }: Pick<ToolContract, 'output'>): OutputRules | undefined => {
  const { schema, format, error_when, success_when } = output;
  const ofFormat = FORMATS[format];
  const rules: readonly OutputRules[] = [
    ...(schema === undefined ? [] : [judgeRule(schemaJudge(schema))]),
    ...(ofFormat === undefined ? [] : [judgeRule(ofFormat)]),
    ...(error_when === undefined ? [] : [conditionRule(error_when, 'error_when', (holds) => holds)]),
    ...(success_when === undefined ? [] : [conditionRule(success_when, 'success_when', (holds) => !holds)]),
  ];
  if (rules.length === 0) return undefined;
  return (outcome) => rules.reduce((judged, rule) => (judged.status === 'ok' ? rule(judged) : judged), outcome);
};
