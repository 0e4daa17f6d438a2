import { type ArtifactServiceClient, artifactFromWire, shareToWire, type wireArtifact } from '@toolfabric/proto';
import type { FabricClient } from './client-types.ts';
import { readArtifact } from './read-artifact.ts';
import { readCallLog } from './read-call-log.ts';
import { present, type Requester } from './requester.ts';

type ArtifactVerbs = Pick<
  FabricClient,
  | 'listArtifacts'
  | 'getArtifact'
  | 'readArtifact'
  | 'readCallLog'
  | 'shareArtifact'
  | 'unshareArtifact'
  | 'pinArtifact'
  | 'unpinArtifact'
  | 'deleteArtifact'
>;

const recordOf = ({ artifact }: { artifact: wireArtifact.Artifact | undefined }) => artifactFromWire(present(artifact));

export const artifactVerbs = (client: ArtifactServiceClient, requester: Requester): ArtifactVerbs => ({
  listArtifacts({ taskId, callId, after, limit } = {}, options = {}) {
    const request = { taskId, callId, after, limit };
    const convert = ({ artifacts, next }: { artifacts: wireArtifact.Artifact[]; next?: string | undefined }) => ({
      artifacts: artifacts.map(artifactFromWire),
      ...(next === undefined ? {} : { next }),
    });
    return requester.ask(client.listArtifacts.bind(client), request, convert, options);
  },
  getArtifact: (artifactId, options = {}) =>
    requester.ask(client.getArtifact.bind(client), { artifactId }, recordOf, options),
  readArtifact: (artifactId, range = {}) => readArtifact(client, requester, artifactId, range),
  readCallLog: (callId, options = {}) => readCallLog(client, requester, callId, options),
  shareArtifact: (artifactId, share, options = {}) =>
    requester.ask(client.shareArtifact.bind(client), { artifactId, with: shareToWire(share) }, recordOf, options),
  unshareArtifact: (artifactId, share, options = {}) =>
    requester.ask(client.unshareArtifact.bind(client), { artifactId, with: shareToWire(share) }, recordOf, options),
  pinArtifact: (artifactId, options = {}) =>
    requester.ask(client.pinArtifact.bind(client), { artifactId }, recordOf, options),
  unpinArtifact: (artifactId, options = {}) =>
    requester.ask(client.unpinArtifact.bind(client), { artifactId }, recordOf, options),
  deleteArtifact: (artifactId, options = {}) =>
    requester.ask(client.deleteArtifact.bind(client), { artifactId }, () => undefined, options),
});
