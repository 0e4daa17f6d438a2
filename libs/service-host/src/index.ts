export { describeThrown } from './describe-thrown.ts';
export { closeInherited, inheritedDescriptors } from './inherited-descriptors.ts';
export * from './listen-rule.ts';
export { nodeRefusal } from './node-refusal.ts';
export * from './run-service.ts';
export * from './running-service.ts';
export * from './start-all.ts';
export * from './start-health.ts';
export { within } from './within.ts';
