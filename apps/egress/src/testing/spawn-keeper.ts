import { fork } from 'node:child_process';
import { join } from 'node:path';
import type { EgressVerb } from '@toolfabric/contract';
import type { KeeperStart } from './keeper.ts';

/** A keeper of credentials that is a process of its own. It ends with this one. */
export const spawnKeeper = async (start: KeeperStart) => {
  const child = fork(join(import.meta.dirname, 'keeper.ts'), { execArgv: [], stdio: 'inherit' });
  const exited = new Promise<string>((resolve) => child.once('exit', (code, signal) => resolve(signal ?? `${code}`)));
  const ready = new Promise((resolve, reject) => {
    child.once('message', resolve);
    void exited.then((how) => reject(new Error(`ended: ${how}`)));
  });
  child.send(start);
  await ready;
  return {
    exited,
    /** The answer comes to nobody: it is asked to die on the way. */
    ask: (verb: EgressVerb, request: unknown) => void child.send({ verb, request }),
  };
};
