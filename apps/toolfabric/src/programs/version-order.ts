const numbers = (version: string): number[] => version.replace(/^v/, '').split(/[.-]/, 3).map(Number);

/** Below 0 when `a` is older than `b`, 0 when they are equal in their first three numbers. */
export const compareVersions = (a: string, b: string): number => {
  const [left, right] = [numbers(a), numbers(b)];
  for (let at = 0; at < 3; at += 1) {
    const difference = (left[at] || 0) - (right[at] || 0);
    if (difference !== 0) return difference;
  }
  return 0;
};
