import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { importsOf } from './boundaries/imports.ts';
import { checkLayers } from './boundaries/layer-rules.ts';
import { checkSources } from './boundaries/source-rules.ts';
import { type Project, readWorkspace, type Workspace } from './boundaries/workspace.ts';

/** Put together, since this file is looked at as well. */
const ONLY = ['', 'only'].join('.');
const ROOT = fileURLToPath(new URL('..', import.meta.url));

describe('the boundaries of this workspace', () => {
  const workspace = readWorkspace(ROOT);

  it('sees the projects, their edges and their sources', () => {
    expect(workspace.projects.length).toBeGreaterThan(10);
    expect(workspace.edges).toContainEqual({ source: '@toolfabric/ports', target: '@toolfabric/kernel' });
    expect(workspace.files.map(({ path }) => path)).toContain('libs/kernel/src/ids.ts');
  });

  it('every project imports only what its layer may', () => {
    expect(checkLayers(workspace)).toEqual([]);
  });

  it('every source file keeps the rules', () => {
    expect(checkSources(workspace)).toEqual([]);
  });
});

const project = (name: string, layer: string, dependencies: string[] = []): Project => ({
  name: `@toolfabric/${name}`,
  root: `${layer === 'app' ? 'apps' : 'libs'}/${name}`,
  layers: [layer],
  dependencies,
  devDependencies: ['@toolfabric/testkit'],
});

const SAMPLE: Workspace = {
  projects: [
    project('contract', 'contract'),
    project('kernel', 'core', ['@toolfabric/contract']),
    project('bus-nats', 'adapter', ['@nats-io/nats-core']),
    project('client', 'client', ['@toolfabric/kernel']),
    project('router', 'app', ['@toolfabric/bus-nats', '@toolfabric/gateway']),
    project('gateway', 'app'),
    project('testkit', 'testkit'),
  ],
  edges: [],
  files: [],
};

const withEdge = (source: string, target: string): string[] =>
  checkLayers({ ...SAMPLE, edges: [{ source: `@toolfabric/${source}`, target: `@toolfabric/${target}` }] });
const withFile = (path: string, text: string): string[] => checkSources({ ...SAMPLE, files: [{ path, text }] });

describe('a broken rule is found', () => {
  it.each([
    ['contract', 'kernel'],
    ['kernel', 'bus-nats'],
    ['bus-nats', 'client'],
    ['client', 'bus-nats'],
    ['router', 'gateway'],
    ['testkit', 'router'],
  ])('in the graph: %s may not import %s', (source, target) => {
    expect(withEdge(source, target)).toEqual([expect.stringContaining('Move the shared part into a layer')]);
  });

  it.each([
    ['kernel', 'contract'],
    ['client', 'kernel'],
    ['router', 'bus-nats'],
    ['testkit', 'bus-nats'],
  ])('in the graph: %s may import %s', (source, target) => {
    expect(withEdge(source, target)).toEqual([]);
  });

  it('in the tags: none, two, or an unknown one', () => {
    const odd = [[], ['core', 'app'], ['helper']].map((layers) => ({ ...project('odd', 'core'), layers }));
    expect(checkLayers({ ...SAMPLE, projects: odd })).toHaveLength(3);
  });

  it.each([
    ['libs/kernel/src/a.ts', `import { x } from '@toolfabric/ports';`, 'add it to the dependencies of libs/kernel'],
    ['libs/kernel/src/a.ts', `const x = await import('zod');`, 'add it to the dependencies of libs/kernel'],
    ['libs/kernel/src/a.ts', `export * from '../../contract/src/limits.ts';`, 'by its package name'],
    ['test/a.test.ts', `import { x } from '../libs/kernel/src/ids.ts';`, 'by its package name'],
    ['apps/router/src/a.ts', `import type { Nats } from '@nats-io/nats-core';`, 'only libs/bus-nats may'],
    ['apps/router/src/a.ts', `import { x } from '@opentelemetry/sdk-trace';`, 'only libs/telemetry may'],
    ['libs/kernel/src/a.ts', `import { x } from '@opentelemetry/resources';`, 'only libs/telemetry may'],
    ['libs/kernel/src/a.ts', `import { x } from 'prom-client';`, 'only libs/telemetry may'],
    ['apps/router/src/a.ts', `import { x } from '@opentelemetry/api';`, 'only libs/kernel, libs/telemetry may'],
    ['apps/router/src/a.ts', `import { x } from 'chdb';`, 'only libs/trace-clickhouse may'],
    ['libs/kernel/src/a.ts', `const home = process.env['HOME'];`, 'apps/<app>/src/config.ts'],
    ['apps/router/src/start.ts', `const { env } = process; process . env.X;`, 'apps/<app>/src/config.ts'],
    ['apps/router/src/a.ts', `import { f } from '@toolfabric/testkit';`, 'in production code'],
    ['apps/router/src/a.ts', `import { f } from '@toolfabric/gateway';`, 'only /start and /config'],
    ['libs/kernel/src/a.ts', '\n'.repeat(501), 'split it by job'],
    ['libs/kernel/src/a.test.ts', `it${ONLY}('x', () => {});`, 'has .only'],
    ['test/a.test.ts', `describe.concurrent${ONLY}('x', () => {});`, 'has .only'],
  ])('in %s: %s', (path, text, advice) => {
    expect(withFile(path, text).join('\n')).toContain(advice);
  });

  it.each([
    ['apps/router/src/config.ts', `export const readConfig = (env = process.env) => env;`],
    [
      'libs/kernel/src/a.test.ts',
      `import { f } from '@toolfabric/testkit'; import { it } from 'vitest'; process.env.X;`,
    ],
    ['libs/kernel/src/a.ts', `import { y } from './b.ts'; import { x } from '@toolfabric/contract';`],
    ['libs/bus-nats/src/a.ts', `import { x } from '@nats-io/nats-core/internal';`],
    ['apps/router/src/a.ts', `import { start } from '@toolfabric/gateway/start';`],
    ['libs/kernel/src/a.ts', '\n'.repeat(500)],
  ])('and nothing else: %s: %s', (path, text) => {
    expect(withFile(path, text)).toEqual([]);
  });

  it('in a real workspace, by the graph that Nx makes of it', () => {
    const root = mkdtempSync(join(tmpdir(), 'toolfabric-boundaries-'));
    try {
      writeBrokenWorkspace(root);
      const broken = readWorkspace(root);
      expect(checkLayers(broken)).toEqual([expect.stringContaining('@toolfabric/core (core) imports @toolfabric/bus')]);
      expect(checkSources(broken)).toEqual([]);
    } finally {
      rmSync(root, { recursive: true, force: true });
    }
  });
});

/** Two projects: the core one depends on the adapter. */
const writeBrokenWorkspace = (root: string): void => {
  const write = (path: string, value: unknown) => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), typeof value === 'string' ? value : JSON.stringify(value));
  };
  const manifest = (name: string, layer: string, dependencies: Record<string, string>) => ({
    name: `@toolfabric/${name}`,
    version: '0.1.0',
    dependencies,
    nx: { tags: [`layer:${layer}`] },
  });
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  write('package.json', { name: 'sample', private: true, workspaces: ['libs/*'] });
  write('package-lock.json', { name: 'sample', lockfileVersion: 3, packages: {} });
  write('nx.json', { useDaemonProcess: false, neverConnectToCloud: true, analytics: false });
  write('libs/core/package.json', manifest('core', 'core', { '@toolfabric/bus': '0.1.0' }));
  write('libs/core/src/index.ts', `export * from '@toolfabric/bus';`);
  write('libs/bus/package.json', manifest('bus', 'adapter', {}));
  write('libs/bus/src/index.ts', `export const bus = 1;`);
};

describe('importsOf', () => {
  it('finds static, side-effect, re-exported, type and dynamic imports, over several lines', () => {
    const text = `import a, {\n  b,\n} from 'one';\nimport type { C } from "two";\nimport 'three';\nexport * from './four.ts';
      const x = await import('five'); let y: import('six').Y; import z from 'seven'; // not import('eight')
      /* import 'nine' */ const url = 'https://x'; import '@scope/ten/sub';`;
    const found = ['./four.ts', '@scope/ten/sub', 'five', 'one', 'seven', 'six', 'three', 'two'];
    expect(importsOf(text).sort()).toEqual(found);
  });
});
