import type { ToolContract } from '@toolfabric/contract';

export interface UnenforcedField {
  /** Dotted path in the contract. */
  readonly path: string;
  /** Whether the contract asks for what nothing does yet. */
  readonly isUsed: (contract: ToolContract) => boolean;
  /** What a contract may say here for now. */
  readonly allowed: string;
}

/**
 * Fields of a contract, or values of them, that nothing enforces yet. Publication refuses them: a rule that is written
 * down and not kept would be a lie. A part of the fabric that begins to enforce one removes its row here and adds the
 * field to `ENFORCED_FIELDS`.
 */
export const UNENFORCED_FIELDS: readonly UnenforcedField[] = [
  { path: 'execution.mode', isUsed: (c) => c.execution.mode !== 'runtime_function', allowed: 'runtime_function' },
  { path: 'execution.adapter', isUsed: (c) => c.execution.adapter === 'provider', allowed: 'any adapter but provider' },
];

/** Who keeps each field; where only some of its values are kept, it stands in both tables. */
export const ENFORCED_FIELDS: Readonly<Record<string, string>> = {
  name: 'registry and resolve',
  version: 'registry and resolve',
  internal: 'resolve: hidden from callers',
  toolset: 'publication: the group that the name begins with',
  'capability.intent': 'operations: the default scope of a key',
  'capability.description': 'publication lint',
  'capability.use_when': 'publication lint',
  'capability.not_for': 'publication lint',
  'capability.examples': 'publication: each validates',
  input: 'schema check of every call',
  'execution.adapter': 'execution choice',
  'execution.mode': 'only its default exists',
  'execution.handler': 'execution choice and worker',
  'execution.isolation': 'execution choice',
  'execution.timeout_ms': 'limits of the decision',
  'execution.network': 'execution choice: a pool with a way out; dispatch: the leave to use it',
  'execution.credentials': 'policy: whose account acts; the egress injects them by the rules that name them',
  'execution.options': 'the tool',
  'execution.egress.rules': 'dispatch: the leave to go out; the egress',
  'execution.egress.from_arguments.schemes': 'dispatch: the leave to go out',
  'execution.egress.from_arguments.ports': 'dispatch: the leave to go out',
  'execution.egress.from_arguments.methods': 'the egress',
  'execution.egress.from_arguments.paths': 'the egress',
  'execution.egress.from_arguments.addresses': 'the egress',
  'execution.egress.max_bytes': 'the egress',
  'execution.egress.max_connections': 'the egress',
  'execution.background': 'ledger and worker',
  'execution.pools': 'execution choice',
  'output.format': 'settlement: addresses of citations, a file or an image where one is promised',
  'output.schema': 'settlement: the data of every answer',
  'output.success_when': 'settlement',
  'output.error_when': 'settlement',
  'output.artifacts': 'dispatch: the leave to store them',
  'output.budget_bytes': 'limits of the decision',
  'output.budget_tokens': 'limits of the decision: an estimate, kept by the worker',
  'governance.redact': 'worker: everything that a tool says',
  'governance.retention_days': 'the leave to store artifacts',
  'governance.risk': 'policy and execution choice',
  'governance.idempotent': 'ledger: whether a call may be run again',
  'governance.claimless': 'ledger and worker',
  'governance.operation_key': 'operations',
  'governance.effect_scope': 'operations',
  'governance.max_calls_per_turn': 'budgets of tasks',
  'governance.cost': 'budgets of tasks',
  'governance.raise': 'the level that the policy judges a call at',
  'governance.hosts': 'policy, and constraints of tasks',
  'governance.resource': 'policy: the scope that a call acts on',
  'governance.writes': 'constraints of tasks, in the router and in the worker',
  'governance.pii_allowed': 'arguments in the router, and everything that a tool says in the worker',
  'governance.precondition': 'the tool, before any effect',
  'governance.preview': 'approvals: what a person is shown',
  'governance.executes':
    'approvals: the files are hashed when a person is asked, when the yes is used, and under the lock',
  'governance.operation_days': 'operations',
  'governance.reconcile.by': 'ledger',
  'governance.reconcile.query.tool': 'ledger: the question in the place of a probe',
  'governance.reconcile.query.arguments': 'ledger: the question in the place of a probe',
  'governance.reconcile.query.id': 'ledger: what an answer says',
  'governance.reconcile.query.absent': 'ledger: what an answer says',
  'governance.reconcile.history': 'operations: asked before the first run of a key',
  'governance.reconcile.fence': 'ledger',
  'governance.reconcile.window_ms': 'ledger',
};

export const unenforcedProblems = (contract: ToolContract): string[] =>
  UNENFORCED_FIELDS.filter(({ isUsed }) => isUsed(contract)).map(
    ({ path, allowed }) => `${path}: nothing enforces this yet; allowed is: ${allowed}`,
  );
