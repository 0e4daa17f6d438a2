import { readlinkSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toFabricError } from '@toolfabric/kernel';
import { findProgram, findPrograms, type Programs } from '../process/find-program.ts';
import { runProcess, type User } from '../process/run-process.ts';
import { runInSandbox, type SandboxRequest } from '../sandbox/run-in-sandbox.ts';
import { lockWorkspace } from '../workspace/workspace-lock.ts';
import { NOBODY } from '../workspace/workspace-users.ts';
import { probeDescriptors, probeGroups, probeQuota, probeSeccomp } from './probe-confinement.ts';

export interface Capability {
  readonly works: boolean;
  readonly path?: string;
  readonly version?: string;
  /** Why it does not work. */
  readonly reason?: string;
}

/** What really works on this machine, found out by doing it. */
export interface Capabilities {
  readonly bwrap: Capability;
  /** A sandbox with all of its namespaces, as the user that children have. */
  readonly namespaces: Capability;
  readonly rg: Capability;
  readonly git: Capability;
  readonly flock: Capability;
  readonly prlimit: Capability;
  readonly setpriv: Capability;
  /** Limits for all processes of a command together; without them each process is limited alone. */
  readonly cgroup: Capability;
  readonly seccomp: Capability;
  readonly quota: Capability;
  /** No descriptor of the worker's starter reaches a command. */
  readonly descriptors: Capability;
  /** Levels of isolation for the life sign of the worker. */
  readonly isolation: readonly ('process' | 'namespace')[];
}

const PROBE_MS = 10_000;
const childUser = (): User | undefined => (process.getuid?.() === 0 ? NOBODY : undefined);

const failed = (thrown: unknown): Capability => ({
  works: false,
  reason: toFabricError(thrown, 'tool_failed').message,
});

/** Asks for the version, outside of a sandbox: says that the program starts at all. */
const probeProgram = async (programs: Programs, name: keyof Programs): Promise<Capability> => {
  const path = programs[name];
  if (path === undefined) return { works: false, reason: `${name} is not on the PATH` };
  let text = '';
  const onOutput = (chunk: Buffer) => {
    text += chunk.toString('utf8');
    return text.length < 4_096 ? ('more' as const) : ('enough' as const);
  };
  const request = { file: path, args: ['--version'], env: {}, user: childUser(), timeoutMs: PROBE_MS };
  try {
    await runProcess({ ...request, onOutput, signal: AbortSignal.timeout(PROBE_MS) });
  } catch (thrown) {
    return { ...failed(thrown), path };
  }
  const version = /\d+(\.\d+)+/.exec(text)?.[0];
  return version === undefined ? { works: false, path, reason: 'it says no version' } : { works: true, path, version };
};

const NAMESPACES = ['ipc', 'mnt', 'net', 'pid', 'user', 'uts'].map((name) => `/proc/self/ns/${name}`);

/** Asks inside of a sandbox which name spaces it is in: every one must be another than out here. */
const probeNamespaces = async (programs: Programs, readlink: string): Promise<Capability> => {
  let text = '';
  const request: SandboxRequest = {
    command: [readlink, ...NAMESPACES],
    binds: [],
    cwd: '/',
    limits: { memoryBytes: 1024 ** 3, fileBytes: 0 },
    user: childUser(),
    onOutput: (chunk) => {
      text += chunk.toString('utf8');
      return text.length < 4_096 ? 'more' : 'enough';
    },
    timeMs: PROBE_MS,
    signal: AbortSignal.timeout(PROBE_MS),
  };
  try {
    const end = await runInSandbox(programs, request);
    if (end.code !== 0) return { works: false, reason: end.stderr.split('\n', 1)[0] ?? '' };
  } catch (thrown) {
    return failed(thrown);
  }
  const inside = text.trim().split('\n');
  const shared = NAMESPACES.filter((path, index) => !inside[index] || inside[index] === readlinkSync(path));
  return shared.length === 0 ? { works: true } : { works: false, reason: `the sandbox shares ${shared.join(', ')}` };
};

/** Two holders of one lock: the second must not get it. */
const probeLock = async (programs: Programs): Promise<Capability> => {
  const program = await probeProgram(programs, 'flock');
  if (!program.works || program.path === undefined) return program;
  const directory = await mkdtemp(join(tmpdir(), 'toolfabric-lock-'));
  const signal = AbortSignal.timeout(PROBE_MS);
  const request = { directory, name: 'probe', flock: program.path, waitMs: 10, signal };
  try {
    const first = await lockWorkspace(request);
    const second = await lockWorkspace(request).catch((thrown: unknown) => toFabricError(thrown).type);
    await first.release();
    return second === 'workspace_busy' ? program : { ...program, works: false, reason: 'it does not keep others out' };
  } catch (thrown) {
    return { ...failed(thrown), path: program.path };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
};

/** Looks at this machine; takes a few tens of milliseconds and leaves nothing behind. */
export const probeCapabilities = async (searchPath: readonly string[], cgroup?: string): Promise<Capabilities> => {
  const programs = findPrograms(searchPath);
  const namespaces = probeNamespaces(programs, findProgram('readlink', searchPath) ?? '/usr/bin/readlink');
  const flock = probeLock(programs);
  const [bwrap, rg, git, prlimit, setpriv] = await Promise.all([
    probeProgram(programs, 'bwrap'),
    probeProgram(programs, 'rg'),
    probeProgram(programs, 'git'),
    probeProgram(programs, 'prlimit'),
    probeProgram(programs, 'setpriv'),
  ]);
  const { works } = await namespaces;
  const isolation = works ? (['process', 'namespace'] as const) : (['process'] as const);
  return {
    bwrap,
    namespaces: await namespaces,
    rg,
    git,
    flock: await flock,
    prlimit,
    setpriv,
    cgroup: await probeGroups(cgroup),
    seccomp: probeSeccomp(),
    quota: probeQuota(),
    descriptors: probeDescriptors(),
    isolation,
  };
};
