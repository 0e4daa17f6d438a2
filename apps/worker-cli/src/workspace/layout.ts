import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Where the state of this worker lies. One state directory may be shared by all workers of a machine. */
export interface Layout {
  readonly state: string;
  /** Clones and empty workspaces, one directory each, named by the workspace. */
  readonly workspaces: string;
  /** Workspaces that are being made; renamed when they are whole. */
  readonly staging: string;
  /** Lock files; outside of every workspace, so that nothing in one can touch them. */
  readonly locks: string;
  /** One record a workspace. */
  readonly records: string;
  /** What commands are confined with; their users read it. */
  readonly confine: string;
  /** One record a command that began, for those who ask what became of it. */
  readonly runs: string;
  /** One file a user id that was given to a workspace. */
  readonly users: string;
  /** One file a workspace that is kept in snapshots: what its copy here is. */
  readonly copies: string;
}

export const layoutOf = (state: string): Layout => ({
  state,
  workspaces: join(state, 'workspaces'),
  staging: join(state, 'staging'),
  locks: join(state, 'locks'),
  records: join(state, 'records'),
  users: join(state, 'users'),
  copies: join(state, 'copies'),
  confine: join(state, 'confine'),
  runs: join(state, 'runs'),
});

/** The users of workspaces pass through the first group without listing it; the second is the worker's alone. */
export const makeLayout = async (layout: Layout): Promise<void> => {
  for (const directory of [layout.state, layout.workspaces, layout.staging]) {
    await mkdir(directory, { recursive: true, mode: 0o711 });
  }
  for (const directory of [layout.locks, layout.records, layout.copies, layout.users, layout.runs]) {
    await mkdir(directory, { recursive: true, mode: 0o700 });
  }
};
