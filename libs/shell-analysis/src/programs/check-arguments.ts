import type { OptionRule } from './option-spec.ts';
import type { ProgramRule, Refusal } from './program-rule.ts';

/** The arguments as they are passed on: every option by its full name, operands where none can be taken for one. */
export type Checked = { readonly args: readonly string[] } | { readonly refused: Refusal };

class Refused extends Error {
  readonly refusal: Refusal;

  constructor(argument: string, why: string) {
    super(why);
    this.refusal = { argument, why };
  }
}

const NOT_IN_TABLE = 'it is not among the options that are allowed for this program';

/** Exact, or the only option that begins so: what is passed on is the full name, so the program cannot read another. */
const longRule = (rule: ProgramRule, name: string, shown: string): OptionRule => {
  const exact = rule.options.get(name);
  if (exact !== undefined) return exact;
  const long = [...rule.options].filter(([known]) => known.startsWith('--') && known.startsWith(name));
  const found = new Set(long.map(([, option]) => option));
  const [only] = found;
  if (name.length > 2 && found.size === 1 && only !== undefined && rule.style === 'gnu') return only;
  throw new Refused(shown, found.size > 1 ? 'it is an abbreviation of more than one option' : NOT_IN_TABLE);
};

/** Reads the arguments of one program from left to right. */
class Reader {
  readonly options: string[] = [];
  readonly operands: string[] = [];
  readonly passed: string[] = [];
  readonly #rule: ProgramRule;
  readonly #left: string[];

  constructor(rule: ProgramRule, args: readonly string[]) {
    this.#rule = rule;
    this.#left = [...args];
  }

  read(): void {
    for (let next = this.#left.shift(); next !== undefined; next = this.#left.shift()) {
      if (next === '--') return this.#rest();
      if (next === '-' || !next.startsWith('-')) {
        this.operands.push(next);
        if (this.#rule.style === 'first') return this.#afterOperand();
      } else if (this.#rule.style === 'go') this.#goOption(next);
      else if (next.startsWith('--')) this.#longOption(next);
      else this.#cluster(next);
    }
  }

  #rest(): void {
    const rest = this.#left.splice(0);
    if (this.#rule.passesOn) this.passed.push(...rest);
    else this.operands.push(...rest);
  }

  #afterOperand(): void {
    this.passed.push(...this.#left.splice(0));
  }

  #give(option: OptionRule, value: string | undefined, shown: string): void {
    const isFine = this.#rule.values?.[option.name];
    if (value !== undefined && isFine?.(value) === false)
      throw new Refused(shown, `its value ${JSON.stringify(value)} is not allowed`);
    if (value === undefined) this.options.push(option.name);
    else if (option.name.startsWith('--') || this.#rule.style === 'go') this.options.push(`${option.name}=${value}`);
    // Attached, so that a value with a dash in front cannot be taken for an option.
    else if (value !== '') this.options.push(option.name + value);
    else this.options.push(option.name, value);
  }

  #valueOf(option: OptionRule, attached: string | undefined, shown: string): string | undefined {
    if (option.takes === 'none' && attached !== undefined) throw new Refused(shown, 'it takes no value');
    if (option.takes !== 'value' || attached !== undefined) return attached;
    const value = this.#left.shift();
    if (value === undefined) throw new Refused(shown, 'its value is missing');
    return value;
  }

  #longOption(argument: string): void {
    const equals = argument.indexOf('=');
    const name = equals === -1 ? argument : argument.slice(0, equals);
    const option = longRule(this.#rule, name, name);
    this.#give(option, this.#valueOf(option, equals === -1 ? undefined : argument.slice(equals + 1), name), name);
  }

  #goOption(argument: string): void {
    const [, name = '', , value] = /^--?([^=]+)(=(.*))?$/s.exec(argument) ?? [];
    const option = this.#rule.options.get(`-${name}`);
    if (option === undefined) throw new Refused(argument, NOT_IN_TABLE);
    this.#give(option, this.#valueOf(option, value, `-${name}`), `-${name}`);
  }

  #cluster(argument: string): void {
    if (this.#rule.digits !== undefined && /^-\d+$/.test(argument)) {
      this.options.push(`${this.#rule.digits}=${argument.slice(1)}`);
      return;
    }
    const whole = this.#rule.options.get(argument);
    if (whole !== undefined) return this.#give(whole, this.#valueOf(whole, undefined, argument), argument);
    for (let at = 1; at < argument.length; at += 1) {
      const shown = `-${argument[at]}`;
      const option = this.#rule.options.get(shown);
      if (option === undefined) throw new Refused(shown, NOT_IN_TABLE);
      if (option.takes === 'none') this.#give(option, undefined, shown);
      else {
        const rest = argument.slice(at + 1);
        return this.#give(option, this.#valueOf(option, rest === '' ? undefined : rest, shown), shown);
      }
    }
  }
}

/** Where nothing stands between options and operands, an operand must not look like an option. */
const assemble = ({ fixed = [], noSeparator, passesOn, style }: ProgramRule, reader: Reader): string[] => {
  const { options, operands, passed } = reader;
  const all = [...fixed, ...options];
  if (style === 'gnu' && !noSeparator && !passesOn) return operands.length === 0 ? all : [...all, '--', ...operands];
  const like = operands.find((operand) => operand.startsWith('-') && operand !== '-');
  if (like !== undefined) throw new Refused(like, 'after -- too it would be taken for an option');
  return [...all, ...operands, ...(passesOn && passed.length > 0 ? ['--'] : []), ...passed];
};

/** Checks the arguments of a program, its name not among them, against its table. */
export const checkArguments = (rule: ProgramRule, args: readonly string[]): Checked => {
  const { subcommands } = rule;
  if (subcommands !== undefined) {
    const [name = '', ...rest] = args;
    const below = Object.hasOwn(subcommands, name) ? subcommands[name] : undefined;
    if (below === undefined) {
      const known = Object.keys(subcommands).join(', ');
      return { refused: { argument: name, why: `it comes first, and is one of: ${known}` } };
    }
    const checked = checkArguments(below, rest);
    return 'refused' in checked ? checked : { args: [name, ...checked.args] };
  }
  const reader = new Reader(rule, args);
  try {
    reader.read();
    const wrong = rule.operands?.(reader.operands);
    return wrong === undefined ? { args: assemble(rule, reader) } : { refused: wrong };
  } catch (thrown) {
    if (thrown instanceof Refused) return { refused: thrown.refusal };
    throw thrown;
  }
};
