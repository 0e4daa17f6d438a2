import type { OptionRule } from './option-spec.ts';

/** An argument that was refused, with the reason. */
export interface Refusal {
  readonly argument: string;
  readonly why: string;
  /** What may stand there instead, where no table of options says it. */
  readonly allowed?: readonly string[];
}

/**
 * How a program reads its arguments: `gnu` takes options among its operands, abbreviated and in clusters; `first` takes
 * options before its first operand only, and what follows belongs to what it runs; `go` writes every option with one
 * dash.
 */
export type Style = 'gnu' | 'first' | 'go';

/** What a program may be asked. Whatever is not in its table is refused. */
export interface ProgramRule {
  readonly style: Style;
  readonly options: ReadonlyMap<string, OptionRule>;
  /** Refuses values of options, by the name of the option. */
  readonly values?: Readonly<Record<string, (value: string) => boolean>>;
  /** Refuses operands. */
  readonly operands?: (operands: readonly string[]) => Refusal | undefined;
  /** Put in front of everything else. */
  readonly fixed?: readonly string[];
  /** `-5` means this option with 5. */
  readonly digits?: string;
  /** What follows `--` goes to what the program runs, as it is. */
  readonly passesOn?: boolean;
  /** The program takes no `--`. */
  readonly noSeparator?: boolean;
  readonly subcommands?: Readonly<Record<string, ProgramRule>>;
  readonly env?: Readonly<Record<string, string>>;
}
