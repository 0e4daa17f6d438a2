import type { Pace } from '@toolfabric/kernel';
import {
  callViewToWire,
  evidenceOfWire,
  resolutionFromWire,
  type UnknownServiceServer,
  unknownToWire,
  WireMismatch,
} from '@toolfabric/proto';
import { approverOf } from './approver-of.ts';
import type { FrontDoor } from './front-door.ts';
import { invalidField } from './invalid-request.ts';
import { patienceOf } from './request-context.ts';
import type { RouterClient } from './router-client.ts';

const DEFAULT_LIMIT = 50;

const resolutionOf = (value: Parameters<typeof resolutionFromWire>[0]) => {
  try {
    return resolutionFromWire(value);
  } catch (thrown) {
    if (thrown instanceof WireMismatch) throw invalidField('resolution', 'happened, did_not_happen or leave');
    throw thrown;
  }
};

/** Unknown calls and their resolution by people. Who may do what is decided by the router. */
export const createUnknownService = (door: FrontDoor, router: RouterClient, pace: Pace): UnknownServiceServer => {
  const patience = patienceOf(pace);
  return {
    listUnknown: door.unary(async ({ after, limit }, context) => {
      const request = {
        approver: approverOf(context.identity),
        ...(after === undefined ? {} : { after }),
        limit: limit ?? DEFAULT_LIMIT,
      };
      const { unknown, next } = await router.ask('listUnknown', request, patience(context));
      return { unknown: unknown.map(unknownToWire), next };
    }),
    getUnknown: door.unary(async ({ callId }, context) => {
      const request = { approver: approverOf(context.identity), callId };
      return { unknown: unknownToWire(await router.ask('getUnknown', request, patience(context))) };
    }),
    resolveUnknown: door.unary(async ({ callId, resolution, evidence, note }, context) => {
      const request = {
        approver: approverOf(context.identity),
        callId,
        resolution: resolutionOf(resolution),
        ...(evidence === undefined ? {} : { evidence: evidenceOfWire(evidence) }),
        ...(note === undefined ? {} : { note }),
      };
      return { call: callViewToWire(await router.ask('resolveUnknown', request, patience(context))) };
    }),
  };
};
