export { RawUser, waitFor } from '@toolfabric/bus-nats/testing';
export * from './spawn-service.ts';
export * from './start-nats.ts';
