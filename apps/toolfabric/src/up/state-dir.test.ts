import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimStateDir, stateFiles } from './state-dir.ts';

let folder: string;
let root: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'toolfabric-state-'));
  root = join(folder, 'above', 'state');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const mode = () => statSync(root).mode & 0o777;
const makeOpen = () => {
  mkdirSync(root, { recursive: true });
  chmodSync(root, 0o755);
};

describe('the state folder', () => {
  it('is made for its owner alone', () => {
    claimStateDir(stateFiles(root));
    expect(mode()).toBe(0o700);
  });

  it.each(['an empty one', 'one of an installation'])('%s that others could enter is closed to them', (which) => {
    makeOpen();
    if (which !== 'an empty one') mkdirSync(join(root, 'keys'));
    claimStateDir(stateFiles(root));
    expect(mode()).toBe(0o700);
  });

  it('an open one that is used for other things is refused and left as it is', () => {
    makeOpen();
    writeFileSync(join(root, 'something'), '');
    expect(() => claimStateDir(stateFiles(root))).toThrow('open to others');
    expect(mode()).toBe(0o755);
  });

  it('a private one may hold other things', () => {
    mkdirSync(root, { recursive: true, mode: 0o700 });
    writeFileSync(join(root, 'tokens.json'), '[]');
    expect(() => claimStateDir(stateFiles(root))).not.toThrow();
  });

  if (process.getuid?.() === 0) {
    it('one that belongs to somebody else is refused', () => {
      mkdirSync(root, { recursive: true, mode: 0o700 });
      chownSync(root, 4_321, 4_321);
      expect(() => claimStateDir(stateFiles(root))).toThrow('belongs to another user');
    });
  }
});
