/** Starts programs and tells how long each took. A process of its own, since a large one takes longer to start a child. */
import { bareSandbox, rawSpawn } from './spawn-once.ts';

process.on('message', async (what: 'raw' | 'bare') => {
  process.send?.(await (what === 'raw' ? rawSpawn() : bareSandbox()));
});
