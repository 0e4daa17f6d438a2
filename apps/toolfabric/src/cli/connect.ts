import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { FabricClient, RequestOptions } from '@toolfabric/client';
import { z } from 'zod';
import type { Config } from '../config.ts';
import type { Arguments } from './arguments.ts';
import { UsageError } from './usage-error.ts';
import type { Context } from './verb.ts';

export const DEFAULT_STATE = '.toolfabric';
/** Written by `up` in its state folder, readable by its owner alone. */
export const ClientFile = z.object({ address: z.string(), token: z.string() });
export type ClientFile = z.infer<typeof ClientFile>;
export const CLIENT_FILE = 'client.json';

/** Flag, then environment, then the folder that is usual. */
export const stateDirOf = (args: Arguments, config: Config): string =>
  resolve(args.text('state') ?? config.stateDir ?? DEFAULT_STATE);

/** Throws `UsageError` when neither flags, environment nor state folder say where the gateway is. */
export const endpointOf = (args: Arguments, config: Config): ClientFile => {
  const address = args.text('address') ?? config.address;
  const token = args.text('token') ?? config.token;
  if (address !== undefined && token !== undefined) return { address, token };
  const file = join(stateDirOf(args, config), CLIENT_FILE);
  if (!existsSync(file)) {
    const missing = address === undefined ? 'no gateway is known' : 'no token is known';
    throw new UsageError(
      `${missing}: start one with \`toolfabric up\`, or give --address and --token (${file} is not there)`,
    );
  }
  const parsed = ClientFile.safeParse(JSON.parse(readFileSync(file, 'utf8')));
  if (!parsed.success) throw new UsageError(`${file} is not what \`toolfabric up\` writes; give --address and --token`);
  return { address: address ?? parsed.data.address, token: token ?? parsed.data.token };
};

/** Runs `work` with a client that is closed afterwards, whatever happens. */
export const withFabric = async <T>(
  context: Context,
  work: (fabric: FabricClient, request: RequestOptions) => Promise<T>,
): Promise<T> => {
  const { args, config } = context;
  // A verb that needs no gateway should not wait for the whole gRPC library.
  const { connectFabric } = await import('@toolfabric/client');
  const ca = args.text('ca');
  const fabric = connectFabric({
    ...endpointOf(args, config),
    ...(ca === undefined ? {} : { tls: { ca: readFileSync(ca, 'utf8') } }),
  });
  try {
    return await work(fabric, requestOptions(context));
  } finally {
    fabric.close();
  }
};

const MOST_MS = 86_400_000;

/** For every request of a verb: Ctrl-C, and how long a gateway that does not answer is asked again. */
const requestOptions = ({ args, signal }: Context): RequestOptions => {
  const timeoutMs = args.integer('timeout', 1, MOST_MS);
  return { signal, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
};
