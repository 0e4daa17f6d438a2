const partsOf = (version: string): readonly number[] => version.split('.').map(Number);

/** Negative when `a` comes before `b`. Both are `ToolVersion`s: three numbers, no suffix. */
export const compareVersions = (a: string, b: string): number => {
  const left = partsOf(a);
  const right = partsOf(b);
  for (let i = 0; i < 3; i += 1) {
    const difference = (left[i] ?? 0) - (right[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
};

/** Versions with equal majors must stay compatible; for 0 too. */
export const majorOf = (version: string): number => partsOf(version)[0] ?? 0;
