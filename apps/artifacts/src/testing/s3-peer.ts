import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KeyedLock } from '../archive/keyed-lock.ts';
import type { StoreConfig } from '../store/open-store.ts';

interface PeerContext {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly req: { readonly socket: { destroy(): void } };
  status: number;
  body: unknown;
}
type Middleware = (ctx: PeerContext, next: () => Promise<void>) => Promise<void>;

interface Peer {
  readonly middleware: Middleware[];
  readonly store: { getObject(bucket: string, key: string): Promise<{ metadata: { etag: string } } | null> };
  run(): Promise<{ port: number }>;
  close(): Promise<void>;
}
const S3rver = createRequire(import.meta.url)('s3rver') as new (options: object) => Peer;

const BUCKET = 'artifacts';

export interface S3Peer {
  readonly config: Extract<StoreConfig, { type: 's3' }>;
  readonly directory: string;
  /** Asked before each request; what it gives back is answered instead. */
  fault: ((method: string, path: string) => 'drop' | number | undefined) | undefined;
  /** Requests that were served, by method and path. */
  readonly served: string[];
  stop(): Promise<void>;
}

/** A real S3 server over a folder of its own; with the conditions of writes that S3 has and this server does not. */
export const startS3Peer = async ({ keepsConditions = true } = {}): Promise<S3Peer> => {
  const directory = mkdtempSync(join(tmpdir(), 'toolfabric-s3-'));
  const options = { address: '127.0.0.1', port: 0, silent: true, directory, configureBuckets: [{ name: BUCKET }] };
  const peer = new S3rver(options);
  const served: string[] = [];
  const { port } = await listen(peer, keepsConditions, served, () => result.fault);
  const result: S3Peer = {
    config: {
      type: 's3',
      bucket: BUCKET,
      prefix: 'fabric/',
      region: 'us-east-1',
      endpoint: `http://127.0.0.1:${port}`,
      pathStyle: true,
      unfenced: false,
      credentials: { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' },
    },
    directory,
    fault: undefined,
    served,
    stop: async () => {
      await peer.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
  return result;
};

const listen = (peer: Peer, keepsConditions: boolean, served: string[], faultOf: () => S3Peer['fault']) => {
  if (keepsConditions) peer.middleware.unshift(conditions(peer));
  peer.middleware.unshift(async (ctx, next) => {
    const fault = faultOf()?.(ctx.method, ctx.path);
    if (fault === 'drop') return void ctx.req.socket.destroy();
    if (fault !== undefined) {
      ctx.status = fault;
      ctx.body = '<Error><Code>SlowDown</Code></Error>';
      return;
    }
    await next();
    served.push(`${ctx.method} ${ctx.path}`);
  });
  return peer.run();
};

/** `if-match` and `if-none-match: *` of PutObject, decided one after the other for each key. */
const conditions = (peer: Peer): Middleware => {
  const locks = new KeyedLock();
  return (ctx, next) => {
    if (ctx.method !== 'PUT') return next();
    return locks.run(ctx.path, async () => {
      const key = decodeURIComponent(ctx.path.slice(`/${BUCKET}/`.length));
      const present = await peer.store.getObject(BUCKET, key).catch(() => null);
      const etag = present?.metadata.etag.replaceAll('"', '');
      const wanted = ctx.headers['if-match']?.replaceAll('"', '');
      if ((ctx.headers['if-none-match'] === '*' && present) || (wanted !== undefined && wanted !== etag)) {
        ctx.status = 412;
        ctx.body = '<Error><Code>PreconditionFailed</Code></Error>';
        return;
      }
      await next();
    });
  };
};
