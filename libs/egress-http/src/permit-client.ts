import { type IncomingMessage, request } from 'node:http';
import type { Envelope } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { z } from 'zod';
import { errorOf, refusalIn } from './refusal.ts';

const Opened = z.object({ token: z.string().min(16) });
const MOST_BYTES = 4_096;
/** Milliseconds in which the egress must have answered; closing waits for the last connection to be gone. */
const ANSWER_MS = 10_000;

const readText = async (answer: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) throw new FabricError('egress_unavailable', 'the egress answered with more than it may');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};

interface Asked {
  readonly method: 'POST' | 'DELETE';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const ask = async (socketPath: string, { method, headers, body }: Asked, signal: AbortSignal) => {
  const until = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]);
  try {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const asked = request({ socketPath, path: '/v1/permits', method, headers, agent: false, signal: until });
      asked.once('response', resolve).once('error', reject).end(body);
    });
    return { refusal: refusalIn(answer.headers), text: await readText(answer) };
  } catch (thrown) {
    signal.throwIfAborted();
    if (thrown instanceof FabricError) throw thrown;
    throw new FabricError('egress_unavailable', 'the egress of this worker does not answer', { cause: thrown });
  }
};

/** The token that stands for the permit from now on. */
export const openPermit = async (socketPath: string, permit: Envelope, signal: AbortSignal): Promise<string> => {
  const asked = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(permit),
  } as const;
  const { refusal, text } = await ask(socketPath, asked, signal);
  if (refusal !== undefined) throw errorOf(refusal, '', false);
  try {
    return Opened.parse(JSON.parse(text)).token;
  } catch (thrown) {
    throw new FabricError('egress_unavailable', 'the egress gave no token', { cause: thrown });
  }
};

/** Resolves when the egress has closed everything under the token. */
export const closePermit = async (socketPath: string, token: string, signal: AbortSignal): Promise<void> => {
  await ask(socketPath, { method: 'DELETE', headers: { authorization: `Bearer ${token}` }, body: '' }, signal);
};
