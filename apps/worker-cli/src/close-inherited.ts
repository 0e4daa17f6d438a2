import { closeSync } from 'node:fs';
import { inheritedDescriptors } from './capabilities/probe-confinement.ts';

/**
 * Closes what the starter of this process left open beside the standard descriptors: every command would get it too.
 * To be called before anything else is opened.
 */
export const closeInherited = (): void => {
  for (const descriptor of inheritedDescriptors()) {
    try {
      closeSync(descriptor);
    } catch {
      // It was the one that listed them.
    }
  }
};
