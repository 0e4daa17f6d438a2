import {
  callViewFromWire,
  resolutionToWire,
  type UnknownServiceClient,
  unknownFromWire,
  unknownPageFromWire,
} from '@toolfabric/proto';
import type { FabricClient } from './client-types.ts';
import { present, type Requester } from './requester.ts';

type UnknownVerbs = Pick<FabricClient, 'listUnknown' | 'getUnknown' | 'resolveUnknown'>;

export const unknownVerbs = (unknown: UnknownServiceClient, requester: Requester): UnknownVerbs => ({
  listUnknown: ({ after, limit } = {}, options = {}) =>
    requester.ask(unknown.listUnknown.bind(unknown), { after, limit }, unknownPageFromWire, options),
  getUnknown: (callId, options = {}) =>
    requester.ask(
      unknown.getUnknown.bind(unknown),
      { callId },
      (answer) => unknownFromWire(present(answer.unknown)),
      options,
    ),
  resolveUnknown: (callId, { resolution, evidence, note }, options = {}) =>
    requester.ask(
      unknown.resolveUnknown.bind(unknown),
      {
        callId,
        resolution: resolutionToWire(resolution),
        evidence: evidence && { kind: evidence.kind, ref: evidence.ref, detail: evidence.detail },
        note,
      },
      ({ call }) => callViewFromWire(present(call)),
      options,
    ),
});
