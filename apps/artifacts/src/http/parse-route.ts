import { ArtifactId } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import { z } from 'zod';
import type { ListFilter } from '../archive/list-artifacts.ts';

export type Route =
  | {
      readonly type: 'put' | 'read' | 'describe' | 'manage' | 'remove';
      readonly id: string;
      readonly verb?: ManageVerb;
    }
  | {
      readonly type: 'append' | 'close';
      readonly id: string;
      readonly offset: number | undefined;
      readonly skip: number;
    }
  | { readonly type: 'list'; readonly filter: ListFilter }
  | { readonly type: 'head' | 'move'; readonly workspace: string };

const MANAGE_VERBS = ['share', 'unshare', 'pin', 'unpin'] as const;
export type ManageVerb = (typeof MANAGE_VERBS)[number];

const Count = z
  .string()
  .regex(/^\d{1,15}$/, 'a count of bytes')
  .transform(Number);
const ListQuery = z.strictObject({
  task: z.string().max(100).optional(),
  call: z.string().max(100).optional(),
  after: z.string().max(100).optional(),
  limit: z
    .string()
    .regex(/^\d{1,4}$/)
    .transform(Number)
    .pipe(z.int().min(1).max(1_000))
    .default(100),
});
const LogQuery = z.strictObject({ offset: Count.optional(), skip: Count.default(0) });
const NoQuery = z.strictObject({});

const invalid = (message: string): FabricError => new FabricError('invalid_request', message);
const noSuchRoute = (): FabricError => new FabricError('not_found', 'there is nothing here');

/** Nothing of a path but ids of our own making goes on; a workspace is free text and is compared, never opened. */
export const parseRoute = (method: string, url: string): Route => {
  const [path = '', query = ''] = split(url, '?');
  const [root, version, family, name, verb, ...more] = path.split('/');
  if (root !== '' || version !== 'v1' || more.length > 0) throw noSuchRoute();
  if (family === 'artifacts' && name === undefined && method === 'GET') return { type: 'list', filter: listOf(query) };
  if (name === undefined) throw noSuchRoute();
  if (family === 'artifacts') return artifactRoute(method, idOf(name), verb, query);
  if (family === 'logs') return logRoute(method, idOf(name), verb, query);
  if (family === 'heads' && verb === undefined) return headRoute(method, name, query);
  throw noSuchRoute();
};

const artifactRoute = (method: string, id: string, verb: string | undefined, query: string): Route => {
  parseQuery(NoQuery, query);
  if (verb === undefined && method === 'PUT') return { type: 'put', id };
  if (verb === undefined && (method === 'GET' || method === 'HEAD')) return { type: 'read', id };
  if (verb === undefined && method === 'DELETE') return { type: 'remove', id };
  if (verb === 'record' && method === 'GET') return { type: 'describe', id };
  const managed = MANAGE_VERBS.find((known) => known === verb);
  if (managed && method === 'POST') return { type: 'manage', id, verb: managed };
  throw noSuchRoute();
};

const logRoute = (method: string, id: string, verb: string | undefined, query: string): Route => {
  if (method !== 'POST' || (verb !== undefined && verb !== 'close')) throw noSuchRoute();
  const { offset, skip } = parseQuery(LogQuery, query);
  if (verb === undefined && offset === undefined) throw invalid('an append names its offset');
  return { type: verb ?? 'append', id, offset, skip };
};

const headRoute = (method: string, name: string, query: string): Route => {
  parseQuery(NoQuery, query);
  const workspace = decode(name);
  if (method === 'GET') return { type: 'head', workspace };
  if (method === 'POST') return { type: 'move', workspace };
  throw noSuchRoute();
};

const listOf = (query: string): ListFilter => {
  const { task, call, after, limit } = parseQuery(ListQuery, query);
  return { taskId: task, callId: call, after, limit };
};

const parseQuery = <T>(schema: z.ZodType<T>, query: string): T => {
  const given = [...new URLSearchParams(query)];
  const values = Object.fromEntries(given);
  if (Object.keys(values).length !== given.length) throw invalid('a parameter stands twice in the query');
  const parsed = schema.safeParse(values);
  if (!parsed.success) throw invalid('the query is not what this route takes');
  return parsed.data;
};

const idOf = (name: string): string => {
  if (!ArtifactId.safeParse(name).success) throw new FabricError('not_found', 'there is no such artifact');
  return name;
};

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalid('the path is not well encoded');
  }
};

const split = (text: string, by: string): [string, string] => {
  const at = text.indexOf(by);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
};
