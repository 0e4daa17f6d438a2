import { ArtifactRecord, type Share } from '@toolfabric/contract';
import { trusts } from './convert-result.ts';
import { enumCodec, WireMismatch } from './enum-codec.ts';
import * as wire from './gen/toolfabric/v1/artifact.ts';

const states = enumCodec('artifact state', wire.ArtifactState, ArtifactRecord.shape.state.options);

export const shareToWire = ({ user, agent }: Share): wire.ArtifactShare => ({ user, agent });

export const shareFromWire = ({ user, agent }: wire.ArtifactShare): Share => ({
  ...(user === undefined ? {} : { user }),
  ...(agent === undefined ? {} : { agent }),
});

export const artifactToWire = (record: ArtifactRecord): wire.Artifact => ({
  id: record.id,
  owner: { ...record.owner },
  taskId: record.taskId,
  callId: record.callId,
  name: record.name,
  mediaType: record.mediaType,
  size: record.size,
  sha256: record.sha256,
  state: states.toWire(record.state) as wire.ArtifactState,
  dropped: record.dropped,
  gapAt: record.gapAt,
  trust: trusts.toWire(record.trust) as wire.Artifact['trust'],
  pinned: record.pinned,
  sharedWith: record.sharedWith.map(shareToWire),
  createdAtMs: record.createdAt,
  expiresAtMs: record.expiresAt,
});

/** Throws `WireMismatch` for a state that this side does not know, and without an owner. */
export const artifactFromWire = (artifact: wire.Artifact): ArtifactRecord => {
  if (artifact.owner === undefined) throw new WireMismatch('an artifact without an owner');
  const { tenant, user, agent } = artifact.owner;
  return {
    id: artifact.id,
    owner: { tenant, user, agent },
    taskId: artifact.taskId,
    callId: artifact.callId,
    name: artifact.name,
    mediaType: artifact.mediaType,
    size: artifact.size,
    ...(artifact.sha256 === undefined ? {} : { sha256: artifact.sha256 }),
    state: states.fromWire(artifact.state),
    dropped: artifact.dropped,
    ...(artifact.gapAt === undefined ? {} : { gapAt: artifact.gapAt }),
    // What does not say that it is trusted is not.
    trust: trusts.known(artifact.trust) ?? 'untrusted',
    pinned: artifact.pinned,
    sharedWith: artifact.sharedWith.map(shareFromWire),
    createdAt: artifact.createdAtMs,
    expiresAt: artifact.expiresAtMs,
  };
};
