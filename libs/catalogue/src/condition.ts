import { compile, type JSONValue, TreeInterpreter } from '@jmespath-community/jmespath';
import { FabricError } from '@toolfabric/kernel';

type ExpressionNode = ReturnType<typeof compile>;

/** Whether it holds for a value. Throws an `Error` when it cannot be said, as for a function of what is not there. */
export type Condition = (value: JSONValue) => boolean;

export interface ConditionRules {
  /** Characters. */
  readonly longest: number;
  /** The fields of the value; another one at its top is refused. */
  readonly fields: ReadonlySet<string>;
  /** What the value is called in a refusal: `an outcome`. */
  readonly whole: string;
}

/** None of them makes more than it is given, so that the cost of a condition grows with the value alone. */
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

/** Throws with the reason for what a condition may not be, and for a field of the whole that does not exist. */
const checkNode = (node: ExpressionNode, isWhole: boolean, rules: ConditionRules): void => {
  const { fields, whole } = rules;
  if (isWhole && node.type === 'Field' && !fields.has(node.name))
    throw new Error(
      `${node.name.slice(0, 40)} is no field of ${whole}: use ${[...fields].join(', ').slice(0, 100) || 'none'}`,
    );
  const parts = partsOf(node);
  if (typeof parts === 'string') throw new Error(parts);
  for (const part of parts.same) checkNode(part, isWhole, rules);
  for (const part of parts.inner) checkNode(part, false, rules);
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

const parse = (expression: string, rules: ConditionRules): ExpressionNode => {
  if (expression.length > rules.longest) throw new Error(`longer than ${rules.longest} characters`);
  const node = compile(expression);
  checkNode(node, true, rules);
  return node;
};

/** What an expression finds in a value. Throws an `Error` like a `Condition`. */
export type ValueOf = (value: JSONValue) => JSONValue;

/**
 * Compiles a JMESPath expression without what could make it grow (multi-selects, references, most functions). Throws
 * `contract_invalid` with the reason.
 */
export const compileValue = (expression: string, rules: ConditionRules): ValueOf => {
  let node: ExpressionNode;
  try {
    node = parse(expression, rules);
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(0, 200) : 'it cannot be parsed';
    throw new FabricError('contract_invalid', `the expression is refused: ${reason}`, { cause: error });
  }
  return (value) => TreeInterpreter.search(node, bare(value)) as JSONValue;
};

/** The same for whether what it finds is true. */
export const compileExpression = (expression: string, rules: ConditionRules): Condition => {
  const find = compileValue(expression, rules);
  return (value) => isTrue(find(value));
};
