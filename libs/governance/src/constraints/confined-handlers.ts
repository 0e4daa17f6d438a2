import type { ToolContract } from '@toolfabric/contract';

/** What a handler writes of a workspace, which its executor holds it to. */
export type ConfinedWrites =
  /** What it is shown as writable: nothing else can be written by what it starts. */
  | 'places'
  /** The repository of the workspace (`.git`), and no file of the working tree. */
  | 'repository'
  | 'nothing';

/** Of the command executor. A handler that is not named here is held to nothing. */
const OF_COMMANDS: ReadonlyMap<string, ConfinedWrites> = new Map([
  ['process.run', 'places'],
  ['test.run', 'places'],
  ['shell.run', 'places'],
  ['git.commit', 'repository'],
  ['git.branch', 'repository'],
  ['git.push', 'nothing'],
]);

/** Undefined where nobody confines it. */
export const confinedWrites = ({ adapter, handler }: ToolContract['execution']): ConfinedWrites | undefined =>
  adapter === 'cli' ? OF_COMMANDS.get(handler) : undefined;
