/** Which of the living routers this one is. */
export interface RouterShare {
  /** At least 1. */
  readonly routers: number;
  /** From 0. */
  readonly rank: number;
}

/**
 * What one router may still give out of `most` when `used` are in flight everywhere (protocol 10): the remainder, over
 * the living routers; what does not divide goes to the first of them, so that their slices together are the remainder.
 */
export const sliceOf = (most: number, used: number, { routers, rank }: RouterShare): number => {
  const left = Math.max(0, most - used);
  return Math.floor(left / routers) + (rank < left % routers ? 1 : 0);
};
