export * from './http-peer.ts';
export * from './sample-events.ts';
export * from './temporary-store.ts';
