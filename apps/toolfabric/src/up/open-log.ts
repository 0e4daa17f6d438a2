import { closeSync, existsSync, openSync, renameSync, statSync, writeSync } from 'node:fs';
import { createLogger, type Logger } from '@toolfabric/kernel';

const MAX_BYTES = 16 * 1024 * 1024;

export interface Log {
  readonly loggerFor: (service: string) => Logger;
  close(): void;
}

/** One file for the lines of all services. A large one is put aside first, in the place of the last such one. */
export const openLog = (file: string): Log => {
  if (existsSync(file) && statSync(file).size > MAX_BYTES) renameSync(file, `${file}.old`);
  const descriptor = openSync(file, 'a', 0o600);
  let open = true;
  return {
    loggerFor: (service) => createLogger(service, (line) => void (open && writeSync(descriptor, line))),
    close: () => {
      open = false;
      closeSync(descriptor);
    },
  };
};
