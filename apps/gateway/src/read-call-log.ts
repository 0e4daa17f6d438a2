import { Metadata, type ServerWritableStream } from '@grpc/grpc-js';
import { type ArtifactRecord, type CallView, isLastAnswer } from '@toolfabric/contract';
import { type Clock, FabricError } from '@toolfabric/kernel';
import type { ReadCallLogRequest, ReadCallLogResponse } from '@toolfabric/proto';
import { type ArtifactAccess, type Granted, type GrantedLog, storeFailure } from './artifact-access.ts';
import { unauthenticated } from './authenticate.ts';
import { endWithRequest } from './end-with-request.ts';
import { invalidField } from './invalid-request.ts';
import { send } from './read-artifact.ts';
import type { RequestContext } from './request-context.ts';

const POLL_MS = 400;
const PIECE_BYTES = 256 * 1024;

type LogOut = Pick<ServerWritableStream<unknown, ReadCallLogResponse>, 'write' | 'once' | 'sendMetadata'>;

export interface LogDeps {
  readonly access: ArtifactAccess;
  readonly clock: Clock;
  /** Throws `not_found` for a call of somebody else (RS-4). */
  getCall(callId: string, context: RequestContext): Promise<CallView>;
}

/** A call that has not begun has no log yet. */
const describe = async ({ front, permit, artifactId }: Granted, signal: AbortSignal) => {
  try {
    return await front.describe(permit, artifactId, signal);
  } catch (thrown) {
    if (thrown instanceof FabricError && thrown.type === 'not_found') return undefined;
    throw thrown;
  }
};

/** Where the last character of these bytes ends, so that it is not cut in two; all of them when that cannot be told. */
export const wholeCharacters = (bytes: Uint8Array): number => {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) return bytes.length;
    if (byte < 0xc0) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
};

const tell = (record: ArtifactRecord | undefined) => ({
  dropped: record?.dropped ?? 0,
  gapAt: record?.gapAt,
});

class LogReader {
  readonly #out: LogOut;
  readonly #signal: AbortSignal;
  readonly #isCurrent: () => boolean;
  readonly #limit: number;
  #artifactId: string | undefined;
  /** Of the log in which the cursor is a place. */
  #attempt: number | undefined;
  #cursor: number;
  #restarts = 0;
  #sent = 0;
  #isFull = false;

  constructor(
    out: LogOut,
    signal: AbortSignal,
    isCurrent: () => boolean,
    { cursor, maxBytes, attempt }: Pick<ReadCallLogRequest, 'cursor' | 'maxBytes' | 'attempt'>,
  ) {
    this.#out = out;
    this.#signal = signal;
    this.#isCurrent = isCurrent;
    this.#limit = maxBytes ?? Number.POSITIVE_INFINITY;
    this.#cursor = cursor;
    this.#attempt = attempt;
  }

  /** Whether nothing more fits into what was asked for. */
  get isFull(): boolean {
    return this.#isFull || this.#sent >= this.#limit;
  }

  /** Whether everything that the log holds was sent. */
  isAtEnd(record: ArtifactRecord | undefined): boolean {
    return this.#cursor >= (record?.size ?? 0);
  }

  /** The reader may have to wait for long until there is something to say: it hears that it is waited with. */
  open(): void {
    this.#out.sendMetadata(new Metadata());
  }

  /** The next attempt of a call has a log of its own, which is told from its beginning: two logs are never mixed. */
  turnTo({ artifactId, attempt }: GrantedLog): void {
    if (this.#isOfAnother(artifactId, attempt)) {
      this.#cursor = 0;
      this.#restarts += 1;
    }
    this.#artifactId = artifactId;
    this.#attempt = attempt;
  }

  #isOfAnother(artifactId: string, attempt: number | undefined): boolean {
    if (this.#artifactId !== undefined) return this.#artifactId !== artifactId;
    if (this.#attempt !== undefined) return attempt !== undefined && this.#attempt !== attempt;
    if (this.#cursor === 0 || attempt === undefined || attempt === 1) return false;
    throw invalidField('attempt', `the attempt that came with the cursor: the call is in its attempt ${attempt}`);
  }

  /**
   * Everything that stands there now, in pieces that cut no character in two unless the log itself ends so, or less than
   * one character was asked for.
   */
  async sendUpTo(granted: Granted, record: ArtifactRecord, isLast: boolean): Promise<void> {
    const most = this.#cursor + this.#limit - this.#sent;
    const end = Math.min(record.size, most);
    if (end <= this.#cursor) return;
    this.#isFull = end < record.size;
    const range = { from: this.#cursor, to: end };
    let rest: Uint8Array = new Uint8Array(0);
    for await (const bytes of granted.front.read(granted.permit, granted.artifactId, range, this.#signal)) {
      if (this.#signal.aborted) return;
      rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
      if (rest.length < PIECE_BYTES) continue;
      const whole = wholeCharacters(rest);
      await this.#send(rest.subarray(0, whole), record, false);
      rest = rest.subarray(whole);
    }
    const isUncut = this.#isFull ? this.#sent === 0 && wholeCharacters(rest) === 0 : isLast;
    const whole = isUncut ? rest.length : wholeCharacters(rest);
    if (whole > 0) await this.#send(rest.subarray(0, whole), record, false);
  }

  end(record: ArtifactRecord | undefined, complete: boolean): Promise<void> {
    return this.#send(new Uint8Array(0), record, complete);
  }

  async #send(bytes: Uint8Array, record: ArtifactRecord | undefined, complete: boolean): Promise<void> {
    if (!this.#isCurrent()) throw unauthenticated();
    this.#cursor += bytes.length;
    this.#sent += bytes.length;
    const place = { cursor: this.#cursor, attempt: this.#attempt, restarts: this.#restarts };
    const message = { data: Buffer.from(bytes), ...place, ...tell(record), complete };
    await send(this.#out, message, this.#signal);
  }
}

/**
 * The log of a call from the cursor on. The state of the call is read before the log, so that what a call wrote last is
 * never passed over by an end that came in between.
 */
export const readCallLog = (
  { access, clock, getCall }: LogDeps,
  request: ReadCallLogRequest,
  context: RequestContext,
  out: LogOut,
): Promise<void> =>
  endWithRequest(context, async (signal) => {
    if (request.maxBytes === 0) throw invalidField('max_bytes', 'at least 1');
    if (request.attempt === 0) throw invalidField('attempt', 'at least 1');
    const reader = new LogReader(out, signal, () => context.identity.isCurrent(), request);
    try {
      while (!signal.aborted) {
        // While somebody still finds out what became of it, it may begin again.
        const isAnswered = isLastAnswer(await getCall(request.callId, context));
        // Asked anew each time: a call that goes into its next attempt has the log of that attempt.
        const granted = await access.forLog(request.callId, context);
        const record = await describe(granted, signal);
        reader.turnTo(granted);
        reader.open();
        const isLast = record === undefined ? isAnswered : isAnswered || record.state === 'complete';
        if (record !== undefined) await reader.sendUpTo(granted, record, isLast);
        if (isLast || reader.isFull || !request.follow) {
          return await reader.end(record, isLast && reader.isAtEnd(record));
        }
        await clock.sleep(POLL_MS, signal);
      }
    } catch (thrown) {
      if (!signal.aborted) throw storeFailure(thrown);
    }
  });
