import { request } from 'node:http';
import { Agent } from 'node:https';
import { isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect, type SecureContext } from 'node:tls';
import { FabricError } from '@toolfabric/kernel';
import { errorOf, refusalIn } from './refusal.ts';

type OnCreated = (error: Error | null, socket: Duplex) => void;

interface TunnelOptions {
  readonly socketPath: string;
  /** Knows every authority that may vouch for what is at the other end. */
  readonly secureContext: SecureContext;
  readonly authorization: string;
  readonly signal: AbortSignal;
}

interface Target {
  readonly host?: string | null | undefined;
  readonly port?: number | string | null | undefined;
}

const openTunnel = ({ socketPath, authorization, signal }: TunnelOptions, target: string): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const headers = { host: target, 'proxy-authorization': authorization };
    const asked = request({ socketPath, method: 'CONNECT', path: target, headers, agent: false, signal });
    asked.once('connect', (answer, socket) => {
      const refusal = refusalIn(answer.headers);
      if (answer.statusCode === 200 && refusal === undefined) return resolve(socket as Socket);
      socket.destroy();
      reject(errorOf(refusal ?? 'request_malformed', target, false));
    });
    asked.once('error', (thrown) =>
      reject(new FabricError('egress_unavailable', 'the egress of this worker does not answer', { cause: thrown })),
    );
    asked.end();
  });

/** Connections to hosts that begin with a CONNECT to the egress; kept between the requests of one call. */
export class TunnelAgent extends Agent {
  readonly #tunnel: TunnelOptions;

  constructor(tunnel: TunnelOptions) {
    super({ keepAlive: true, maxSockets: 16, maxFreeSockets: 4 });
    this.#tunnel = tunnel;
  }

  override createConnection(options: Target, onCreated?: OnCreated): undefined {
    this.#open(options).then(
      (socket) => onCreated?.(null, socket),
      (thrown: Error) => onCreated?.(thrown, undefined as unknown as Duplex),
    );
  }

  async #open({ host, port }: Target): Promise<Duplex> {
    const name = host ?? '';
    const target = `${name.includes(':') ? `[${name}]` : name}:${port ?? 443}`;
    const socket = await openTunnel(this.#tunnel, target);
    const { secureContext, signal } = this.#tunnel;
    const identity = isIP(name) === 0 ? { servername: name } : { host: name };
    return new Promise((resolve, reject) => {
      const secured = connect({ socket, secureContext, ALPNProtocols: ['http/1.1'], ...identity });
      const onAbort = () => secured.destroy(new Error('given up'));
      signal.addEventListener('abort', onAbort, { once: true });
      secured.once('close', () => signal.removeEventListener('abort', onAbort));
      secured.once('error', (thrown) => reject(tlsError(thrown, target)));
      secured.once('secureConnect', () => resolve(secured));
    });
  }
}

/** A certificate that is not good is the same fault whether the egress or this side finds it. */
const tlsError = (thrown: NodeJS.ErrnoException, target: string): FabricError => {
  const isCertificate = thrown.code !== undefined && /CERT|SELF_SIGNED|ALTNAME|ISSUER|SIGNATURE/.test(thrown.code);
  return new FabricError(
    isCertificate ? 'egress_refused' : 'host_unreachable',
    `${isCertificate ? 'tls_certificate' : 'connect_failed'}: no secure connection to ${target}`,
    { cause: thrown },
  );
};
