import type { Manifest } from './manifests.ts';

interface Model {
  readonly prototype: { validate(this: unknown): void };
}

/** The model of a kind, by its apiVersion; undefined when Kubernetes has none. */
const modelOf = async ({ apiVersion, kind }: Manifest): Promise<Model | undefined> => {
  const models: Record<string, Model> = await import(`kubernetes-models/${apiVersion}`).catch(() => ({}));
  return models[kind];
};

type Looked = Map<object, Set<string>>;

/** A view of `value` that notes which properties were looked at. */
const watched = <T>(value: T, looked: Looked): T => {
  if (typeof value !== 'object' || value === null) return value;
  const seen = looked.get(value) ?? new Set();
  looked.set(value, seen);
  return new Proxy(value, {
    get(target, key, receiver) {
      if (typeof key === 'string') seen.add(key);
      return watched(Reflect.get(target, key, receiver), looked);
    },
  });
};

const unseen = (value: unknown, looked: Looked, path: string): string[] => {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) =>
    looked.get(value)?.has(key) ? unseen(item, looked, `${path}/${key}`) : [`${path}/${key}: unknown field`],
  );
};

/**
 * What the Kubernetes schemas say against a manifest. They let unknown fields pass by themselves; but a validator looks
 * at every field that its schema knows, so a field that it never looked at is one that the schema does not know.
 */
export const schemaFaults = async (manifest: Manifest): Promise<string[]> => {
  const model = await modelOf(manifest);
  if (!model) return [`there is no ${manifest.kind} in ${manifest.apiVersion}`];
  const looked: Looked = new Map();
  try {
    model.prototype.validate.call(watched(manifest, looked));
  } catch (thrown) {
    return [thrown instanceof Error ? thrown.message : String(thrown)];
  }
  return unseen(manifest, looked, '');
};
