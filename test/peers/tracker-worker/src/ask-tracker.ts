import { request } from 'node:http';

export interface TrackerAnswer {
  readonly status: number;
  readonly retryAfterMs?: number;
  readonly body: unknown;
}

export interface TrackerQuestion {
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const MAX_ANSWER = 512 * 1024;

/** One request on a connection of its own. Rejects when no whole answer came: then a write may have happened. */
export const askTracker = (base: string, question: TrackerQuestion, signal: AbortSignal): Promise<TrackerAnswer> =>
  new Promise((resolve, reject) => {
    const text = question.body === undefined ? undefined : JSON.stringify(question.body);
    const headers = {
      ...question.headers,
      ...(text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    };
    const options = { method: question.method, headers, agent: false as const, signal };
    const asked = request(new URL(question.path, base), options, (response) => {
      const parts: Buffer[] = [];
      let size = 0;
      response.on('data', (part: Buffer) => {
        size += part.length;
        if (size > MAX_ANSWER) response.destroy(new Error('the answer is too large'));
        else parts.push(part);
      });
      response.once('error', reject);
      response.once('close', () => reject(new Error('the answer was cut')));
      response.once('end', () => {
        const after = Number(response.headers['retry-after']);
        try {
          resolve({
            status: response.statusCode ?? 0,
            ...(Number.isFinite(after) ? { retryAfterMs: after * 1_000 } : {}),
            body: parts.length === 0 ? undefined : JSON.parse(Buffer.concat(parts).toString('utf8')),
          });
        } catch (thrown) {
          reject(thrown);
        }
      });
    });
    asked.once('error', reject);
    asked.end(text);
  });
