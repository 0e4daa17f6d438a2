import type { ShellCommand, ShellPipeline, ShellRedirect } from './analysis.ts';

/** How a checked command is started: an absolute program with its arguments, and variables beside those of the text. */
export interface StartedCommand {
  readonly words: readonly [program: string, ...args: string[]];
  readonly env: Readonly<Record<string, string>>;
}

const MODES = { read: '<', write: '>', append: '+' } as const;

const redirectWords = (redirect: ShellRedirect): string[] =>
  redirect.mode === 'same'
    ? [`${redirect.fd}=`, String(redirect.as)]
    : [`${redirect.fd}${MODES[redirect.mode]}`, redirect.path.startsWith('/') ? redirect.path : `./${redirect.path}`];

const environmentWords = (env: Readonly<Record<string, string>>): string[] =>
  Object.entries(env).flatMap(([name, value]) => ['env', `${name}=${value}`]);

const counted = (words: readonly string[]): string[] => [String(words.length), ...words];

const commandWords = (command: ShellCommand, { words, env }: StartedCommand): string[] =>
  counted([
    ...environmentWords({ ...env, ...command.env }),
    ...command.redirects.flatMap(redirectWords),
    'run',
    ...words,
  ]);

/** The arguments of `PLAN_RUNNER` for a plan. */
export const planWords = (
  pipelines: readonly ShellPipeline[],
  start: (command: ShellCommand) => StartedCommand,
): string[] =>
  pipelines.flatMap(({ when, commands }) => {
    const stages = commands.flatMap((command) => commandWords(command, start(command)));
    return [when, ...counted([String(commands.length), ...stages])];
  });

/**
 * A constant text for a POSIX shell that carries out a plan of `planWords`, given as its arguments: opens files, joins
 * pipes, starts programs, one pipeline after the other. No word of the plan is ever read as shell text: what it
 * evaluates is made of numbers alone. Its code is that of the last program that ran; a file that cannot be opened gives
 * 1, as in bash.
 */
export const PLAN_RUNNER = `
stage() {
  trap 'exit 1' EXIT
  while :; do
    case "$1" in
      env) export "$2" ;;
      '0<') exec 0<"$2" ;;
      '1<') exec 1<"$2" ;;
      '2<') exec 2<"$2" ;;
      '0>') exec 0>"$2" ;;
      '1>') exec 1>"$2" ;;
      '2>') exec 2>"$2" ;;
      '0+') exec 0>>"$2" ;;
      '1+') exec 1>>"$2" ;;
      '2+') exec 2>>"$2" ;;
      '0=') [ "$2" = 0 ] || exec 0<&"$2" ;;
      '1=') [ "$2" = 1 ] || exec 1>&"$2" ;;
      '2=') [ "$2" = 2 ] || exec 2>&"$2" ;;
      run) break ;;
      *) exit 1 ;;
    esac
    shift 2
  done
  shift
  trap - EXIT
  exec "$@"
}
pick() {
  picked= at=$1
  while [ "$at" -le "$2" ]; do
    picked="$picked \\"\\\${$at}\\""
    at=$((at + 1))
  done
}
pipeline() {
  stages=$1 words=$2
  shift 2
  if [ "$stages" -eq 1 ]; then
    (stage "$@")
    return
  fi
  pick 1 "$words"
  first=$picked
  pick $((words + 1)) $#
  eval "(stage $first) | pipeline $((stages - 1)) $picked"
}
code=0
while [ $# -gt 0 ]; do
  when=$1 length=$2
  shift 2
  wanted=yes
  if [ "$when" = after_success ] && [ "$code" -ne 0 ]; then wanted=no; fi
  if [ "$when" = after_failure ] && [ "$code" -eq 0 ]; then wanted=no; fi
  if [ "$wanted" = yes ]; then
    pick 1 "$length"
    eval "pipeline $picked"
    code=$?
  fi
  shift "$length"
done
exit "$code"
`;
