import { ISOLATION_LEVELS, type Isolation, type RiskGroup } from '@toolfabric/contract';

/** `untrusted`: who proposes the call has read content from outside, and may be speaking for somebody else. */
export type InputTrust = 'trusted' | 'untrusted';
/** `shared`: executors of the pool serve more than one tenant. */
export type Tenancy = 'single' | 'shared';

/**
 * `worker`: files, programs or memory of its worker. `permit`: nothing there, and outside only what the permit of this
 * call names, which the egress holds it to.
 */
export type Reach = 'worker' | 'permit';

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

const isOutside = (risk: RiskGroup): boolean => risk === 'external_write' || risk === 'irreversible';

/**
 * What risk, input trust and tenancy ask for; the contract may only raise it. A write outside that reaches nothing but
 * what its permit names is kept apart from other tenants by the egress, as a read is: its arguments are data.
 */
export const isolationFloor = (
  risk: RiskGroup,
  trust: InputTrust,
  tenancy: Tenancy,
  reach: Reach = 'worker',
): Isolation => (reach === 'permit' && isOutside(risk) ? READS : FLOORS[risk])[`${trust} ${tenancy}`];
