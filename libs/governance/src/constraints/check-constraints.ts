import type { TaskConstraints, ToolContract } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';
import type { CallFacts } from '@toolfabric/ports';
import { hostOf } from '../extract-hosts.ts';
import { type ConfinedWrites, confinedWrites } from './confined-handlers.ts';
import { compileGlob } from './glob.ts';
import { isWholeWritable, isWritable, vagueGlobs } from './writable-places.ts';

const violated = (message: string): FabricError => new FabricError('constraint_violated', message);

/** `*.example.com` is everything below, and `example.com` itself: a prohibition means the whole of it. */
const forbids = (pattern: string, host: string): boolean => {
  const isWide = pattern.startsWith('*.');
  const named = hostOf(isWide ? pattern.slice(2) : pattern);
  return named !== undefined && (host === named || (isWide && host.endsWith(`.${named}`)));
};

const checkHosts = (forbidden: readonly string[], { execution, governance }: ToolContract, facts: CallFacts): void => {
  if (forbidden.length === 0) return;
  // With declared rules the way out keeps the prohibition itself, at every connection.
  if (execution.network !== 'none' && execution.egress === undefined && governance.hosts === undefined)
    throw violated('the task forbids hosts, and which ones this tool reaches cannot be known before');
  for (const host of facts.hosts) {
    const pattern = forbidden.find((each) => forbids(each, host));
    if (pattern !== undefined) throw violated(`the task forbids the host ${host} (${pattern})`);
  }
};

/** Executors that a workspace is given to. */
const HOLDS_WORKSPACE: ReadonlySet<string> = new Set(['cli', 'sandbox']);

/** A text of a shell may write anywhere; its executor confines it. */
const ANYWHERE = '.';

const checkPlaces = (writable: readonly string[]): void => {
  const [vague] = vagueGlobs(writable);
  if (vague !== undefined)
    throw violated(
      `a command can be kept to whole directories (src/**) and to single files (./package.json), not to ${vague}, which the task names as writable`,
    );
};

const checkConfined = (writable: readonly string[], writes: ConfinedWrites): void => {
  if (writes === 'places') checkPlaces(writable);
  if (writes === 'repository' && !isWholeWritable(writable, '.git'))
    throw violated('this tool writes the repository, and .git/** is not writable in this task');
};

const checkWrites = (writable: readonly string[], { execution, governance }: ToolContract, facts: CallFacts): void => {
  const confined = confinedWrites(execution);
  const outside = facts.writes.find(
    (path) => !(confined === 'places' && path === ANYWHERE) && !isWritable(writable, path),
  );
  if (outside !== undefined)
    throw violated(`${outside} may not be written in this task; writable are: ${writable.join(', ') || 'no files'}`);
  if (governance.risk === 'read' || governance.writes !== undefined || !HOLDS_WORKSPACE.has(execution.adapter)) return;
  if (isWholeWritable(writable, '')) return;
  if (confined === undefined)
    throw violated('the task names what may be written, and what this tool writes cannot be known before it runs');
  checkConfined(writable, confined);
};

/**
 * What a task was made to keep to (PO-9), the same for every adapter. Throws `constraint_violated`. `confirm` is no
 * prohibition: it stands in the facts, and the policy asks a person.
 */
export const checkConstraints = (
  constraints: TaskConstraints | undefined,
  contract: ToolContract,
  facts: CallFacts,
): void => {
  if (constraints === undefined) return;
  checkHosts(constraints.forbiddenHosts ?? [], contract, facts);
  if (constraints.writable !== undefined) checkWrites(constraints.writable, contract, facts);
};

/** Whether every glob and host can be read; when a task is made. Throws `invalid_request`. */
export const checkConstraintsThemselves = ({ writable = [], forbiddenHosts = [] }: TaskConstraints): void => {
  const refuse = (field: string, expected: string) =>
    new FabricError('invalid_request', `${field}: ${expected}`, { fields: [{ field, expected }] });
  for (const [at, glob] of writable.entries()) {
    try {
      compileGlob(glob);
    } catch (thrown) {
      const expected = thrown instanceof FabricError ? thrown.details.fields?.[0]?.expected : undefined;
      throw refuse(`/constraints/writable/${at}`, expected ?? 'a glob such as src/**');
    }
  }
  for (const [at, pattern] of forbiddenHosts.entries())
    if (!/^(?:\*\.)?[^*]+$/.test(pattern) || hostOf(pattern.replace(/^\*\./, '')) === undefined)
      throw refuse(`/constraints/forbiddenHosts/${at}`, 'a host name, or *. and a suffix');
};
