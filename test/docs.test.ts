import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const PAGES = ['README.md', ...globSync('docs/**/*.md', { cwd: ROOT })].sort();
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

const TOP = 'apps|libs|docs|test|scripts|proto|deploy|k8s';
const FILES = globSync(`{${TOP.replaceAll('|', ',')}}/**/*`, {
  cwd: ROOT,
  exclude: (path) => basename(path) === 'node_modules',
});
const FILE_NAMES = new Set([...FILES.map((path) => basename(path)), 'package.json', 'tsconfig.base.json']);

const withoutFences = (text: string): string => text.replaceAll(/^```.*?^```$/gms, '');

/** As the renderers of the usual forges make it out of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\- ]/gu, '')
    .replaceAll(' ', '-');

const anchorsOf = (text: string): string[] =>
  [...withoutFences(text).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));

/** Links of a page that lead nowhere inside the repository. */
const brokenLinks = (page: string, text: string): string[] =>
  [...withoutFences(text).matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target))
    .filter((target) => {
      const [path = '', anchor] = target.split('#');
      const place = path === '' ? page : join(dirname(page), path);
      if (!existsSync(join(ROOT, place))) return true;
      return anchor !== undefined && !anchorsOf(place === page ? text : read(place)).includes(anchor);
    });

const exists = (path: string): boolean =>
  path.includes('*')
    ? globSync(path, { cwd: ROOT }).length > 0
    : existsSync(join(ROOT, path.includes('<') ? dirname(path.slice(0, path.indexOf('<') + 1)) : path));

/** Paths and names of source files in code spans that do not exist; what stands in `<>` may be anything. */
const missingPaths = (text: string): string[] =>
  [...withoutFences(text).matchAll(/`([^`\n]+)`/g)]
    .flatMap(([, span = '']) => span.split(' '))
    .filter((word) =>
      new RegExp(`^(${TOP})/`).test(word)
        ? !exists(word)
        : /^[\w.-]+\.(ts|md|mjs)$/.test(word) && !FILE_NAMES.has(word) && !existsSync(join(ROOT, word)),
    );

const fencesOf = (text: string, language: string): string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, body = '']) => body);

describe.each(PAGES)('%s', (page) => {
  it('has only links that lead somewhere', () => {
    expect(brokenLinks(page, read(page))).toEqual([]);
  });

  it('names only files and folders that are there', () => {
    expect(missingPaths(read(page))).toEqual([]);
  });
});

describe('the documents', () => {
  it('show the first call as it stands in docs/examples/first-call.ts', () => {
    expect(fencesOf(read('README.md'), 'ts')).toEqual([read('docs/examples/first-call.ts')]);
  });

  it('list the folders that are there', () => {
    const [, section = ''] = read('README.md').split('\n## Folders\n');
    const folders = (fencesOf(section, 'text')[0] ?? '').split('\n').map((line) => line.slice(0, 20).trim());
    const named = folders.flatMap((cell) => cell.split(', ')).filter((name) => name !== '');
    expect(named).toContain('apps/gateway');
    expect(named.filter((name) => !existsSync(join(ROOT, name)))).toEqual([]);
  });

  it('have every decision record in the index, under its title', () => {
    const index = read('docs/adr/README.md');
    const records = PAGES.filter((page) => /^docs\/adr\/\d{4}-/.test(page));
    expect(records.length).toBeGreaterThan(10);
    const title = (page: string) =>
      read(page)
        .split('\n')[0]
        ?.replace(/^# \d{4}: /, '') ?? '';
    expect(records.filter((page) => !index.includes(`(${basename(page)})`) || !index.includes(title(page)))).toEqual(
      [],
    );
  });
});

describe('a page that is out of step is found', () => {
  it('by a link to nowhere, and by one to a heading that is not there', () => {
    const text = '# Here\n[a](docs/no.md) [b](#here) [c](#there) [d](docs/errors.md#errors) [e](https://example.com/x)';
    expect(brokenLinks('README.md', text)).toEqual(['docs/no.md', '#there']);
  });

  it('by a path or a name of a file that is gone', () => {
    const text =
      '`libs/ledger/src/gone.ts` `gone-too.ts` `libs/nothing/*.ts` `libs/<any>/gone` `k8s/base/<x>` `call.ts`';
    expect(missingPaths(text)).toEqual(['libs/ledger/src/gone.ts', 'gone-too.ts', 'libs/nothing/*.ts']);
  });
});
