export * from './convert-approval.ts';
export * from './convert-artifact.ts';
export * from './convert-call.ts';
export * from './convert-content.ts';
export * from './convert-credential.ts';
export * from './convert-error.ts';
export * from './convert-limits.ts';
export * from './convert-result.ts';
export * from './convert-task.ts';
export * from './convert-tool.ts';
export * from './convert-trace.ts';
export * from './convert-unknown.ts';
export { WireMismatch } from './enum-codec.ts';
export * from './error-metadata.ts';
export * from './gen/toolfabric/v1/approval_service.ts';
export * as wireArtifact from './gen/toolfabric/v1/artifact.ts';
export * from './gen/toolfabric/v1/artifact_service.ts';
export * as wireCall from './gen/toolfabric/v1/call.ts';
export * as wireCredential from './gen/toolfabric/v1/credential_service.ts';
export {
  CredentialServiceClient,
  type CredentialServiceServer,
  CredentialServiceService,
} from './gen/toolfabric/v1/credential_service.ts';
export * from './gen/toolfabric/v1/registry_service.ts';
export * as wireResult from './gen/toolfabric/v1/result.ts';
export * as wireTask from './gen/toolfabric/v1/task.ts';
export * as wireTool from './gen/toolfabric/v1/tool.ts';
export * from './gen/toolfabric/v1/tool_service.ts';
export * from './gen/toolfabric/v1/trace_service.ts';
export {
  type ListUnknownRequest,
  type ListUnknownResponse,
  UnknownServiceClient,
  type UnknownServiceServer,
  UnknownServiceService,
} from './gen/toolfabric/v1/unknown_service.ts';
