/** The command line was not understood: exit code 2, with the help of the verb one line away. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
