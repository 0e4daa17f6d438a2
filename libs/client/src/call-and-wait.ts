import { type CallView, isLastAnswer } from '@toolfabric/contract';
import { type Clock, FabricError } from '@toolfabric/kernel';
import { BackOff, isWorthRetrying } from './retry-unavailable.ts';

/** A call that waits for a person holds no connection: it is answered with its handle (L5). */
const isAnswer = (view: CallView): boolean => isLastAnswer(view) || view.state === 'awaiting_approval';

/**
 * A gateway may wait for less than was asked (its own limit, its shutdown) and then answers with a handle. This asks
 * again, with the same request key, until the call is answered or the wait limit has passed. Once there is a handle it
 * is never lost to a gateway that went away.
 */
export const callAndWait = async (
  ask: (waitMs: number) => Promise<CallView>,
  { waitMs, signal, clock }: { waitMs: number; signal: AbortSignal | undefined; clock: Clock },
): Promise<CallView> => {
  const until = clock.monotonic() + waitMs;
  const left = () => Math.max(0, Math.round(until - clock.monotonic()));
  const backOff = new BackOff(clock);
  let view = await ask(left());
  while (!isAnswer(view) && (await backOff.pause(until, signal))) {
    try {
      view = await ask(left());
    } catch (thrown) {
      if (thrown instanceof FabricError && isWorthRetrying(thrown)) return view;
      throw thrown;
    }
  }
  return view;
};
