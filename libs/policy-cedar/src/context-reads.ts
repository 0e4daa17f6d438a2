import type { Context, PolicyJson } from '@cedar-policy/cedar-wasm/nodejs';

/** Parts of the context that rules read, as paths of one or two names; `all` where a rule takes it as a whole. */
export type ContextReads = 'all' | readonly (readonly [string] | readonly [string, string])[];

type Node = Readonly<Record<string, unknown>>;

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && !Array.isArray(value);

interface Access {
  readonly left: unknown;
  readonly attr: string;
}

const accessOf = (node: Node): Access | undefined => {
  const access = node['.'] ?? node['has'];
  return isNode(access) && typeof access['attr'] === 'string' && 'left' in access
    ? (access as unknown as Access)
    : undefined;
};

const isContext = (node: unknown): boolean => isNode(node) && node['Var'] === 'context';

/** The names from the context down to this node; undefined where it does not begin at the context. */
const pathOf = (node: unknown): string[] | undefined => {
  if (isContext(node)) return [];
  const access = isNode(node) ? accessOf(node) : undefined;
  const above = access && pathOf(access.left);
  return access && above && [...above, access.attr];
};

const collect = (node: unknown, into: Map<string, string[]>): boolean => {
  const path = pathOf(node);
  if (path?.length === 0) return false;
  if (path !== undefined) {
    into.set(path.slice(0, 2).join('\n'), path.slice(0, 2));
    return true;
  }
  if (Array.isArray(node)) return node.every((item) => collect(item, into));
  return !isNode(node) || Object.values(node).every((value) => collect(value, into));
};

/** What the conditions of these rules read of the context: nothing else of it can change what they say. */
export const readsOf = (rules: readonly Pick<PolicyJson, 'conditions'>[]): ContextReads => {
  const paths = new Map<string, string[]>();
  const isNamed = rules.every(({ conditions }) => collect(conditions, paths));
  return isNamed ? ([...paths.values()] as unknown as ContextReads) : 'all';
};

/** Equal for two contexts between which no rule can tell a difference. */
export const projectionOf = (context: Context, reads: ContextReads): string => {
  if (reads === 'all') return JSON.stringify(context);
  return JSON.stringify(
    reads.map(([first, second]) => {
      const value: unknown = context[first];
      return second === undefined ? value : isNode(value) ? value[second] : undefined;
    }),
  );
};
