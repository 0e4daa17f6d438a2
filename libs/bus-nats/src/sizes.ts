/** How much each stream may hold: bytes, unless the name says messages. The file store is sized from the sum. */
export interface Sizes {
  /** One work stream. */
  readonly work: number;
  /** Messages that wait or run on one work subject, so of one tenant and priority. */
  readonly workMessagesPerSubject: number;
  /** Pin slots of one kind: as many of its workers can be homes of workspaces at once. */
  readonly pinSlots: number;
  readonly results: number;
  readonly events: number;
  readonly dead: number;
  /** One slot of the ring. */
  readonly ledgerSlot: number;
  /** One slot of the ring of one kind. */
  readonly claimSlot: number;
  readonly open: number;
  readonly operations: number;
  readonly approvals: number;
  readonly tasks: number;
  readonly registry: number;
  readonly leases: number;
  readonly lives: number;
  readonly replicas: number;
}

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

export const SIZES = {
  /** One machine. Nothing is reserved on disk before it is written. */
  laptop: {
    work: 256 * MIB,
    workMessagesPerSubject: 2000,
    pinSlots: 8,
    results: 512 * MIB,
    events: 512 * MIB,
    dead: 64 * MIB,
    ledgerSlot: 512 * MIB,
    claimSlot: 256 * MIB,
    open: 64 * MIB,
    operations: 128 * MIB,
    approvals: 64 * MIB,
    tasks: 64 * MIB,
    registry: 64 * MIB,
    leases: 4 * MIB,
    lives: 4 * MIB,
    replicas: 1,
  },
  cluster: {
    work: 4 * GIB,
    workMessagesPerSubject: 10_000,
    pinSlots: 64,
    results: 16 * GIB,
    events: 32 * GIB,
    dead: GIB,
    ledgerSlot: 16 * GIB,
    claimSlot: 8 * GIB,
    open: GIB,
    operations: 8 * GIB,
    approvals: GIB,
    tasks: GIB,
    registry: GIB,
    leases: 16 * MIB,
    lives: 16 * MIB,
    replicas: 3,
  },
} as const satisfies Record<string, Sizes>;
export type SizesName = keyof typeof SIZES;
