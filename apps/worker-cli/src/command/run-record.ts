import { readFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Outcome } from '@toolfabric/contract';
import { randomId } from '@toolfabric/kernel';
import { z } from 'zod';

/** What a worker notes of a run, beside the workspace: outlives the worker, not the machine. */
const RunRecord = z.discriminatedUnion('state', [
  z.strictObject({ state: z.literal('begun') }),
  z.strictObject({ state: z.literal('ended'), outcome: Outcome }),
]);
export type RunRecord = z.infer<typeof RunRecord>;

const RUN_ID = /^[0-9a-z]{26}$/;
/** Milliseconds: longer than anybody asks what became of a run. */
const KEPT_MS = 8 * 86_400_000;
const MOST_SWEPT = 10_000;

/** Changes with every start of the machine: then nothing of before runs any more, and nothing of it is known. */
const bootId = (): string => {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return 'unknown';
  }
};

/** The records of the runs of one state directory. */
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
    const name = join(directory, 'place');
    const aside = `${name}.${randomId()}`;
    const known = await readFile(name, 'utf8').catch(() => undefined);
    if (known === undefined) {
      await writeFile(aside, randomId(), { mode: 0o600 });
      await rename(aside, name);
    }
    const records = new RunRecords(directory, `${(await readFile(name, 'utf8')).trim()}.${bootId()}`);
    await records.#sweep();
    return records;
  }

  #file(run: string): string {
    return join(this.#directory, `${run}.json`);
  }

  /** Undefined when that run never began here. */
  async read(run: string): Promise<RunRecord | undefined> {
    if (!RUN_ID.test(run)) return undefined;
    try {
      return RunRecord.parse(JSON.parse(await readFile(this.#file(run), 'utf8')));
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw thrown;
    }
  }

  /** Before the program begins. */
  async begun(run: string): Promise<void> {
    await writeFile(this.#file(run), JSON.stringify({ state: 'begun' }), { mode: 0o600, flag: 'wx' });
  }

  /** Once nothing of it runs any more. */
  async ended(run: string, outcome: Outcome): Promise<void> {
    const aside = `${this.#file(run)}.${randomId()}`;
    await writeFile(aside, JSON.stringify({ state: 'ended', outcome }), { mode: 0o600 });
    await rename(aside, this.#file(run));
  }

  async #sweep(): Promise<void> {
    const oldest = Date.now() - KEPT_MS;
    for (const name of (await readdir(this.#directory)).slice(0, MOST_SWEPT)) {
      if (name === 'place') continue;
      const file = join(this.#directory, name);
      const changed = await stat(file).catch(() => undefined);
      if (changed !== undefined && changed.mtimeMs < oldest) await rm(file, { force: true });
    }
  }
}
