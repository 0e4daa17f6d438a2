import { createHash } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { FabricError, randomId } from '@toolfabric/kernel';

/** Where systems keep the authorities that they trust, with what an operator added. */
const SYSTEM_FILES = ['/etc/ssl/certs/ca-certificates.crt', '/etc/pki/tls/certs/ca-bundle.crt', '/etc/ssl/cert.pem'];

const systemAuthorities = async (): Promise<string> => {
  for (const file of SYSTEM_FILES) {
    const text = await readFile(file, 'utf8').catch(() => '');
    if (text.includes('BEGIN CERTIFICATE')) return text;
  }
  return rootCertificates.join('\n');
};

const authorityIn = (file: string): Promise<string> =>
  readFile(file, 'utf8').catch((thrown: unknown) => {
    throw new FabricError('egress_unavailable', 'the authority of the way out cannot be read', { cause: thrown });
  });

/**
 * A file of this worker with the authorities that programs of a call may trust: those of the system, and with `caFile`
 * that of the way out, for calls whose exchange is read there. Throws `egress_unavailable`.
 *
 * @param directory of this worker, passable for the users of workspaces.
 */
export const trustFile = async (directory: string, caFile: string | undefined): Promise<string> => {
  const own = caFile === undefined ? '' : await authorityIn(caFile);
  const text = `${await systemAuthorities()}\n${own}`;
  const file = join(directory, `trust-${createHash('sha256').update(text).digest('hex').slice(0, 32)}.pem`);
  const there = await readFile(file, 'utf8').catch(() => '');
  if (there === text) return file;
  const aside = `${file}.${randomId()}`;
  await writeFile(aside, text, { mode: 0o644, flag: 'wx' });
  await rename(aside, file);
  return file;
};
