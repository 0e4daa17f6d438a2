import { parseArgs } from 'node:util';
import { UsageError } from './usage-error.ts';

/** One flag of a verb, with what the help says about it. */
export interface Flag {
  readonly type: 'string' | 'boolean';
  readonly multiple?: boolean;
  /** What the value is, such as `DIR`. */
  readonly value?: string;
  readonly help: string;
}
export type Flags = Readonly<Record<string, Flag>>;

/** A command line after it was parsed against the flags of its verb. */
export class Arguments {
  readonly positionals: readonly string[];
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(positionals: readonly string[], values: Readonly<Record<string, unknown>>) {
    this.positionals = positionals;
    this.#values = values;
  }

  text(flag: string): string | undefined {
    const value = this.#values[flag];
    return typeof value === 'string' ? value : undefined;
  }

  on(flag: string): boolean {
    return this.#values[flag] === true;
  }

  list(flag: string): string[] {
    const value = this.#values[flag];
    return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
  }

  /** Throws `UsageError` for anything but digits within the bounds. */
  integer(flag: string, least: number, most: number): number | undefined {
    const text = this.text(flag);
    if (text === undefined) return undefined;
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= least && value <= most)) {
      throw new UsageError(`--${flag} ${text}: give a whole number from ${least} to ${most}`);
    }
    return value;
  }
}

/** Throws `UsageError` for an unknown flag, a missing value, or too few or many positionals. */
export const parseArguments = (argv: readonly string[], flags: Flags, least: number, most: number): Arguments => {
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, { type, multiple = false }]) => [name, { type, multiple }]),
  );
  try {
    const { positionals, values } = parseArgs({ args: [...argv], options, allowPositionals: true, strict: true });
    if (positionals.length < least) throw new UsageError('an argument is missing');
    // Not repeated: it may be a secret that was to come from standard input.
    if (positionals.length > most) throw new UsageError(`argument ${most + 1} is one too many`);
    return new Arguments(positionals, values);
  } catch (thrown) {
    if (thrown instanceof UsageError || !(thrown instanceof Error)) throw thrown;
    throw new UsageError(thrown.message);
  }
};
