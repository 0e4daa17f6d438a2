import { fork } from 'node:child_process';
import { join } from 'node:path';
import type { Kept } from '../oauth/renewals.ts';
import type { RenewerStart } from './renewer.ts';

export type Fetched = { readonly token?: string; readonly error?: string };

/** A process of its own that fetches tokens, as an egress does. It ends with this one. */
export const spawnRenewer = async (start: RenewerStart) => {
  const child = fork(join(import.meta.dirname, 'renewer.ts'), { execArgv: [], stdio: 'inherit' });
  const exited = new Promise<string>((resolve) => child.once('exit', (code, signal) => resolve(signal ?? `${code}`)));
  const next = <T>() =>
    new Promise<T>((resolve, reject) => {
      child.once('message', (message) => resolve(message as T));
      void exited.then((how) => reject(new Error(`ended: ${how}`)));
    });
  const ready = next();
  child.send(start);
  await ready;
  return {
    exited,
    fetch: (kept: Kept, callers: number): Promise<readonly Fetched[]> => {
      const answer = next<readonly Fetched[]>();
      child.send({ kept, callers });
      return answer;
    },
    signal: (name: NodeJS.Signals) => void child.kill(name),
  };
};
export type Renewer = Awaited<ReturnType<typeof spawnRenewer>>;
