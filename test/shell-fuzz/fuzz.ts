import { analyseShell, KNOWN_PROGRAMS } from '@toolfabric/shell-analysis';
import { generate } from './generate.ts';
import { Oracle, type Trial } from './oracle.ts';
import { Random } from './random.ts';

export interface FuzzResult {
  /** Different texts that were analysed. */
  readonly strings: number;
  /** Of these, what runs without a shell: each was carried out by bash and by the runner. */
  readonly run: number;
  readonly ask: number;
  readonly deny: number;
  /** Texts for which bash did something else than was analysed. */
  readonly unsound: readonly string[];
}

/** Programs that race for a file or a pipe end one way or the other: the same way once is enough. */
const TRIES = 8;
const BATCH = 400;

/** Every option is let through, so that only the reading of the text decides. */
const analyse = (text: string) => analyseShell(text, { check: (_name, args) => ({ args }) });

const unsoundOf = async (oracle: Oracle, trials: readonly Trial[]): Promise<string[]> => {
  let left = trials;
  for (let time = 0; time < TRIES && left.length > 0; time += 1) {
    const agreed = await oracle.agree(left);
    left = left.filter((_, at) => !agreed[at]);
  }
  return left.map(({ text }) => text);
};

/** Analyses texts, and compares what bash does with each that runs without a shell. */
export const compare = async (texts: Iterable<string>): Promise<FuzzResult> => {
  const oracle = new Oracle(KNOWN_PROGRAMS);
  const counted = { strings: 0, run: 0, ask: 0, deny: 0 };
  const unsound: string[] = [];
  let batch: Trial[] = [];
  const flush = async (): Promise<void> => {
    unsound.push(...(await unsoundOf(oracle, batch)));
    batch = [];
  };
  try {
    for (const text of texts) {
      const said = analyse(text);
      counted.strings += 1;
      counted[said.verdict] += 1;
      if (said.verdict === 'run') batch.push({ text, pipelines: said.pipelines });
      if (batch.length === BATCH) await flush();
    }
    await flush();
    return { ...counted, unsound };
  } finally {
    oracle.close();
  }
};

/** So many different texts out of one seed. */
export function* texts(seed: number, strings: number): Generator<string> {
  const random = new Random(seed);
  const known = new Set<string>();
  while (known.size < strings) {
    const text = generate(random);
    if (known.has(text)) continue;
    known.add(text);
    yield text;
  }
}
