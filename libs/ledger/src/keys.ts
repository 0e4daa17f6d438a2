import { shardOf, shortHash, slotOf } from '@toolfabric/kernel';

/**
 * Names of records, messages and ids (protocol 1). A probe's call id carries a dot (`….r1`), which must not split a
 * token of a subject.
 */
export const callToken = (callId: string): string => callId.replace('.', '_');

export const callKey = (tenant: string, callId: string): string =>
  `call.${slotOf(callId)}.${tenant}.${callToken(callId)}`;

export const claimKey = (kind: string, tenant: string, callId: string): string =>
  `claim.${kind}.${slotOf(callId)}.${tenant}.${callToken(callId)}`;

export const openPrefix = (shard: number): string => `open.${shard}`;
export const openKey = (tenant: string, callId: string): string =>
  `${openPrefix(shardOf(callId))}.${tenant}.${callToken(callId)}`;

/** The business identity of a write: what it is unique in, as whom, and which. */
export const operationKeyOf = (effectScope: string, account: string, operation: string): string =>
  `op.${shortHash('op', effectScope, account, operation)}`;

/** Unknown calls in sight of people stand beside the operations: those of one tenant below `unknown.<tenant>`. */
export const unknownPrefix = (tenant: string): string => `unknown.${tenant}`;
export const unknownKey = (tenant: string, callId: string): string => `${unknownPrefix(tenant)}.${callToken(callId)}`;

export const approvalKey = (tenant: string, approvalId: string): string => `approval.${tenant}.${approvalId}`;
export const taskKey = (tenant: string, taskId: string): string => `task.${tenant}.${taskId}`;
export const toolKey = (name: string, version: string): string => `tool.${shortHash('tool', name, version)}`;
export const useKey = (tenant: string, taskId: string): string => `use.${tenant}.${taskId}`;
export const taintKey = ({ tenant, user, agent }: { tenant: string; user: string; agent: string }): string =>
  `taint.${tenant}.${shortHash('taint', user, agent)}`;
export const resourceKey = (tenant: string, resource: string): string =>
  `resource.${tenant}.${shortHash('resource', resource)}`;
export const routerPrefix = 'router';
export const routerKey = (incarnation: string): string => `${routerPrefix}.${incarnation}`;
/** Which policy holds, and its number, stands beside the leases. */
export const POLICY_KEY = 'policy.mark';
export const leaseKey = (shard: number): string => `shard.${shard}`;
export const lifePrefix = (kind: string): string => `live.${kind}`;
export const lifeKey = (kind: string, incarnation: string): string => `${lifePrefix(kind)}.${incarnation}`;
/** Beside each other in their own buckets: the floors of calls, and the life signs of egress processes. */
export const floorKey = (tenant: string, callId: string): string => `floor.${tenant}.${callToken(callId)}`;
export const doorPrefix = 'door';
export const doorKey = (incarnation: string): string => `${doorPrefix}.${incarnation}`;
/** Pin slots are provisioned, one consumer each, and numbered from 0. */
export const pinSlot = (index: number): string => `p${index}`;
/** The lease of a pin slot stands beside the life signs of its kind. */
export const pinKey = (kind: string, slot: string): string => `${lifePrefix(kind)}.pin-${slot}`;
const PIN_KEY = /\.pin-p\d{1,4}$/;
export const isPinKey = (key: string): boolean => PIN_KEY.test(key);

export const workSubject = (kind: string, priority: 'hi' | 'lo', tenant: string): string =>
  `work.${kind}.${priority}.${tenant}`;

export const pinnedWorkSubject = (kind: string, slot: string, tenant: string): string =>
  `work.${kind}.pin.${slot}.${tenant}`;

/**
 * Message id of a work message: the same epoch of a call is stored once, and once more when it was taken back from the
 * pin slot that it was sent to first, or decided again under a later policy.
 */
export const workMessageId = (callId: string, epoch: number, pin?: string, watermark?: number): string =>
  [callId, epoch, ...(pin === undefined ? [] : [pin]), ...(watermark === undefined ? [] : [`w${watermark}`])].join('.');

/** The internal call that asks for the n-th time what became of a call (protocol 7). */
export const probeCallId = (callId: string, n: number): string => `${callId}.r${n}`;

export const parseProbeCallId = (callId: string): { parent: string; n: number } | undefined => {
  const match = /^(.+)\.r(\d+)$/.exec(callId);
  return match?.[1] === undefined ? undefined : { parent: match[1], n: Number(match[2]) };
};
