import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Somebody else's service, which knows its callers by what stands in the header `authorization`. */
export class NotesPeer {
  readonly port: number;
  /** What each request showed, and where. */
  readonly seen: { readonly path: string; readonly shown: string | undefined }[] = [];
  /** What it lets in. */
  readonly accepts = new Set<string>();
  readonly #close: () => Promise<void>;
  /** Requests whose answers are never ended. */
  #held = 0;

  private constructor(port: number, close: () => Promise<void>) {
    this.port = port;
    this.#close = close;
  }

  get held(): number {
    return this.#held;
  }

  static async start(): Promise<NotesPeer> {
    const server = createServer((request, response) => {
      peer.#note(request);
      if (request.url === '/held') {
        peer.#held += 1;
        response.once('close', () => {
          peer.#held -= 1;
        });
        return void response.writeHead(200).write('a first part');
      }
      // It says whatever it was told.
      if (request.url === '/notes/echo') return void response.end(`you showed ${request.headers.authorization}.`);
      const status = peer.accepts.has(request.headers.authorization ?? '') ? 200 : 401;
      response.writeHead(status, { 'content-type': 'text/plain' }).end(`notes for ${status}`);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const peer = new NotesPeer((server.address() as AddressInfo).port, async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    });
    return peer;
  }

  #note({ url = '', headers }: IncomingMessage): void {
    this.seen.push({ path: url, shown: headers.authorization });
  }

  stop(): Promise<void> {
    return this.#close();
  }
}
