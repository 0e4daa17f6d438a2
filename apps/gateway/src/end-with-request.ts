import type { RequestContext } from './request-context.ts';

/** Runs `work` with a signal that is aborted when nobody waits for the request any more. */
export const endWithRequest = async <T>(
  context: RequestContext,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const gone = new AbortController();
  const stop = context.onGone(() => gone.abort());
  if (context.isGone()) gone.abort();
  try {
    return await work(gone.signal);
  } finally {
    stop();
  }
};
