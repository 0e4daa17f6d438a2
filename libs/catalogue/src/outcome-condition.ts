import { compile, type JSONValue, TreeInterpreter } from '@jmespath-community/jmespath';
import type { Outcome } from '@toolfabric/contract';
import { FabricError } from '@toolfabric/kernel';

type ExpressionNode = ReturnType<typeof compile>;

const MAX_EXPRESSION = 300;

/** What an expression looks at: these fields and no others. */
const FIELDS: ReadonlySet<string> = new Set(['data', 'summary', 'content']);

/**
 * Whether a condition holds for an outcome. Throws an `Error` when it cannot be said, as for a function of a field that
 * is not there.
 */
export type OutcomeCondition = (outcome: Pick<Outcome, 'data' | 'summary' | 'content'>) => boolean;

/** None of them makes more than it is given, so that the cost of a condition grows with the outcome alone. */
const FUNCTIONS: ReadonlySet<string> = new Set(
  'abs avg ceil contains ends_with floor keys length max min not_null starts_with sum to_number type values'.split(' '),
);

type Parts = readonly ExpressionNode[];

/** The parts of a node that look at what the whole looks at, and those that look at what another part found. */
const partsOf = (node: ExpressionNode): { same: Parts; inner: Parts } | string => {
  switch (node.type) {
    case 'Field':
    case 'Literal':
    case 'Index':
    case 'Slice':
    case 'Identity':
    case 'Current':
      return { same: [], inner: [] };
    case 'NotExpression':
    case 'Flatten':
      return { same: [node.child], inner: [] };
    case 'Comparator':
    case 'AndExpression':
    case 'OrExpression':
      return { same: [node.left, node.right], inner: [] };
    case 'Subexpression':
      if (node.left.type === 'NotExpression') return 'write !(a.b), since !a.b means (!a).b';
      return { same: [node.left], inner: [node.right] };
    case 'IndexExpression':
    case 'Projection':
    case 'ValueProjection':
    case 'Pipe':
      return { same: [node.left], inner: [node.right] };
    case 'FilterProjection':
      return { same: [node.left], inner: [node.right, node.condition] };
    case 'Function':
      return FUNCTIONS.has(node.name)
        ? { same: node.children, inner: [] }
        : `the function ${node.name.slice(0, 40)} may not be used here`;
    default:
      return `${node.type} may not be used in a condition`;
  }
};

/** Throws with the reason for what a condition may not be, and for a field of the outcome that does not exist. */
const checkNode = (node: ExpressionNode, isOutcome: boolean): void => {
  if (isOutcome && node.type === 'Field' && !FIELDS.has(node.name))
    throw new Error(`${node.name.slice(0, 40)} is no field of an outcome: use ${[...FIELDS].join(', ')}`);
  const parts = partsOf(node);
  if (typeof parts === 'string') throw new Error(parts);
  for (const part of parts.same) checkNode(part, isOutcome);
  for (const part of parts.inner) checkNode(part, false);
};

/** A copy without prototypes: a name such as `constructor` finds nothing that is not in the data. */
const bare = (value: JSONValue): JSONValue => {
  if (Array.isArray(value)) return value.map(bare);
  if (value === null || typeof value !== 'object') return value;
  const copy: Record<string, JSONValue> = Object.create(null);
  for (const [name, item] of Object.entries(value)) copy[name] = bare(item);
  return copy;
};

/** As JMESPath has it: `false`, `null` and what is empty are false; 0 is not. */
const isTrue = (value: JSONValue): boolean => {
  if (value === null || value === false || value === '') return false;
  return typeof value !== 'object' || Object.keys(value).length > 0;
};

const parse = (expression: string): ExpressionNode => {
  if (expression.length > MAX_EXPRESSION) throw new Error(`longer than ${MAX_EXPRESSION} characters`);
  const node = compile(expression);
  checkNode(node, true);
  return node;
};

/**
 * Compiles a condition: a JMESPath expression over `{data, summary, content}` of an outcome, without what could make it
 * grow (multi-selects, references, most functions). Throws `contract_invalid` with the reason.
 */
export const compileCondition = (expression: string): OutcomeCondition => {
  let node: ExpressionNode;
  try {
    node = parse(expression);
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(0, 200) : 'it cannot be parsed';
    throw new FabricError('contract_invalid', `the expression is refused: ${reason}`, { cause: error });
  }
  return ({ data = null, summary, content = [] }) =>
    isTrue(TreeInterpreter.search(node, bare({ data, summary, content } as JSONValue)));
};
