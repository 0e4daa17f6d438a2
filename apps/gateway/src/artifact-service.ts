import type { CallView, Share } from '@toolfabric/contract';
import { type Clock, FabricError } from '@toolfabric/kernel';
import type { ArtifactChange } from '@toolfabric/ports';
import { type ArtifactServiceServer, artifactToWire, shareFromWire, type wireArtifact } from '@toolfabric/proto';
import { type ArtifactAccess, storeFailure } from './artifact-access.ts';
import { endWithRequest } from './end-with-request.ts';
import type { FrontDoor } from './front-door.ts';
import { invalidField } from './invalid-request.ts';
import { readArtifact } from './read-artifact.ts';
import { readCallLog } from './read-call-log.ts';
import type { RequestContext } from './request-context.ts';

const PAGE = 50;
const MOST_ON_A_PAGE = 200;

export interface ArtifactServiceDeps {
  readonly door: FrontDoor;
  readonly access: ArtifactAccess;
  readonly clock: Clock;
  getCall(callId: string, context: RequestContext): Promise<CallView>;
}

/** Somebody must be named: a share with nobody in it would be one with the whole tenant. */
const shareOf = (given: wireArtifact.ArtifactShare | undefined): Share => {
  const share = given && shareFromWire(given);
  const names = [share?.user, share?.agent].filter((name) => name !== undefined);
  if (share === undefined || names.length === 0 || names.some((name) => name === '' || name.length > 200)) {
    throw invalidField('with', 'a user or an agent, from 1 to 200 characters');
  }
  return share;
};

const textOf = (field: string, text: string | undefined, most: number) => {
  if (text === undefined) return undefined;
  if (text === '' || text.length > most) throw invalidField(field, `from 1 to ${most} characters`);
  return text;
};

export const createArtifactService = ({ door, access, clock, getCall }: ArtifactServiceDeps): ArtifactServiceServer => {
  const manage = (artifactId: string, change: ArtifactChange, context: RequestContext) =>
    endWithRequest(context, async (signal) => {
      const { front, permit } = await access.forArtifact(artifactId, 'manage', context);
      return front.manage(permit, artifactId, change, signal).catch((thrown: unknown) => {
        throw storeFailure(thrown);
      });
    });
  const changed = async (artifactId: string, change: ArtifactChange, context: RequestContext) => {
    const record = await manage(artifactId, change, context);
    if (record === undefined) throw new FabricError('internal', 'the artifact store did not tell what it changed');
    return { artifact: artifactToWire(record) };
  };
  return {
    listArtifacts: door.unary(({ taskId, callId, after, limit = PAGE }, context) =>
      endWithRequest(context, async (signal) => {
        if (limit < 1 || limit > MOST_ON_A_PAGE) throw invalidField('limit', `from 1 to ${MOST_ON_A_PAGE}`);
        const names = {
          taskId: textOf('task_id', taskId, 80),
          callId: textOf('call_id', callId, 80),
          after: textOf('after', after, 200),
        };
        const filter = Object.fromEntries(Object.entries(names).filter(([, value]) => value !== undefined));
        const { front, permit } = await access.forList(context);
        const page = await front.list(permit, { ...filter, limit }, signal).catch((thrown: unknown) => {
          throw storeFailure(thrown);
        });
        return { artifacts: page.artifacts.map(artifactToWire), next: page.next };
      }),
    ),
    getArtifact: door.unary(({ artifactId }, context) =>
      endWithRequest(context, async (signal) => {
        const { front, permit } = await access.forArtifact(artifactId, 'read', context);
        const record = await front.describe(permit, artifactId, signal).catch((thrown: unknown) => {
          throw storeFailure(thrown);
        });
        return { artifact: artifactToWire(record) };
      }),
    ),
    readArtifact: door.stream((request, context, out) => readArtifact(access, request, context, out)),
    readCallLog: door.stream((request, context, out) => readCallLog({ access, clock, getCall }, request, context, out)),
    shareArtifact: door.unary(({ artifactId, with: share }, context) =>
      changed(artifactId, { type: 'share', ...shareOf(share) }, context),
    ),
    unshareArtifact: door.unary(({ artifactId, with: share }, context) =>
      changed(artifactId, { type: 'unshare', ...shareOf(share) }, context),
    ),
    pinArtifact: door.unary(({ artifactId }, context) => changed(artifactId, { type: 'pin' }, context)),
    unpinArtifact: door.unary(({ artifactId }, context) => changed(artifactId, { type: 'unpin' }, context)),
    deleteArtifact: door.unary(async ({ artifactId }, context) => {
      await manage(artifactId, { type: 'delete' }, context);
      return {};
    }),
  };
};
