/** A value that is not known yet, by the path that leads to it; `accepts` says which literals it could be at all. */
export interface Unknown {
  readonly unknown: string;
  readonly accepts?: (value: unknown) => boolean;
  /** All that it could be, where these are few. */
  readonly values?: readonly unknown[];
}

/** Something that may be true or false, and what that tells about the value it is about. */
export interface Atom {
  readonly key: string;
  /** The unknown value that it is about. */
  readonly term?: string;
  /** All that the term could be, where these are few. */
  readonly values?: readonly unknown[];
  /** True only for this value of the term. */
  readonly is?: unknown;
  /** What it says of a value of the term. */
  readonly test?: (value: unknown) => boolean;
  /** The term, a scope, is this one or lies in it. */
  readonly within?: string;
  /** The term is at least, or at most, this number. */
  readonly from?: number;
  readonly to?: number;
}

export type Formula =
  | boolean
  | { readonly atom: Atom }
  | { readonly not: Formula }
  | { readonly and: readonly Formula[] }
  | { readonly or: readonly Formula[] };

export const not = (formula: Formula): Formula =>
  typeof formula === 'boolean' ? !formula : 'not' in formula ? formula.not : { not: formula };

export const and = (parts: readonly Formula[]): Formula => {
  if (parts.includes(false)) return false;
  const open = parts.filter((part) => part !== true);
  const [only] = open;
  return only === undefined ? true : open.length === 1 ? only : { and: open };
};

export const or = (parts: readonly Formula[]): Formula => not(and(parts.map(not)));

type Assigned = ReadonlyMap<string, { readonly atom: Atom; readonly value: boolean }>;

/** The formula with what was assumed put in. */
const reduce = (formula: Formula, assigned: Assigned): Formula => {
  if (typeof formula === 'boolean') return formula;
  if ('atom' in formula) return assigned.get(formula.atom.key)?.value ?? formula;
  if ('not' in formula) return not(reduce(formula.not, assigned));
  const parts = ('and' in formula ? formula.and : formula.or).map((part) => reduce(part, assigned));
  return 'and' in formula ? and(parts) : or(parts);
};

const firstAtom = (formula: Formula): Atom | undefined => {
  if (typeof formula === 'boolean') return undefined;
  if ('atom' in formula) return formula.atom;
  if ('not' in formula) return firstAtom(formula.not);
  return firstAtom(('and' in formula ? formula.and : formula.or)[0] ?? true);
};

const isInside = (inner: string, outer: string): boolean =>
  inner === outer || (inner.startsWith(outer) && /[:/#]/.test(inner.charAt(outer.length)));

type Assumption = { readonly atom: Atom; readonly value: boolean };

const fits = (candidate: unknown, { atom, value }: Assumption): boolean => {
  if ('is' in atom) return (atom.is === candidate) === value;
  return atom.test === undefined || atom.test(candidate) === value;
};

/** Whether one value can be all that is assumed of it. */
const isPossible = (assumed: readonly Assumption[]): boolean => {
  const fixed = assumed.find(({ atom, value }) => value && 'is' in atom);
  const candidates = fixed === undefined ? assumed.find(({ atom }) => atom.values)?.atom.values : [fixed.atom.is];
  if (candidates !== undefined) return candidates.some((candidate) => assumed.every((one) => fits(candidate, one)));
  const scopes = assumed.flatMap(({ atom, value }) =>
    atom.within === undefined ? [] : [{ scope: atom.within, value }],
  );
  const inside = scopes.filter(({ value }) => value);
  const apart = inside.some((a) => inside.some((b) => !isInside(a.scope, b.scope) && !isInside(b.scope, a.scope)));
  if (apart || inside.some((a) => scopes.some((b) => !b.value && isInside(a.scope, b.scope)))) return false;
  const lowest = assumed.map(({ atom, value }) =>
    value ? atom.from : atom.to === undefined ? undefined : atom.to + 1,
  );
  const highest = assumed.map(({ atom, value }) =>
    value ? atom.to : atom.from === undefined ? undefined : atom.from - 1,
  );
  const numbers = (list: readonly (number | undefined)[]) => list.filter((item) => item !== undefined);
  return Math.max(...numbers(lowest)) <= Math.min(...numbers(highest));
};

const isConsistent = (assigned: Assigned): boolean => {
  const byTerm = Map.groupBy(assigned.values(), ({ atom }) => atom.term);
  return [...byTerm].every(([term, assumed]) => term === undefined || isPossible(assumed));
};

/** Steps after which a formula counts as one that could be true: a tool too many is listed, never one too few. */
const MOST_STEPS = 20_000;

/** Whether some values make it true; where that cannot be told, it says that they do. */
export const isSatisfiable = (formula: Formula): boolean => {
  let steps = 0;
  const search = (open: Formula, assigned: Assigned): boolean => {
    steps += 1;
    if (steps > MOST_STEPS) return true;
    if (open === false || !isConsistent(assigned)) return false;
    const atom = firstAtom(open);
    if (open === true || atom === undefined) return true;
    return [true, false].some((value) => {
      const next = new Map(assigned).set(atom.key, { atom, value });
      return search(reduce(open, next), next);
    });
  };
  return search(formula, new Map());
};
