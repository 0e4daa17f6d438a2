import { randomId } from '@toolfabric/kernel';
import type { ArtifactSession, LiveLog } from '@toolfabric/ports';
import { describe, expect, it, vi } from 'vitest';
import { LogSink } from './log-sink.ts';

const MIB = 1024 * 1024;

/** A log that can be written while the signal that it was opened with is not aborted. */
const openLogs = ({ append }: { append?: (bytes: Uint8Array) => Promise<void> } = {}) => {
  const written: Buffer[] = [];
  const skipped: number[] = [];
  let closed = false;
  const openLog = async (_name: unknown, signal: AbortSignal): Promise<LiveLog> => ({
    id: `a-${randomId()}`,
    append: async (bytes) => {
      signal.throwIfAborted();
      written.push(Buffer.from(bytes));
      await append?.(bytes);
    },
    skip: (bytes) => void skipped.push(bytes),
    close: async () => {
      closed = true;
      return { id: '', size: 0, sha256: '' };
    },
  });
  const session = { openLog } as unknown as ArtifactSession;
  return { session, skipped, text: () => Buffer.concat(written).toString(), isClosed: () => closed };
};

describe('the log of a background call', () => {
  it('RE-5: begins a moment after the first output, and is written for as long as it comes', async () => {
    const logs = openLogs();
    const log = new LogSink(logs.session);
    const buffer = Buffer.from('early ');
    log.write(buffer);
    buffer.fill('x');
    expect(logs.text()).toBe('');
    await vi.waitFor(() => expect(logs.text()).toBe('early '));
    await log.write(Buffer.from('late'));
    await log.close();
    expect([logs.text(), log.lost, logs.isClosed()]).toEqual(['early late', 0, true]);
  });

  it('is whole for a command that ends at once, and not begun for one that says nothing', async () => {
    const logs = openLogs();
    const log = new LogSink(logs.session);
    log.write(Buffer.from('hello'));
    await log.close();
    expect([logs.text(), log.lost, logs.isClosed()]).toEqual(['hello', 0, true]);
    const silent = new LogSink(logs.session);
    await silent.close();
    expect([silent.id, logs.text()]).toEqual([undefined, 'hello']);
  });

  it('keeps the order of much output, and makes the program wait for a slow store', async () => {
    let release: (() => void) | undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const logs = openLogs({ append: () => held });
    const log = new LogSink(logs.session);
    let waits: Promise<void> | undefined;
    for (let n = 0; n < 3; n += 1) waits = log.write(Buffer.alloc(MIB / 2, String(n)));
    expect(waits).toBeInstanceOf(Promise);
    release?.();
    await waits;
    await log.close();
    expect(logs.text()).toBe('0'.repeat(MIB / 2) + '1'.repeat(MIB / 2) + '2'.repeat(MIB / 2));
  });

  it('is closed only when the last piece is stored, also when it began with little', async () => {
    let release: (() => void) | undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const logs = openLogs({ append: () => held });
    const log = new LogSink(logs.session);
    log.write(Buffer.alloc(10_000, 'a'));
    const closing = log.close();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(logs.isClosed()).toBe(false);
    release?.();
    await closing;
    expect(logs.isClosed()).toBe(true);
  });

  it('has a cap, and counts what does not fit', async () => {
    const logs = openLogs();
    const log = new LogSink(logs.session);
    for (let n = 0; n < 18; n += 1) await log.write(Buffer.alloc(MIB, 'x'));
    await log.close();
    expect([logs.text().length, log.lost, logs.skipped.reduce((sum, n) => sum + n, 0)]).toEqual([
      16 * MIB,
      2 * MIB,
      2 * MIB,
    ]);
  });

  it('counts what the log refuses, and everything where none can be opened', async () => {
    const logs = openLogs({ append: () => Promise.reject(new Error('refused')) });
    const refused = new LogSink(logs.session);
    refused.write(Buffer.alloc(10_000));
    await refused.close();
    expect([refused.lost, logs.skipped]).toEqual([10_000, [10_000]]);
    const none = new LogSink({ openLog: () => Promise.reject(new Error('away')) } as unknown as ArtifactSession);
    none.write(Buffer.alloc(10_000));
    await none.close();
    none.write(Buffer.alloc(5));
    expect([none.lost, none.id]).toEqual([10_005, undefined]);
  });
});
