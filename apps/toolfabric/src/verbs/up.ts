import { resolve } from 'node:path';
import { type ClientFile, stateDirOf } from '../cli/connect.ts';
import { EXIT } from '../cli/exit-codes.ts';
import { UsageError } from '../cli/usage-error.ts';
import { CONNECT_FLAGS, type Context, JSON_FLAG, type Verb } from '../cli/verb.ts';
import { findProgram } from '../programs/find-program.ts';
import { stateFiles } from '../up/state-dir.ts';

const DEFAULT_PORT = 7400;

export const up: Verb = {
  name: 'up',
  summary: 'Start everything on this machine and stay until Ctrl-C.',
  usage: '',
  positionals: [0, 0],
  flags: {
    ...(CONNECT_FLAGS['state'] && { state: CONNECT_FLAGS['state'] }),
    port: {
      type: 'string',
      value: 'PORT',
      help: `port of the gateway on loopback; 0 takes a free one (${DEFAULT_PORT})`,
    },
    root: { type: 'string', value: 'DIR', multiple: true, help: 'folder that tasks may use or clone' },
    'allow-root-owned': { type: 'boolean', help: 'let tasks use existing folders that belong to root' },
    story: { type: 'boolean', help: 'run the bundled story first: real calls on a small sample repository' },
    exit: { type: 'boolean', help: 'with --story: end after it, with its exit code' },
    yes: { type: 'boolean', help: 'for `npm start`: let the set-up install without asking' },
    ...JSON_FLAG,
  },
  notes: `Endpoints and token are printed and kept in client.json of the state folder, which the other verbs read.
Exit code 0 after Ctrl-C; 1 when the story went wrong, a service ended by itself, or the state folder is in use or from
a newer bus; 5 when something is missing or did not start.`,
  run: async (context) => {
    const { args, config } = context;
    if (args.on('exit') && !args.on('story')) throw new UsageError('--exit goes with --story');
    const stateDir = stateDirOf(args, config);
    const [{ runUp }, { sampleFolder }] = await Promise.all([
      import('../up/run-up.ts'),
      import('../story/sample-repository.ts'),
    ]);
    const options = {
      stateDir,
      port: args.integer('port', 0, 65_535) ?? DEFAULT_PORT,
      roots: [...args.list('root').map((root) => resolve(root)), ...(args.on('story') ? [sampleFolder(stateDir)] : [])],
      allowRootOwned: args.on('allow-root-owned'),
      config,
    };
    const end = await runUp(options, (client) => stay(client, stateDir, context));
    if ('value' in end) return end.value;
    context.output.note(`toolfabric up: ${end.failure}; see ${stateFiles(stateDir).log}`);
    return EXIT.toolError;
  },
};

/** What happens while everything runs; the exit code. */
const stay = async (
  client: ClientFile,
  stateDir: string,
  { args, config, output, signal }: Context,
): Promise<number> => {
  output.show({ event: 'up', ...client, stateDir }, banner(client, stateDir));
  if (args.on('story')) {
    const { runStory } = await import('../story/run-story.ts');
    const code = await runStory({ client, stateDir, git: findProgram('git', config.path), output, signal });
    if (args.on('exit')) return code;
  }
  if (!signal.aborted) output.note('Ctrl-C stops everything.');
  await new Promise<void>((resolveStop) => {
    if (signal.aborted) return resolveStop();
    signal.addEventListener('abort', () => resolveStop(), { once: true });
  });
  output.note('stopping …');
  return EXIT.ok;
};

const banner = ({ address, token }: ClientFile, stateDir: string): string =>
  [
    'toolfabric is up',
    `  gRPC    ${address}`,
    `  token   ${token}`,
    `  state   ${stateDir}`,
    `  try     apps/toolfabric/bin/toolfabric tools list --state ${stateDir}`,
    '',
  ].join('\n');
