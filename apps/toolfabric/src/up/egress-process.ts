import { closeSync, openSync } from 'node:fs';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Logger } from '@toolfabric/kernel';
import type { RunningService } from '@toolfabric/service-host';
import { startGuarded } from '../programs/guarded-child.ts';
import { lastLines } from '../programs/last-lines.ts';
import { SupervisedChild } from '../programs/supervised-child.ts';
import { makePrivateDir, type StateFiles } from './state-dir.ts';

export interface EgressProcess {
  readonly files: StateFiles['egress'];
  readonly setpriv: string | undefined;
  /** All of it: the process inherits nothing. */
  readonly env: Readonly<Record<string, string>>;
  readonly logger: Logger;
}

/** Resolves when somebody listens there. */
const listens = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });

/**
 * The way out as a process of its own: it alone holds the keys of the vault and of the authority, and what workers read
 * from outside never meets them in one memory.
 */
export const startEgressProcess = async ({ files, setpriv, env, logger }: EgressProcess): Promise<RunningService> => {
  makePrivateDir(files.folder);
  const main = fileURLToPath(import.meta.resolve('@toolfabric/egress/main'));
  const child = new SupervisedChild({
    name: 'egress',
    logFile: files.log,
    async begin(isFirst) {
      const log = openSync(files.log, isFirst ? 'w' : 'a', 0o600);
      const begun = startGuarded({ program: process.execPath, args: [main], setpriv, log, env: { ...env } });
      closeSync(log);
      return begun;
    },
    answers: () => listens(files.socket),
    lastWords: () => lastLines(files.log),
    logger,
  });
  await child.start();
  return { name: 'egress', address: files.socket, failed: child.failed, stop: () => child.stop() };
};
