import { type Actor, type CallView, isLastAnswer } from '@toolfabric/contract';
import type { PendingCalls } from './pending-calls.ts';

/** Nothing more comes within a wait: the call ended, or it waits for a person, which holds no connection (L5). */
export const isAnswer = (view: CallView): boolean => isLastAnswer(view) || view.state === 'awaiting_approval';

export interface Wait {
  /** Resolves with an answer, or with the newest view at the end of `ms`, at `stop` and when the gateway drains. */
  forAnswer(accepted: CallView, ms: number): Promise<CallView>;
  stop(): void;
}

/** Begins to listen before the call is proposed, so that no notice comes too early; undefined when too many wait. */
export const beginWait = (pending: PendingCalls, actor: Actor, callId: string): Wait | undefined => {
  let newest: CallView | undefined;
  let over = false;
  let wake = () => {};
  const end = () => {
    over = true;
    wake();
  };
  const stopListening = pending.listen(actor, callId, {
    onView(view) {
      if (over) return;
      newest = view;
      if (isAnswer(view)) end();
    },
    // The call may not be stored yet, or just not be asked for successfully: the wait limit is the bound.
    onFailure: () => {},
    onDrain: end,
  });
  if (stopListening === undefined) return undefined;
  return {
    async forAnswer(accepted, ms) {
      if (!over) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, ms);
          wake = () => {
            clearTimeout(timer);
            resolve();
          };
        });
      }
      return newest ?? accepted;
    },
    stop() {
      stopListening();
      end();
    },
  };
};
