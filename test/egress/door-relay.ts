import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * Where a call is held on its way through the door: its permit before the door has it, the token before the worker has
 * it, the request before the door has it, the answer before the worker has it.
 */
export type Place = 'permit' | 'token' | 'request' | 'answer';

export interface Held {
  /** Resolves when something stands there. */
  readonly reached: Promise<void>;
  /** Lets it go on, to whoever listens at the door by then. */
  release(): void;
}

interface Gate {
  readonly place: Place;
  readonly callId: string;
  readonly open: Promise<void>;
  reach(): void;
}

const callIn = (permit: string): string | undefined => /callId\\":\\"([^"\\]+)/.exec(permit)?.[1];
const tokenGiven = (answer: string): string => /"token":"([^"]+)"/.exec(answer)?.[1] ?? 'none';
const tokenShown = (request: string): string => {
  const basic = /^proxy-authorization: Basic (\S+)/im.exec(request)?.[1] ?? '';
  return Buffer.from(basic, 'base64').toString('latin1').split(':')[1] ?? '';
};

const isWhole = (text: string): boolean => {
  const end = text.indexOf('\r\n\r\n');
  const length = /^content-length: (\d+)/im.exec(text)?.[1] ?? '0';
  return end >= 0 && text.length >= end + 4 + Number(length);
};

/** The first message that comes, whole, and the socket paused behind it; never resolves when it closes before. */
const readMessage = (socket: Socket): Promise<string> =>
  new Promise((resolve) => {
    let text = '';
    const onData = (part: Buffer) => {
      text += part.toString('latin1');
      if (!isWhole(text)) return;
      socket.off('data', onData).pause();
      resolve(text);
    };
    socket.on('data', onData);
  });

/** Stands between workers and the socket of an egress, and can hold what passes at one place. */
export class DoorRelay {
  readonly path: string;
  /** First lines and refusals of what the door answered, oldest first. */
  readonly answers: string[] = [];
  readonly #door: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** By the token that stands for the permit. */
  readonly #calls = new Map<string, string>();
  #gate: Gate | undefined;

  private constructor(path: string, door: string) {
    this.path = path;
    this.#door = door;
    this.#server = createServer((client) => void this.#relay(client).catch(() => client.destroy()));
  }

  static async listen(path: string, door: string): Promise<DoorRelay> {
    const relay = new DoorRelay(path, door);
    await new Promise<void>((resolve) => relay.#server.listen(path, resolve));
    return relay;
  }

  /** Holds what comes of that call to that place next; everything else passes. */
  hold(place: Place, callId: string): Held {
    const reached = Promise.withResolvers<void>();
    const open = Promise.withResolvers<void>();
    this.#gate = { place, callId, open: open.promise, reach: reached.resolve };
    return { reached: reached.promise, release: open.resolve };
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #keep(socket: Socket): Socket {
    this.#sockets.add(socket);
    return socket.on('error', () => {}).once('close', () => this.#sockets.delete(socket));
  }

  async #wait(place: Place, callId: string | undefined): Promise<void> {
    const gate = this.#gate;
    if (gate?.place !== place || gate.callId !== callId) return;
    this.#gate = undefined;
    gate.reach();
    await gate.open;
  }

  async #relay(client: Socket): Promise<void> {
    this.#keep(client);
    const asked = await readMessage(client);
    const isPermit = asked.startsWith('POST /v1/permits');
    const callId = isPermit ? callIn(asked) : this.#calls.get(tokenShown(asked));
    await this.#wait(isPermit ? 'permit' : 'request', callId);
    const door = this.#keep(connect(this.#door));
    door.once('close', () => client.destroySoon());
    client.once('close', () => door.destroy());
    door.write(asked, 'latin1');
    client.pipe(door);
    const answered = await readMessage(door);
    this.answers.push(`${answered.split('\r\n')[0]} ${/^toolfabric-egress: (\S+)/im.exec(answered)?.[1] ?? ''}`);
    if (isPermit && callId !== undefined) this.#calls.set(tokenGiven(answered), callId);
    await this.#wait(isPermit ? 'token' : 'answer', callId);
    client.write(answered, 'latin1');
    door.pipe(client);
  }
}
