import type { AndOr, Assignment, Command, ParsedScript, Pipeline, Redirection, Statement, Word } from 'unbash';
import type { ShellCommand, ShellPipeline, ShellRedirect } from './analysis.ts';
import { type Gap, Layout } from './layout.ts';
import { readRedirect } from './read-redirect.ts';
import { staticWord } from './static-word.ts';
import { Asked } from './verdicts.ts';

/** A command whose program and paths nobody has looked at yet. */
export type PlainCommand = Omit<ShellCommand, 'args'>;
export interface PlainPipeline extends Omit<ShellPipeline, 'commands'> {
  readonly commands: readonly [PlainCommand, ...PlainCommand[]];
}

const WHY: Readonly<Record<string, string>> = {
  Redirected: 'a compound command is redirected',
  Function: 'a function is made',
  Coproc: 'a command runs beside the others',
  Negation: 'the end of a pipeline is turned round',
  Time: 'the shell itself measures time',
  Assignment: 'a variable of the shell is set',
};

const ask = (node: string): never => {
  throw new Asked(node, WHY[node] ?? 'only a shell can give it a meaning');
};

const plainAssignment = ({ name, value, append, index, text }: Assignment): [string, string] => {
  if (value.type !== 'Word' || append === true || index !== undefined || !text.startsWith(`${name}=`))
    ask('Assignment');
  return [name, staticWord(value as Word)];
};

const gapBefore = (part: Word | Assignment | Redirection): Gap =>
  part.type === 'Word' || part.type === 'Assignment' || part.descriptor !== undefined ? 'word' : 'redirect';

/** Reads an allowed part of the tree after the other, and follows them in the text. */
class Reader {
  readonly #source: string;
  readonly #layout: Layout;

  constructor(source: string) {
    this.#source = source;
    this.#layout = new Layout(source);
  }

  script({ commands }: ParsedScript): PlainPipeline[] {
    const read = commands.flatMap((statement, at) => this.#statement(statement, at === 0 ? 'leading' : 'statement'));
    this.#layout.end();
    return read;
  }

  #statement({ command, background }: Statement, gap: Gap): PlainPipeline[] {
    if (background === true) throw new Asked('Background', 'a command goes on in the background');
    if (command.type === 'AndOr') return this.#list(command, gap);
    return [{ when: 'always', commands: this.#pipeline(command, gap) }];
  }

  #list({ commands, operators }: AndOr, gap: Gap): PlainPipeline[] {
    return commands.map((command, at) => {
      const operator = at === 0 ? undefined : (operators[at - 1] ?? ask('AndOr'));
      const when = operator === undefined ? 'always' : operator === '&&' ? 'after_success' : 'after_failure';
      return { when, commands: this.#pipeline(command, operator ?? gap) };
    });
  }

  #pipeline(node: AndOr['commands'][number], gap: Gap): PlainPipeline['commands'] {
    if (node.type !== 'Pipeline') return [this.#command(node, gap)];
    const { commands, operators, prefixes } = node as Pipeline;
    const [prefix] = prefixes;
    if (prefix !== undefined) ask(prefix.type);
    const read = commands.map((command, at) => {
      const plain = this.#command(command, at === 0 ? gap : (operators[at - 1] ?? ask('Pipeline')));
      const both: ShellRedirect = { fd: 2, mode: 'same', as: 1 };
      return operators[at] === '|&' ? { ...plain, redirects: [...plain.redirects, both] } : plain;
    });
    const [first, ...rest] = read;
    return first === undefined ? ask('Pipeline') : [first, ...rest];
  }

  #command(node: Pipeline['commands'][number], gap: Gap): PlainCommand {
    if (node.type !== 'Command') return ask(node.type);
    return this.#simple(node, gap);
  }

  #simple({ name, prefix, suffix }: Command, gap: Gap): PlainCommand {
    const env: Record<string, string> = {};
    const redirects: ShellRedirect[] = [];
    const args: string[] = [];
    let first: Gap | undefined = gap;
    const follow = (part: Word | Assignment | Redirection): void => {
      this.#layout.step(first ?? gapBefore(part), part);
      first = undefined;
    };
    for (const part of prefix) {
      follow(part);
      if (part.type === 'Assignment') {
        const [variable, value] = plainAssignment(part);
        if (Object.hasOwn(env, variable)) ask('Assignment');
        env[variable] = value;
      } else redirects.push(...readRedirect(this.#source, part));
    }
    if (name === undefined) return ask(Object.keys(env).length > 0 ? 'Assignment' : 'Redirect');
    follow(name);
    const program = staticWord(name);
    for (const part of suffix) {
      follow(part);
      if (part.type === 'Word') args.push(staticWord(part));
      else if (part.type === 'Assignment') ask('Assignment');
      else redirects.push(...readRedirect(this.#source, part));
    }
    return { argv: [program, ...args], env, redirects };
  }
}

/** The pipelines of a script that holds nothing but plain commands. Throws `Asked` for the first thing that is not. */
export const readScript = (source: string, script: ParsedScript): PlainPipeline[] => new Reader(source).script(script);
