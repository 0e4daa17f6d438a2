import { createSecureContext, rootCertificates } from 'node:tls';
import type { EgressDoor } from '@toolfabric/ports';
import { HttpEgressSession } from './egress-session.ts';

export interface DoorOptions {
  /** Of the egress beside this worker: absolute. */
  readonly socketPath: string;
  /** PEM of the authority of the installation, which vouches for hosts whose exchange is read. */
  readonly ca?: string;
  /** Where that PEM stands, for programs. */
  readonly caFile?: string;
}

/** The egress of this pod as the tools of a worker use it. */
export const createEgressDoor = ({ socketPath, ca, caFile }: DoorOptions): EgressDoor => {
  // Reading all the usual authorities takes milliseconds: once for a worker, not once for each connection.
  const secureContext = createSecureContext({ ca: [...rootCertificates, ...(ca === undefined ? [] : [ca])] });
  const options = { socketPath, secureContext, ...(caFile === undefined ? {} : { caFile }) };
  return { session: (permit) => new HttpEgressSession(options, permit) };
};
