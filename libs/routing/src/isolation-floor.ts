import { ISOLATION_LEVELS, type Isolation, type RiskGroup } from '@toolfabric/contract';

/** `untrusted`: who proposes the call has read content from outside, and may be speaking for somebody else. */
export type InputTrust = 'trusted' | 'untrusted';
/** `shared`: executors of the pool serve more than one tenant. */
export type Tenancy = 'single' | 'shared';

type Floor = Readonly<Record<`${InputTrust} ${Tenancy}`, Isolation>>;

/**
 * The arguments of these are data, which schema, policy and tool check: who wrote them decides what they may do, by taint,
 * and not where they run.
 */
const READS: Floor = {
  'trusted single': 'process',
  'trusted shared': 'process',
  'untrusted single': 'process',
  'untrusted shared': 'process',
};
const WRITES: Floor = { ...READS, 'trusted shared': 'namespace', 'untrusted shared': 'namespace' };
/**
 * Arbitrary code and wider rights. Where one tenant has the executors to itself, namespaces keep what a person said yes
 * to inside of its workspace; where tenants share them, or the input came from outside, a kernel of its own does.
 */
const PRIVILEGED: Floor = {
  'trusted single': 'namespace',
  'trusted shared': 'gvisor',
  'untrusted single': 'gvisor',
  'untrusted shared': 'gvisor',
};

const FLOORS: Readonly<Record<RiskGroup, Floor>> = {
  read: READS,
  workspace_write: WRITES,
  external_write: WRITES,
  irreversible: WRITES,
  privileged: PRIVILEGED,
};

export const isolationRank = (level: Isolation): number => ISOLATION_LEVELS.indexOf(level);

export const strongerOf = (a: Isolation, b: Isolation): Isolation => (isolationRank(a) >= isolationRank(b) ? a : b);

/** What risk, input trust and tenancy ask for; the contract may only raise it. */
export const isolationFloor = (risk: RiskGroup, trust: InputTrust, tenancy: Tenancy): Isolation =>
  FLOORS[risk][`${trust} ${tenancy}`];
