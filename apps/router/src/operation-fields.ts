import { renderTemplate } from '@toolfabric/catalogue';
import { type CallRecord, type CallRequest, effectOf, type RegistryRecord, type ToolRef } from '@toolfabric/contract';
import { FabricError, uuidv7Time } from '@toolfabric/kernel';
import { OPERATION_WINDOW_MS, operationKeyOf } from '@toolfabric/ledger';
import type { ToolIndex } from '@toolfabric/routing';

const DAY_MS = 86_400_000;

export type OperationFields = Pick<CallRecord, 'operation' | 'operationMs' | 'reconcile' | 'history'>;

/** The tool that is asked about unknown outcomes. It may have been retired since, or be internal: it is asked all the same. */
const queryOf = ({ tools, internalTools }: ToolIndex, named: string): ToolRef => {
  const [name = '', version = ''] = named.split('@');
  const record = (tools.get(name) ?? internalTools.get(name))?.versions.get(version);
  if (record !== undefined) return { name, version, digest: record.digest };
  throw new FabricError(
    'unavailable',
    `the tool that would be asked about unknown outcomes is not known here: ${named}`,
  );
};

const reconcileOf = (index: ToolIndex, { contract }: RegistryRecord): CallRecord['reconcile'] => {
  const { reconcile } = contract.governance;
  if (reconcile === undefined) return undefined;
  const { fence, window_ms: windowMs, query } = reconcile;
  return { fence, windowMs, ...(query === undefined ? {} : { query: queryOf(index, query.tool) }) };
};

/** The business identity of a write: from the contract's template, else from the caller. */
const keyOf = (request: CallRequest, { contract }: RegistryRecord, args: CallRecord['args']): string | undefined => {
  const { risk, operation_key: template } = contract.governance;
  if (effectOf(risk) === 'none') return undefined;
  return template === undefined ? request.operationKey : renderTemplate(template, args);
};

/**
 * Protocol 4: a key whose record may have been purged says nothing by its absence. A key of a caller tells its age; a
 * derived one has none, so that only a contract whose other side keeps history can find out.
 */
const historyOf = (
  request: CallRequest,
  { contract }: RegistryRecord,
  windowMs: number,
  now: number,
): CallRecord['history'] => {
  const { operation_key: template, reconcile } = contract.governance;
  if (template !== undefined) return reconcile?.history === true ? 'ask' : undefined;
  const madeAt = uuidv7Time(request.operationKey ?? '');
  if (madeAt === undefined || now <= madeAt + windowMs) return undefined;
  if (reconcile !== undefined) return 'ask';
  throw new FabricError(
    'request_key_out_of_range',
    'the operation key is older than operations are remembered, and this tool cannot find out what became of it',
  );
};

/** What a record holds of its operation, and of how its outcome is found out. */
export const operationFields = (
  index: ToolIndex,
  request: CallRequest,
  tool: RegistryRecord,
  args: CallRecord['args'],
  now: number,
): OperationFields => {
  const { governance, capability } = tool.contract;
  const reconcile = reconcileOf(index, tool);
  const known = reconcile === undefined ? {} : { reconcile };
  const key = keyOf(request, tool, args);
  if (key === undefined) return known;
  const { tenant, user } = request.actor;
  const operationMs = governance.operation_days === undefined ? undefined : governance.operation_days * DAY_MS;
  const history = historyOf(request, tool, operationMs ?? OPERATION_WINDOW_MS, now);
  return {
    ...known,
    operation: operationKeyOf(governance.effect_scope ?? capability.intent, `${tenant}/${user}`, key),
    ...(operationMs === undefined ? {} : { operationMs }),
    ...(history === undefined ? {} : { history }),
  };
};
