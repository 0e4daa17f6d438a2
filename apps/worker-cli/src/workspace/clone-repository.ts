import { fileURLToPath } from 'node:url';
import { FabricError } from '@toolfabric/kernel';
import type { Redactor } from '@toolfabric/worker-runtime';
import type { Confinement } from '../confine/confinement.ts';
import { type ConfinedEnd, type ConfinedRequest, runConfined } from '../confine/run-confined.ts';
import type { User } from '../process/run-process.ts';
import { needProgram } from '../sandbox/run-in-sandbox.ts';
import { isStill } from './open-root.ts';
import { showPath } from './path-parts.ts';

export interface CloneRequest {
  readonly confinement: Confinement;
  /** Real path of the repository on the host. */
  readonly source: string;
  /** Of the directory that was checked; a clone of another one is thrown away. */
  readonly identity: string;
  /** Empty directory that belongs to `user`. */
  readonly target: string;
  readonly user: User | undefined;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly redactor: Redactor;
}

const CONFIG = { source: fileURLToPath(new URL('./clone.gitconfig', import.meta.url)), target: '/tmp/gitconfig' };

/** Only the variables that git may see; a lazy fetch would start a program that the source names. */
const ENV = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: CONFIG.target,
  GIT_ALLOW_PROTOCOL: 'file',
  GIT_NO_LAZY_FETCH: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_AUTHOR_NAME: 'toolfabric',
  GIT_AUTHOR_EMAIL: 'toolfabric@localhost',
  GIT_COMMITTER_NAME: 'toolfabric',
  GIT_COMMITTER_EMAIL: 'toolfabric@localhost',
};

/** The command line wins over what the source's own configuration says. */
const OVERRIDES = ['core.hooksPath=/dev/null', 'core.fsmonitor=false', 'core.attributesFile=/dev/null'];

const LIMITS = { memoryBytes: 4 * 1024 ** 3, fileBytes: 8 * 1024 ** 3 };

const requestFor = (request: CloneRequest, args: readonly string[], withSource: boolean): ConfinedRequest => ({
  command: [
    needProgram(request.confinement.programs, 'git'),
    ...OVERRIDES.flatMap((setting) => ['-c', setting]),
    ...args,
  ],
  binds: [
    { source: request.confinement.etc, target: '/etc', writable: false },
    { ...CONFIG, writable: false },
    { source: request.target, target: '/clone', writable: true },
    ...(withSource ? [{ source: request.source, target: '/source', writable: false }] : []),
  ],
  cwd: '/clone',
  limits: LIMITS,
  env: ENV,
  user: request.user,
  timeMs: request.timeoutMs,
  signal: request.signal,
  onOutput: () => 'more',
});

/** Throws for every end but a good one; what git said is redacted before it is cut. */
export const refuseCloneEnd = (
  end: Pick<ConfinedEnd, 'ending' | 'code' | 'errors' | 'limits'>,
  { source, redactor }: Pick<CloneRequest, 'source' | 'redactor'>,
): void => {
  if (end.ending === 'exited' && end.code === 0) return;
  if (end.ending === 'aborted') throw new FabricError('cancelled', 'the clone was stopped');
  if (end.limits.has('wall_time')) throw new FabricError('tool_failed', 'the clone took longer than its time limit');
  const [limit] = end.limits.keys();
  if (limit !== undefined) throw new FabricError('limit_reached', `the clone was ended by its limit: ${limit}`);
  throw new FabricError(
    'workspace_refused',
    `${showPath(source)} cannot be cloned: ${lastLine(redactor.text(end.errors))}`,
    {
      hint: 'Give the path of a whole git repository whose files the worker may read, without links to the outside.',
    },
  );
};

const checkStill = async ({ source, identity }: CloneRequest): Promise<void> => {
  if (await isStill(source, identity)) return;
  throw new FabricError('workspace_refused', `${showPath(source)} was exchanged while it was cloned`);
};

const lastLine = (redacted: string): string => redacted.trim().split('\n').at(-1)?.slice(0, 300) ?? '';

/**
 * Clones by git's own transport, in a sandbox that holds the source (read-only), the target and nothing else: no
 * network, no hooks, no template, no filters, no hard links, no objects borrowed from elsewhere. Whatever the source's
 * configuration manages to start can reach nothing but the clone.
 */
export const cloneRepository = async (request: CloneRequest): Promise<void> => {
  const clone = ['clone', '--quiet', '--no-local', '--no-hardlinks', '--template=', '--', '/source', '/clone'];
  await checkStill(request);
  refuseCloneEnd(await runConfined(request.confinement, requestFor(request, clone, true)), request);
  await checkStill(request);
  const origin = ['config', 'remote.origin.url', request.source];
  refuseCloneEnd(await runConfined(request.confinement, requestFor(request, origin, false)), request);
};
