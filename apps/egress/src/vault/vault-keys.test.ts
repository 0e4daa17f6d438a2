import { describe, expect, it } from 'vitest';
import { generateVaultKey, parseVaultKeys } from './vault-keys.ts';

const thrownBy = (text: string): string => {
  try {
    parseVaultKeys(text);
    return 'taken';
  } catch (thrown) {
    return String(thrown);
  }
};

describe('PO-11: the keys of a vault', () => {
  it('are the same whenever the file is read, and another for each line', () => {
    const [first, second] = [generateVaultKey(), generateVaultKey()];
    const keys = parseVaultKeys(`# newest first\n${first}\n\n${second.toUpperCase()}\r\n`);
    expect(keys.newest.kid).toBe(parseVaultKeys(first).newest.kid);
    expect(keys.newest.public).toEqual(parseVaultKeys(first).newest.public);
    expect(keys.byKid(parseVaultKeys(second).newest.kid)?.record).toEqual(parseVaultKeys(second).newest.record);
    expect(keys.byKid('v-0000000000000000')).toBeUndefined();
  });

  it('what is told of one does not hold it', () => {
    const key = generateVaultKey();
    const { kid, record, public: told } = parseVaultKeys(key).newest;
    const public_ = JSON.stringify([kid, told]);
    for (const form of [key, Buffer.from(key, 'hex').toString('base64url'), record.toString('hex')])
      expect(public_).not.toContain(form);
  });

  it.each([
    ['nothing', ''],
    ['comments alone', '# a\n'],
    ['a short line', 'ab'.repeat(31)],
    ['a long line', 'ab'.repeat(33)],
    ['another alphabet', 'zz'.repeat(32)],
    ['one key twice', `${'ab'.repeat(32)}\n${'AB'.repeat(32)}`],
    ['more than sixteen', Array.from({ length: 17 }, generateVaultKey).join('\n')],
  ])('refuses %s, and quotes nothing of it', (_, text) => {
    const said = thrownBy(text);
    expect(said).toMatch(/^Error: a (key of the )?vault/);
    for (const line of text.split('\n').filter((one) => one.length > 4)) expect(said).not.toContain(line);
  });
});
