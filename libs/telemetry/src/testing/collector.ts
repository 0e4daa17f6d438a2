import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type CollectorMood = 'takes' | 'hangs' | 'refuses';

/** For tests: a real HTTP server in the place of an OTLP collector. */
export class Collector {
  readonly #server: Server;
  readonly #held = new Set<ServerResponse>();
  mood: CollectorMood;
  requests = 0;
  bytes = 0;
  paths = new Set<string>();
  /** Requests that are being held at once, at most. */
  mostHeld = 0;

  private constructor(mood: CollectorMood) {
    this.mood = mood;
    this.#server = createServer((request, response) => {
      this.requests += 1;
      this.paths.add(`${request.method} ${request.url} ${request.headers['content-type']}`);
      request.on('data', (chunk: Buffer) => {
        this.bytes += chunk.length;
      });
      request.on('end', () => this.#answer(response));
    });
  }

  static async start(mood: CollectorMood): Promise<Collector> {
    const collector = new Collector(mood);
    await new Promise<void>((resolve) => collector.#server.listen(0, '127.0.0.1', resolve));
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #answer(response: ServerResponse): void {
    if (this.mood === 'takes') return void response.writeHead(200).end();
    if (this.mood === 'refuses') return void response.writeHead(503).end();
    this.#held.add(response);
    this.mostHeld = Math.max(this.mostHeld, this.#held.size);
    response.on('close', () => this.#held.delete(response));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
