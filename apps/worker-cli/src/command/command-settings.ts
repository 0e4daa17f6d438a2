import type { RecentContents } from '../changes/contents.ts';
import type { Confinement } from '../confine/confinement.ts';
import type { AllowedPrograms } from '../programs/resolve-program.ts';
import type { RunRecords } from './run-record.ts';

/** What the commands of this worker are governed by; compiled once. */
export interface CommandSettings {
  readonly confinement: Confinement;
  readonly programs: AllowedPrograms;
  readonly records: RunRecords;
  readonly contents: RecentContents;
  /** Bytes of output of one command. */
  readonly outputBytes: number;
  /** Milliseconds without progress after which the artifact store is given up for a stream. */
  readonly stallMs: number;
  /** Bytes that a workspace may take on its disk. */
  readonly workspaceBytes: number;
}
