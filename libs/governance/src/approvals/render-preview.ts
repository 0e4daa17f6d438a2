import { parseTemplate, readPointer } from '@toolfabric/catalogue';
import { type Actor, type BoundFile, MAX_PREVIEW, type RiskGroup, type ToolContract } from '@toolfabric/contract';
import { shellMeaning } from '../extract-programs.ts';
import { behindBars, onOneLine } from './show-plainly.ts';

/** Puts a mark in the place of each secret: `[redacted:<kind>:<digits>]`. */
export interface Hide {
  text(text: string): string;
  json<T>(value: T): T;
  /** Marks that were made so far. */
  readonly count: number;
}

export interface PreviewInput {
  readonly actor: Actor;
  readonly contract: ToolContract;
  readonly args: Readonly<Record<string, unknown>>;
  readonly risk: RiskGroup;
  readonly raisedBy: readonly string[];
  readonly account?: string;
  readonly resource?: string;
  readonly files: readonly BoundFile[];
  /** What runs beside the arguments, such as the declared test command of the task. */
  readonly command?: { readonly argv: readonly string[]; readonly cwd?: string | undefined };
  /** With the rules of the contract. */
  readonly hide: Hide;
}

export interface Preview {
  readonly text: string;
  /** All of it is shown; otherwise something was cut away or hidden, and a person does not know all that they say yes to. */
  readonly whole: boolean;
}

/** Characters of one value inside the sentence; below it stands whole. */
const IN_SENTENCE = 160;
/** Values up to this length stand behind their name. */
const ON_ITS_LINE = 100;
/** Values of the arguments that are looked at; more are not shown. */
const MOST_VALUES = 2_000;

const short = (text: string): string => {
  const chars = [...text];
  return chars.length <= IN_SENTENCE ? text : `${chars.slice(0, IN_SENTENCE).join('')}…`;
};

const inWords = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing'));

/** What is done, in the words of the contract. */
const sentenceOf = ({ contract, args }: PreviewInput): string => {
  const template = contract.governance.preview;
  if (template === undefined) return `call ${contract.name}`;
  return parseTemplate(template)
    .map((part) => {
      if ('text' in part) return onOneLine(part.text);
      const value = readPointer(args, part.pointer);
      return value === undefined ? '(nothing)' : onOneLine(short(inWords(value)));
    })
    .join('');
};

const EMPTY = { array: '(an empty list)', object: '(nothing)', string: '(an empty text)' } as const;

const leaf = (name: string, text: string): string[] =>
  text.includes('\n') || text.length > ON_ITS_LINE
    ? [`${name}:`, ...behindBars(text)]
    : [`${name}: ${onOneLine(text)}`];

/** Each value behind its name and the names above it: `labels 2: bug`. */
function* linesOf(value: unknown, name: string): Generator<string, void, void> {
  if (typeof value === 'string') return yield* leaf(name, value === '' ? EMPTY.string : value);
  if (typeof value !== 'object' || value === null) return yield `${name}: ${String(value)}`;
  const parts = Array.isArray(value)
    ? value.map((item, at): [string, unknown] => [String(at + 1), item])
    : Object.entries(value);
  if (parts.length === 0) return yield `${name}: ${Array.isArray(value) ? EMPTY.array : EMPTY.object}`;
  for (const [key, item] of parts) yield* linesOf(item, `${name === '' ? '' : `${name} `}${onOneLine(key)}`);
}

/** Before anything is cut, so that no half of a secret is left. How a shell text runs is told of the text as it is. */
const withoutSecrets = (input: PreviewInput) => {
  const { contract, args, resource, account, files, command, hide } = input;
  const meaning = shellMeaning(contract, args);
  return {
    ...input,
    args: hide.json(args),
    files: files.map(({ path, sha256 }) => ({ path: hide.text(path), sha256 })),
    ...(resource === undefined ? {} : { resource: hide.text(resource) }),
    ...(account === undefined ? {} : { account: hide.text(account) }),
    ...(command === undefined ? {} : { command: { argv: hide.json(command.argv), cwd: hide.text(command.cwd ?? '') } }),
    ...(meaning === undefined ? {} : { meaning: hide.text(meaning) }),
  };
};

const hiddenLine = (count: number): string =>
  `hidden: ${count === 1 ? 'a secret stands' : 'secrets stand'} as [redacted:<kind>:<digits>]; what runs is what was sent`;

function* previewLines(input: PreviewInput): Generator<string, void, void> {
  const before = input.hide.count;
  const shown = withoutSecrets(input);
  const { actor, contract, args, risk, raisedBy, account, resource, files, command, meaning } = shown;
  yield `${onOneLine(actor.user)}, through the agent ${onOneLine(actor.agent)}, wants to: ${sentenceOf(shown)}`;
  yield account === undefined ? 'as: no outside account' : `as: ${onOneLine(account)}`;
  if (resource !== undefined) yield `on: ${onOneLine(resource)}`;
  yield `risk: ${risk}${raisedBy.length === 0 ? '' : `, raised by ${raisedBy.map(onOneLine).join(', ')}`}`;
  yield `tool: ${contract.name}@${contract.version}`;
  if (input.hide.count > before) yield hiddenLine(input.hide.count - before);
  if (meaning !== undefined) yield `runs: ${onOneLine(meaning)}`;
  if (command !== undefined) {
    yield `runs, in ${onOneLine(command.cwd || 'the workspace')}:`;
    for (const word of command.argv) yield* behindBars(word);
  }
  for (const { path, sha256 } of files) yield `file: ${onOneLine(path)} as it is now, ${sha256.slice(0, 16)}`;
  if (Object.keys(args).length === 0) return yield 'without arguments';
  yield 'with:';
  // Set in, so that the name of an argument cannot pass for a line of the preview.
  for (const line of linesOf(args, '')) yield `  ${line}`;
}

const CUT = '… the rest does not fit here and is not shown';

/**
 * Who, as which account, does what to what, with the whole body (PO-3). What would not be seen is written out. A
 * secret is the one thing that is hidden, behind a mark, and the preview says so (RS-5). At most `MAX_PREVIEW` characters.
 */
export const renderPreview = (input: PreviewInput): Preview => {
  const lines: string[] = [];
  const before = input.hide.count;
  let left = MAX_PREVIEW - CUT.length - 1;
  let count = 0;
  for (const line of previewLines(input)) {
    left -= line.length + 1;
    count += 1;
    if (left < 0 || count > MOST_VALUES) return { text: [...lines, CUT].join('\n'), whole: false };
    lines.push(line);
  }
  return { text: lines.join('\n'), whole: input.hide.count === before };
};
