/** The descriptors that a confined command is started with; none of them reaches the program. */
export const DESCRIPTORS = { gate: 3, info: 4, block: 5, seccomp: 6, lock: 7, channel: 8 } as const;

const { gate, lock, channel } = DESCRIPTORS;

/** What the gate says, a line each. */
export const WORDS = { up: 'up', locked: 'locked', busy: 'busy', helped: 'helped', begun: 'begun' } as const;

/** What the gate is told: a line with one of these, and for the first two a line of text. */
const TELL = {
  text: '=',
  newline: '+',
  word: 'w',
  variable: 'e',
  directory: 'd',
  lock: 'l',
  help: 'h',
  begin: 'g',
} as const;

/** Exit code that `flock` is told to use when somebody else has the lock. */
const TAKEN = 75;
/** Exit code of a gate that began nothing. */
const NOTHING = 125;

/**
 * What stands between the sandbox and the program: waits for the word of the worker, so that nothing runs which the
 * worker does not know of and has not put under its limits, says that it begins, and starts the program. A worker that
 * dies before its word closes the descriptor, and the gate ends. It is process 1 of the name space: it takes in what
 * the program leaves behind, holds the lock of the run, and everything dies with it.
 *
 * This text is constant. The command comes over the descriptor as lines of data that the shell only ever holds in a
 * variable: it parses none of it. What the shell says itself never reaches the output of the program.
 */
export const GATE = [
  'ulimit -c 0',
  'unset NODE_CHANNEL_FD NODE_CHANNEL_SERIALIZATION_MODE',
  'ulimit -f "$1"',
  'set --',
  "_n='",
  "'",
  '_t=',
  `echo ${WORDS.up} >&${gate}`,
  `while IFS= read -r _k <&${gate}; do`,
  'case $_k in',
  `'${TELL.text}') IFS= read -r _t <&${gate} || exit ${NOTHING} ;;`,
  `'${TELL.newline}') IFS= read -r _m <&${gate} || exit ${NOTHING}; _t=$_t$_n$_m ;;`,
  `${TELL.word}) set -- "$@" "$_t" ;;`,
  `${TELL.variable}) export "$_t" ;;`,
  `${TELL.directory}) cd -P -- "$_t" || exit ${NOTHING}; unset OLDPWD ;;`,
  `${TELL.lock}) "$_t" -x -n -E ${TAKEN} ${lock} ${gate}<&-`,
  'case $? in',
  `0) echo ${WORDS.locked} >&${gate} ;;`,
  `${TAKEN}) echo ${WORDS.busy} >&${gate}; exit ${NOTHING} ;;`,
  `*) exit ${NOTHING} ;;`,
  'esac ;;',
  `${TELL.help}) NODE_CHANNEL_FD=${channel} "$@" 3<&- 4<&- 5<&- 6<&- ${lock}<&- </dev/null >/dev/null 2>&1 || exit ${NOTHING}`,
  `exec ${channel}<&-`,
  'set --',
  `echo ${WORDS.helped} >&${gate} ;;`,
  `${TELL.begin})`,
  `echo ${WORDS.begun} >&${gate}`,
  `exec 3<&- 4<&- 5<&- 6<&- ${channel}<&- 9>&2 2>/dev/null`,
  `"$@" 2>&9 9>&- ${lock}<&-`,
  'exit "$?" ;;',
  `*) exit ${NOTHING} ;;`,
  'esac',
  'done',
  `exit ${NOTHING}`,
].join('\n');

/** A program with its arguments, its variables and its directory, as a gate is told of them. */
export interface GateCommand {
  /** No word holds a zero byte. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Absolute. */
  readonly cwd: string;
}

const text = (value: string): string[] => {
  // A shell drops it, and would hold another word.
  if (value.includes('\0')) throw new TypeError('a word of a command holds a zero byte');
  return value.split('\n').flatMap((line, index) => [index === 0 ? TELL.text : TELL.newline, line]);
};

const lines = (all: readonly string[]): string => `${all.join('\n')}\n`;

/** Whatever the words hold, the gate ends up with exactly them. `encoding` says what bytes the strings stand for. */
export const tellCommand = ({ command, env, cwd }: GateCommand, encoding: 'utf8' | 'latin1' = 'utf8'): Buffer =>
  Buffer.from(
    lines([
      ...Object.entries(env).flatMap(([name, value]) => [...text(`${name}=${value}`), TELL.variable]),
      ...text(cwd),
      TELL.directory,
      ...command.flatMap((word) => [...text(word), TELL.word]),
    ]),
    encoding,
  );

/** To take the lock that it was given, with the program `flock`. */
export const tellLock = (flock: string): string => lines([...text(flock), TELL.lock]);

/** To run a program of the worker inside, before anything of the call, with the channel to the worker. */
export const tellHelp = (command: readonly string[]): Buffer =>
  Buffer.from(lines([...command.flatMap((word) => [...text(word), TELL.word]), TELL.help]));

export const tellBegin = (): string => lines([TELL.begin]);
