import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { z } from 'zod';

export interface Project {
  /** Name of the package, such as `@toolfabric/kernel`. */
  readonly name: string;
  /** Folder, relative to the workspace. */
  readonly root: string;
  readonly layers: readonly string[];
  readonly dependencies: readonly string[];
  readonly devDependencies: readonly string[];
}

export interface SourceFile {
  /** Relative to the workspace. */
  readonly path: string;
  readonly text: string;
}

export interface Edge {
  readonly source: string;
  readonly target: string;
}

export interface Workspace {
  readonly projects: readonly Project[];
  /** Nx's own project graph, without edges to packages of the registry. */
  readonly edges: readonly Edge[];
  readonly files: readonly SourceFile[];
}

const NxGraph = z.object({
  graph: z.object({
    nodes: z.record(
      z.string(),
      z.object({ data: z.object({ root: z.string(), tags: z.array(z.string()).default([]) }) }),
    ),
    dependencies: z.record(z.string(), z.array(z.object({ source: z.string(), target: z.string() }))),
  }),
});

const Manifest = z.object({
  name: z.string(),
  dependencies: z.record(z.string(), z.string()).default({}),
  devDependencies: z.record(z.string(), z.string()).default({}),
});

const readGraph = (root: string): z.infer<typeof NxGraph>['graph'] => {
  const folder = mkdtempSync(join(tmpdir(), 'toolfabric-graph-'));
  const file = join(folder, 'graph.json');
  try {
    execFileSync(join(root, 'node_modules/.bin/nx'), ['graph', `--file=${file}`], {
      cwd: root,
      stdio: 'pipe',
      timeout: 60_000,
      env: { ...process.env, NX_DAEMON: 'false', NX_CACHE_PROJECT_GRAPH: 'false' },
    });
    return NxGraph.parse(JSON.parse(readFileSync(file, 'utf8'))).graph;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

/** Everything that the rules look at, as it is on the disk. */
export const readWorkspace = (root: string): Workspace => {
  const { nodes, dependencies } = readGraph(root);
  const projects = Object.values(nodes)
    .filter(({ data }) => data.root !== '.')
    .map(({ data }): Project => {
      const manifest = Manifest.parse(JSON.parse(readFileSync(join(root, data.root, 'package.json'), 'utf8')));
      return {
        name: manifest.name,
        root: data.root,
        layers: data.tags.filter((tag) => tag.startsWith('layer:')).map((tag) => tag.slice('layer:'.length)),
        dependencies: Object.keys(manifest.dependencies),
        devDependencies: Object.keys(manifest.devDependencies),
      };
    });
  const edges = Object.values(dependencies)
    .flat()
    .filter(({ source, target }) => nodes[source] && nodes[target]);
  return {
    projects,
    edges,
    files: ['apps', 'libs', 'test', 'scripts'].flatMap((folder) => sourcesBelow(root, folder)),
  };
};

export const readSources = (root: string): SourceFile[] =>
  ['apps', 'libs', 'test', 'scripts'].flatMap((folder) => sourcesBelow(root, folder));

/** Sources that people write: generated code and golden data are left out. */
const sourcesBelow = (root: string, folder: string): SourceFile[] => {
  const start = join(root, folder);
  if (!existsSync(start)) return [];
  return readdirSync(start, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|mts|mjs|js)$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((path) => !/(^|\/)(gen|golden|node_modules)\//.test(path))
    .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
};
