import type { EventEmitter } from 'node:events';
import type { Readable } from 'node:stream';

export interface Settled {
  /** Null when a signal ended it. */
  readonly code: number | null;
  /** Somebody still held an output open when the worker stopped listening. */
  readonly outputMayContinue: boolean;
}

/** Milliseconds without output after which an output that is still open is given up. */
const QUIET_MS = 250;
/** Milliseconds after the exit for which output is taken at most. */
const DRAIN_MS = 2_000;

const closed = (stream: Readable): Promise<void> =>
  stream.closed ? Promise.resolve() : new Promise((resolve) => stream.once('close', resolve));

/** Somebody who takes the output slowly makes a pause in which nothing can be heard: that is not quiet. */
const quiet = (streams: readonly Readable[], ended: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const patient = () => (streams.some((stream) => stream.isPaused()) ? void heard() : resolve());
    const latest = setTimeout(patient, DRAIN_MS);
    const timer = setTimeout(patient, QUIET_MS);
    const heard = () => {
      timer.refresh();
      if (streams.some((stream) => stream.isPaused())) latest.refresh();
    };
    for (const stream of streams) stream.on('data', heard);
    ended.addEventListener('abort', () => {
      clearTimeout(latest);
      clearTimeout(timer);
      for (const stream of streams) stream.off('data', heard);
    });
  });

/**
 * The end of a process: its exit, then its output until that is closed, or quiet for a while, or for two seconds.
 * Waiting for the output alone would wait for ever on a grandchild that holds it; not waiting would lose the tail.
 */
export const settle = async (process: EventEmitter, outputs: readonly Readable[]): Promise<Settled> => {
  const allClosed = Promise.all(outputs.map(closed)).then(() => true);
  const code = await new Promise<number | null>((resolve) => process.once('exit', resolve));
  const drained = new AbortController();
  const complete = await Promise.race([allClosed, quiet(outputs, drained.signal).then(() => false)]);
  drained.abort();
  for (const output of outputs) output.destroy();
  return { code, outputMayContinue: !complete };
};
