import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Features } from '@toolfabric/bus-nats';
import { PACES, silentLogger, toFabricError } from '@toolfabric/kernel';
import type { Programs } from '../programs/programs.ts';
import { asProvisioner } from '../up/provision.ts';
import { provisioningOf, startBus } from '../up/start-bus.ts';
import { stateFiles } from '../up/state-dir.ts';

export type BusFinding = { readonly features: Features } | { readonly why: string };

/** Starts a server of its own for a moment and looks at what it echoes, since an older one drops options without a word. */
export const probeBus = async (programs: Programs): Promise<BusFinding> => {
  const root = mkdtempSync(join(tmpdir(), 'toolfabric-doctor-'));
  const options = { files: stateFiles(root), programs, pace: PACES.production, logger: silentLogger };
  try {
    const bus = await startBus(options);
    try {
      return { features: await asProvisioner(provisioningOf(options, bus), (it) => it.probeFeatures()) };
    } finally {
      await bus.stop();
    }
  } catch (thrown) {
    return { why: toFabricError(thrown, 'unavailable').message };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
};

/** What somebody should know about this server before trusting it with more than a try. */
export const busWarnings = ({ serverVersion, productionGrade, discardNewPerSubject }: Features): string[] => [
  ...(productionGrade
    ? []
    : [
        `nats-server ${serverVersion} is good for one machine and for tests. It has known security faults (CVE-2025-30215, CVE-2023-47090 and later ones) and cannot be told to write through to the disk at once: a power loss may take the last two minutes. Production asks for 2.12.7 or later.`,
      ]),
  ...(discardNewPerSubject
    ? []
    : ['this nats-server has no limit a subject: one tenant could fill the queue of another']),
];
