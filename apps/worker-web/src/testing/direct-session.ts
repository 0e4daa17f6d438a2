import { request } from 'node:http';
import { type EgressRequest, type EgressResponse, type EgressSession, RequestBroken } from '@toolfabric/ports';

/** No way out at all: every host is this machine, at the port that its address names. For tests of what asks. */
export const directSession = (over: Partial<EgressSession> = {}): EgressSession => ({
  request: ({ method, url, headers, body, signal }: EgressRequest) =>
    new Promise<EgressResponse>((resolve, reject) => {
      const { port, pathname, search, host } = url;
      const target = { host: '127.0.0.1', port, path: `${pathname}${search}`, agent: false } as const;
      const sent = request({ ...target, method, headers: { ...headers, host }, signal });
      sent.once('response', (answer) =>
        resolve({
          status: answer.statusCode ?? 0,
          headers: Object.fromEntries(Object.entries(answer.headers).map(([name, value]) => [name, String(value)])),
          body: answer as AsyncIterable<Uint8Array>,
          discard: () => void answer.destroy(),
        }),
      );
      sent.once('error', () => reject(signal.aborted ? signal.reason : new RequestBroken('it broke'))).end(body);
    }),
  proxy: () => Promise.reject(new Error('there is no proxy')),
  close: () => Promise.resolve(),
  ...over,
});
