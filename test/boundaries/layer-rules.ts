import type { Project, Workspace } from './workspace.ts';

/** Design, "The house": what each layer may import. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  contract: ['contract'],
  core: ['contract', 'core'],
  runtime: ['contract', 'core', 'runtime'],
  adapter: ['contract', 'core'],
  client: ['contract'],
  app: ['contract', 'core', 'runtime', 'adapter', 'client'],
  composer: ['contract', 'core', 'runtime', 'adapter', 'client', 'app'],
  testkit: ['contract', 'core', 'adapter'],
};
/** The client library needs ids, and nothing else of the core. */
const EXTRA: Readonly<Record<string, readonly string[]>> = { client: ['@toolfabric/kernel'] };

const layerOf = (project: Project): string => project.layers[0] ?? 'none';

/** Findings about tags and about the edges of the project graph, each with what to do. */
export const checkLayers = ({ projects, edges }: Workspace): string[] => {
  const byName = new Map(projects.map((project) => [project.name, project]));
  const tags = projects
    .filter(({ layers }) => layers.length !== 1 || !(layers[0] && layers[0] in MAY_IMPORT))
    .map(
      ({ root }) =>
        `${root}/package.json: give it exactly one tag layer:<${Object.keys(MAY_IMPORT).join('|')}> under "nx"`,
    );
  const directions = edges.flatMap(({ source, target }) => {
    const [from, to] = [byName.get(source), byName.get(target)];
    return from && to && !mayImport(from, to) ? [refusal(from, to)] : [];
  });
  return [...tags, ...directions];
};

const mayImport = (from: Project, to: Project): boolean => {
  // An edge to the test kit may come from tests alone; that no production file makes it is checked file by file.
  if (layerOf(to) === 'testkit') return true;
  return (MAY_IMPORT[layerOf(from)] ?? []).includes(layerOf(to)) || (EXTRA[layerOf(from)] ?? []).includes(to.name);
};

const refusal = (from: Project, to: Project): string =>
  `${from.name} (${layerOf(from)}) imports ${to.name} (${layerOf(to)}): ${layerOf(from)} may import ${(
    MAY_IMPORT[layerOf(from)] ?? []
  ).join(
    ', ',
  )}. Move the shared part into a layer that both may import, or put an interface into libs/ports and let the app pass the implementation`;
