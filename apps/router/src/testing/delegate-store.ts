import type { Store } from '@toolfabric/ports';

/** For tests: the store itself, but for what the test puts in the place of its functions. */
export const delegateStore = <T>(store: Store<T>, instead: Partial<Store<T>>): Store<T> => ({
  get: (key) => store.get(key),
  create: (key, value) => store.create(key, value),
  update: (key, value, revision) => store.update(key, value, revision),
  remove: (key, revision) => store.remove(key, revision),
  keys: (prefix) => store.keys(prefix),
  lastRevision: () => store.lastRevision(),
  ...instead,
});
