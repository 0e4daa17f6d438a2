import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ArtifactRecord, Share } from '@toolfabric/contract';
import { withFabric } from '../cli/connect.ts';
import { EXIT } from '../cli/exit-codes.ts';
import { visible } from '../cli/output.ts';
import { UsageError } from '../cli/usage-error.ts';
import { CONNECT_FLAGS, type Context, type Verb } from '../cli/verb.ts';

const line = ({ id, name, mediaType, size, state, pinned, expiresAt }: ArtifactRecord): string =>
  [
    id,
    `${size} bytes`.padStart(16),
    state.padEnd(8),
    pinned ? 'pinned'.padEnd(24) : `until ${new Date(expiresAt).toISOString().slice(0, 16)}Z`,
    `${mediaType}  ${name}`,
  ].join('  ');

const describe = (record: ArtifactRecord): string =>
  [
    line(record),
    `owner ${record.owner.tenant} / ${record.owner.user} / ${record.owner.agent}, call ${record.callId}`,
    ...(record.sha256 === undefined ? [] : [`sha256 ${record.sha256}`]),
    ...(record.dropped === 0 ? [] : [`${record.dropped} bytes were not kept, from byte ${record.gapAt ?? 0} on`]),
    ...(record.trust === 'untrusted' ? ['untrusted: its content comes from outside'] : []),
    ...record.sharedWith.map(({ user, agent }) => `shared with ${user ?? 'every user'} / ${agent ?? 'every agent'}`),
  ].join('\n');

const list: Verb = {
  name: 'artifact list',
  summary: 'List stored outputs and files, newest first.',
  usage: '',
  positionals: [0, 0],
  flags: {
    task: { type: 'string', value: 'ID', help: 'of this task' },
    call: { type: 'string', value: 'ID', help: 'of this call' },
    after: { type: 'string', value: 'NEXT', help: 'the page after this one' },
    limit: { type: 'string', value: 'N', help: 'artifacts on a page, 200 at most (50)' },
    ...CONNECT_FLAGS,
  },
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const { args, output } = context;
      const limit = args.integer('limit', 1, 200);
      const filter = { taskId: args.text('task'), callId: args.text('call'), after: args.text('after'), limit };
      const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
      const page = await fabric.listArtifacts(given, request);
      const more = page.next === undefined ? [] : [`more: --after ${page.next}`];
      output.show(page, [...page.artifacts.map(line), ...more].join('\n') || 'no artifacts');
      return EXIT.ok;
    }),
};

const show: Verb = {
  name: 'artifact show',
  summary: 'Describe one artifact.',
  usage: '<artifact id>',
  positionals: [1, 1],
  flags: CONNECT_FLAGS,
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const record = await fabric.getArtifact(context.args.positionals[0] ?? '', request);
      context.output.show(record, describe(record));
      return EXIT.ok;
    }),
};

/** A terminal gets text with its control characters shown; a file or a pipe gets the bytes as they are. */
const toTerminal = async (data: AsyncIterable<Uint8Array>): Promise<void> => {
  const decoder = new TextDecoder();
  for await (const bytes of data) process.stdout.write(visible(decoder.decode(bytes, { stream: true })));
  process.stdout.write(visible(decoder.decode()));
};

const read: Verb = {
  name: 'artifact read',
  summary: 'Write the bytes of an artifact to standard output or into a new file.',
  usage: '<artifact id>',
  positionals: [1, 1],
  flags: {
    from: { type: 'string', value: 'BYTE', help: 'first byte (0)' },
    to: { type: 'string', value: 'BYTE', help: 'the byte after the last one (the end)' },
    out: { type: 'string', value: 'FILE', help: 'a file that is not there yet; never a name that the artifact gives' },
    ...CONNECT_FLAGS,
  },
  notes: 'On a terminal control characters are shown escaped; in a file or a pipe every byte is as it was stored.',
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const { args } = context;
      const range = {
        from: args.integer('from', 0, Number.MAX_SAFE_INTEGER),
        to: args.integer('to', 1, Number.MAX_SAFE_INTEGER),
      };
      const given = Object.fromEntries(Object.entries(range).filter(([, value]) => value !== undefined));
      const { artifact, data } = await fabric.readArtifact(args.positionals[0] ?? '', { ...request, ...given });
      const out = args.text('out');
      if (out === undefined && process.stdout.isTTY) await toTerminal(data);
      else if (out === undefined) await pipeline(Readable.from(data), process.stdout, { end: false });
      else await pipeline(Readable.from(data), createWriteStream(out, { flags: 'wx', mode: 0o600 }));
      if (artifact.dropped > 0) context.output.note(`${artifact.dropped} bytes of the stream were not kept`);
      return EXIT.ok;
    }),
};

const changing = (name: 'pin' | 'unpin', summary: string, change: 'pinArtifact' | 'unpinArtifact'): Verb => ({
  name: `artifact ${name}`,
  summary,
  usage: '<artifact id>',
  positionals: [1, 1],
  flags: CONNECT_FLAGS,
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const record = await fabric[change](context.args.positionals[0] ?? '', request);
      context.output.show(record, line(record));
      return EXIT.ok;
    }),
});

const remove: Verb = {
  name: 'artifact delete',
  summary: 'Delete an artifact now.',
  usage: '<artifact id>',
  positionals: [1, 1],
  flags: CONNECT_FLAGS,
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const artifactId = context.args.positionals[0] ?? '';
      await fabric.deleteArtifact(artifactId, request);
      context.output.show({ artifactId, deleted: true }, `${artifactId} is deleted`);
      return EXIT.ok;
    }),
};

const shareOf = ({ args }: Context): Share => {
  const [user, agent] = [args.text('user'), args.text('agent')];
  if (user === undefined && agent === undefined) throw new UsageError('name a --user, an --agent, or both');
  return { ...(user === undefined ? {} : { user }), ...(agent === undefined ? {} : { agent }) };
};

const sharing = (name: 'share' | 'unshare', summary: string, change: 'shareArtifact' | 'unshareArtifact'): Verb => ({
  name: `artifact ${name}`,
  summary,
  usage: '<artifact id>',
  positionals: [1, 1],
  flags: {
    user: { type: 'string', value: 'USER', help: 'of the same tenant; every user when only an agent is named' },
    agent: { type: 'string', value: 'AGENT', help: 'of the same tenant; every agent when only a user is named' },
    ...CONNECT_FLAGS,
  },
  run: (context) =>
    withFabric(context, async (fabric, request) => {
      const record = await fabric[change](context.args.positionals[0] ?? '', shareOf(context), request);
      context.output.show(record, describe(record));
      return EXIT.ok;
    }),
});

export const ARTIFACT_VERBS: readonly Verb[] = [
  list,
  show,
  read,
  sharing('share', 'Let others of the same tenant read an artifact.', 'shareArtifact'),
  sharing('unshare', 'Take such a leave back.', 'unshareArtifact'),
  changing('pin', 'Keep an artifact beyond its expiry.', 'pinArtifact'),
  changing('unpin', 'Let an artifact expire again.', 'unpinArtifact'),
  remove,
];
