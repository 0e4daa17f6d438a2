import { randomId } from '@toolfabric/kernel';
import type { ArtifactSession, LiveLog } from '@toolfabric/ports';
import { describe, expect, it } from 'vitest';
import { LogSink } from './log-sink.ts';

/** A log that can be written while the signal that it was opened with is not aborted. */
const sessionOf = (openMs: number) => {
  const written: Uint8Array[] = [];
  const openLog = async (_name: unknown, signal: AbortSignal): Promise<LiveLog> => {
    await new Promise((resolve) => setTimeout(resolve, openMs));
    return {
      id: `a-${randomId()}`,
      append: async (bytes) => {
        signal.throwIfAborted();
        written.push(bytes);
      },
      skip: () => {},
      close: async () => ({ id: '', size: 0, sha256: '' }),
    };
  };
  return { written, session: { openLog } as unknown as ArtifactSession };
};

describe('the log of a background call', () => {
  it('RE-5: can be written for longer than it may take to open it', async () => {
    const { written, session } = sessionOf(0);
    const log = await LogSink.open(session, 50);
    await new Promise((resolve) => setTimeout(resolve, 120));
    await log?.write(Buffer.from('late'));
    expect(Buffer.concat(written).toString()).toBe('late');
    expect(log?.lost).toBe(0);
  });

  it('counts only what the log does not take: a piece that is slow is still its own', async () => {
    const skipped: number[] = [];
    const refusing = {
      openLog: async (): Promise<LiveLog> => ({
        id: 'a',
        append: () => Promise.reject(new Error('refused')),
        skip: (bytes) => void skipped.push(bytes),
        close: async () => ({ id: '', size: 0, sha256: '' }),
      }),
    } as unknown as ArtifactSession;
    const log = await LogSink.open(refusing, 1_000);
    await log?.write(Buffer.from('four'));
    expect([log?.lost, skipped]).toEqual([4, [4]]);
  });

  it('is left out when the store does not answer in time', async () => {
    expect(await LogSink.open(sessionOf(500).session, 20)).toBeUndefined();
    expect(await LogSink.open(undefined, 20)).toBeUndefined();
  });
});
