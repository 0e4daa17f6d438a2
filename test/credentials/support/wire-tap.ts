import type { AddressInfo } from 'node:net';
import { createConnection, createServer, type Socket } from 'node:net';

/** Stands between clients and a server, and keeps every byte that goes either way. */
export class WireTap {
  readonly address: string;
  readonly #pieces: Buffer[][] = [];
  readonly #close: () => Promise<void>;

  private constructor(port: number, pieces: Buffer[][], close: () => Promise<void>) {
    this.address = `127.0.0.1:${port}`;
    this.#pieces = pieces;
    this.#close = close;
  }

  static async on(port: number): Promise<WireTap> {
    const pieces: Buffer[][] = [];
    const sockets = new Set<Socket>();
    const pass = (from: Socket, to: Socket) => {
      const kept: Buffer[] = [];
      pieces.push(kept);
      sockets.add(from);
      from.on('data', (chunk: Buffer) => kept.push(chunk));
      from.on('error', () => to.destroy()).on('close', () => to.destroy());
      from.pipe(to);
    };
    const server = createServer((client) => {
      const upstream = createConnection(port, '127.0.0.1');
      pass(client, upstream);
      pass(upstream, client);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const close = async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    };
    return new WireTap((server.address() as AddressInfo).port, pieces, close);
  }

  /** Bytes so far. */
  get size(): number {
    return this.#pieces.flat().reduce((sum, { length }) => sum + length, 0);
  }

  /** Whether the text went by on any connection, in one direction. */
  saw(text: string): boolean {
    return this.#pieces.some((kept) => Buffer.concat(kept).includes(text));
  }

  close(): Promise<void> {
    return this.#close();
  }
}
