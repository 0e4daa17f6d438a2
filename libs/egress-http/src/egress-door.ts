import { rootCertificates } from 'node:tls';
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
  const trusted = [...rootCertificates, ...(ca === undefined ? [] : [ca])];
  const options = { socketPath, ca: trusted, ...(caFile === undefined ? {} : { caFile }) };
  return { session: (permit) => new HttpEgressSession(options, permit) };
};
