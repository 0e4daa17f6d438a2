import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import type { Socket } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { openTunnel } from '../../../apps/egress/src/testing/open-egress.ts';

/** How a client comes to the host: by itself, or through a door under the token of a permit. */
export type Reach = (host: string, port: number, ca: string) => Promise<Socket>;

const secure = (options: ConnectionOptions): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connectTls({ ...options, ALPNProtocols: ['http/1.1'] }, () => resolve(socket));
    socket.once('error', reject);
  });

export const direct: Reach = (servername, port, ca) => secure({ host: '127.0.0.1', port, servername, ca });

export const throughDoor =
  (socketPath: string, token: string): Reach =>
  async (servername, port, ca) => {
    const { socket, refused } = await openTunnel(socketPath, `${servername}:${port}`, token);
    if (refused !== undefined) throw new Error(`the door refused: ${refused.reason}`);
    return secure({ socket, servername, ca });
  };

/** Keeps one connection for all that is asked over it. */
export const keepOpen = (socket: Socket): Agent => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  agent.createConnection = () => socket;
  return agent;
};

/** Asks for a path and reads all of the answer; resolves with its bytes. */
export const ask = (agent: Agent, host: string, port: number, path: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const onAnswer = (answer: IncomingMessage) => {
      let bytes = 0;
      answer.on('data', (part: Buffer) => {
        bytes += part.length;
      });
      answer.once('error', reject).once('end', () => resolve(bytes));
    };
    request({ host, port, path, agent }, onAnswer).once('error', reject).end();
  });
