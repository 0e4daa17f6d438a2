import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TELEMETRY_ENVIRONMENT } from '@toolfabric/telemetry/settings';
import { describe, expect, it } from 'vitest';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FILES = globSync('apps/*/src/config.ts', { cwd: ROOT }).sort();
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const appOf = (file: string) => basename(dirname(dirname(file)));

/** Fields of the schemas of the environment; the ones that telemetry shares are spread into them. */
const variablesIn = (source: string): string[] => {
  const own = [...source.matchAll(/^\s+(PATH|TOOLFABRIC_[A-Z0-9_]+): /gm)].map(([, name = '']) => name);
  const shared = source.includes('...TELEMETRY_ENVIRONMENT') ? Object.keys(TELEMETRY_ENVIRONMENT) : [];
  return [...new Set([...own, ...shared])].sort();
};

interface Row {
  readonly name: string;
  readonly apps: readonly string[];
  readonly cells: readonly string[];
}

const rowsIn = (page: string, services: readonly string[]): Row[] =>
  page.split('\n').flatMap((line) => {
    const [, variable = '', readers = '', ...cells] = line.split('|').map((cell) => cell.trim());
    const name = /^`([A-Z][A-Z0-9_]+)`$/.exec(variable)?.[1];
    if (name === undefined) return [];
    const apps = readers.split(', ').flatMap((reader) => (reader === 'every service' ? services : [reader]));
    return [{ name, apps, cells }];
  });

describe('docs/configuration.md', () => {
  const apps = FILES.map(appOf);
  const rows = rowsIn(
    read('docs/configuration.md'),
    apps.filter((app) => app !== 'toolfabric'),
  );

  it.each(FILES)('has the variables that %s reads, and no other', (file) => {
    const told = rows.filter((row) => row.apps.includes(appOf(file))).map(({ name }) => name);
    expect(variablesIn(read(file)).length).toBeGreaterThan(5);
    expect(told.sort()).toEqual(variablesIn(read(file)));
  });

  it('names only apps that are there, and says a default and a meaning', () => {
    expect(rows.flatMap((row) => row.apps).filter((app) => !apps.includes(app))).toEqual([]);
    expect(rows.filter(({ cells: [byDefault = '', meaning = ''] }) => byDefault === '' || meaning === '')).toEqual([]);
  });
});

describe('a page that is out of step', () => {
  it('is found by a row or a reader too few', () => {
    expect(variablesIn('  TOOLFABRIC_A: z.string(),\n  PATH: z.string(),\n')).toEqual(['PATH', 'TOOLFABRIC_A']);
    expect(variablesIn('  ...TELEMETRY_ENVIRONMENT,\n')).toContain('TOOLFABRIC_OTLP_ENDPOINT');
    expect(rowsIn('| `TOOLFABRIC_A` | every service, x | `1` | what |', ['y'])).toEqual([
      { name: 'TOOLFABRIC_A', apps: ['y', 'x'], cells: ['`1`', 'what', ''] },
    ]);
  });
});
