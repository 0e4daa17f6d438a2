import { descriptorPath, hasDescriptorPaths, type OpenRoot } from '../open-root.ts';

/** Names the open root, wherever it has been moved meanwhile. */
export const descriptorOf = (root: Pick<OpenRoot, 'handle' | 'path'>): string =>
  hasDescriptorPaths ? descriptorPath(root.handle) : root.path;
