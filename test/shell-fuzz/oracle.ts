import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { PLAN_RUNNER, planWords, type ShellPipeline } from '@toolfabric/shell-analysis';

/** In the place of every program: notes its name, arguments, input and variables, and says something on both outputs. */
const RECORDER = `#!/bin/sh
trap '' PIPE
input=
while IFS= read -r line; do input="$input$line
"; done
printf '%s\\0' "\${0##*/}" "$#" "$@" "$input$line" "\${CI-unset}" "\${NODE_ENV-unset}" "\${LANG-unset}" "\${TZ-unset}" \\
  "\${NO_COLOR-unset}" end >>"$RECORD"
echo "out of \${0##*/} $#" 2>/dev/null
echo "errors of \${0##*/} $#" >&2
[ "\${0##*/}" != false ]
`;

/** Carries out every text twice: bash what it reads, and the runner what was analysed. */
const DRIVER = `
cd /work
for case in *; do
  cd "/work/$case/bash"
  IFS= read -r -d '' text <../text
  RECORD=/work/$case/bash.record BASH_ENV=/oracle/env bash --noprofile --norc -c "$text" </oracle/input >../bash.out 2>../bash.errors
  echo "$?" >../bash.code
  cd "/work/$case/plan"
  mapfile -d '' words <../words
  RECORD=/work/$case/plan.record sh -c "$RUNNER" plan "\${words[@]}" </oracle/input >../plan.out 2>../plan.errors
  echo "$?" >../plan.code
done
`;

export interface Trial {
  readonly text: string;
  readonly pipelines: readonly ShellPipeline[];
}

const SIDES = ['bash', 'plan'] as const;
type Side = (typeof SIDES)[number];

const read = (file: string): string => (existsSync(file) ? readFileSync(file, 'latin1') : '');

/** What the shells themselves say differs; what the programs say does not. */
const said = (text: string): string[] =>
  text
    .split('\n')
    .filter((line) => /^(out|errors) of/.test(line))
    .sort();

/** What a shell says itself when a file cannot be opened. */
const COMPLAINT = /(bash: line|plan:) \d+: [^\n\0]*/g;

/** Where a shell has written a complaint of its own into a file, only what programs said there can be compared. */
const contentOf = (file: string): unknown => {
  const content = read(file);
  return content.search(COMPLAINT) !== -1 ? said(content) : content;
};

const treeOf = (directory: string): unknown =>
  readdirSync(directory, { withFileTypes: true })
    .sort((one, other) => (one.name < other.name ? -1 : 1))
    .map((entry) => {
      const path = join(directory, entry.name);
      return [entry.name, entry.isDirectory() ? treeOf(path) : contentOf(path)];
    });

/** Two programs that run at once touch one file, and one of them writes it: what is in it afterwards is chance. */
const isRace = ({ commands }: ShellPipeline): boolean => {
  const used = commands.map(({ redirects }) => redirects.flatMap((to) => (to.mode === 'same' ? [] : [to])));
  const pathOf = (path: string) => posix.normalize(path);
  return used.some((own, at) =>
    own.some(
      ({ path, mode }) =>
        mode !== 'read' &&
        used.some((others, other) => other !== at && others.some((to) => pathOf(to.path) === pathOf(path))),
    ),
  );
};

/** Name, arguments, input and variables of each program that ran; those of one pipeline come in no order. */
const recordsOf = (directory: string, side: Side, withInput: boolean): string[] =>
  read(join(directory, `${side}.record`))
    .replaceAll(COMPLAINT, '')
    .split('\0end\0')
    .map((record) => {
      const fields = record.split('\0');
      return fields.filter((_, at) => withInput || at !== 2 + Number(fields[1])).join('\0');
    })
    .sort();

const seen = (directory: string, side: Side, race: boolean): string => {
  const code = read(join(directory, `${side}.code`)).trim();
  const records = recordsOf(directory, side, !race);
  if (race) return JSON.stringify([records, code, readdirSync(join(directory, side)).sort()]);
  const output = [said(read(join(directory, `${side}.out`))), said(read(join(directory, `${side}.errors`)))];
  return JSON.stringify([records, code, output, treeOf(join(directory, side))]);
};

const prepare = (directory: string, { text, pipelines }: Trial): void => {
  for (const side of SIDES) {
    mkdirSync(join(directory, side, 'd'), { recursive: true });
    for (const name of ['a', 'b', 'c d']) writeFileSync(join(directory, side, name), `content of ${name}\n`);
  }
  const words = planWords(pipelines, ({ argv: [name, ...args] }) => ({
    words: [`/oracle/bin/${name}`, ...args],
    env: {},
  }));
  writeFileSync(join(directory, 'text'), `${text}\0`);
  writeFileSync(join(directory, 'words'), words.map((word) => `${word}\0`).join(''));
};

const sandbox = (work: string, oracle: string): string[] => [
  ...['--unshare-all', '--die-with-parent', '--new-session', '--clearenv', '--proc', '/proc', '--dev', '/dev'],
  ...['/usr', '/bin', '/lib', '/lib64'].flatMap((directory) => ['--ro-bind-try', directory, directory]),
  ...['--tmpfs', '/tmp', '--bind', work, '/work', '--ro-bind', oracle, '/oracle'],
];

/** Real bash beside the runner, in a sandbox whose only programs are recorders. */
export class Oracle {
  readonly #home = mkdtempSync(join(tmpdir(), 'shell-oracle-'));

  constructor(programs: readonly string[]) {
    const bin = join(this.#home, 'oracle', 'bin');
    mkdirSync(bin, { recursive: true });
    for (const name of programs) {
      writeFileSync(join(bin, name), RECORDER);
      chmodSync(join(bin, name), 0o755);
    }
    writeFileSync(join(this.#home, 'oracle', 'input'), 'the input\n');
    // Programs of these names are what runs without a shell too.
    writeFileSync(join(this.#home, 'oracle', 'env'), 'enable -n echo true false pwd\nunset BASH_ENV\n');
  }

  /** Of each trial, whether both sides did the same. */
  async agree(trials: readonly Trial[]): Promise<boolean[]> {
    const work = join(this.#home, 'work');
    mkdirSync(work);
    for (const [at, trial] of trials.entries()) prepare(join(work, String(at)), trial);
    await this.#run(work);
    const agreed = trials.map(({ pipelines }, at) => {
      const directory = join(work, String(at));
      const race = pipelines.some(isRace);
      if (!existsSync(join(directory, 'plan.code'))) return false;
      return seen(directory, 'bash', race) === seen(directory, 'plan', race);
    });
    rmSync(work, { recursive: true });
    return agreed;
  }

  #run(work: string): Promise<void> {
    const oracle = join(this.#home, 'oracle');
    const settings = { PATH: '/oracle/bin', LC_ALL: 'C.UTF-8', RUNNER: PLAN_RUNNER };
    const variables = Object.entries(settings).flatMap(([name, value]) => ['--setenv', name, value]);
    const command = [
      '/bin/bash',
      '--noprofile',
      '--norc',
      '-c',
      `hash -p /bin/bash bash; hash -p /bin/sh sh; ${DRIVER}`,
    ];
    const child = spawn('bwrap', [...sandbox(work, oracle), ...variables, '--', ...command], {
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: 120_000,
    });
    let errors = '';
    child.stderr.on('data', (chunk: Buffer) => {
      errors = (errors + chunk).slice(0, 2_000);
    });
    return new Promise((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code) =>
        code === 0 ? resolve() : reject(new Error(`the oracle ended with ${code}: ${errors}`)),
      );
    });
  }

  close(): void {
    rmSync(this.#home, { recursive: true, force: true });
  }
}
