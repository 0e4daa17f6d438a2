import {
  ProbeAnswerName,
  Resolution,
  type ResolutionEvidence,
  RiskGroup,
  type RpcReply,
  type UnknownCall,
} from '@toolfabric/contract';
import { toolIdFromWire } from './convert-result.ts';
import { enumCodec, WireMismatch } from './enum-codec.ts';
import * as wire from './gen/toolfabric/v1/unknown_service.ts';

const answers = enumCodec('answer', wire.ProbeAnswer, ProbeAnswerName.options);
const resolutions = enumCodec('resolution', wire.Resolution, Resolution.options);

export const resolutionToWire = (resolution: Resolution): wire.Resolution =>
  resolutions.toWire(resolution) as wire.Resolution;

/** Throws `WireMismatch` for one that this side does not know. */
export const resolutionFromWire = (resolution: wire.Resolution): Resolution => resolutions.fromWire(resolution);

export const evidenceOfWire = ({
  kind,
  ref,
  detail,
}: {
  kind: string;
  ref: string;
  detail?: string | undefined;
}): ResolutionEvidence => ({ kind, ref, ...(detail === undefined ? {} : { detail }) });

export const unknownToWire = (call: UnknownCall): wire.UnknownCall => ({
  callId: call.callId,
  taskId: call.taskId,
  actor: { ...call.actor },
  tool: { ...call.tool },
  risk: call.risk ?? '',
  createdAtMs: call.createdAt,
  unknownAtMs: call.unknownAt,
  epoch: call.epoch,
  summary: call.summary,
  what: call.what,
  resource: call.resource,
  account: call.account,
  evidence: call.evidence?.map(({ kind, ref, detail }) => ({ kind, ref, detail })) ?? [],
  reconciling: call.reconciling,
  asked: call.asked,
  answered:
    call.answered === undefined ? wire.ProbeAnswer.UNSPECIFIED : (answers.toWire(call.answered) as wire.ProbeAnswer),
  doubt: call.doubt,
  left: call.left && { user: call.left.user, atMs: call.left.at, note: call.left.note },
});

/** A risk or an answer of a newer revision is left out; throws `WireMismatch` for a call without an actor. */
export const unknownFromWire = (call: wire.UnknownCall): UnknownCall => {
  if (call.actor === undefined) throw new WireMismatch('an unknown call without an actor');
  const { tenant, user, agent } = call.actor;
  const risk = RiskGroup.safeParse(call.risk);
  const answered = answers.known(call.answered);
  const { left } = call;
  return {
    callId: call.callId,
    taskId: call.taskId,
    actor: { tenant, user, agent },
    tool: toolIdFromWire(call.tool),
    ...(risk.success ? { risk: risk.data } : {}),
    createdAt: call.createdAtMs,
    unknownAt: call.unknownAtMs,
    epoch: call.epoch,
    summary: call.summary,
    what: call.what,
    ...(call.resource === undefined ? {} : { resource: call.resource }),
    ...(call.account === undefined ? {} : { account: call.account }),
    ...(call.evidence.length === 0 ? {} : { evidence: call.evidence.map(evidenceOfWire) }),
    reconciling: call.reconciling,
    asked: call.asked,
    ...(answered === undefined ? {} : { answered }),
    doubt: call.doubt,
    ...(left === undefined
      ? {}
      : { left: { user: left.user, at: left.atMs, ...(left.note === undefined ? {} : { note: left.note }) } }),
  };
};

export const unknownPageFromWire = ({ unknown, next }: wire.ListUnknownResponse): RpcReply<'listUnknown'> => ({
  unknown: unknown.map(unknownFromWire),
  ...(next === undefined ? {} : { next }),
});
