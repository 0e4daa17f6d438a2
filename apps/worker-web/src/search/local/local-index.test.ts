import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FolderIndex, type FolderQuery } from './folder-index.ts';
import { FOLDER_LIMITS, type FolderLimits } from './folder-limits.ts';
import { IndexCost } from './index-cost.ts';
import { IndexShelf } from './index-shelf.ts';
import { LocalIndex, type LocalIndexOptions } from './local-index.ts';
import { readInside } from './read-inside.ts';

const base = mkdtempSync(join(tmpdir(), 'search-folder-'));
let folder = '';
let root = '';
let folders = 0;
const open: LocalIndex[] = [];

beforeEach(() => {
  folders += 1;
  folder = join(base, String(folders));
  root = join(folder, 'acme');
  mkdirSync(root, { recursive: true });
});
afterEach(() => {
  for (const index of open.splice(0)) index.close();
});
afterAll(() => rmSync(base, { recursive: true }));

const write = (path: string, text: string | Buffer, tenant = 'acme') => {
  const full = join(folder, tenant, path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, text);
  return full;
};
const query = (words: string[], more: Partial<FolderQuery> = {}): FolderQuery => ({
  words,
  phrases: [],
  without: [],
  count: 10,
  ...more,
});
const indexed = async (limits: Partial<FolderLimits> = {}) => {
  const index = new FolderIndex(root, { ...FOLDER_LIMITS, ...limits });
  await index.refresh();
  return index;
};
const paths = async (index: FolderIndex, ...asked: Parameters<typeof query>) =>
  (await index.find(query(...asked))).hits.map(({ path }) => path);
const threaded = (options: Partial<LocalIndexOptions> = {}) => {
  const index = new LocalIndex({ folder, limits: { freshMs: 0 }, ...options });
  open.push(index);
  return index;
};
const ask = (index: LocalIndex, words: string[], tenant = 'acme', timeoutMs = 20_000) =>
  index.ask(tenant, query(words), timeoutMs, new AbortController().signal);

describe('WB-1: the index of a folder', () => {
  it('finds words in texts, titles and pages, the best first', async () => {
    write('a/deep/queue.md', '# The queue\n\nA message waits in the queue.');
    write('b.txt', 'one queue among many other words, '.repeat(20));
    write('c.html', '<title>Pages</title><nav>queue</nav><p>A h&ouml;rbuch</p><script>queue</script>');
    const index = await indexed();
    expect(await paths(index, ['queue'])).toEqual(['a/deep/queue.md', 'b.txt']);
    expect(await paths(index, ['horbuch'])).toEqual(['c.html']);
    expect((await index.find(query(['queue']))).hits[0]).toMatchObject({ title: 'The queue' });
  });

  it('phrases have to stand there, unwanted words and phrases must not, days are those of the file', async () => {
    write('phrase.txt', 'the write-ahead log of the store');
    write('words.txt', 'ahead of the log we write');
    write('both.txt', 'the write ahead log, and a page cache');
    const old = write('old.txt', 'the write ahead log');
    utimesSync(old, 1_000, 1_000);
    const index = await indexed();
    const phrases = [['write', 'ahead', 'log']];
    const after = Date.parse('2000-01-01');
    expect(await paths(index, ['store'], { phrases })).toEqual(
      expect.arrayContaining(['phrase.txt', 'both.txt', 'old.txt']),
    );
    expect(await paths(index, [], { phrases, after })).not.toContain('old.txt');
    expect(await paths(index, [], { phrases, before: after })).toEqual(['old.txt']);
    expect(await paths(index, [], { phrases, without: [['cache'], ['old']], after })).toEqual(['phrase.txt']);
    expect(await paths(index, [], { phrases, without: [['page', 'cache']], after })).toEqual(['phrase.txt']);
  });

  it('takes in only what changed, and forgets what is gone', async () => {
    const changed = write('changed.txt', 'before');
    const moved = write('moved.txt', 'unmoved');
    const index = await indexed();
    expect(await index.refresh()).toBe(0);
    writeFileSync(changed, 'later!');
    utimesSync(moved, 5_000, 5_000);
    write('new.txt', 'later');
    expect(await index.refresh()).toBe(2);
    expect(await paths(index, ['before'])).toEqual([]);
    expect(await paths(index, ['later'])).toEqual(expect.arrayContaining(['changed.txt', 'new.txt']));
    rmSync(changed);
    expect(await paths(index, ['later'])).toEqual(['new.txt']);
    await index.refresh();
    expect(index.files).toBe(2);
  });

  it('reads other encodings, and leaves out bytes that are no text', async () => {
    write('utf16.txt', Buffer.from('\ufeffwide words', 'utf16le'));
    write('latin.txt', Buffer.from('caf\xe9 au lait', 'latin1'));
    write('meta.html', Buffer.from('<meta charset="koi8-r"><p>\xf3\xcf\xc2\xc1\xcb\xc1</p>', 'latin1'));
    write('bytes.txt', Buffer.from([0, 1, 2, 119, 105, 100, 101]));
    write('picture.png', 'wide');
    write('.hidden/secret.txt', 'wide');
    const index = await indexed();
    expect(await paths(index, ['wide'])).toEqual(['utf16.txt']);
    expect(await paths(index, ['cafe'])).toEqual(['latin.txt']);
    expect(await paths(index, ['собака'])).toEqual(['meta.html']);
    expect(index.leftOut).toEqual({ not_text: 2 });
  });
});

describe('what is not in the folder is not read', () => {
  it('links to files and folders, out of it or within it, are never followed', async () => {
    const outside = join(folder, 'outside.txt');
    writeFileSync(outside, 'secret words');
    write('own.txt', 'secret of its own');
    symlinkSync(outside, join(root, 'link.txt'));
    symlinkSync(folder, join(root, 'up'));
    symlinkSync('own.txt', join(root, 'again.txt'));
    const index = await indexed();
    expect(await paths(index, ['secret'])).toEqual(['own.txt']);
    expect(index.leftOut).toEqual({ symlinks: 3 });
    for (const path of ['link.txt', 'up/outside.txt', '../outside.txt', 'again.txt', 'a/../../outside.txt', '', '.'])
      expect(readInside(root, path, 1_000)).toBeUndefined();
    expect(readInside(root, 'own.txt', 1_000)?.bytes.toString()).toBe('secret of its own');
  });

  it('a folder that becomes a link after it was looked at leads nowhere', async () => {
    write('sub/a.txt', 'inside');
    const index = await indexed();
    mkdirSync(join(folder, 'elsewhere'));
    writeFileSync(join(folder, 'elsewhere', 'a.txt'), 'inside of others');
    renameSync(join(root, 'sub'), join(root, 'was'));
    symlinkSync(join(folder, 'elsewhere'), join(root, 'sub'));
    expect(await paths(index, ['inside'])).toEqual([]);
  });

  it('a pipe is passed over, and nobody waits for it', async () => {
    execFileSync('mkfifo', [join(root, 'pipe.txt')]);
    expect((await indexed()).leftOut).toEqual({ not_text: 1 });
    expect(readInside(root, 'pipe.txt', 1_000)).toBeUndefined();
  });

  it.each<[string, Partial<FolderLimits>, object]>([
    ['too many files', { files: 2 }, { too_many: 1 }],
    ['too many bytes', { bytes: 12 }, { too_many: 1 }],
    ['a file that is too large', { fileBytes: 5 }, { too_large: 3 }],
    ['folders too deep', { depth: 0 }, { too_deep: 1 }],
    ['more than may stand in a folder', { entries: 2 }, { too_many: 1 }],
    ['what takes too much memory', { indexBytes: 4_000 }, { too_many: 1 }],
  ])('%s are left out and counted', async (_, limits, leftOut) => {
    write('a.txt', 'words1');
    write('b.txt', 'words2');
    write('deep/c.txt', 'words3');
    expect((await indexed(limits)).leftOut).toEqual(leftOut);
  });
});

describe('what an index may take', () => {
  const unlike = (seed: string, count: number) => Array.from({ length: count }, (_, n) => `${seed}x${n}`).join(' ');

  it('is estimated by terms and not by bytes; what had no room comes in when there is some', async () => {
    write('a.txt', unlike('a', 400));
    write('b.txt', unlike('b', 400));
    const index = await indexed({ indexBytes: 300_000 });
    expect([await paths(index, ['ax7']), await paths(index, ['bx7'])]).toEqual([['a.txt'], []]);
    write('a.txt', 'the same word '.repeat(400));
    await index.refresh();
    expect(await paths(index, ['bx7'])).toEqual(['b.txt']);
    expect(index.leftOut).toEqual({});
  });

  it('is the same after a thousand changes: terms of what is gone are not kept for ever', () => {
    const cost = new IndexCost();
    const fill = (seed: string) => new Set(Array.from({ length: 60_000 }, (_, n) => `${seed}${n}`));
    cost.takeAway(cost.add(fill('a')));
    expect([cost.isStale, cost.bytes]).toEqual([false, 0]);
    cost.takeAway(cost.add(fill('b')));
    expect(cost.isStale).toBe(true);
  });

  it('a name whose address could not be told is left out', async () => {
    write(`${'東'.repeat(80)}/${'東'.repeat(80)}/${'東'.repeat(80)}.txt`, 'word');
    expect((await indexed()).leftOut).toEqual({ too_deep: 1 });
  });

  it('looks at files for so long, and says of how many it does not know', async () => {
    for (const name of ['a', 'b', 'c']) write(`${name}.txt`, 'one row of words');
    let now = 0;
    const index = new FolderIndex(root, { ...FOLDER_LIMITS, lookMs: 10 }, () => (now += 6));
    await index.refresh();
    const { hits, notLookedAt } = await index.find(query([], { phrases: [['row', 'of', 'words']] }));
    expect([hits.length, notLookedAt]).toEqual([1, 2]);
  });
});

describe('tenants', () => {
  it('never see what another has, and one without a folder has none', async () => {
    write('a.txt', 'shared word of acme');
    write('b.txt', 'shared word of bolt', 'bolt');
    writeFileSync(join(folder, 'loose.txt'), 'shared');
    symlinkSync(join(folder, 'acme'), join(folder, 'linked'));
    const index = threaded();
    expect(await ask(index, ['shared'])).toMatchObject({ hits: [{ path: 'a.txt' }], files: 1 });
    expect(await ask(index, ['shared'], 'bolt')).toMatchObject({ hits: [{ path: 'b.txt' }], files: 1 });
    for (const tenant of ['none', 'linked', '..', '.', '', 'acme/../bolt', 'loose.txt'])
      expect(await ask(index, ['shared'], tenant)).toBe('none');
    expect(index.read('bolt', 'a.txt')).toBeUndefined();
    expect(index.read('bolt', '../acme/a.txt')).toBeUndefined();
    expect(index.read('acme', 'a.txt')?.bytes.toString()).toBe('shared word of acme');
  });

  it('the index that was asked longest ago goes when there are too many', async () => {
    for (const tenant of ['a', 'b', 'c']) write('x.txt', 'word', tenant);
    const shelf = new IndexShelf(folder, { ...FOLDER_LIMITS, keptTenants: 2 }, () => 0);
    for (const tenant of ['a', 'b', 'c']) await shelf.open(tenant, () => {});
    expect(shelf.tenants).toBe(2);
    const narrow = new IndexShelf(folder, { ...FOLDER_LIMITS, keptBytes: 900 }, () => 0);
    for (const tenant of ['a', 'b']) expect((await narrow.open(tenant, () => {}))?.files).toBe(1);
    expect(narrow.tenants).toBe(1);
  });

  it('a folder is looked through once for all who ask at one time, and again when it is not fresh', async () => {
    write('a.txt', 'word');
    let now = 0;
    const shelf = new IndexShelf(folder, { ...FOLDER_LIMITS, freshMs: 10 }, () => now);
    const [one, two] = await Promise.all([shelf.open('acme', () => {}), shelf.open('acme', () => {})]);
    expect(one).toBe(two);
    write('b.txt', 'word');
    expect((await shelf.open('acme', () => {}))?.files).toBe(1);
    now = 10;
    expect((await shelf.open('acme', () => {}))?.files).toBe(2);
  });
});

describe('the thread', () => {
  it('a question that is not answered in time ends late, and the next one finds the index', async () => {
    for (let n = 0; n < 300; n += 1) write(`${n}.txt`, `word number${n}`);
    const index = threaded();
    expect(await ask(index, ['word'], 'acme', 0)).toBe('late');
    expect(await ask(index, ['number7'])).toMatchObject({ hits: [{ path: '7.txt' }], files: 300 });
  });

  it('a thread that runs out of memory ends the question, and the next one begins a new thread', async () => {
    const words = Array.from({ length: 150_000 }, (_, n) => `w${n.toString(36)}`).join(' ');
    for (let n = 0; n < 8; n += 1) write(`${n}.txt`, words.replaceAll('w', `w${n}`));
    const index = threaded({ memoryMb: 24, limits: { freshMs: 0, fileBytes: 8 * 1024 ** 2 } });
    expect(await ask(index, ['x'])).toBe('broken');
    rmSync(root, { recursive: true });
    write('small.txt', 'word');
    expect(await ask(index, ['word'])).toMatchObject({ files: 1 });
  });

  it('a thread without a sign is ended', async () => {
    for (let n = 0; n < 2_000; n += 1) write(`${n}.txt`, `word ${n}`);
    expect(await ask(threaded({ stuckMs: 0 }), ['word'])).toBe('broken');
  });

  it('a call that is cancelled waits no longer; too many are refused', async () => {
    const index = threaded();
    const gone = AbortSignal.abort(new Error('cancelled'));
    expect(() => index.ask('acme', query(['x']), 1_000, gone)).toThrow('cancelled');
    const cancel = new AbortController();
    const waiting = Array.from({ length: 64 }, () => index.ask('acme', query(['x']), 20_000, cancel.signal));
    expect(() => ask(index, ['x'])).toThrow('too many searches wait');
    cancel.abort(new Error('cancelled'));
    for (const each of await Promise.allSettled(waiting)) expect(each.status).toBe('rejected');
    write('a.txt', 'x');
    linkSync(join(root, 'a.txt'), join(root, 'b.txt'));
    expect(await ask(index, ['x'])).toMatchObject({ files: 2 });
  });
});
