import { closeSync, existsSync, readdirSync, readFileSync } from 'node:fs';

const CLOSE_ON_EXEC = 0o2000000;

/** Descriptors beside the standard ones that a program started from here would get too. */
export const inheritedDescriptors = (): number[] => {
  if (!existsSync('/proc/self/fdinfo')) return [];
  return readdirSync('/proc/self/fdinfo')
    .map(Number)
    .filter((descriptor) => {
      if (descriptor <= 2) return false;
      try {
        const flags = /flags:\s+(\d+)/.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'utf8'))?.[1] ?? '';
        return (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
      } catch {
        return false;
      }
    });
};

/**
 * Closes what the starter of this process left open beside the standard descriptors: every program that it starts would
 * get it too. To be called before anything else is opened.
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
