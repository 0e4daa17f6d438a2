import {
  ApprovalStrength,
  type DecisionSummary,
  ResultStatus,
  RiskGroup,
  SideEffect,
  type ToolResult,
  Truncation,
} from '@toolfabric/contract';
import { contentBlockFromWire, contentBlockToWire } from './convert-content.ts';
import { toolErrorFromWire, toolErrorToWire } from './convert-error.ts';
import { enumCodec, WireMismatch } from './enum-codec.ts';
import * as wire from './gen/toolfabric/v1/result.ts';
import { parseWireJson } from './wire-json.ts';

const statuses = enumCodec('result status', wire.ResultStatus, ResultStatus.options);
const sideEffects = enumCodec('side effect', wire.SideEffect, SideEffect.options);
export const trusts = enumCodec('trust', wire.Trust, ['trusted', 'untrusted'] as const);
const units = enumCodec('truncation unit', wire.TruncationUnit, Truncation.shape.unit.unwrap().options);

/** An empty list and a list that is left out are the same on the wire. */
export const toolResultToWire = (result: ToolResult): wire.ToolResult => ({
  status: statuses.toWire(result.status) as wire.ResultStatus,
  summary: result.summary,
  dataJson: result.data === undefined ? undefined : JSON.stringify(result.data),
  content: result.content?.map(contentBlockToWire) ?? [],
  error: result.error && toolErrorToWire(result.error),
  sideEffect: sideEffects.toWire(result.sideEffect) as wire.SideEffect,
  artifacts: result.artifacts ?? [],
  evidence: result.evidence?.map(({ kind, ref, detail }) => ({ kind, ref, detail })) ?? [],
  truncation:
    result.truncation?.map(({ stream, kept, total, unit }) => ({
      stream,
      kept,
      total,
      unit: units.toWire(unit) as wire.TruncationUnit,
    })) ?? [],
  trust: trusts.toWire(result.trust) as wire.Trust,
  origin: result.origin,
  usage: result.usage && { durationMs: result.usage.durationMs, cpuMs: result.usage.cpuMs },
  callId: result.callId,
  tool: { name: result.tool.name, version: result.tool.version },
  decision: result.decision && decisionToWire(result.decision),
  attempt: result.attempt,
});

/** Throws `WireMismatch` where the status or the side effect is not known: neither can be guessed. */
export const toolResultFromWire = (result: wire.ToolResult): ToolResult => ({
  status: statuses.fromWire(result.status),
  summary: result.summary,
  ...(result.dataJson === undefined ? {} : { data: parseWireJson('data', result.dataJson) }),
  ...(result.content.length === 0 ? {} : { content: result.content.map(contentBlockFromWire) }),
  ...(result.error === undefined ? {} : { error: toolErrorFromWire(result.error) }),
  sideEffect: sideEffects.fromWire(result.sideEffect),
  ...(result.artifacts.length === 0 ? {} : { artifacts: result.artifacts }),
  ...(result.evidence.length === 0 ? {} : { evidence: result.evidence.map(evidenceFromWire) }),
  ...(result.truncation.length === 0 ? {} : { truncation: result.truncation.map(truncationFromWire) }),
  // What does not say that it is trusted is not.
  trust: trusts.known(result.trust) ?? 'untrusted',
  ...(result.origin === undefined ? {} : { origin: result.origin }),
  ...(result.usage === undefined ? {} : { usage: usageFromWire(result.usage) }),
  callId: result.callId,
  tool: toolIdFromWire(result.tool),
  ...(result.decision === undefined ? {} : { decision: decisionFromWire(result.decision) }),
  attempt: result.attempt,
});

export const toolIdFromWire = (tool: wire.ToolId | undefined) => ({
  name: tool?.name ?? '',
  version: tool?.version ?? '',
});

const evidenceFromWire = ({ kind, ref, detail }: wire.Evidence) => ({
  kind,
  ref,
  ...(detail === undefined ? {} : { detail }),
});

const truncationFromWire = ({ stream, kept, total, unit }: wire.Truncation): Truncation => ({
  stream,
  kept,
  total,
  unit: units.known(unit) ?? 'bytes',
});

const usageFromWire = ({ durationMs, cpuMs }: wire.Usage) => ({
  durationMs,
  ...(cpuMs === undefined ? {} : { cpuMs }),
});

/** A risk or a strength of a newer revision is left out. */
const decisionFromWire = ({ limits, resource, account, ...decision }: wire.Decision): DecisionSummary => {
  if (limits === undefined) throw new WireMismatch('a decision without limits');
  const { policyVersion, rule, raisedBy } = decision;
  const risk = RiskGroup.safeParse(decision.risk).data;
  const strength = ApprovalStrength.safeParse(decision.strength).data;
  return {
    policyVersion,
    rule,
    limits: limitsFromWire(limits),
    ...(risk === undefined ? {} : { risk }),
    ...(raisedBy.length === 0 ? {} : { raisedBy }),
    ...(strength === undefined ? {} : { strength }),
    ...(resource === undefined ? {} : { resource }),
    ...(account === undefined ? {} : { account }),
  };
};

const decisionToWire = ({ policyVersion, rule, limits, ...more }: DecisionSummary): wire.Decision => ({
  policyVersion,
  rule,
  risk: more.risk ?? '',
  raisedBy: more.raisedBy ?? [],
  strength: more.strength ?? '',
  resource: more.resource,
  account: more.account,
  limits: { timeoutMs: limits.timeoutMs, outputBytes: limits.outputBytes, outputTokens: limits.outputTokens },
});

const limitsFromWire = ({ timeoutMs, outputBytes, outputTokens }: wire.DecisionLimits): DecisionSummary['limits'] => ({
  timeoutMs,
  outputBytes,
  ...(outputTokens === undefined ? {} : { outputTokens }),
});
