import { ArtifactId, type ArtifactPermit, CLOCK_LEEWAY_MS, Share } from '@toolfabric/contract';
import { type Clock, FabricError } from '@toolfabric/kernel';
import { z } from 'zod';
import { MAX_APPEND_BYTES } from '../archive/limits.ts';
import { listArtifacts } from '../archive/list-artifacts.ts';
import { type Change, changeArtifact, deleteArtifact } from '../archive/manage-artifact.ts';
import type { Archive } from '../archive/open-archive.ts';
import { putArtifact } from '../archive/put-artifact.ts';
import { openArtifact } from '../archive/read-artifact.ts';
import { MAX_KEEPS } from '../archive/stored-record.ts';
import { moveHead, readHead } from '../archive/workspace-heads.ts';
import { answerEmpty } from './answer.ts';
import { readArtifactHead } from './artifact-headers.ts';
import { checkNamed, permitFor } from './check-permit.ts';
import { announcedBytes, type Exchange, readJson, replyJson } from './exchange.ts';
import type { ManageVerb, Route } from './parse-route.ts';
import { sendArtifact } from './send-artifact.ts';
import { collectBody, type Patience } from './stream-body.ts';

export interface RouteContext {
  readonly archive: Archive;
  readonly clock: Clock;
  readonly patience: Patience;
}

const ShareBody = Share.refine(({ user, agent }) => user !== undefined || agent !== undefined);
const MoveBody = z.strictObject({
  expected: z.int().nonnegative(),
  manifest: ArtifactId.optional(),
  keeps: z.array(ArtifactId).max(MAX_KEEPS).optional(),
});
/** Bytes of a move with as many ids as one may name. */
const MAX_MOVE_BYTES = 40 * MAX_KEEPS;

/** Does what the route asks as the permit allows, and answers. */
export const serveRoute = async (
  { archive, clock, patience }: RouteContext,
  route: Route,
  permit: ArtifactPermit,
  exchange: Exchange,
): Promise<void> => {
  const { ctx, logs } = archive;
  switch (route.type) {
    case 'put': {
      const head = readArtifactHead(route.id, exchange.request.headers);
      if (!head) throw new FabricError('invalid_request', 'an artifact has a name: send `toolfabric-name`');
      const call = permitFor(permit, 'call');
      const chunks = exchange.body(call.expires + CLOCK_LEEWAY_MS);
      const body = { announced: announcedBytes(exchange), chunks };
      return replyJson(exchange, await putArtifact(ctx, call, head, body, exchange.signal));
    }
    case 'append': {
      const call = permitFor(permit, 'call');
      const head = readArtifactHead(route.id, exchange.request.headers);
      const bytes = await collectBody(exchange.body(), MAX_APPEND_BYTES);
      const append = { id: route.id, offset: route.offset, bytes, skipped: route.skip };
      return replyJson(exchange, await logs.append(call, append, head));
    }
    case 'close':
      return replyJson(exchange, await closeLog(archive, permitFor(permit, 'call'), route));
    case 'read':
      checkNamed(permit, route.id);
      return sendArtifact(openArtifact(ctx, permitFor(permit, 'call', 'read'), route.id), exchange, patience, clock);
    case 'describe':
      checkNamed(permit, route.id);
      return replyJson(exchange, openArtifact(ctx, permitFor(permit, 'call', 'read'), route.id).record);
    case 'list':
      return replyJson(exchange, listArtifacts(ctx, permitFor(permit, 'list').actor, route.filter));
    case 'manage': {
      checkNamed(permit, route.id);
      const { actor } = permitFor(permit, 'manage');
      return replyJson(exchange, await changeArtifact(ctx, actor, route.id, await readChange(exchange, route.verb)));
    }
    case 'remove':
      checkNamed(permit, route.id);
      await deleteArtifact(ctx, permitFor(permit, 'manage').actor, route.id);
      return answerEmpty(exchange.response);
    case 'head':
      return replyJson(exchange, readHead(ctx, permitFor(permit, 'call'), route.workspace));
    case 'move': {
      const call = permitFor(permit, 'call');
      return replyJson(
        exchange,
        await moveHead(ctx, call, route.workspace, await readJson(exchange, MoveBody, MAX_MOVE_BYTES)),
      );
    }
  }
};

const readChange = async (exchange: Exchange, verb: ManageVerb | undefined): Promise<Change> => {
  if (verb === 'share' || verb === 'unshare') return { type: verb, share: await readJson(exchange, ShareBody) };
  return { type: verb === 'pin' ? 'pin' : 'unpin' };
};

const closeLog = (
  { logs }: Archive,
  permit: Extract<ArtifactPermit, { action: 'call' }>,
  { id, offset, skip }: Extract<Route, { type: 'append' | 'close' }>,
) => logs.close(permit, { id, offset, bytes: new Uint8Array(), skipped: skip });
