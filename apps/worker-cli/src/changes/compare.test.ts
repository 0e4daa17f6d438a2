import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { compareScans } from './compare.ts';
import { Contents } from './contents.ts';
import { locateBelow } from './locate.ts';
import { scanTree } from './scan-tree.ts';

const scattered = (factor: number, modulus: number): string =>
  Array.from({ length: 1_500 }, (_, at) => (at * factor) % modulus).join('\n');

it('a hundred files whose smallest diffs take long are compared in little time all together', async () => {
  const root = mkdtempSync(join(tmpdir(), 'compare-'));
  const handle = await open(root);
  try {
    const write = (text: string) => {
      for (let file = 0; file < 100; file += 1) writeFileSync(join(root, `f${file}`), text);
    };
    write(scattered(7_919, 11));
    const contents = new Contents(64 * 1024 ** 2);
    const before = await scanTree(handle.fd, { entries: 1_000, visit: (...one) => contents.take(...one) });
    write(`${scattered(104_729, 13)}\nlast`);
    const after = await scanTree(handle.fd, { entries: 1_000 });
    const changes = compareScans({
      before,
      after,
      contents,
      locate: (path) => locateBelow(handle.fd, path),
      mayRead: () => true,
      files: 100,
      diffBytes: 1024 ** 2,
    });
    expect(changes).toMatchObject({ total: 100, complete: true });
    expect(changes.diff).toContain('+last');
  } finally {
    await handle.close();
    rmSync(root, { recursive: true });
  }
}, 10_000);
