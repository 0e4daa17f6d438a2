import { dirname } from 'node:path';
import { FabricError } from '@toolfabric/kernel';
import type { ToolContext } from '@toolfabric/worker-runtime';
import { type ConfinedEnd, runConfined } from '../confine/run-confined.ts';
import type { Driver } from '../driver.ts';
import { needNetwork } from '../network/open-network.ts';
import type { RefusedHosts } from '../network/refused-hosts.ts';
import type { OutputListener } from '../process/run-process.ts';
import { needProgram } from '../sandbox/run-in-sandbox.ts';
import type { OpenWorkspace } from '../workspace/open-workspace.ts';
import { GIT_DIRECTORY, gitDirectory } from './git-directory.ts';
import { GIT_ENV, GIT_SETTINGS, settingArgs, WORK_TREE } from './git-settings.ts';
import { refuseGitEnd, SPARE_MS } from './run-git.ts';

/** The first version of the protocol asks for refs with GET alone, which a leave for reading allows. */
const SETTINGS = [
  ...GIT_SETTINGS.filter((setting) => setting !== 'protocol.allow=never'),
  'protocol.version=0',
  'http.followRedirects=false',
];

/** What git says of these, in words of ours: much of what it says there was written by the other side. */
const MEANINGS: readonly (readonly [RegExp, string])[] = [
  [/could not read (?:Username|Password)|Authentication failed|error: 401/i, 'the repository asks who is there'],
  [/error: 403/i, 'the repository refuses this'],
  [/repository .* not found|error: 404/i, 'there is no repository at that address'],
  [/certificate/i, 'the certificate of the host is not good'],
  [/redirect/i, 'the host sends elsewhere, which is not followed'],
  [/\[rejected\].*stale info|fetch first|non-fast-forward/i, 'the branch over there moved meanwhile'],
  [/\[remote rejected\]/i, 'the repository rejected the commit'],
];

const meaningOf = (said: string): string =>
  MEANINGS.find(([pattern]) => pattern.test(said))?.[1] ?? 'the other side did not do it, or gave no whole answer';

/** What the way out refused is why git failed. Nothing is told in the words of the other side (RS-6). */
const refuse = (end: ConfinedEnd, { list: [first] }: RefusedHosts, ctx: ToolContext): void => {
  if (first !== undefined && end.ending === 'exited' && end.code !== 0)
    throw new FabricError(
      first.reason === 'egress_unavailable' ? 'egress_unavailable' : 'egress_refused',
      `${first.reason}: ${first.host}`,
    );
  refuseGitEnd({ ...end, errors: meaningOf(end.errors) }, ctx);
};

/**
 * As `runGit`, for an http or https address that the leave of the call names. Throws `egress_refused` with the reason
 * for what the way out did not let through, `egress_unavailable` where it did not answer.
 */
export const runNetworkGit = async (
  driver: Driver,
  workspace: OpenWorkspace,
  ctx: ToolContext,
  args: readonly string[],
  onOutput: OutputListener = () => 'more',
): Promise<void> => {
  const { confinement } = driver.commands;
  const git = needProgram(confinement.programs, 'git');
  const repository = gitDirectory(workspace.root);
  const network = await needNetwork(ctx, dirname(confinement.etc));
  try {
    const end = await runConfined(confinement, {
      command: [git, '--no-pager', ...settingArgs(SETTINGS), ...args],
      env: { ...GIT_ENV, GIT_DIR: GIT_DIRECTORY, GIT_ALLOW_PROTOCOL: 'http:https', ...network.env },
      binds: [
        { source: confinement.etc, target: '/etc', writable: false },
        { source: workspace.root.path, target: WORK_TREE, writable: false },
        ...repository.binds,
        ...network.binds,
      ],
      arrange: repository.arrange,
      cwd: WORK_TREE,
      user: workspace.record.child,
      timeMs: Math.max(1_000, ctx.limits.timeoutMs - SPARE_MS),
      signal: ctx.signal,
      onOutput,
      helper: network.helper,
    });
    refuse(end, network.refused, ctx);
  } finally {
    network.close();
  }
};
