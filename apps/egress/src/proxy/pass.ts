import type { Readable, Writable } from 'node:stream';
import type { Connection } from '../permits/connection.ts';
import { Refused } from '../refuse.ts';

/**
 * All of a body into the other side, counted, at the speed of the slower one. Rejects when the budget ends or the body
 * breaks off; the end is passed on only when it was the true one.
 */
export const pass = (from: Readable, to: Writable, connection: Connection, direction: 'out' | 'in'): Promise<void> =>
  new Promise((resolve, reject) => {
    const onDrain = () => from.resume();
    from.on('data', (chunk: Buffer) => {
      try {
        connection.count(direction, chunk.length);
      } catch (thrown) {
        from.pause();
        return reject(thrown as Error);
      }
      if (!to.write(chunk)) from.pause();
    });
    to.on('drain', onDrain);
    from.once('end', () => {
      to.end();
      resolve();
    });
    from.once('error', reject);
    from.once('close', () => reject(new Refused(direction === 'in' ? 'response_malformed' : 'request_malformed')));
  });
