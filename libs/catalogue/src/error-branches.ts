import type { ErrorObject } from 'ajv';

const CHOOSING: ReadonlySet<string> = new Set(['anyOf', 'oneOf']);

const branchOf = (error: ErrorObject, choice: string): string | undefined => {
  if (!error.schemaPath.startsWith(`${choice}/`)) return undefined;
  return error.schemaPath.slice(choice.length + 1).split('/')[0];
};

/** A value of the wrong type was hardly meant for the branch, however little else is wrong. */
const weightOf = (errors: readonly ErrorObject[], choice: ErrorObject): number =>
  errors.length + (errors.some((e) => e.keyword === 'type' && e.instancePath === choice.instancePath) ? 1000 : 0);

/**
 * Of each `anyOf` and `oneOf` that failed, keeps the errors of the branch with the fewest: the one that was most likely
 * meant. The other branches only say what the value is not.
 */
export const keepBestBranches = (errors: readonly ErrorObject[]): ErrorObject[] => {
  let kept = [...errors];
  for (const choice of errors.filter(({ keyword }) => CHOOSING.has(keyword)).slice(0, 50)) {
    const branches = Map.groupBy(kept, (error) => branchOf(error, choice.schemaPath));
    branches.delete(undefined);
    const [best] = [...branches.entries()].sort(([, a], [, b]) => weightOf(a, choice) - weightOf(b, choice));
    if (best === undefined) continue;
    kept = kept.filter((error) => {
      const branch = branchOf(error, choice.schemaPath);
      return branch === undefined || branch === best[0];
    });
  }
  return kept;
};
