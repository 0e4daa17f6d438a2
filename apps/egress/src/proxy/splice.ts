import type { Socket } from 'node:net';
import type { Connection } from '../permits/connection.ts';

/** Both ways at once, counted, each at the speed of its slower side; an end of one direction is passed on alone. */
export const splice = (client: Socket, host: Socket, connection: Connection): void => {
  const pump = (from: Socket, to: Socket, direction: 'out' | 'in') => {
    from.on('data', (chunk: Buffer) => {
      try {
        connection.count(direction, chunk.length);
      } catch {
        return;
      }
      if (!to.write(chunk)) from.pause();
    });
    to.on('drain', () => from.resume());
    from.once('end', () => to.end());
    from.once('close', () => from.readableEnded || to.destroy());
    from.resume();
  };
  pump(client, host, 'out');
  pump(host, client, 'in');
};
