import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadAuthority } from './load-authority.ts';

const NOW = Date.now();
const ELEVEN_YEARS_MS = 11 * 365 * 86_400_000;

describe('the authority of an installation', () => {
  let folder: string;
  let files: { certFile: string; keyFile: string };
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'authority-'));
    files = { certFile: join(folder, 'keys', 'ca.pem'), keyFile: join(folder, 'keys', 'ca.key') };
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const written = (name: string, key: string) => {
    const keyFile = join(folder, name);
    writeFileSync(keyFile, key);
    return { ...files, keyFile, create: false };
  };

  it('is made once, its key for nobody else, and is the same from then on', async () => {
    const made = await loadAuthority({ ...files, create: true }, NOW);
    expect(statSync(files.keyFile).mode & 0o777).toBe(0o600);
    expect(await loadAuthority({ ...files, create: true }, NOW)).toEqual(made);
    expect(await loadAuthority({ ...files, create: false }, NOW)).toEqual(made);
  });

  it('is refused once it has expired', async () => {
    await expect(loadAuthority({ ...files, create: false }, NOW + ELEVEN_YEARS_MS)).rejects.toThrow('is not good');
  });

  it('is refused with the key of another, and with a key that cannot sign for hosts here', async () => {
    const pem = { type: 'pkcs8', format: 'pem' } as const;
    const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export(pem).toString();
    await expect(loadAuthority(written('other', other), NOW)).rejects.toThrow('not that of the authority');
    const curve = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export(pem).toString();
    await expect(loadAuthority(written('curve', curve), NOW)).rejects.toThrow('no RSA key');
  });

  it('is refused when it is no whole certificate', async () => {
    const text = readFileSync(files.certFile, 'utf8');
    const certFile = join(folder, 'none.pem');
    writeFileSync(certFile, text.slice(0, 200));
    await expect(loadAuthority({ ...files, certFile, create: false }, NOW)).rejects.toThrow();
  });
});
