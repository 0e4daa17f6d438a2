import { appendFileSync, readFileSync, renameSync, statSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Outcome } from '@toolfabric/contract';
import { randomId } from '@toolfabric/kernel';
import { z } from 'zod';

/** What a worker notes of a run, beside the workspace: outlives the worker, not the machine. */
const RunRecord = z.discriminatedUnion('state', [
  z.strictObject({ run: z.string(), at: z.number(), state: z.literal('begun') }),
  z.strictObject({ run: z.string(), at: z.number(), state: z.literal('ended'), outcome: Outcome }),
]);
export type RunRecord = z.infer<typeof RunRecord>;

/** `forgotten`: so much has run since that nobody can say whether it began. */
export type FoundRun = RunRecord | 'forgotten' | undefined;

/** Milliseconds: longer than anybody asks what became of a run. */
const KEPT_MS = 8 * 86_400_000;
/** Bytes after which a file of records is put aside; the one that was aside before is forgotten. */
const MOST_BYTES = 4 * 1024 * 1024;
const SUFFIX = '.runs';

/** Changes with every start of the machine: then nothing of before runs any more, and nothing of it is known. */
const bootId = (): string => {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return 'unknown';
  }
};

const placeOf = async (directory: string): Promise<string> => {
  const file = join(directory, 'place');
  if ((await readFile(file, 'utf8').catch(() => '')) === '') {
    const aside = `${file}.${randomId()}`;
    await writeFile(aside, randomId(), { mode: 0o600 });
    await rename(aside, file);
  }
  return (await readFile(file, 'utf8')).trim();
};

/** A line that was cut by a death is none; the next one begins on a line of its own. */
const parseLine = (line: string): RunRecord | undefined => {
  try {
    return RunRecord.parse(JSON.parse(line));
  } catch {
    return undefined;
  }
};

/**
 * The records of the runs of one state directory: a file a workspace, written under the lock of that workspace only.
 * Lines are added to a file that is there already, since a new file for every run can cost a millisecond.
 */
export class RunRecords {
  readonly #directory: string;
  /** Names this state directory and this start of the machine: a record is proof only where it was written. */
  readonly place: string;

  private constructor(directory: string, place: string) {
    this.#directory = directory;
    this.place = place;
  }

  static async open(directory: string): Promise<RunRecords> {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const records = new RunRecords(directory, `${await placeOf(directory)}.${bootId()}`);
    await records.#sweep();
    return records;
  }

  /** Before the program begins. */
  begun(workspace: string, run: string): void {
    this.#makeRoom(workspace);
    this.#add(workspace, { run, at: Date.now(), state: 'begun' });
  }

  /** Once nothing of it runs any more. */
  ended(workspace: string, run: string, outcome: Outcome): void {
    this.#add(workspace, { run, at: Date.now(), state: 'ended', outcome });
  }

  /** Undefined when the run, which was announced at `at`, never began here. */
  find(workspace: string, run: string, at: number): FoundRun {
    const all = [`${this.#file(workspace)}.old`, this.#file(workspace)].flatMap((file) => this.#read(file));
    const found = all.findLast((record) => record.run === run);
    if (found !== undefined) return found;
    return (all[0]?.at ?? 0) > at ? 'forgotten' : undefined;
  }

  #file(workspace: string): string {
    return join(this.#directory, `${workspace}${SUFFIX}`);
  }

  #add(workspace: string, record: RunRecord): void {
    appendFileSync(this.#file(workspace), `\n${JSON.stringify(record)}`, { mode: 0o600 });
  }

  #makeRoom(workspace: string): void {
    const file = this.#file(workspace);
    if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > MOST_BYTES) renameSync(file, `${file}.old`);
  }

  #read(file: string): RunRecord[] {
    let text: string;
    try {
      text = readFileSync(file, 'utf8');
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw thrown;
    }
    return text.split('\n').flatMap((line) => parseLine(line) ?? []);
  }

  async #sweep(): Promise<void> {
    const oldest = Date.now() - KEPT_MS;
    for (const name of await readdir(this.#directory)) {
      if (!name.includes(SUFFIX)) continue;
      const file = join(this.#directory, name);
      const changed = await stat(file).catch(() => undefined);
      if (changed !== undefined && changed.mtimeMs < oldest) await rm(file, { force: true });
    }
  }
}
