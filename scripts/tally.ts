import { z } from 'zod';

/** The part of Vitest's JSON report that counts. */
export const Report = z.object({
  success: z.boolean(),
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      message: z.string().optional(),
      assertionResults: z.array(z.object({ fullName: z.string(), status: z.string() })),
    }),
  ),
});
export type Report = z.infer<typeof Report>;

export interface Tally {
  readonly passed: number;
  /** One line each. */
  readonly failures: readonly string[];
}

/**
 * Counts tests. A file that could not be loaded is one failure; so is a skipped test, unless it is in `allowedSkips`
 * (full names), and an allowed skip that runs, since the list must not go stale. A run that says it failed never
 * counts as clean.
 */
export const tally = (report: Report, allowedSkips: ReadonlySet<string>): Tally => {
  let passed = 0;
  const failures: string[] = [];
  for (const file of report.testResults) {
    if (file.assertionResults.length === 0) failures.push(`${file.name}: no test ran: ${file.message ?? ''}`);
    for (const { fullName, status } of file.assertionResults) {
      const skipped = status !== 'passed' && status !== 'failed';
      const allowed = allowedSkips.has(fullName);
      if (status === 'failed') failures.push(`${file.name}: ${fullName}`);
      else if (skipped && !allowed) failures.push(`${file.name}: skipped: ${fullName}`);
      else if (!skipped && allowed) failures.push(`${file.name}: listed as skipped, but ran: ${fullName}`);
      else if (!skipped) passed += 1;
    }
    if (file.status === 'failed' && file.assertionResults.every(({ status }) => status !== 'failed'))
      if (file.assertionResults.length > 0)
        failures.push(`${file.name}: failed outside its tests: ${file.message ?? ''}`);
  }
  if (!report.success && failures.length === 0) failures.push('the run failed outside the tests');
  return { passed, failures };
};
