export * from './run-service.ts';
export { nodeRefusal } from './node-refusal.ts';
export * from './running-service.ts';
export * from './start-all.ts';
export * from './start-health.ts';
