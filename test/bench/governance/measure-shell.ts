import { analyseShell } from '@toolfabric/shell-analysis';
import { CORPUS } from '../../shell-fuzz/corpus.ts';
import { compare, texts } from '../../shell-fuzz/fuzz.ts';
import { spreadOf } from '../call-path/statistics.ts';

export interface ShellNumbers {
  /** Microseconds a text of the corpus. */
  readonly p50: number;
  readonly p99: number;
  readonly strings: number;
  /** Of these, what runs without a shell: each was carried out by bash too. */
  readonly run: number;
  readonly unsound: number;
}

const TIMES = 40;
const SEED = 20_240_611;

export const measureShell = async (strings: number): Promise<ShellNumbers> => {
  const samples = Array.from({ length: TIMES }, () => CORPUS)
    .flat()
    .map((text) => {
      const began = performance.now();
      analyseShell(text);
      return (performance.now() - began) * 1_000;
    });
  const { p50, p99 } = spreadOf(samples.slice(CORPUS.length));
  const fuzzed = await compare(texts(SEED, strings));
  return { p50, p99, strings: fuzzed.strings, run: fuzzed.run, unsound: fuzzed.unsound.length };
};
