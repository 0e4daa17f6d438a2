import { FabricError } from '@toolfabric/kernel';
import type { ToolContext } from '@toolfabric/worker-runtime';
import type { SandboxRun } from '../confine/confined-sandbox.ts';
import type { Bind } from '../sandbox/sandbox-command.ts';
import { listenInside, networkBinds } from './listen-inside.ts';
import { NETWORK_ENVIRONMENT } from './network-environment.ts';
import type { RefusedHosts } from './refused-hosts.ts';
import { Relay } from './relay.ts';
import { trustFile } from './trust-file.ts';

/** The network of one call: what its sandbox is made with, and what was refused. */
export interface CallNetwork {
  readonly binds: readonly Bind[];
  readonly env: Readonly<Record<string, string>>;
  readonly helper: NonNullable<SandboxRun['helper']>;
  readonly refused: RefusedHosts;
  /** Breaks off whatever is open. */
  close(): void;
}

/** Hosts that a call names and that no rule came for: it must not run as if it had asked for none. */
const noLeave = (): FabricError =>
  new FabricError('egress_refused', 'host_not_permitted: this call has no leave for the hosts that it names');

/**
 * Opens the way out of a call; undefined where the call has none, and has asked for none. Throws what `EgressSession`
 * does, and `egress_refused` for a call that asks and has no leave.
 *
 * @param directory of this worker, passable for the users of workspaces.
 */
export const openNetwork = async (
  { egress, signal }: Pick<ToolContext, 'egress' | 'signal'>,
  directory: string,
  isAsked: boolean,
): Promise<CallNetwork | undefined> =>
  egress === undefined && !isAsked ? undefined : needNetwork({ egress, signal }, directory);

/** The same for a call that goes nowhere without. */
export const needNetwork = async (
  { egress, signal }: Pick<ToolContext, 'egress' | 'signal'>,
  directory: string,
): Promise<CallNetwork> => {
  if (egress === undefined) throw noLeave();
  const proxy = await egress.proxy(signal);
  const relay = new Relay(proxy);
  return {
    binds: networkBinds(await trustFile(directory, proxy.caFile)),
    env: NETWORK_ENVIRONMENT,
    helper: { command: listenInside, use: relay.listen },
    refused: relay.refused,
    close: () => relay.close(),
  };
};
