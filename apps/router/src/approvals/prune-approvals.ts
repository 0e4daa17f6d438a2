import type { RouterContext } from '../router-context.ts';

/** How long an approval is kept after its time is over, in milliseconds. What became of it stands in the trace. */
const KEPT_MS = 86_400_000;

/** Removes approvals that nobody can use any more, in whatever state; bound to the revision that was read. */
export const pruneApprovals = async (ctx: RouterContext): Promise<number> => {
  const { approvals } = ctx.ports;
  let removed = 0;
  for (const key of await approvals.keys('approval')) {
    const stored = await approvals.get(key);
    if (stored === undefined || ctx.clock.now() <= stored.value.expiresAt + KEPT_MS) continue;
    if (await approvals.remove(key, stored.revision)) removed += 1;
  }
  return removed;
};
