import { ArtifactRecord, type Envelope } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import type { ArtifactChange, ArtifactFront } from '@toolfabric/ports';
import { z } from 'zod';
import { HttpClient, type HttpOptions } from './http-client.ts';
import { checkAnswer, dropAnswer, readAnswer } from './read-answer.ts';
import { readBytes } from './read-bytes.ts';
import { repeatRequest } from './repeat-request.ts';

const Listed = z.object({ artifacts: z.array(ArtifactRecord), next: z.string().optional() });
type Filter = Parameters<ArtifactFront['list']>[1];

/** The store as the front door uses it. `close` breaks the connections that are kept. */
export const createArtifactFront = (options: HttpOptions): ArtifactFront & { close(): void } => {
  const client = new HttpClient(options);
  return {
    describe: (permit, id, signal) =>
      repeatRequest(async () => {
        const path = `/v1/artifacts/${encodeURIComponent(id)}/record`;
        return readAnswer(await client.send({ method: 'GET', path, permit, signal }), ArtifactRecord, signal);
      }, signal),
    read: (permit, id, range, signal) => readBytes(client, permit, id, range, signal),
    list: async (permit, filter, signal) => {
      const path = `/v1/artifacts?${queryOf(filter)}`;
      const { artifacts, next } = await repeatRequest(
        async () => readAnswer(await client.send({ method: 'GET', path, permit, signal }), Listed, signal),
        signal,
      );
      return next === undefined ? { artifacts } : { artifacts, next };
    },
    manage: (permit, id, change, signal) => manage(client, permit, id, change, signal),
    close: () => client.close(),
  };
};

const queryOf = ({ taskId, callId, after, limit }: Filter): URLSearchParams =>
  new URLSearchParams({
    ...(taskId === undefined ? {} : { task: taskId }),
    ...(callId === undefined ? {} : { call: callId }),
    ...(after === undefined ? {} : { after }),
    limit: String(limit),
  });

/** Each change says what shall be, so that a repeat is harmless. */
const manage = async (
  client: HttpClient,
  permit: Envelope,
  id: string,
  change: ArtifactChange,
  signal: AbortSignal,
): Promise<ArtifactRecord | undefined> => {
  const path = `/v1/artifacts/${encodeURIComponent(id)}`;
  if (change.type === 'delete') {
    await remove(client, permit, path, signal);
    return undefined;
  }
  const body = bodyOf(change);
  const headers = { 'content-type': 'application/json' };
  const request = { method: 'POST', path: `${path}/${change.type}`, permit, headers, body, signal } as const;
  return repeatRequest(async () => readAnswer(await client.send(request), ArtifactRecord, signal), signal);
};

/** What is gone after an answer was lost is what was to be deleted. */
const remove = (client: HttpClient, permit: Envelope, path: string, signal: AbortSignal): Promise<void> => {
  let isRepeat = false;
  return repeatRequest(async () => {
    const wasTried = isRepeat;
    isRepeat = true;
    const answer = await client.send({ method: 'DELETE', path, permit, signal });
    try {
      await checkAnswer(answer, signal);
      dropAnswer(answer);
    } catch (thrown) {
      if (!(wasTried && thrown instanceof FabricError && thrown.type === 'not_found')) throw thrown;
    }
  }, signal);
};

const bodyOf = (change: ArtifactChange): Uint8Array => {
  if (change.type !== 'share' && change.type !== 'unshare') return new Uint8Array();
  const { user, agent } = change;
  return Buffer.from(
    JSON.stringify({ ...(user === undefined ? {} : { user }), ...(agent === undefined ? {} : { agent }) }),
  );
};
