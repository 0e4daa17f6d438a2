import { callViewFromWire, type ToolServiceClient, type wireCall } from '@toolfabric/proto';
import { callAndWait } from './call-and-wait.ts';
import type { FabricClient } from './client-types.ts';
import { proposalToWire } from './propose.ts';
import { present, REQUEST_MS, type Requester } from './requester.ts';
import { watchCall } from './watch-call.ts';

type CallVerbs = Pick<FabricClient, 'call' | 'startCall' | 'watchCall' | 'cancelCall' | 'getCall'>;

const WAIT_MS = 30_000;

const viewOf = ({ call }: { call: wireCall.CallView | undefined }) => callViewFromWire(present(call));

export const callVerbs = (tools: ToolServiceClient, requester: Requester): CallVerbs => ({
  async call(given, { signal, waitMs = WAIT_MS, timeoutMs = waitMs + REQUEST_MS } = {}) {
    const { clock } = requester;
    const proposal = proposalToWire(given);
    const metadata = requester.metadataWith(given.traceparent);
    const until = clock.monotonic() + timeoutMs;
    const once = (wait: number) => {
      const options = { ...(signal && { signal }), timeoutMs: until - clock.monotonic() };
      return requester.ask(tools.call.bind(tools), { proposal, waitMs: wait }, viewOf, options, metadata);
    };
    return callAndWait(once, { waitMs: Math.min(waitMs, timeoutMs), signal, clock });
  },
  async startCall(given, options = {}) {
    const request = { proposal: proposalToWire(given) };
    const metadata = requester.metadataWith(given.traceparent);
    return requester.ask(tools.startCall.bind(tools), request, viewOf, options, metadata);
  },
  watchCall: (callId, options = {}) => watchCall(tools, requester.metadata, callId, options, requester.clock),
  cancelCall: (callId, options = {}) => requester.ask(tools.cancelCall.bind(tools), { callId }, viewOf, options),
  getCall: (callId, options = {}) => requester.ask(tools.getCall.bind(tools), { callId }, viewOf, options),
});
