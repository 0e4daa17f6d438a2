import { z } from 'zod';
import { Actor } from './identity.ts';
import { PayloadRecord, SpanRecord } from './trace.ts';

/** One event of the trace stream. Losing one never fails a call, except the terminal one, which is stored before a call is closed. */
export const FabricEvent = z.strictObject({
  /** Unique; two copies of one event share it. */
  id: z.string(),
  type: z.enum([
    'call.refused',
    'call.accepted',
    'call.queued',
    'call.settled',
    'call.late_result',
    'call.released',
    'call.retried',
    'call.orphaned',
    'call.probed',
    'call.cancel_requested',
    'task.created',
    'task.ended',
    'task.widened',
    'tool.life_cycle',
    'worker.dead',
    'message.refused',
    'call.payloads',
    'trace.spans',
    'artifact.stored',
    'artifact.read',
    'artifact.refused',
    'artifact.expired',
    'workspace.moved',
    'workspace.lost',
    'approval.requested',
    'approval.decided',
    'approval.consumed',
    'approval.expired',
    'policy.shadow',
    'policy.loaded',
    'budget.denied',
    'taint.recorded',
    'unknown.resolved',
    'person.took_over',
    'egress.attempt',
    'egress.fenced',
    'credential.changed',
  ]),
  service: z.string(),
  tenant: z.string(),
  /** Milliseconds since the epoch. */
  at: z.int(),
  callId: z.string().optional(),
  taskId: z.string().optional(),
  /** Whose call, task or artifact it is. */
  actor: Actor.optional(),
  /** Never arguments, results or file contents. */
  attributes: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({}),
  /** With `trace.spans`. */
  spans: z.array(SpanRecord).max(200).optional(),
  /** With `call.payloads`: redacted. */
  payloads: z.array(PayloadRecord).max(2).optional(),
});
export type FabricEvent = z.infer<typeof FabricEvent>;
