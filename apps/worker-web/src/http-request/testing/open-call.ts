import { request } from 'node:http';
import type { HttpOperation } from '@toolfabric/contract';
import { FabricError, type Json, noFaults, systemClock } from '@toolfabric/kernel';
import { type EgressResponse, type EgressSession, RequestBroken } from '@toolfabric/ports';
import { plainRedactor, type ToolContext } from '@toolfabric/worker-runtime';

/** No door between: the request goes to the port that its address names on this machine. For tests of the tool. */
export const sendingSession = (over: Partial<EgressSession> = {}): EgressSession => ({
  request: ({ method, url, headers, body, signal }) =>
    new Promise<EgressResponse>((resolve, reject) => {
      const target = { host: '127.0.0.1', port: url.port, path: `${url.pathname}${url.search}`, agent: false } as const;
      const length = body === undefined ? {} : { 'content-length': String(body.byteLength) };
      const sent = request({ ...target, method, headers: { ...headers, ...length, host: url.host }, signal });
      sent.once('response', (answer) =>
        resolve({
          status: answer.statusCode ?? 0,
          headers: Object.fromEntries(Object.entries(answer.headers).map(([name, value]) => [name, String(value)])),
          body: answer as AsyncIterable<Uint8Array>,
          discard: () => void answer.destroy(),
        }),
      );
      sent.once('error', (cause) => {
        if (signal.aborted) return reject(signal.reason);
        const isRefused = (cause as NodeJS.ErrnoException).code === 'ECONNREFUSED';
        reject(
          isRefused
            ? new FabricError('host_unreachable', 'connect_failed: no one there')
            : new RequestBroken('cut', { cause }),
        );
      });
      sent.end(body);
    }),
  proxy: () => Promise.reject(new Error('there is no proxy')),
  close: () => Promise.resolve(),
  ...over,
});

export interface OpenCall {
  readonly ctx: ToolContext;
  /** What the call was about to do each time that it began its effect. */
  readonly begun: Json[];
}

/** A call of one operation as a worker would give it to the tool. */
export const openCall = (operation: HttpOperation | object, over: Partial<ToolContext> = {}): OpenCall => {
  const begun: Json[] = [];
  const ctx: ToolContext = {
    callId: '2969-00000000000000000000000000',
    operationKey: 'op.0f2a',
    epoch: 1,
    actor: { tenant: 'acme', user: 'ada', agent: 'coder' },
    taskId: 't-none',
    signal: new AbortController().signal,
    clock: systemClock,
    limits: { timeoutMs: 10_000, outputBytes: 8_000 },
    outputTokens: undefined,
    workspace: undefined,
    background: false,
    testCommand: undefined,
    options: operation as ToolContext['options'],
    egress: sendingSession(),
    artifacts: undefined,
    redactor: plainRedactor,
    faults: noFaults,
    progress: () => {},
    beginEffect: async (intent) => void begun.push(intent),
    ...over,
  };
  return { ctx, begun };
};
