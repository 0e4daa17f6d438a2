import type { LedgerBus } from '@toolfabric/bus-nats';
import { draftOf, loadBuiltinContracts, moveLifeCycle, parseContract } from '@toolfabric/catalogue';
import type { RegistryRecord, TaskRecord } from '@toolfabric/contract';
import { sha256Hex, taskIdFor, uuidv7 } from '@toolfabric/kernel';
import { taskKey, toolKey } from '@toolfabric/ledger';
import { TRUTH_CONTRACTS } from '../../peers/truth/src/contracts.ts';
import type { CallerActor } from './jobs.ts';

const AT_ONCE = 64;

const inBatches = async <T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> => {
  for (let from = 0; from < items.length; from += AT_ONCE)
    await Promise.all(items.slice(from, from + AT_ONCE).map(work));
};

const CALLED = ['truth.noop', 'truth.append'];

/** The two tools that are called, and as many others beside the built-in ones as make `total`. */
const contractsFor = (total: number) => {
  const called = TRUTH_CONTRACTS.filter(({ name }) => CALLED.includes(name));
  const [noop] = called.filter(({ name }) => name === 'truth.noop');
  const others = Math.max(0, total - called.length - loadBuiltinContracts().length);
  return [
    ...called,
    ...Array.from({ length: others }, (_, n) => ({ ...noop, name: `filler.tool_${n}`, toolset: 'filler' })),
  ];
};

/** Publishes tools until the registry will hold `total` with the built-in ones, which the router adds. */
export const seedTools = async (ledger: LedgerBus, total: number): Promise<void> => {
  const now = Date.now();
  const records = contractsFor(total).map(
    (contract): RegistryRecord => moveLifeCycle(draftOf(parseContract(contract)), 'published', now),
  );
  await inBatches(records, (record) =>
    ledger.registry.create(toolKey(record.contract.name, record.contract.version), record),
  );
};

export interface SeededActors {
  readonly callers: readonly CallerActor[];
  /** The content of a tokens file. */
  readonly tokens: readonly object[];
}

/** So many tenants with one user, one token and one open task each. */
export const seedActors = async (
  ledger: LedgerBus,
  tenants: number,
  task: Partial<TaskRecord> = {},
): Promise<SeededActors> => {
  const seeded = Array.from({ length: tenants }, (_, n) => {
    const actor = { tenant: `tenant-${n}`, user: 'ada', agent: 'bench' };
    const token = `tf_${sha256Hex(`bench ${n} ${uuidv7()}`)}`;
    const taskId = taskIdFor(actor, uuidv7(), Date.now());
    return { actor, token, taskId, entry: { id: `bench-${n}`, sha256: sha256Hex(token), ...actor, rights: [] } };
  });
  await inBatches(seeded, ({ actor, taskId }) =>
    ledger.tasks.create(taskKey(actor.tenant, taskId), {
      taskId,
      actor,
      title: 'benchmark',
      state: 'open',
      createdAt: Date.now(),
      ...task,
    }),
  );
  return { callers: seeded.map(({ token, taskId }) => ({ token, taskId })), tokens: seeded.map(({ entry }) => entry) };
};
