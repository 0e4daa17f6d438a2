/** Full names of the tests that may be skipped, each with the reason. Any other skipped test fails the run. */
export const ALLOWED_SKIPS: Readonly<Record<string, string>> = {};
