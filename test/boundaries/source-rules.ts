import { posix } from 'node:path';
import { importsOf, packageOf } from './imports.ts';
import type { Project, SourceFile, Workspace } from './workspace.ts';

/** The one place, or the few, that may import a client library; everything else goes through it. */
const OWNERS: readonly { readonly library: RegExp; readonly owners: readonly string[] }[] = [
  { library: /^@nats-io\//, owners: ['libs/bus-nats'] },
  { library: /^@cedar-policy\//, owners: ['libs/policy-cedar'] },
  { library: /^@grpc\//, owners: ['libs/proto', 'libs/client', 'apps/gateway'] },
  { library: /^execa$/, owners: ['apps/worker-cli'] },
  { library: /^ajv(-formats)?$/, owners: ['libs/catalogue'] },
  { library: /^yaml$/, owners: ['libs/catalogue'] },
  { library: /^diff$/, owners: ['apps/worker-cli'] },
  { library: /^unbash$/, owners: ['libs/shell-analysis'] },
  // The interface alone is for everybody, by way of what the kernel makes of it; the SDK has one owner.
  { library: /^@opentelemetry\/api$/, owners: ['libs/kernel', 'libs/telemetry'] },
  { library: /^(@opentelemetry\/(?!api$)|prom-client$)/, owners: ['libs/telemetry'] },
  { library: /^(@clickhouse\/|chdb$)/, owners: ['libs/trace-clickhouse'] },
  { library: /^@aws-sdk\//, owners: ['apps/artifacts'] },
];
const MAX_LINES = 500;
/** Files longer than the limit, each with its reason. */
const LONG_FILES: Readonly<Record<string, string>> = {};
/** Tests that drive the inside of a project, each with its reason. */
const INSIDERS: readonly { readonly from: string; readonly into: string; readonly reason: string }[] = [
  { from: 'test/simulation/', into: 'apps/router/src/', reason: 'plays the procedures themselves on a bus of its own' },
  {
    from: 'test/simulation/',
    into: 'apps/egress/src/life/',
    reason: 'plays the life of a door and its look at floors',
  },
  {
    from: 'test/governance/',
    into: 'apps/router/src/testing/',
    reason: 'speaks to routers as the tests of the router do',
  },
  {
    from: 'test/governance/',
    into: 'apps/gateway/src/testing/',
    reason: 'people log in at the issuer that the tests of the gateway have',
  },
  ...['apps/egress/src/testing/', 'apps/worker-cli/src/testing/'].map((into) => ({
    from: 'test/commands/',
    into,
    reason: 'the network of a command is tried with a real egress and a real workspace',
  })),
  ...['apps/egress/src/testing/', 'apps/worker-web/src/'].flatMap((into) =>
    ['test/web/', 'test/bench/egress/'].map((from) => ({
      from,
      into,
      reason: 'puts the code of the web worker before a real way out, without a fabric around them',
    })),
  ),
  {
    from: 'test/egress/',
    into: 'apps/egress/src/testing/',
    reason: 'asks through the door of a worker at a way out that has no bus',
  },
  {
    from: 'test/credentials/',
    into: 'apps/egress/src/testing/',
    reason: 'people log in at the authorisation server that the tests of the egress have',
  },
];
/** The workspace's own packages, which no project declares. */
const ROOT_TOOLS = ['vitest', 'fast-check'];
const COMPOSER_DOORS = /^@toolfabric\/[^/]+\/(start|config)$/;

const isTest = ({ path }: SourceFile): boolean => /\.test\.ts$/.test(path) || /^(test|scripts)\//.test(path);

type Rule = (file: SourceFile, project: Project | undefined, workspace: Workspace) => string[];

const declaresWhatItImports: Rule = (file, project) => {
  if (!project) return [];
  const known = isTest(file)
    ? [...project.dependencies, ...project.devDependencies, ...ROOT_TOOLS, project.name]
    : project.dependencies;
  return [...new Set(importsOf(file.text).map(packageOf))]
    .filter((name) => name !== undefined && !known.includes(name))
    .map((name) => `imports ${name}: add it to the dependencies of ${project.root}/package.json, or do without it`);
};

const staysInItsProject: Rule = (file, project) =>
  importsOf(file.text)
    .filter((specifier) => specifier.startsWith('.'))
    .filter((specifier) => {
      const target = posix.join(posix.dirname(file.path), specifier);
      if (project) return !target.startsWith(`${project.root}/`);
      const isInsider = INSIDERS.some(({ from, into }) => file.path.startsWith(from) && target.startsWith(into));
      return /^(apps|libs)\/[^/]+\//.test(target) && !isInsider;
    })
    .map((specifier) => `imports ${specifier}: import another project by its package name, through its exports`);

const leavesLibrariesToTheirOwner: Rule = (file, project) => {
  if (!project || isTest(file)) return [];
  return importsOf(file.text)
    .map((specifier) => packageOf(specifier) ?? '')
    .flatMap((name) =>
      OWNERS.filter(({ library, owners }) => library.test(name) && !owners.includes(project.root)).map(
        ({ owners }) => ({ name, owners }),
      ),
    )
    .map(({ name, owners }) => `imports ${name}: only ${owners.join(', ')} may; call what it exports instead`);
};

const readsEnvironmentInConfigOnly: Rule = (file, project) => {
  if (!project || isTest(file) || /^apps\/[^/]+\/src\/config\.ts$/.test(file.path)) return [];
  return /\bprocess\s*(\?\.|\.)\s*env\b|\bprocess\s*\[\s*['"]env/.test(file.text)
    ? ['reads process.env: read it in apps/<app>/src/config.ts and pass the value']
    : [];
};

const leavesTestkitToTests: Rule = (file, project, { projects }) => {
  if (isTest(file) || project?.layers.includes('testkit')) return [];
  const kits = projects.filter(({ layers }) => layers.includes('testkit')).map(({ name }) => name);
  return importsOf(file.text)
    .filter((specifier) => kits.includes(packageOf(specifier) ?? ''))
    .map((specifier) => `imports ${specifier} in production code: move what it needs into a library`);
};

const usesAppsByTheirDoors: Rule = (file, project, { projects }) => {
  const apps = projects.filter(({ layers }) => layers.includes('app')).map(({ name }) => name);
  return importsOf(file.text)
    .filter((specifier) => apps.includes(packageOf(specifier) ?? '') && packageOf(specifier) !== project?.name)
    .filter((specifier) => !COMPOSER_DOORS.test(specifier))
    .map((specifier) => `imports ${specifier}: of another app, only /start and /config may be used`);
};

const isShortEnough: Rule = (file) => {
  const lines = file.text.split('\n').length - 1;
  return lines > MAX_LINES && !(file.path in LONG_FILES)
    ? [`has ${lines} lines: split it by job (target 120, never over ${MAX_LINES})`]
    : [];
};

const runsAllItsTests: Rule = (file) =>
  /\.test\.ts$/.test(file.path) && /\b(describe|it|test|suite)(\.\w+)*\.only\b/.test(file.text)
    ? ['has .only: remove it, it hides every other test of the file']
    : [];

const RULES: readonly Rule[] = [
  declaresWhatItImports,
  staysInItsProject,
  leavesLibrariesToTheirOwner,
  readsEnvironmentInConfigOnly,
  leavesTestkitToTests,
  usesAppsByTheirDoors,
  isShortEnough,
  runsAllItsTests,
];

/** Findings about single files, each with what to do. */
export const checkSources = (workspace: Workspace): string[] =>
  workspace.files.flatMap((file) => {
    const project = workspace.projects.find(({ root }) => file.path.startsWith(`${root}/`));
    return RULES.flatMap((rule) => rule(file, project, workspace)).map((finding) => `${file.path}: ${finding}`);
  });
