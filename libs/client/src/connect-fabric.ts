import { systemClock } from '@toolfabric/kernel';
import {
  ApprovalServiceClient,
  ArtifactServiceClient,
  CredentialServiceClient,
  RegistryServiceClient,
  ToolServiceClient,
  TraceServiceClient,
  UnknownServiceClient,
} from '@toolfabric/proto';
import { approvalVerbs } from './approval-verbs.ts';
import { artifactVerbs } from './artifact-verbs.ts';
import { callVerbs } from './call-verbs.ts';
import { CHANNEL_OPTIONS, channelCredentials } from './channel.ts';
import type { ConnectOptions, FabricClient } from './client-types.ts';
import { credentialVerbs } from './credential-verbs.ts';
import { Requester } from './requester.ts';
import { taskVerbs } from './task-verbs.ts';
import { registryVerbs, toolVerbs } from './tool-verbs.ts';
import { traceVerbs } from './trace-verbs.ts';
import { unknownVerbs } from './unknown-verbs.ts';

/** Connects when the first verb is used. Throws `invalid_request` for a plain connection beyond loopback. */
export const connectFabric = (options: ConnectOptions): FabricClient => {
  const credentials = channelCredentials(options);
  const tools = new ToolServiceClient(options.address, credentials, CHANNEL_OPTIONS);
  // One connection for all services.
  const shared = { channelOverride: tools.getChannel() };
  const registry = new RegistryServiceClient(options.address, credentials, shared);
  const artifacts = new ArtifactServiceClient(options.address, credentials, shared);
  const traces = new TraceServiceClient(options.address, credentials, shared);
  const approvals = new ApprovalServiceClient(options.address, credentials, shared);
  const unknown = new UnknownServiceClient(options.address, credentials, shared);
  const keeper = new CredentialServiceClient(options.address, credentials, shared);
  const requester = new Requester(options.token, systemClock);
  return {
    ...taskVerbs(tools, requester),
    ...toolVerbs(tools, requester),
    ...callVerbs(tools, requester),
    ...artifactVerbs(artifacts, requester),
    ...traceVerbs(traces, requester),
    ...registryVerbs(registry, requester),
    ...approvalVerbs(approvals, requester),
    ...unknownVerbs(unknown, requester),
    ...credentialVerbs(keeper, requester),
    close: () => tools.close(),
  };
};
