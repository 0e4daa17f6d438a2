import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** The version of a nats-server program, such as `2.9.10`. */
export const serverVersion = async (program: string): Promise<string> => {
  const { stdout } = await promisify(execFile)(program, ['--version'], { timeout: 10_000 });
  const version = /\d+\.\d+\.\d+/.exec(stdout)?.[0];
  if (version === undefined) throw new Error(`${program} does not say its version`);
  return version;
};
