import type { Expr, PolicyJson } from '@cedar-policy/cedar-wasm/nodejs';
import { type Atom, and, type Formula, isSatisfiable, not, or, type Unknown } from './formula.ts';
import type { EntityValue, OpenQuestion, Symbolic, SymbolicRecord } from './symbolic-context.ts';

/** What an expression that this does not follow is: anything. */
const ANYTHING = Symbol('anything');
type Value = Symbolic | typeof ANYTHING | Formula;

const isRecord = (value: Value): value is SymbolicRecord =>
  typeof value === 'object' && value !== null && 'attributes' in value;
const isUnknown = (value: Value): value is Unknown => typeof value === 'object' && value !== null && 'unknown' in value;
const isEntity = (value: Value): value is EntityValue =>
  typeof value === 'object' && value !== null && 'entity' in value;
const isList = (value: Value): value is readonly string[] => Array.isArray(value);
const isScalar = (value: Value): value is string | number | boolean =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';

const atom = (details: Atom): Formula => ({ atom: details });
/** The same expression is the same truth wherever it stands. */
const opaque = (expr: unknown): Formula => atom({ key: JSON.stringify(expr) });

const likeTest = (pattern: readonly ('Wildcard' | { Literal: string })[]) => {
  const source = pattern
    .map((part) => (part === 'Wildcard' ? '.*' : part.Literal.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')))
    .join('');
  const match = new RegExp(`^${source}$`, 'su');
  return (value: unknown) => typeof value === 'string' && match.test(value);
};

const isIn = (id: string, scope: string): boolean =>
  id === scope || (id.startsWith(scope) && /[:/#]/.test(id.charAt(scope.length)));

const about = ({ unknown, values }: Unknown): Pick<Atom, 'term' | 'values'> => ({
  term: unknown,
  ...(values === undefined ? {} : { values }),
});

const equalTo = (term: Unknown, value: unknown): Formula => {
  if (term.accepts !== undefined && !term.accepts(value)) return false;
  return atom({ key: `${term.unknown} == ${JSON.stringify(value)}`, ...about(term), is: value });
};

class Reader {
  readonly #question: OpenQuestion;

  constructor(question: OpenQuestion) {
    this.#question = question;
  }

  /** What a boolean expression says. */
  truth(expr: Expr): Formula {
    const value = this.#value(expr);
    if (typeof value === 'boolean') return value;
    if (isUnknown(value)) return equalTo({ unknown: value.unknown, values: [true, false] }, true);
    if (typeof value === 'object' && ('atom' in value || 'not' in value || 'and' in value || 'or' in value))
      return value;
    return opaque(expr);
  }

  #value(expr: Expr): Value {
    const [[operator, operand] = ['', undefined as unknown]] = Object.entries(expr) as [string, unknown][];
    const both = operand as { left: Expr; right: Expr; arg: Expr; attr: string };
    switch (operator) {
      case 'Value':
        return this.#literal(operand);
      case 'Var':
        return this.#variable(operand as string);
      case '&&':
        return and([this.truth(both.left), this.truth(both.right)]);
      case '||':
        return or([this.truth(both.left), this.truth(both.right)]);
      case '!':
        return not(this.truth(both.arg));
      case 'if-then-else':
        return this.#choice(operand);
      case '.':
        return this.#attribute(this.#value(both.left), both.attr);
      case 'has':
        return this.#has(this.#value(both.left), both.attr, expr);
      case '==':
        return this.#equal(this.#value(both.left), this.#value(both.right), expr);
      case '!=':
        return not(this.#equal(this.#value(both.left), this.#value(both.right), { '==': operand }));
      case '<':
      case '<=':
      case '>':
      case '>=':
        return this.#compare(operator, this.#value(both.left), this.#value(both.right), expr);
      case 'like':
        return this.#like(
          this.#value(both.left),
          (operand as { pattern: Parameters<typeof likeTest>[0] }).pattern,
          expr,
        );
      case 'in':
        return this.#within(this.#value(both.left), this.#value(both.right), expr);
      case 'contains':
        return this.#contains(this.#value(both.left), this.#value(both.right), expr);
      case 'containsAny':
      case 'containsAll':
        return this.#containsSeveral(operator, this.#value(both.left), this.#value(both.right), expr);
      case 'isEmpty': {
        const set = this.#value(both.arg);
        return isList(set) ? set.length === 0 : opaque(expr);
      }
      case 'Set': {
        const items = (operand as Expr[]).map((item) => this.#value(item));
        return items.every((item) => typeof item === 'string') ? (items as string[]) : ANYTHING;
      }
      default:
        return ANYTHING;
    }
  }

  #literal(value: unknown): Value {
    if (isScalar(value as Value)) return value as Value;
    const entity = (value as { __entity?: { type: string; id: string } } | null)?.__entity;
    if (entity !== undefined) return { entity: entity.type, id: entity.id };
    if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value as string[];
    return ANYTHING;
  }

  #variable(name: string): Value {
    const { tenant, agent, action, context } = this.#question;
    if (name === 'context') return context;
    if (name === 'action') return { entity: 'Action', id: action };
    if (name === 'resource') return { unknown: 'resource' };
    if (agent !== undefined) return { entity: 'Agent', id: agent };
    return { attributes: { tenant, name: { unknown: 'principal.name' } }, optional: new Set(), path: 'principal' };
  }

  #choice(operand: unknown): Value {
    const parts = operand as { if: Expr; then: Expr; else: Expr };
    const condition = this.truth(parts.if);
    if (typeof condition === 'boolean') return this.#value(condition ? parts.then : parts.else);
    return or([and([condition, this.truth(parts.then)]), and([not(condition), this.truth(parts.else)])]);
  }

  #attribute(of: Value, name: string): Value {
    if (isRecord(of)) return of.attributes[name] ?? ANYTHING;
    if (isEntity(of) && of.entity === 'Agent')
      return name === 'tenant' ? this.#question.tenant : of.id.slice(of.id.indexOf('/') + 1);
    if (isUnknown(of) && of.unknown === 'resource' && name === 'tenant') return this.#question.tenant;
    return isUnknown(of) ? { unknown: `${of.unknown}.${name}` } : ANYTHING;
  }

  #has(of: Value, attr: unknown, expr: Expr): Formula {
    const [name, ...deeper] = Array.isArray(attr) ? (attr as string[]) : [attr as string];
    if (name === undefined || !isRecord(of)) return opaque(expr);
    if (!Object.hasOwn(of.attributes, name)) return false;
    const here: Formula = of.optional.has(name) ? atom({ key: `${of.path} has ${name}` }) : true;
    return deeper.length === 0 ? here : and([here, this.#has(this.#attribute(of, name), deeper, expr)]);
  }

  #equal(a: Value, b: Value, expr: unknown): Formula {
    if (isEntity(a) && isEntity(b)) return a.entity === b.entity && a.id === b.id;
    if (isScalar(a) && isScalar(b)) return a === b;
    if (isUnknown(a) && typeof b === 'boolean') return equalTo({ ...a, values: [true, false] }, b);
    if (isUnknown(a) && isScalar(b)) return equalTo(a, b);
    if (isUnknown(b) && isScalar(a)) return this.#equal(b, a, expr);
    const scope = isUnknown(a) && isEntity(b) ? b : isUnknown(b) && isEntity(a) ? a : undefined;
    return scope === undefined ? opaque(expr) : this.#isResource(scope);
  }

  /** Of a resource that is one exact scope: within it, and not deeper. */
  #isResource({ id }: EntityValue): Formula {
    const { resourcePrefix } = this.#question;
    if (resourcePrefix !== undefined && !id.startsWith(resourcePrefix)) return false;
    return atom({ key: `resource == ${id}`, term: 'resource', is: id, test: (value) => value === id });
  }

  #within(a: Value, b: Value, expr: Expr): Formula {
    if (!isEntity(b)) return opaque(expr);
    const { action, groups, tenant, resourcePrefix } = this.#question;
    if (isEntity(a) && a.entity === 'Action') return b.id === action || groups.includes(b.id);
    if (isEntity(a) || isRecord(a))
      return b.entity === 'Tenant' ? b.id === tenant : isEntity(a) && a.id === b.id && a.entity === b.entity;
    if (!isUnknown(a) || a.unknown !== 'resource') return opaque(expr);
    if (b.entity !== 'Scope') return false;
    if (resourcePrefix !== undefined && !b.id.startsWith(resourcePrefix) && !isIn(resourcePrefix, b.id)) return false;
    return atom({
      key: `resource in ${b.id}`,
      term: 'resource',
      within: b.id,
      test: (value) => typeof value === 'string' && isIn(value, b.id),
    });
  }

  #compare(operator: string, a: Value, b: Value, expr: Expr): Formula {
    if (typeof a === 'number' && typeof b === 'number')
      return { '<': a < b, '<=': a <= b, '>': a > b, '>=': a >= b }[operator] ?? opaque(expr);
    if (isUnknown(b) && typeof a === 'number') {
      const turned = { '<': '>', '<=': '>=', '>': '<', '>=': '<=' }[operator] ?? '';
      return this.#compare(turned, b, a, expr);
    }
    if (!isUnknown(a) || typeof b !== 'number') return opaque(expr);
    const isLower = operator.startsWith('>');
    const edge = operator === '>' ? b + 1 : operator === '<' ? b - 1 : b;
    const accepts = a.accepts ?? (() => true);
    return atom({
      key: `${a.unknown} ${operator} ${b}`,
      ...about(a),
      ...(isLower ? { from: edge } : { to: edge }),
      test: (value) => typeof value === 'number' && accepts(value) && (isLower ? value >= edge : value <= edge),
    });
  }

  #like(a: Value, pattern: Parameters<typeof likeTest>[0], expr: Expr): Formula {
    const test = likeTest(pattern);
    if (typeof a === 'string') return test(a);
    return isUnknown(a)
      ? atom({ key: `${a.unknown} like ${JSON.stringify(pattern)}`, ...about(a), test })
      : opaque(expr);
  }

  #contains(set: Value, item: Value, expr: Expr): Formula {
    if (isList(set) && isUnknown(item)) return or(set.map((one) => equalTo(item, one)));
    if (isList(set) && isScalar(item)) return set.includes(String(item));
    if (isUnknown(set) && isScalar(item)) return atom({ key: `${set.unknown} contains ${JSON.stringify(item)}` });
    return opaque(expr);
  }

  #containsSeveral(operator: string, set: Value, items: Value, expr: Expr): Formula {
    if (!isList(items)) return opaque(expr);
    const parts = items.map((item) => this.#contains(set, item, { contains: { left: expr, right: { Value: item } } }));
    return operator === 'containsAny' ? or(parts) : and(parts);
  }

  /** The scope of a policy; what it says about the action was looked at when the set was cut. */
  #scope({ principal, resource }: PolicyJson): Formula {
    return and([this.#constraint(principal, 'principal'), this.#constraint(resource, 'resource')]);
  }

  #constraint(constraint: PolicyJson['principal'], name: 'principal' | 'resource'): Formula {
    if (constraint.op === 'All') return true;
    if (constraint.op === 'is') {
      const isType = constraint.entity_type === (name === 'principal' ? 'Agent' : 'Scope');
      return and([isType, constraint.in === undefined ? true : this.#constraint({ op: 'in', ...constraint.in }, name)]);
    }
    if (!('entity' in constraint)) return opaque(constraint);
    const uid = '__entity' in constraint.entity ? constraint.entity.__entity : constraint.entity;
    const entity: EntityValue = { entity: uid.type, id: uid.id };
    const variable = this.#variable(name);
    return constraint.op === '=='
      ? this.#equal(variable, entity, constraint)
      : this.#within(variable, entity, constraint as never);
  }

  applies(policy: PolicyJson): Formula {
    const clauses = policy.conditions.map(({ kind, body }) =>
      kind === 'when' ? this.truth(body) : not(this.truth(body)),
    );
    return and([this.#scope(policy), ...clauses]);
  }
}

/**
 * Whether some arguments, task and resource let one of the permits hold and none of the prohibitions. What it does not
 * follow could be either way, so that it never says no where the engine could say yes.
 */
export const couldHold = (
  permits: readonly PolicyJson[],
  forbids: readonly PolicyJson[],
  question: OpenQuestion,
): boolean => {
  const reader = new Reader(question);
  const forbidden = forbids.map((policy) => not(reader.applies(policy)));
  if (forbidden.includes(false)) return false;
  return permits.some((policy) => isSatisfiable(and([reader.applies(policy), ...forbidden])));
};
