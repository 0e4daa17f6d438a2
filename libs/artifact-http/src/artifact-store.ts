import { createHash } from 'node:crypto';
import { ArtifactPermit, type Envelope, Sha256, WorkspaceHead } from '@toolfabric/contract';
import { artifactIdFor, FabricError } from '@toolfabric/kernel';
import {
  type ArtifactName,
  type ArtifactSession,
  type ArtifactStore,
  type LiveLog,
  RevisionConflict,
  type StoredArtifact,
  StoreUnavailable,
} from '@toolfabric/ports';
import { z } from 'zod';
import { HttpClient, type HttpOptions } from './http-client.ts';
import { HttpLiveLog } from './live-log.ts';
import { nameHeaders } from './name-headers.ts';
import { readAnswer } from './read-answer.ts';
import { readBytes } from './read-bytes.ts';
import { repeatRequest } from './repeat-request.ts';

const Stored = z.object({ id: z.string(), size: z.int().nonnegative(), sha256: Sha256 });

/** The store as workers use it. `close` breaks the connections that are kept. */
export const createArtifactStore = (options: HttpOptions): ArtifactStore & { close(): void } => {
  const client = new HttpClient(options);
  return {
    session: (permit, traceparent) => new HttpSession(client.within(traceparent), permit, parsePermit(permit)),
    close: () => client.close(),
  };
};

type CallPermit = Extract<ArtifactPermit, { action: 'call' }>;

/** Its signature is the store's to check; what it says decides the ids here. */
const parsePermit = ({ body }: Envelope): CallPermit => {
  const permit = ArtifactPermit.safeParse(parseOrNothing(body));
  if (!permit.success || permit.data.action !== 'call') {
    throw new FabricError('forbidden', 'this is no permit of a call to use artifacts');
  }
  return permit.data;
};

const parseOrNothing = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

class HttpSession implements ArtifactSession {
  readonly #client: HttpClient;
  readonly #envelope: Envelope;
  readonly #permit: CallPermit;

  constructor(client: HttpClient, envelope: Envelope, permit: CallPermit) {
    this.#client = client;
    this.#envelope = envelope;
    this.#permit = permit;
  }

  async put(name: ArtifactName, body: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<StoredArtifact> {
    const source = new OneBody(body);
    const path = `/v1/artifacts/${this.#idOf(name.name)}`;
    const headers = nameHeaders(name);
    const permit = this.#envelope;
    const stored = await repeatRequest(async () => {
      const answer = await this.#client
        .send({ method: 'PUT', path, permit, headers, body: source, signal })
        .catch(source.unlessBegun);
      return readAnswer(answer, Stored, signal).catch(source.unlessBegun);
    }, signal).catch(unwrapFinal);
    if (stored.sha256 !== source.digest()) throw new StoreUnavailable('the store holds other bytes than were sent');
    return stored;
  }

  async openLog(name: ArtifactName, signal: AbortSignal): Promise<LiveLog> {
    const id = this.#idOf(name.name);
    return HttpLiveLog.open({ client: this.#client, permit: this.#envelope, id, headers: nameHeaders(name), signal });
  }

  read(id: string, range: { from: number; to?: number } | undefined, signal: AbortSignal): AsyncIterable<Uint8Array> {
    return readBytes(this.#client, this.#envelope, id, range, signal);
  }

  async head(signal: AbortSignal): Promise<WorkspaceHead> {
    const request = { method: 'GET', path: this.#headPath(), permit: this.#envelope, signal } as const;
    return repeatRequest(async () => readAnswer(await this.#client.send(request), WorkspaceHead, signal), signal);
  }

  /** The store knows the same move again, so that a lost answer is asked for once more. */
  async moveHead(
    expected: number,
    manifest: string | undefined,
    signal: AbortSignal,
    keeps?: readonly string[],
  ): Promise<WorkspaceHead> {
    // What is left undefined is left out.
    const body = Buffer.from(JSON.stringify({ expected, manifest, keeps }));
    const headers = { 'content-type': 'application/json' };
    const request = { method: 'POST', path: this.#headPath(), permit: this.#envelope, headers, body, signal } as const;
    try {
      return await repeatRequest(
        async () => readAnswer(await this.#client.send(request), WorkspaceHead, signal),
        signal,
      );
    } catch (thrown) {
      if (thrown instanceof FabricError && thrown.type === 'conflict') {
        throw new RevisionConflict(thrown.message, { cause: thrown });
      }
      throw thrown;
    }
  }

  #idOf(name: string): string {
    const { actor, callId, epoch } = this.#permit;
    return artifactIdFor(actor.tenant, callId, epoch, name);
  }

  #headPath(): string {
    const { workspace } = this.#permit;
    if (workspace === undefined) throw new FabricError('forbidden', 'the call has no workspace');
    return `/v1/heads/${encodeURIComponent(workspace)}`;
  }
}

/** An error after which the body cannot be sent again. */
class Final extends Error {
  override readonly name = 'Final';
}

const unwrapFinal = (thrown: unknown): never => {
  throw thrown instanceof Final ? thrown.cause : thrown;
};

/** A body that can be sent once, hashed on its way. */
class OneBody implements AsyncIterable<Uint8Array> {
  readonly #source: AsyncIterable<Uint8Array>;
  readonly #hash = createHash('sha256');
  #hasBegun = false;

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source;
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    this.#hasBegun = true;
    for await (const chunk of this.#source) {
      this.#hash.update(chunk);
      yield chunk;
    }
  }

  readonly unlessBegun = (thrown: unknown): never => {
    throw this.#hasBegun ? new Final('the body was begun', { cause: thrown }) : thrown;
  };

  digest(): string {
    return this.#hash.copy().digest('hex');
  }
}
