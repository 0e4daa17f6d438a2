import { once } from 'node:events';
import { createServer } from 'node:net';
import { FabricError } from '@toolfabric/kernel';

/** Throws `unavailable` when somebody listens on this loopback port already; said before anything else is started. */
export const checkPort = async (port: number): Promise<void> => {
  if (port === 0) return;
  const server = createServer();
  server.listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (cause) {
    throw new FabricError('unavailable', `cannot listen on 127.0.0.1:${port}`, {
      cause,
      hint: 'Another program has that port: give --port, where 0 takes a free one.',
    });
  }
  server.close();
  await once(server, 'close');
};
