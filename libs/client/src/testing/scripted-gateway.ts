import { Metadata, Server, ServerCredentials, type ServerUnaryCall, type sendUnaryData, status } from '@grpc/grpc-js';
import type { ToolError } from '@toolfabric/contract';
import {
  ERROR_METADATA_KEY,
  encodeErrorMetadata,
  RegistryServiceService,
  ToolServiceService,
  type WatchCallResponse,
  wireCall,
} from '@toolfabric/proto';

export interface Asked {
  readonly verb: string;
  readonly request: { readonly proposal?: wireCall.CallProposal; readonly waitMs?: number } & Record<string, unknown>;
  readonly metadata: Metadata;
  readonly leftMs: number;
}

/** What a test lets a verb do: an answer, something to throw, or a promise of one of them. */
export type Script = (asked: Asked) => unknown;

export const unavailable = (): Error => failure('unavailable', status.UNAVAILABLE, true);

export const failure = (type: string, code: status, retryable = false, retryAfterMs?: number): Error => {
  const error = { type, layer: 'runtime', message: `it is ${type}`, retryable } as ToolError;
  const metadata = new Metadata();
  metadata.set(
    ERROR_METADATA_KEY,
    encodeErrorMetadata(retryAfterMs === undefined ? error : { ...error, retryAfterMs }),
  );
  return Object.assign(new Error(type), { code, details: type, metadata });
};

export const bare = (code: status, details = 'bare'): Error =>
  Object.assign(new Error(details), { code, details, metadata: new Metadata() });

export const viewOf = (state: number, callId = 'c1'): wireCall.CallView => ({
  ...wireCall.CallView.decode(new Uint8Array()),
  callId,
  state: state as wireCall.CallState,
  taskId: 't1',
});

/** A real gRPC server whose verbs do what the test says; it never retries, waits or checks anything. */
export class ScriptedGateway {
  readonly asked: Asked[] = [];
  readonly scripts: Record<string, Script> = {};
  /** One list of news for each connection of a watch; a last entry that is an `Error` breaks it. */
  readonly watches: (WatchCallResponse | Error)[][] = [];
  address = '';
  #server = new Server();

  /** Port 0 takes a free one. */
  async listen(port = 0): Promise<number> {
    this.#server = new Server();
    this.#server.addService(ToolServiceService, this.#verbs(ToolServiceService) as never);
    this.#server.addService(RegistryServiceService, this.#verbs(RegistryServiceService) as never);
    const bound = await new Promise<number>((resolve, reject) => {
      this.#server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error, got) =>
        error ? reject(error) : resolve(got),
      );
    });
    this.address = `127.0.0.1:${bound}`;
    return bound;
  }

  /** Breaks every connection, as a kill does. */
  kill(): void {
    this.#server.forceShutdown();
  }

  keys(): Set<string> {
    return new Set(this.asked.map(({ request }) => request.proposal?.requestKey ?? String(request['requestKey'])));
  }

  #verbs(service: object): Record<string, unknown> {
    const unary = Object.keys(service).map((verb) => [verb, this.#unary(verb)] as const);
    return { ...Object.fromEntries(unary), watchCall: (stream: never) => this.#watch(stream) };
  }

  #unary(verb: string) {
    return (call: ServerUnaryCall<Asked['request'], unknown>, callback: sendUnaryData<unknown>) => {
      const leftMs = Number(call.getDeadline()) - Date.now();
      const asked = { verb, request: call.request, metadata: call.metadata, leftMs };
      this.asked.push(asked);
      Promise.resolve()
        .then(() => this.scripts[verb]?.(asked))
        .then(
          (answer) => (answer instanceof Error ? callback(answer) : callback(null, answer)),
          (thrown) => callback(thrown),
        );
    };
  }

  #watch(stream: { write(news: WatchCallResponse): void; end(): void; emit(event: string, error: Error): void }): void {
    this.asked.push({ verb: 'watchCall', request: {}, metadata: new Metadata(), leftMs: 0 });
    for (const news of this.watches.shift() ?? []) {
      if (news instanceof Error) return void stream.emit('error', news);
      stream.write(news);
    }
    if (this.watches.length > 0) stream.end();
  }
}
