import type { Config } from '../config.ts';
import type { Arguments, Flags } from './arguments.ts';
import type { Output } from './output.ts';

export interface Context {
  readonly config: Config;
  readonly args: Arguments;
  readonly output: Output;
  /** Aborted by the first Ctrl-C or SIGTERM. */
  readonly signal: AbortSignal;
}

/** One verb of the command line; a flat list of them is the whole command. */
export interface Verb {
  /** One word or two, such as `tools show`. */
  readonly name: string;
  /** One line. */
  readonly summary: string;
  /** The positional arguments as the help shows them. */
  readonly usage: string;
  /** How many positional arguments there may be. */
  readonly positionals: readonly [least: number, most: number];
  readonly flags: Flags;
  /** More for the help of this verb, such as examples. */
  readonly notes?: string;
  /** The exit code. A `FabricError` or `UsageError` that it throws is told to the person. */
  run(context: Context): Promise<number>;
}

export const JSON_FLAG: Flags = { json: { type: 'boolean', help: 'print results as one line of JSON' } };

/** Every verb that talks to a fabric takes these. */
export const CONNECT_FLAGS: Flags = {
  state: { type: 'string', value: 'DIR', help: 'folder of a fabric on this machine (./.toolfabric)' },
  address: { type: 'string', value: 'HOST:PORT', help: 'gateway to talk to, instead of the one in the state folder' },
  token: {
    type: 'string',
    value: 'TOKEN',
    help: 'bearer token; better in TOOLFABRIC_TOKEN, where no one else sees it',
  },
  timeout: { type: 'string', value: 'MS', help: 'milliseconds to wait for an answer of the gateway (15000)' },
  ca: { type: 'string', value: 'FILE', help: 'certificate authority of the gateway; turns TLS on' },
  ...JSON_FLAG,
};
