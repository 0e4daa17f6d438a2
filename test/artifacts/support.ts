import { createArtifactFront, createArtifactStore } from '@toolfabric/artifact-http';
import { type ArtifactPermit, type Envelope, PERMIT_TYPE } from '@toolfabric/contract';
import { artifactIdFor, createSigner } from '@toolfabric/kernel';
import { ADA, type Cluster } from '../support/cluster.ts';

type CallPermit = Extract<ArtifactPermit, { action: 'call' }>;

/** Permits as the router of a cluster signs them, and the two clients of its store. */
export const artifactsOf = (cluster: Cluster) => {
  const signer = createSigner(cluster.nats.signing.kid, cluster.nats.signing.privateKey);
  const sign = (permit: ArtifactPermit): Envelope => signer.sign(PERMIT_TYPE, JSON.stringify(permit));
  const permitOf = (over: Partial<CallPermit> = {}): CallPermit => ({
    action: 'call',
    actor: ADA,
    taskId: 't-1',
    callId: '2969-call1',
    epoch: 1,
    maxBytes: 1024 ** 3,
    retentionDays: 7,
    expires: Date.now() + 120_000,
    ...over,
  });
  const store = createArtifactStore({ url: cluster.artifactsUrl });
  const front = createArtifactFront({ url: cluster.artifactsUrl });
  return {
    session: (over: Partial<CallPermit> = {}) => store.session(sign(permitOf(over))),
    front,
    idOf: (name: string, over: Partial<CallPermit> = {}) => {
      const { actor, callId, epoch } = permitOf(over);
      return artifactIdFor(actor.tenant, callId, epoch, name);
    },
    read: (artifactId: string) => sign({ action: 'read', actor: ADA, artifactId, expires: Date.now() + 60_000 }),
    manage: (artifactId: string) => sign({ action: 'manage', actor: ADA, artifactId, expires: Date.now() + 60_000 }),
    list: () => sign({ action: 'list', actor: ADA, expires: Date.now() + 60_000 }),
    close: () => {
      store.close();
      front.close();
    },
  };
};

export const named = (name: string, mediaType = 'text/plain') => ({ name, mediaType, trust: 'untrusted' }) as const;

export async function* chunksOf(...chunks: readonly (string | Uint8Array)[]): AsyncIterable<Uint8Array> {
  for (const chunk of chunks) yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
}

/** `count` blocks of 64 KiB, each with another content, and others for another `salt`. */
export async function* blocks(count: number, salt = ''): AsyncIterable<Uint8Array> {
  for (let n = 0; n < count; n++) yield Buffer.alloc(64 * 1024, `${salt}${n}.`);
}

export const textOf = async (chunks: AsyncIterable<Uint8Array>): Promise<string> => {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts).toString('utf8');
};
